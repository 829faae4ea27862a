"""NodeResourcesBalancedAllocation: prefer nodes whose resources the pod brings into better balance.

The score compares the balance before and after: 75 where nothing changes.  Requests here are the real ones, on both
sides; weights are all one.  float64 in upstream's order of operations, truncated where upstream truncates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from bayplan.cluster.columns import Int64s, window
from bayplan.cluster.shapes import REQUESTS, Requests
from bayplan.cluster.view import Places, View
from bayplan.framework.plugin import NO_GATES, ROW, SKIP, Gates, Mask, Plugin, Prepared, Scores, Skip
from bayplan.framework.resources import CPU_MEMORY_SPECS, ResourceSpec, weighed

Changes = npt.NDArray[np.int16]
Fractions = npt.NDArray[np.float64]


def _score_of(change: int) -> int:
    """Score a change of the balance, which lies between -100 and 100; halving rounds toward zero."""
    return 50 + int((50 + change) / 2)


BY_CHANGE = np.array([_score_of(change) for change in (*range(101), *range(-100, 0))])  # (changes,) by index, wrapped


class NodeResourcesBalancedAllocationArgs(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Which resources are to be in balance."""

    resources: tuple[ResourceSpec, ...] = CPU_MEMORY_SPECS

    def problems(self) -> list[str]:
        """List what is wrong, as upstream validates."""
        names = [spec.name for spec in self.resources]
        return [
            *(
                f"resources[{place}].weight: {spec.weight} of {spec.name} must be 1"
                for place, spec in enumerate(self.resources)
                if spec.counts != 1
            ),
            *(
                f"resources[{place}].name: {name} is there twice"
                for place, name in enumerate(names)
                if name in names[:place]
            ),
        ]


class State(NamedTuple):
    """The pod's amounts of the resources that take part."""

    places: Places
    amounts: Int64s  # (resources, 1)
    amounts_floats: Fractions
    asks: bool
    names: tuple[str, ...]


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
        taking = weighed(self.specs, amounts)
        standing = np.array([amount for _, _, amount in taking], np.int64).reshape(-1, 1)  # (resources, 1)
        return Prepared(
            State(
                view.places([name for name, _, _ in taking]),
                standing,
                standing.astype(np.float64),
                any(amounts.get(spec.name, 0) for spec in self.specs),
                tuple(name for name, _, _ in taking),
            ),
            filters=False,
        )

    def prepare_score(self, state: State, view: View, feasible: Mask) -> State | Skip:
        """Do not score pods that ask for none of the resources."""
        return state if state.asks else SKIP

    def score(self, state: State, view: View, feasible: Mask) -> Scores:
        """Score the improvement."""
        if len(state.names) == 2 and view.is_small and view.all_have(state.places):
            return BY_CHANGE.take(_change_of_two(state, view), mode="wrap")
        whole, used = view.allocatable(state.places), view.requested(state.places)  # (resources, rows)
        there, size = whole > 0, np.maximum(whole, 1)
        before = _balance(np.minimum(used / size, 1.0), there)
        after = _each_balance(np.minimum((used + state.amounts) / size, 1.0), there)
        return BY_CHANGE.take(after - before, mode="wrap")

    def stacked(self, states: Sequence[State]) -> State | None:
        """Stack the amounts of pods that all ask for something of the same two resources."""
        first = states[0]
        if len(first.amounts) != 2 or not all(state.asks and state.names == first.names for state in states):
            return None
        amounts = np.stack([state.amounts for state in states])  # (states, resources, 1)
        return first._replace(amounts=amounts, amounts_floats=amounts.astype(np.float64))

    def row(self, state: State, view: View) -> Callable[[int], int] | None:
        """Answer for one row over the columns' own memory, where two resources take part."""
        if len(state.amounts) != 2:
            return None
        columns = view.table.columns
        places: list[int] = np.arange(len(columns.resources))[state.places].tolist()
        (one, one_used), (two, two_used) = (
            (window(columns.allocatable[place]), columns.requested_of[place]) for place in places
        )
        one_more, two_more = state.amounts[:, 0].tolist()

        def answer(row: int) -> int:
            whole, other = one[row], two[row]
            if not whole or not other:
                return 75  # fewer than two take part: always in balance
            used, used_two = one_used[row], two_used[row]
            a, b = used / whole, used_two / other
            c, d = (used + one_more) / whole, (used_two + two_more) / other
            if c > 1.0 or d > 1.0:  # overcommitted: seldom
                a, b, c, d = min(a, 1.0), min(b, 1.0), min(c, 1.0), min(d, 1.0)
            before = a - b if a > b else b - a
            after = c - d if c > d else d - c
            change = 50 + int((1 - after / 2) * 100) - int((1 - before / 2) * 100)
            return 50 + (change >> 1 if change >= 0 else -(-change >> 1))

        return answer


def _change_of_two(state: State, view: View) -> Changes:
    """Return how the balance of two resources changes, where every row has both and float64 is exact."""
    whole, taken = view.whole(state.places), view.taken(state.places)  # (resources, rows)
    amounts = state.amounts_floats
    used = view.room(2 if amounts.ndim == whole.ndim else 1 + len(amounts), *whole.shape)  # before, and after for each
    used[0] = taken
    np.add(taken, amounts, out=used[1:])
    np.minimum(used, whole, out=used)  # more than all is as good as all
    used /= whole
    spread = used[:, 0]  # (before and after, rows)
    np.subtract(spread, used[:, 1], out=spread)
    np.abs(spread, out=spread)
    np.subtract(2.0, spread, out=spread)  # 100 less half of it is 50 times 2 less it, to the last bit
    spread *= 50.0
    balance = spread.astype(np.int16)  # truncated; a fifth of what int64 costs
    change: Changes = balance[1:] - balance[0]
    return change if amounts.ndim > whole.ndim else change[0]


def _each_balance(fractions: Fractions, there: npt.NDArray[np.bool_]) -> Scores:
    """Return the balance of one state's fractions, or of each of several states' (states, resources, rows)."""
    if fractions.ndim == there.ndim:
        return _balance(fractions, there)
    return np.stack([_balance(each, there) for each in fractions])


def _balance(fractions: Fractions, there: npt.NDArray[np.bool_]) -> Scores:
    """Return 100 less the spread of the fractions, per row, over the resources that the row has."""
    if not len(fractions):
        return np.full(fractions.shape[1], 100, np.int64)
    values = np.where(there, fractions, 0.0)  # (resources, rows)
    number = there.sum(axis=0)  # (rows,)
    score: Scores = np.trunc((1 - _deviation(values, there, number)) * 100).astype(np.int64)
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
