"""NodePreferAvoidPods: keep a controller's pods off nodes whose annotation names it, if there are others.

The annotation is `scheduler.alpha.kubernetes.io/preferAvoidPods`; Kubernetes dropped the rule with the Policy file.
Its weight there was 10000, so that no other preference outweighs it.
"""

from __future__ import annotations

import numpy as np

from bayplan.cluster.shapes import CONTROLLER
from bayplan.cluster.view import View
from bayplan.framework.plugin import NODE, SCORE_MAX, Mask, Plugin, Scores


class NodePreferAvoidPods(Plugin[tuple[str, str] | None, tuple[str, str] | None]):
    """Ask whom each node would rather not have."""

    reads = CONTROLLER
    depends = NODE
    wakes = ()
    points = frozenset({"score"})

    def score(self, state: tuple[str, str] | None, view: View, feasible: Mask) -> Scores:
        """Give nothing where the node names the pod's controller."""
        if state is None:
            return np.full(len(view), SCORE_MAX, np.int64)  # (rows,)
        return np.where(view.avoids(state), 0, SCORE_MAX).astype(np.int64)
