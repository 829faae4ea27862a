"""DynamicResources: pods without resource claims pass; pods with claims wait until devices can be allocated.

It stands at its place and weight in every profile, so that other plugins' order and scores are kube-scheduler's.
"""

from __future__ import annotations

import numpy as np

from bayplan.cluster.shapes import DEVICES
from bayplan.cluster.view import View
from bayplan.framework.plugin import (
    NODE,
    SUCCESS,
    Change,
    Code,
    Mask,
    Plugin,
    Prepared,
    Rejected,
    Ruling,
    Scores,
    unresolvable,
)

WAITS = "device allocation is not available here yet: the pod has resource claims ({})"


class DynamicResources(Plugin[tuple[str, ...], tuple[str, ...]]):
    """Hold back what it cannot allocate for; never place it wrongly."""

    reads = DEVICES
    depends = NODE
    wakes = (Change.OWN_OBJECT, Change.DEVICE_CLASS)
    points = frozenset({"preEnqueue", "preFilter", "filter", "postFilter", "score", "reserve", "preBind"})

    def prepare(self, part: tuple[str, ...], view: View) -> Prepared[tuple[str, ...]] | Rejected:
        """Skip pods without claims."""
        if part:
            return Rejected(Code.UNRESOLVABLE, _waits(part), part)
        return Prepared(part, filters=False)

    def filter(self, state: tuple[str, ...], view: View) -> Ruling:
        """Say the same of every row where a profile does not ask before any is looked at."""
        codes = np.full(len(view), 1 if state else 0, np.int16)
        return Ruling(codes, (SUCCESS, unresolvable(*_waits(state))))

    def score(self, state: tuple[str, ...], view: View, feasible: Mask) -> Scores:
        """Score nothing for pods without claims."""
        return np.zeros(len(view), np.int64)

    def normalize(self, state: tuple[str, ...], view: View, scores: Scores, feasible: Mask) -> Scores:
        """Leave nothing as it is."""
        return scores


def _waits(claims: tuple[str, ...]) -> tuple[str, ...]:
    return (WAITS.format(", ".join(claims)),)
