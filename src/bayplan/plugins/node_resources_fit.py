"""NodeResourcesFit: whether a node has what the pod asks for, and which node is left with the best allocation.

The filter compares real requests with what is free.  The score uses requests with defaults (a container that asks for
nothing counts as 100m and 200Mi), both for the pod and for what runs; upstream's scorer leaves out pod-level requests.
Not here: how the balance between resources changes (NodeResourcesBalancedAllocation).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import msgspec
import numpy as np

from bayplan.cluster.columns import Columns, Floats, Int64s, window
from bayplan.cluster.shapes import REQUESTS, Requests
from bayplan.cluster.view import Places, View
from bayplan.framework.plugin import (
    NO_GATES,
    ROW,
    SUCCESS,
    Change,
    Code,
    Codes,
    Column,
    Failed,
    Gates,
    Mask,
    Outcome,
    Plugin,
    Prepared,
    Ruling,
    Scores,
)
from bayplan.framework.resources import (
    CPU_MEMORY_SPECS,
    WEIGHT_MAX,
    ResourceSpec,
    ShapePoint,
    is_ignored,
    shape_problems,
    weighed,
)

LEAST, MOST, RATIO = "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"
TOO_MANY_PODS = "Too many pods"
PODS = "pods"
PAIR = 2  # of resources: by far the most usual
BITS_AT_ONCE = 40  # with as many bits again for the rows
BITS_FEW = 12  # words of fewer are looked up in a table as they are
IN_ORDER = (PODS, "cpu", "memory", "ephemeral-storage")  # in messages
SIDE_BY_SIDE = ("cpu", "memory", PODS)  # in the columns' blocks
NONZERO = ("cpu", "memory")  # counted with defaults, in this order

Amounts = TypeVar("Amounts", Int64s, Floats)  # the same arithmetic for both


class RatioParam(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The function from utilization to score."""

    shape: tuple[ShapePoint, ...] = ()


class ScoringStrategy(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """How the allocation of a node is scored."""

    type: str = LEAST
    resources: tuple[ResourceSpec, ...] = CPU_MEMORY_SPECS
    requested_to_capacity_ratio: RatioParam | None = None


class NodeResourcesFitArgs(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What the filter leaves out, and how the score is made."""

    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy = ScoringStrategy()

    def problems(self) -> list[str]:
        """List what is wrong, as upstream validates."""
        problems = [
            f"ignoredResourceGroups[{place}]: {group!r}: resource group name can't contain '/'"
            for place, group in enumerate(self.ignored_resource_groups)
            if "/" in group
        ]
        strategy = self.scoring_strategy
        if strategy.type not in {LEAST, MOST, RATIO}:
            problems.append(f"scoringStrategy.type: {strategy.type!r} is not one of {LEAST}, {MOST}, {RATIO}")
        problems += [
            f"scoringStrategy.resources[{place}].weight: {spec.weight} of {spec.name} is not in 1..100"
            for place, spec in enumerate(strategy.resources)
            if not 0 <= spec.weight <= WEIGHT_MAX
        ]
        if strategy.type == RATIO:
            shape = strategy.requested_to_capacity_ratio
            problems += [
                f"scoringStrategy.requestedToCapacityRatio.{problem}"
                for problem in shape_problems(shape.shape if shape is not None else ())
            ]
        elif strategy.requested_to_capacity_ratio is not None and strategy.requested_to_capacity_ratio.shape:
            problems.append(f"scoringStrategy: requestedToCapacityRatio goes with type {RATIO} only")
        return problems


class State(NamedTuple):
    """A pod's amounts, as the filter and as the score take them."""

    needs: Places
    needed: Int64s  # (needs, 1)
    needed_floats: Floats
    names: tuple[str, ...]  # of what is needed, a place for one more pod among it
    scores: Places
    scored: Int64s  # (scores, 1)
    scored_floats: Floats
    weights: Int64s | None  # (scores, 1); None where all are 1
    weight: int  # of all together
    nonzero: tuple[int, ...] | None  # of each scored resource: its row in `nonzero`, -1 if none; None: both, in order


class NodeResourcesFit(Plugin[Requests, State]):
    """Compare the pod's amounts with each row's."""

    reads = REQUESTS
    depends = ROW
    wakes = (Change.NODE_ADDED, Change.NODE_ALLOCATABLE, Change.POD_GONE, Change.POD_SHRUNK, Change.OWN_REQUESTS)
    Arguments = NodeResourcesFitArgs
    points = frozenset({"preFilter", "filter", "preScore", "score", "placementScore"})

    def __init__(self, arguments: NodeResourcesFitArgs | None = None, gates: Gates = NO_GATES) -> None:
        """Choose the strategy once."""
        super().__init__(arguments, gates)
        arguments = arguments or NodeResourcesFitArgs()
        self.ignored = frozenset(arguments.ignored_resources), frozenset(arguments.ignored_resource_groups)
        strategy = arguments.scoring_strategy
        self.specs: Sequence[ResourceSpec] = strategy.resources
        self.strategy = strategy.type
        points = strategy.requested_to_capacity_ratio.shape if strategy.requested_to_capacity_ratio is not None else ()
        self.curve = tuple((point.utilization, 10 * point.score) for point in points)

    def prepare(self, part: Requests, view: View) -> Prepared[State]:
        """Put the amounts in order; zeros and what is ignored fit anywhere."""
        amounts = {name: amount for name, amount in part.fit if amount > 0}
        if any(self.ignored):
            amounts = {name: amount for name, amount in amounts.items() if not is_ignored(name, *self.ignored)}
        amounts[PODS] = 1
        names = (*(name for name in SIDE_BY_SIDE if name in amounts), *sorted(amounts.keys() - set(SIDE_BY_SIDE)))
        taking = weighed(self.specs, dict(part.scored))
        scored_names, weights = [name for name, _, _ in taking], [weight for _, weight, _ in taking]
        needed, scored = _standing([amounts[name] for name in names]), _standing([amount for _, _, amount in taking])
        return Prepared(
            State(
                needs=view.places(names),
                needed=needed,
                needed_floats=needed.astype(np.float64),
                names=names,
                scores=view.places(scored_names),
                scored=scored,
                scored_floats=scored.astype(np.float64),
                weights=_standing(weights) if set(weights) - {1} else None,
                weight=sum(weights),
                nonzero=None
                if tuple(scored_names) == NONZERO
                else tuple(NONZERO.index(name) if name in NONZERO else -1 for name in scored_names),
            )
        )

    def fits(self, state: State, view: View) -> Mask:
        """Compare without saying why."""
        if view.is_small:
            whole = view.whole(state.needs)
            free = np.subtract(whole, view.taken(state.needs), out=view.room(*whole.shape))  # (needs, rows)
            there = free >= state.needed_floats
        else:
            there = view.allocatable(state.needs) - view.requested(state.needs) >= state.needed
        fits: Mask = np.logical_and.reduce(there, axis=-2)  # (rows,)
        return fits

    def filter(self, state: State, view: View) -> Ruling:
        """Name everything that is missing on each row; a need beyond the whole node cannot be cured by eviction."""
        whole = view.allocatable(state.needs)  # (needs, rows)
        missing = state.needed - (whole - view.requested(state.needs))  # (needs, rows)
        lacking = missing > 0
        beyond = state.needed > whole
        order = sorted(range(len(state.names)), key=lambda at: _place_in_text(state.names[at]))
        beyond[order[0]] = False  # a node full of pods can always be emptied
        hopeless: Mask = np.logical_or.reduce(lacking & beyond)  # (rows,)
        short: dict[str, Column] = {_text(state.names[at]): np.maximum(missing[at], 0) for at in order}
        codes, outcomes = combined([lacking[at] for at in order], hopeless, tuple(short))
        return Ruling(codes, outcomes, short)

    def prepare_score(self, state: State, view: View, feasible: Mask) -> State | Failed:
        """Score always, if there is a resource to score by."""
        return state if self.specs else Failed("resources not found")

    def score(self, state: State, view: View, feasible: Mask) -> Scores:
        """Average the resources' scores by weight."""
        if self.strategy == RATIO:
            return self._ratio(state, view.allocatable(state.scores), _used_whole(state, view))
        if state.weight and view.is_small and view.all_have(state.scores):
            return self._mean(state, view)
        whole, used = view.allocatable(state.scores), _used_whole(state, view)
        share = np.minimum(used, whole) if self.strategy == MOST else np.maximum(whole - used, 0)  # (scores, rows)
        return _mean_of_some(state, share, whole)

    def _mean(self, state: State, view: View) -> Scores:
        """Average percentages by weight, where every row has each resource and float64 divides exactly."""
        whole, used = view.whole(state.scores), _used(state, view.counted, view.taken)
        share = view.room(*state.scored.shape[:-1], len(view))  # (scores, rows), or (states, scores, rows)
        np.add(used, state.scored_floats, out=share)
        np.minimum(share, whole, out=share)
        if self.strategy == LEAST:
            np.subtract(whole, share, out=share)
        share *= 100.0
        share /= whole
        percent = share.astype(np.int32)  # a third of what int64 costs
        if state.weights is not None:
            percent *= state.weights.astype(np.int32)
        is_pair = percent.shape[-2] == PAIR
        mean = percent[..., 0, :] + percent[..., 1, :] if is_pair else np.add.reduce(percent, axis=-2)
        if state.weight == PAIR:
            mean >>= 1
        else:
            mean //= state.weight
        return mean.astype(np.int64)  # (rows,), or (states, rows)

    def _ratio(self, state: State, whole: Int64s, used: Int64s) -> Scores:
        """Score by the configured curve; a resource that scores nothing does not count at all."""
        usage = np.where(used > whole, 100, used * 100 // np.maximum(whole, 1))  # (scores, rows)
        scores = np.where(whole > 0, curve_at(self.curve, usage), 0)
        weight = 1 if state.weights is None else state.weights
        total = (weight * scores).sum(axis=0)  # (rows,)
        weights = np.where(scores > 0, weight, 0).sum(axis=0)
        mean = np.floor(total / np.maximum(weights, 1) + 0.5)  # round half away from zero; never negative
        return np.where(weights > 0, mean, 0).astype(np.int64)

    def stacked(self, states: Sequence[State]) -> State | None:
        """Stack the amounts of pods that need, and are scored by, the same resources with weights of one."""
        first = states[0]
        if self.strategy != LEAST or first.weights is not None or first.nonzero is not None:
            return None
        if any(state.names != first.names or state.weight != first.weight for state in states):
            return None
        needed = np.stack([state.needed for state in states])  # (states, needs, 1)
        scored = np.stack([state.scored for state in states])
        return first._replace(
            needed=needed,
            needed_floats=needed.astype(np.float64),
            scored=scored,
            scored_floats=scored.astype(np.float64),
        )

    def row(self, state: State, view: View) -> Callable[[int], int] | None:
        """Answer for one row over the columns' own memory; only for the usual strategy."""
        if self.strategy != LEAST:
            return None
        columns = view.table.columns
        needs = [
            (window(columns.allocatable[place]), columns.requested_of[place], need)
            for place, need in zip(self._each(state.needs, columns), state.needed[:, 0].tolist(), strict=True)
        ]
        weights = [1] * len(state.scored) if state.weights is None else state.weights[:, 0].tolist()
        nonzero = state.nonzero if state.nonzero is not None else range(len(NONZERO))
        scored = [
            (
                window(columns.allocatable[place]),
                columns.requested_of[place] if at < 0 else columns.nonzero_of[at],
                more,
                weight,
            )
            for place, at, more, weight in zip(
                self._each(state.scores, columns), nonzero, state.scored[:, 0].tolist(), weights, strict=True
            )
        ]

        def answer(row: int) -> int:
            for whole, used, need in needs:
                if need > whole[row] - used[row]:
                    return -1
            total = weights = 0
            for whole, used, more, weight in scored:
                there = whole[row]
                if there:
                    weights += weight
                    left = there - used[row] - more
                    if left > 0:
                        total += weight * (left * 100 // there)
            return total // weights if weights else 0

        return answer

    @staticmethod
    def _each(places: Places, columns: Columns) -> list[int]:
        """Return places one by one."""
        found: list[int] = np.arange(len(columns.resources))[places].tolist()
        return found


def _standing(amounts: Sequence[int]) -> Int64s:
    """Return amounts as a column that stands against rows, as (amounts, 1)."""
    return np.array(amounts, np.int64).reshape(-1, 1)


def _used_whole(state: State, view: View) -> Int64s:
    """Return what would be in use of each scored resource, as (scores, rows)."""
    return _used(state, view.nonzero, view.requested) + state.scored


def _used(state: State, nonzero: Amounts, requested: Callable[[Places], Amounts]) -> Amounts:
    """Return what is in use of each scored resource, as (scores, rows)."""
    if state.nonzero is None:
        return nonzero
    used = np.array(requested(state.scores))
    for at, place in enumerate(state.nonzero):
        if place >= 0:
            used[at] = nonzero[place]
    return used


def _mean_of_some(state: State, share: Int64s, whole: Int64s) -> Scores:
    """Average percentages by weight; a resource that the node does not have is left out there."""
    there, weight = whole > 0, 1 if state.weights is None else state.weights  # (scores, rows)
    total = np.where(there, weight * (share * 100 // np.maximum(whole, 1)), 0).sum(axis=-2)
    of_those: Scores = total // np.maximum(np.where(there, weight, 0).sum(axis=-2), 1)  # (rows,)
    return of_those


def _text(name: str) -> str:
    return TOO_MANY_PODS if name == PODS else f"Insufficient {name}"


def _place_in_text(name: str) -> tuple[int, str]:
    """Return where in a message a resource comes: pods, the native ones, then the others by name."""
    return (IN_ORDER.index(name), "") if name in IN_ORDER else (len(IN_ORDER), name)


def curve_at(points: Sequence[tuple[int, int]], usage: Column) -> Scores:
    """Read a piecewise linear curve, dividing toward zero as Go does."""
    result = np.full(usage.shape, points[-1][1], np.int64)
    for (low, from_score), (high, to_score) in zip(reversed(points[:-1]), reversed(points[1:]), strict=True):
        rise = (to_score - from_score) * (usage - low)
        step = np.where(rise < 0, -(-rise // (high - low)), rise // (high - low))
        result = np.where(usage <= high, from_score + step, result)
    return np.where(usage <= points[0][0], points[0][1], result)


def combined(lacking: Sequence[Mask], hopeless: Mask, texts: Sequence[str]) -> tuple[Codes, list[Outcome]]:
    """Give each combination of missing things that occurs an outcome of its own."""
    outcomes: list[Outcome] = [SUCCESS]
    word = hopeless.astype(np.int64)  # (rows,) nought where nothing is missing
    for at, is_missing in enumerate(lacking, start=1):
        if at % BITS_AT_ONCE == 0:
            word = np.unique(word, return_inverse=True)[1]  # name what there is by small numbers before going on
        word = 2 * word + is_missing
    if len(lacking) >= BITS_FEW:
        word = np.unique(word, return_inverse=True)[1]
    first = np.zeros(int(word.max(initial=0)) + 1, np.intp)  # (words,) any row that has the word
    first[word] = np.arange(len(word))
    codes = np.zeros(len(first), np.int16)  # (words,)
    for each in np.flatnonzero(np.bincount(word)).tolist():
        row = first[each]
        missing = tuple(text for text, is_missing in zip(texts, lacking, strict=True) if is_missing[row])
        if missing:
            codes[each] = len(outcomes)
            outcomes.append(Outcome(Code.UNRESOLVABLE if hopeless[row] else Code.UNSCHEDULABLE, missing))
    return codes[word], outcomes
