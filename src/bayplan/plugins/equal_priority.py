"""EqualPriority: the same score for every node, as Kubernetes gave when no priority was asked for.

It changes no choice; totals keep the numbers that they had, ten times a tenth of what a node can earn.
"""

from __future__ import annotations

import numpy as np

from bayplan.cluster.shapes import NOTHING
from bayplan.cluster.view import View
from bayplan.framework.plugin import NODE, Mask, Plugin, Scores

EQUAL = 10  # 1 of 10, on today's scale of 100


class EqualPriority(Plugin[None, None]):
    """Prefer nobody."""

    reads = NOTHING
    depends = NODE
    wakes = ()
    points = frozenset({"score"})

    def score(self, state: None, view: View, feasible: Mask) -> Scores:
        """Give every node the same."""
        return np.full(len(view), EQUAL, np.int64)  # (rows,)
