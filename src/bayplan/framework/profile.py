"""Profiles: which rules serve one schedulerName, at which points, in which order, with which weights.

A profile is a list of named instances per extension point.  Several instances may share a class with other arguments.
Invariant: the order at a point is the order in which kube-scheduler would ask.
A profile also names the lane in which its pods are tried; None is the pod lane.
Not here: reading configuration files (config) and asking the rules (run.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from bayplan.framework.lane import LaneKind
from bayplan.framework.plugin import NO_GATES, AnyPlugin, Gates

DEFAULT_SCHEDULER: Final = "default-scheduler"


class Instance(msgspec.Struct, frozen=True, eq=False):
    """A rule as one profile has it."""

    name: str  # the plugin's, unless a configuration names it otherwise
    plugin: AnyPlugin
    weight: int = 1  # of its score


class Profile:
    """The rules that serve one schedulerName."""

    def __init__(
        self,
        scheduler_name: str,
        points: Mapping[str, Sequence[Instance]],
        gates: Gates = NO_GATES,
        lane: LaneKind | None = None,
    ) -> None:
        self.scheduler_name = scheduler_name
        self.lane = lane
        self.points = {point: tuple(instances) for point, instances in points.items()}
        self.gates = gates
        self.pre_enqueue = self.points.get("preEnqueue", ())
        self.pre_filter = self.points.get("preFilter", ())
        self.filter = self.points.get("filter", ())
        self.asked_first = frozenset(instance.name for instance in self.pre_filter)
        self.pre_score = self.points.get("preScore", ())
        self.score = self.points.get("score", ())
        self.named: dict[str, Instance] = {}  # one instance of each rule, whatever its points
        for instances in self.points.values():
            for instance in instances:
                self.named.setdefault(instance.name, instance)
