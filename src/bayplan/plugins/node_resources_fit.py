"""NodeResourcesFit: whether a node has what the pod asks for, and which node is left with the best allocation.

The filter compares real requests with what is free.  The score uses requests with defaults (a container that asks for
nothing counts as 100m and 200Mi), both for the pod and for what runs; upstream's scorer leaves out pod-level requests.
Not here: how the balance between resources changes (NodeResourcesBalancedAllocation).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from bayplan.cluster.columns import CPU, MEMORY
from bayplan.cluster.shapes import REQUESTS, Requests
from bayplan.cluster.view import View
from bayplan.framework.plugin import (
    FITS,
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
IN_ORDER = ("cpu", "memory", "ephemeral-storage")
NONZERO = {"cpu": CPU, "memory": MEMORY}


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
        problems = [f"ignoredResourceGroups[{place}]: {group!r}: resource group name can't contain '/'"
                    for place, group in enumerate(self.ignored_resource_groups) if "/" in group]
        strategy = self.scoring_strategy
        if strategy.type not in {LEAST, MOST, RATIO}:
            problems.append(f"scoringStrategy.type: {strategy.type!r} is not one of {LEAST}, {MOST}, {RATIO}")
        problems += [f"scoringStrategy.resources[{place}].weight: {spec.weight} of {spec.name} is not in 1..100"
                     for place, spec in enumerate(strategy.resources) if not 0 <= spec.weight <= WEIGHT_MAX]
        if strategy.type == RATIO:
            shape = strategy.requested_to_capacity_ratio
            problems += [f"scoringStrategy.requestedToCapacityRatio.{problem}"
                         for problem in shape_problems(shape.shape if shape is not None else ())]
        elif strategy.requested_to_capacity_ratio is not None and strategy.requested_to_capacity_ratio.shape:
            problems.append(f"scoringStrategy.requestedToCapacityRatio: only for type {RATIO}")
        return problems


class State(NamedTuple):
    """A pod's amounts, as the filter and as the score take them."""

    needed: tuple[tuple[str, int], ...]                    # in the order in which they are reported
    scored: tuple[tuple[str, int, int], ...]               # (resource, weight, amount)


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
        self.strategy = {LEAST: _least_allocated, MOST: _most_allocated, RATIO: self._ratio}[strategy.type]
        points = strategy.requested_to_capacity_ratio.shape if strategy.requested_to_capacity_ratio is not None else ()
        self.curve = tuple((point.utilization, 10 * point.score) for point in points)

    def prepare(self, part: Requests, view: View) -> Prepared[State]:
        """Put the amounts in order; zeros and what is ignored fit anywhere."""
        amounts = {name: amount for name, amount in part.fit if amount > 0 and not is_ignored(name, *self.ignored)}
        names = [*(name for name in IN_ORDER if name in amounts), *sorted(amounts.keys() - set(IN_ORDER))]
        return Prepared(State(tuple((name, amounts[name]) for name in names),
                              tuple(weighed(self.specs, dict(part.scored)))))

    def fits(self, state: State, view: View) -> Mask:
        """Compare without saying why."""
        fits = view.pods < view.pods_allowed                           # (rows,)
        for name, amount in state.needed:
            fits &= amount <= view.allocatable(name) - view.requested(name)
        return fits

    def filter(self, state: State, view: View) -> Ruling:
        """Name everything that is missing on each row; a need beyond the whole node cannot be cured by eviction."""
        full = view.pods + 1 > view.pods_allowed                       # (rows,)
        lacking, hopeless = [full], np.zeros(len(view), np.bool_)
        short: dict[str, Column] = {TOO_MANY_PODS: np.where(full, view.pods + 1 - view.pods_allowed, 0)}
        for name, amount in state.needed:
            whole = view.allocatable(name)
            missing = amount - (whole - view.requested(name))
            lacking.append(missing > 0)
            hopeless |= (missing > 0) & (amount > whole)
            short[f"Insufficient {name}"] = np.maximum(missing, 0)
        codes, outcomes = _combined(lacking, hopeless, tuple(short))
        return Ruling(codes, outcomes, short)

    def prepare_score(self, state: State, view: View, feasible: Mask) -> State | Failed:
        """Score always, if there is a resource to score by."""
        return state if self.specs else Failed("resources not found")

    def score(self, state: State, view: View, feasible: Mask) -> Scores:
        """Average the resources' scores by weight."""
        return self.strategy([(weight, view.allocatable(name), self._used(name, view) + amount)
                              for name, weight, amount in state.scored], len(view))

    def _used(self, name: str, view: View) -> Column:
        return view.nonzero(NONZERO[name]) if name in NONZERO else view.requested(name)

    def _ratio(self, parts: Sequence[tuple[int, Column, Column]], rows: int) -> Scores:
        """Score by the configured curve; a resource that scores nothing does not count at all."""
        total, weights = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
        for weight, whole, used in parts:
            there = np.maximum(whole, 1)
            usage = np.where(used > whole, 100, used * 100 // there)
            score = np.where(whole > 0, curve_at(self.curve, usage), 0)
            total += weight * score
            weights += np.where(score > 0, weight, 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.floor(total / np.maximum(weights, 1) + 0.5)      # round half away from zero; never negative
        return np.where(weights > 0, mean, 0).astype(np.int64)


def _least_allocated(parts: Sequence[tuple[int, Column, Column]], rows: int) -> Scores:
    return _mean([(weight, whole, np.maximum(whole - used, 0)) for weight, whole, used in parts], rows)


def _most_allocated(parts: Sequence[tuple[int, Column, Column]], rows: int) -> Scores:
    return _mean([(weight, whole, np.minimum(used, whole)) for weight, whole, used in parts], rows)


def _mean(parts: Sequence[tuple[int, Column, Column]], rows: int) -> Scores:
    """Average percentages by weight; a resource that the node does not have is left out there."""
    total, weights = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
    for weight, whole, share in parts:
        there = whole > 0
        total += np.where(there, weight * (share * 100 // np.maximum(whole, 1)), 0)
        weights += np.where(there, weight, 0)
    return total // np.maximum(weights, 1)


def curve_at(points: Sequence[tuple[int, int]], usage: Column) -> Scores:
    """Read a piecewise linear curve, dividing toward zero as Go does."""
    result = np.full(len(usage), points[-1][1], np.int64)
    for (low, from_score), (high, to_score) in zip(reversed(points[:-1]), reversed(points[1:]), strict=True):
        rise = (to_score - from_score) * (usage - low)
        step = np.where(rise < 0, -(-rise // (high - low)), rise // (high - low))
        result = np.where(usage <= high, from_score + step, result)
    return np.where(usage <= points[0][0], points[0][1], result)


def _combined(lacking: Sequence[Mask], hopeless: Mask, texts: Sequence[str]) -> tuple[Codes, list[Outcome]]:
    """Give each combination of missing things that occurs an outcome of its own."""
    word = np.zeros(len(hopeless), np.int64)
    for bit, mask in enumerate(lacking):
        word |= mask.astype(np.int64) << bit
    word = word * 2 + hopeless
    seen, codes = np.unique(word, return_inverse=True)
    outcomes: list[Outcome] = [SUCCESS]
    number = np.zeros(len(seen), np.int16)
    for place, bits in enumerate(seen.tolist()):
        if bits == 0:
            number[place] = FITS
            continue
        why = tuple(text for bit, text in enumerate(texts) if bits >> (bit + 1) & 1)
        number[place] = len(outcomes)
        outcomes.append(Outcome(Code.UNRESOLVABLE if bits & 1 else Code.UNSCHEDULABLE, why))
    return number[codes], outcomes
