"""The report: what came of a replay, in numbers: waiting times, utilisation over time, who was turned down and why.

Invariant: a report is made of the replay alone, so equal replays have equal reports.
Not here: counting while it happens (replay.py), tables for people (cli) and pages (page.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from bayplan.api.objects import Node
from bayplan.sim.replay import NODES_USED, RUNNING, WAITING, Replay
from bayplan.sim.turned_down import Reason

QUANTILES: Final = 200  # how finely waiting times are told


class Shown(msgspec.Struct, frozen=True, rename="camel"):
    """What all parts of a report are."""


class Waits(Shown, frozen=True):
    """How long jobs waited until their last pod was placed, in seconds; jobs that never started are not among them."""

    mean_s: float
    p50_s: float
    p90_s: float
    p95_s: float
    p99_s: float
    longest_s: float
    quantiles_s: tuple[float, ...]  # in equal steps, from the shortest to the longest


class Level(Shown, frozen=True):
    """Something over time: its average in each stretch, the average over all, the highest."""

    average: float
    peak: float
    course: tuple[float, ...]


class Use(Shown, frozen=True):
    """How much of a resource was taken by pods that ran, as a share of what all nodes have."""

    resource: str
    capacity: int
    used: Level


class Report(Shown, frozen=True):
    """What came of one replay."""

    policy: str
    nodes: int
    jobs: int
    jobs_started: int
    pods: int
    pods_placed: int
    pods_ended: int
    attempts_failed: int
    lasted_s: float
    waits: Waits | None  # None: no job started
    uses: tuple[Use, ...]
    stretch_s: float  # how long each stretch of a course is
    waiting: Level
    running: Level
    nodes_used: Level
    reasons: tuple[Reason, ...]
    placements: str  # a digest: equal when every pod went to the same node at the same time


def reported(replay: Replay, policy: str) -> Report:
    """Make the report of a replay that is over."""
    course = replay.course
    started = list(zip(replay.started_ms, replay.jobs, strict=True))
    waits = sorted((at - job.at_ms) / 1000 for at, job in started if at is not None)
    return Report(
        policy=policy,
        nodes=sum(isinstance(thing, Node) for thing in replay.cluster),
        jobs=len(replay.jobs),
        jobs_started=len(waits),
        pods=replay.workload.pods,
        pods_placed=replay.placed,
        pods_ended=replay.ended,
        attempts_failed=replay.attempts_failed,
        lasted_s=replay.now_ms / 1000,
        waits=_waits(waits),
        uses=tuple(
            Use(name, replay.capacity[name], _level(replay, NODES_USED + 1 + place, replay.capacity[name]))
            for place, name in enumerate(replay.resources)
        ),
        stretch_s=course.stretch_ms / 1000,
        waiting=_level(replay, WAITING),
        running=_level(replay, RUNNING),
        nodes_used=_level(replay, NODES_USED),
        reasons=replay.reasons(),
        placements=replay.digest.hexdigest()[:16],
    )


def _waits(waits: Sequence[float]) -> Waits | None:
    if not waits:
        return None

    def within(share: float) -> float:
        """Return the shortest time within which a share of the jobs started: one that a job waited, not one between."""
        return waits[max(-int(-share * len(waits) // 1), 1) - 1]

    return Waits(
        mean_s=round(sum(waits) / len(waits), 3),
        p50_s=within(0.5),
        p90_s=within(0.9),
        p95_s=within(0.95),
        p99_s=within(0.99),
        longest_s=waits[-1],
        quantiles_s=tuple(within(step / QUANTILES) for step in range(QUANTILES + 1)),
    )


def _level(replay: Replay, which: int, whole: int = 1) -> Level:
    course = replay.course
    return Level(
        average=_rounded(course.average(which) / whole),
        peak=_rounded(course.peaks[which] / whole),
        course=tuple(_rounded(average / whole) for average in course.averages(which)),
    )


def _rounded(number: float) -> float:
    return float(f"{number:.5g}")
