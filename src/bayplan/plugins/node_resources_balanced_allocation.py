"""NodeResourcesBalancedAllocation: prefer nodes whose resources the pod brings into better balance.

The score compares the balance before and after: 75 where nothing changes.  Requests here are the real ones, on both
sides; weights are all one.  float64 in upstream's order of operations, truncated where upstream truncates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from bayplan.cluster.shapes import REQUESTS, Requests
from bayplan.cluster.view import View
from bayplan.framework.plugin import NO_GATES, ROW, SKIP, Gates, Mask, Plugin, Prepared, Scores, Skip
from bayplan.framework.resources import CPU_MEMORY_SPECS, ResourceSpec, weighed

Fractions = npt.NDArray[np.float64]


class NodeResourcesBalancedAllocationArgs(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Which resources are to be in balance."""

    resources: tuple[ResourceSpec, ...] = CPU_MEMORY_SPECS

    def problems(self) -> list[str]:
        """List what is wrong, as upstream validates."""
        names = [spec.name for spec in self.resources]
        return [*(f"resources[{place}].weight: {spec.weight} of {spec.name} must be 1"
                  for place, spec in enumerate(self.resources) if spec.counts != 1),
                *(f"resources[{place}].name: {name} is there twice"
                  for place, name in enumerate(names) if name in names[:place])]


class State(NamedTuple):
    """The pod's amounts of the resources that take part."""

    amounts: tuple[tuple[str, int, int], ...]
    asks: bool


class NodeResourcesBalancedAllocation(Plugin[Requests, State]):
    """Compare the spread of the used fractions before and after."""

    reads = REQUESTS
    depends = ROW
    wakes = ()
    Arguments = NodeResourcesBalancedAllocationArgs
    points = frozenset({"preScore", "score"})

    def __init__(self, arguments: NodeResourcesBalancedAllocationArgs | None = None, gates: Gates = NO_GATES) -> None:
        """Keep the resources."""
        super().__init__(arguments, gates)
        self.specs = (arguments or NodeResourcesBalancedAllocationArgs()).resources

    def prepare(self, part: Requests, view: View) -> Prepared[State]:
        """Keep the pod's real amounts."""
        amounts = dict(part.balanced)
        return Prepared(State(tuple(weighed(self.specs, amounts)),
                              any(amounts.get(spec.name, 0) for spec in self.specs)), filters=False)

    def prepare_score(self, state: State, view: View, feasible: Mask) -> State | Skip:
        """Do not score pods that ask for none of the resources."""
        return state if state.asks else SKIP

    def score(self, state: State, view: View, feasible: Mask) -> Scores:
        """Score the improvement."""
        before, after, there = [], [], []
        for name, _, amount in state.amounts:
            whole, used = view.allocatable(name), view.requested(name)
            there.append(whole > 0)
            size = np.maximum(whole, 1)
            before.append(np.minimum(used / size, 1.0))                # (rows,)
            after.append(np.minimum((used + amount) / size, 1.0))      # (rows,)
        change = 50 + _balance(after, there, len(view)) - _balance(before, there, len(view))
        half = np.where(change < 0, -(-change // 2), change // 2)      # toward zero
        scores: Scores = 50 + half
        return scores


def _balance(fractions: Sequence[Fractions], there: Sequence[Mask], rows: int) -> Scores:
    """Return 100 less the spread of the fractions, per row, over the resources that the row has."""
    if not fractions:
        return np.full(rows, 100, np.int64)
    has = np.stack(there)                                              # (resources, rows)
    values = np.where(has, np.stack(fractions), 0.0)                   # (resources, rows)
    number = has.sum(axis=0)                                           # (rows,)
    if len(fractions) == 2:
        spread = np.where(number == 2, np.abs(values[0] - values[1]) / 2, 0.0)
        pair: Scores = np.trunc((1 - spread) * 100).astype(np.int64)
        return pair
    score: Scores = np.trunc((1 - _deviation(values, has, number)) * 100).astype(np.int64)
    return score


def _deviation(values: Fractions, has: npt.NDArray[np.bool_], number: npt.NDArray[np.int64]) -> Fractions:
    """Return the standard deviation, or half the difference where there are two, summing in upstream's order."""
    total = np.zeros(values.shape[1])
    for row_values in values:
        total += row_values
    mean = total / np.maximum(number, 1)
    squares = np.zeros(values.shape[1])
    for row_values, row_has in zip(values, has, strict=True):
        squares += np.where(row_has, (row_values - mean) * (row_values - mean), 0.0)
    deviation = np.sqrt(squares / np.maximum(number, 1))
    low = np.where(has, values, np.inf).min(axis=0)
    high = np.where(has, values, -np.inf).max(axis=0)
    two = np.abs(high - low) / 2
    return np.select([number < 2, number == 2], [np.zeros(len(mean)), two], deviation)
