"""TaintToleration: keep pods off nodes whose taints they do not tolerate.

A cluster has thousands of nodes but few distinct taint sets.  The table interns each set, so a shape is judged against
the sets once, and every row takes the verdict of its set.  Not here: evicting running pods (Kubernetes does that).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from bayplan.api.objects import Taint, Toleration
from bayplan.api.selectors import tolerates
from bayplan.cluster.shapes import TOLERATIONS, Tolerations
from bayplan.cluster.view import View
from bayplan.framework.plugin import (
    NODE,
    SUCCESS,
    Change,
    Codes,
    Mask,
    Plugin,
    Prepared,
    Ruling,
    Scores,
    to_hundred,
    unresolvable,
)

UNTOLERATED = (SUCCESS, unresolvable("node(s) had untolerated taint(s)"))
HARD = frozenset({"NoSchedule", "NoExecute"})
SOFT = "PreferNoSchedule"


class PerSet(NamedTuple):
    """What each taint set means to these tolerations."""

    code: Codes  # (taint sets,)
    soft: Scores  # (taint sets,)


class TaintToleration(Plugin[Tolerations, PerSet]):
    """Judge taint sets."""

    reads = TOLERATIONS
    depends = NODE
    wakes = (Change.NODE_ADDED, Change.NODE_TAINTS, Change.OWN_TOLERATIONS)

    def prepare(self, part: Tolerations, view: View) -> Prepared[PerSet]:
        """Ask every taint set once."""
        soft_ones = [toleration for toleration in part.all if toleration.effect in {"", SOFT}]
        hard = [
            self._left(part.all, (taint for taint in taints if taint.effect in HARD)) > 0 for taints in view.taint_sets
        ]
        soft = [
            self._left(soft_ones, (taint for taint in taints if taint.effect == SOFT)) for taints in view.taint_sets
        ]
        return Prepared(PerSet(np.array(hard, np.int16), np.array(soft, np.int64)))

    def _left(self, tolerations: Iterable[Toleration], taints: Iterable[Taint]) -> int:
        """Count the taints that no toleration covers."""
        tolerations, compares = tuple(tolerations), self.gates.toleration_comparison
        return sum(
            not any(tolerates(toleration, taint, compares=compares) for toleration in tolerations) for taint in taints
        )

    def filter(self, state: PerSet, view: View) -> Ruling:
        """Rule out sets with a hard taint left."""
        return Ruling(state.code[view.taint_set], UNTOLERATED)  # (rows,)

    def score(self, state: PerSet, view: View, feasible: Mask) -> Scores:
        """Count the soft taints left."""
        return state.soft[view.taint_set]  # (rows,)

    def normalize(self, state: PerSet, view: View, scores: Scores, feasible: Mask) -> Scores:
        """Give the fewest taints the most."""
        return to_hundred(scores, feasible, reverse=True)
