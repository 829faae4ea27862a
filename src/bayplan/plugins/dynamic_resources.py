"""DynamicResources: pods without resource claims pass; pods with claims wait until devices can be allocated.

It stands at its place and weight in every profile, so that other plugins' order and scores are kube-scheduler's.
"""

from __future__ import annotations

import numpy as np

from bayplan.cluster.shapes import DEVICES
from bayplan.cluster.view import View
from bayplan.framework.plugin import (
    NODE,
    Change,
    Code,
    Mask,
    Plugin,
    Prepared,
    Rejected,
    Ruling,
    Scores,
)

WAITS = "device allocation is not available here yet: the pod has resource claims ({})"


class DynamicResources(Plugin[tuple[str, ...], None]):
    """Hold back what it cannot allocate for; never place it wrongly."""

    reads = DEVICES
    depends = NODE
    wakes = (Change.OWN_OBJECT, Change.DEVICE_CLASS)
    points = frozenset({"preEnqueue", "preFilter", "filter", "postFilter", "score", "reserve", "preBind"})

    def prepare(self, part: tuple[str, ...], view: View) -> Prepared[None] | Rejected:
        """Skip pods without claims."""
        if part:
            return Rejected(Code.UNRESOLVABLE, (WAITS.format(", ".join(part)),))
        return Prepared(None, filters=False)

    def filter(self, state: None, view: View) -> Ruling:
        """Never asked: prepare skips or rejects."""
        return Ruling(np.zeros(len(view), np.int16), ())

    def score(self, state: None, view: View, feasible: Mask) -> Scores:
        """Score nothing for pods without claims."""
        return np.zeros(len(view), np.int64)

    def normalize(self, state: None, view: View, scores: Scores, feasible: Mask) -> Scores:
        """Leave nothing as it is."""
        return scores
