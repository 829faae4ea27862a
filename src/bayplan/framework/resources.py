"""What the rules about resources share: configured resources with weights, and a pod's amounts against a row's.

Invariant: amounts are integers, divided as Go divides them (toward zero; nothing here is negative but differences).
Not here: what the amounts of a pod are (api/requests.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from bayplan.api.requests import is_extended, is_scalar

CPU_AND_MEMORY: Final = ("cpu", "memory")
WEIGHT_MAX: Final = 100


class ResourceSpec(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A resource and its weight in a score; weight 0 means 1."""

    name: str
    weight: int = 1

    @property
    def counts(self) -> int:
        """Give the weight in force."""
        return self.weight or 1


CPU_MEMORY_SPECS: Final = (ResourceSpec("cpu"), ResourceSpec("memory"))


class ShapePoint(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A point of a piecewise linear function from utilization (0..100) to score (0..10)."""

    utilization: int
    score: int


def shape_problems(points: Sequence[ShapePoint]) -> list[str]:
    """List what is wrong with a shape."""
    problems = [] if points else ["shape: at least one point must be specified"]
    for place, point in enumerate(points):
        if not 0 <= point.utilization <= 100:
            problems.append(f"shape[{place}].utilization: {point.utilization} is not in the range 0..100")
        if not 0 <= point.score <= 10:
            problems.append(f"shape[{place}].score: {point.score} is not in the range 0..10")
        if place and point.utilization <= points[place - 1].utilization:
            problems.append(f"shape[{place}].utilization: values must be sorted in increasing order")
    return problems


def weighed(specs: Sequence[ResourceSpec], amounts: Mapping[str, int]) -> list[tuple[str, int, int]]:
    """Return (resource, weight, the pod's amount) for each that takes part: a scalar not asked for does not."""
    return [
        (spec.name, spec.counts, amounts.get(spec.name, 0))
        for spec in specs
        if amounts.get(spec.name, 0) or not is_scalar(spec.name)
    ]


def is_ignored(name: str, resources: frozenset[str], groups: frozenset[str]) -> bool:
    """Say whether a configuration tells the filter to leave an extended resource to somebody else."""
    return is_extended(name) and (name in resources or name.split("/", 1)[0] in groups)
