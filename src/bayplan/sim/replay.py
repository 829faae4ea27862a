"""The replay: jobs arrive, are placed by a core, run and end, on a clock that jumps from one event to the next.

Nothing goes wrong and nothing takes time here but what the jobs and the scheduler's own backoff take: a pod runs from
the moment at which it is bound, and a job waits until the last of its pods does.  It is over when nothing runs that
ends and nobody waits who could still be helped.
Invariant: the same cluster, jobs, profiles and seed give the same placements at the same times.
Not here: what goes wrong in a real cluster (world.py) and showing what came of it (report.py).
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Final, NamedTuple

from msgspec.structs import replace

from bayplan.api.messages import (
    AnyEffect,
    Bind,
    BindVolume,
    Ended,
    Ending,
    Event,
    Gone,
    Listed,
    PatchStatus,
    Record,
    Seen,
    SelectNode,
    Stop,
)
from bayplan.api.objects import Node, Object, Pod
from bayplan.api.requests import allocatable, fit_request
from bayplan.cluster.table import FINISHED
from bayplan.core.queue import Settings
from bayplan.core.scheduler import Core
from bayplan.core.settings import CoreSettings
from bayplan.framework.lane import ERROR
from bayplan.framework.profile import DEFAULT_SCHEDULER, Profile
from bayplan.sim.course import Course
from bayplan.sim.turned_down import Reason, TurnedDown
from bayplan.sim.workloads import Job, Workload, made

BUDGET: Final = 1 << 40  # a turn lasts until there is nothing left to do
ERRORS_MAX: Final = 10_000  # attempts that end in an error are repeated for ever: something is broken, not full
QUIET_MS: Final = 60_000  # longer than any backoff: who is not placed by then waits for what does not come
SETTINGS: Final = CoreSettings(Settings(left_over_ms=None))  # nobody is tried again without a reason
ENDS, ARRIVES = 0, 1  # at one moment, room is freed before it is asked for
WAITING, RUNNING, NODES_USED = 0, 1, 2  # the first levels of the course; resources follow
CAUSE: Final = "replay"
NO_VOLUMES: Final = "nobody binds volumes in a simulation"


class Due(NamedTuple):
    """Something that happens later."""

    at_ms: int
    what: int
    number: int  # of a pod that ends, or of a job that arrives


class Running(NamedTuple):
    """A pod on a node."""

    pod: Pod
    node: str


class Untold(Core):
    """A core without stories: nobody reads them, and they cost a sixth of the time."""

    def tell(self, uid: str, what: str, why: str = "") -> None:
        """Let it pass."""


class Replay:
    """One run of a workload."""

    def __init__(
        self, cluster: Sequence[Object], workload: Workload, profiles: Mapping[str, Profile], *, seed: int = 0
    ) -> None:
        self.workload = workload
        self.jobs = workload.jobs
        self.cluster = cluster
        self.core = Untold(_serving(profiles, workload.jobs), seed=seed, with_settings=SETTINGS)
        self.now_ms = 0
        self.capacity = _capacity(cluster)
        self.resources = [name for name in self.capacity if self.capacity[name]]
        self.course = Course(NODES_USED + 1 + len(self.resources))
        self.attempts_failed = 0
        self.started_ms: list[int | None] = [None] * len(workload.jobs)  # by job: when its last pod was bound
        self.placed = 0
        self.ended = 0
        self.faults: list[str] = []
        self.digest = sha256()
        self._turned_down = TurnedDown()
        self._errors = 0  # attempts that ended in one, but for each pod's first
        self._erring: dict[str, str] = {}  # by uid: what the last attempt said
        self._is_given_up = False
        self._missing = [len(job.moulds) for job in workload.jobs]  # by job: pods that are not placed yet
        self._job_of: list[int] = []  # by pod
        self._waiting: dict[int, Pod] = {}
        self._running: dict[int, Running] = {}
        self._on: Counter[str] = Counter()  # pods per node
        self._asked: dict[int, tuple[tuple[int, int], ...]] = {}  # by a mould's spec: level and amount
        self._due = [Due(job.at_ms, ARRIVES, number) for number, job in enumerate(workload.jobs)]
        heapq.heapify(self._due)

    # -- the clock

    def run(self) -> Iterator[Job]:
        """Let everything happen; hand out each job as it arrives."""
        self._begin()
        wake_ms, quiet_ms = None, 0
        while not self._is_given_up:
            # 1 when does something happen next?
            times = [time for time in (self._due[0].at_ms if self._due else None, wake_ms) if time is not None]
            if not times or (not self._due and min(times) > quiet_ms):
                break
            # 2 what happens then
            self.now_ms = max(self.now_ms, min(times))
            self.course.until(self.now_ms)
            events: list[Event] = []
            while self._due and self._due[0].at_ms <= self.now_ms:
                due = heapq.heappop(self._due)
                if due.what == ENDS:
                    events.append(self._end(due.number))
                else:
                    events += self._arrive(due.number)
                    yield self.jobs[due.number]
            # 3 what the scheduler makes of it
            if events or self._due:
                quiet_ms = self.now_ms + QUIET_MS
            wake_ms = self._settle(events)
        self.course.until(self.now_ms)

    def _begin(self) -> None:
        """Tell the core of the cluster, and count what runs there."""
        kinds: dict[str, list[Object]] = {}
        for thing in self.cluster:
            kinds.setdefault(type(thing).__name__, []).append(thing)
        pods = [pod for pod in kinds.pop("Pod", []) if isinstance(pod, Pod) and _runs(pod)]
        events: list[Event] = [Listed(cause=CAUSE, kind=kind, things=tuple(things)) for kind, things in kinds.items()]
        self._settle([*events, Listed(cause=CAUSE, kind="Pod", things=tuple(pods))])
        for pod in pods:
            self._count(pod, pod.spec.node_name, 1)

    def _settle(self, events: Sequence[Event]) -> int | None:
        """Take turns until the core has nothing left to do; return when it wants to be asked again."""
        while True:
            turn = self.core.turn(events, self.now_ms, BUDGET)
            if turn.fault:
                self.faults.append(f"after {self.now_ms // 1000:,} s: {turn.fault}")
            events = self._carried_out(turn.effects)
            if self._is_given_up or (not events and turn.is_idle):
                return turn.wake_at_ms

    # -- what happens

    def _arrive(self, number: int) -> Iterator[Event]:
        job = self.jobs[number]
        for place in range(len(job.moulds)):
            pod = made(job, place, _uid(len(self._job_of)))
            self._waiting[len(self._job_of)] = pod
            self._job_of.append(number)
            self.course.levels[WAITING] += 1
            yield Seen(cause=CAUSE, thing=pod)

    def _end(self, number: int) -> Event:
        pod, node = self._running.pop(number)
        self.ended += 1
        self._count(pod, node, -1)
        return Gone(cause=CAUSE, thing=pod)

    def _carried_out(self, effects: Sequence[AnyEffect]) -> list[Event]:
        """Do what the core asks for; return what it hears of that."""
        events: list[Event] = []
        for effect in effects:
            match effect:
                case Bind():
                    events += self._bind(effect)
                case Record():
                    self.attempts_failed += effect.reason == "FailedScheduling"
                    self._count_error(effect.uid)
                case PatchStatus():
                    self._turned_down.tell(_number(effect.uid), effect.message)
                    if effect.reason == ERROR:
                        self._erring[effect.uid] = effect.message
                    else:
                        self._erring.pop(effect.uid, None)
                case Stop():
                    self._give_up(effect.cause)
                case BindVolume() | SelectNode():
                    events.append(Ended(cause=CAUSE, write=effect.write, ending=Ending.REFUSED, text=NO_VOLUMES))
                case _:
                    pass
        return events

    def _bind(self, bind: Bind) -> tuple[Event, Event]:
        number = _number(bind.uid)
        waiting = self._waiting.pop(number)
        pod = replace(waiting, spec=replace(waiting.spec, node_name=bind.node))
        self._running[number] = Running(pod, bind.node)
        self._count(waiting, bind.node, 1)
        self.course.levels[WAITING] -= 1
        self.placed += 1
        self._turned_down.placed(number)
        self._erring.pop(bind.uid, None)
        self.digest.update(f"{number} {bind.node} {self.now_ms}\n".encode())
        which = self._job_of[number]
        self._missing[which] -= 1
        if not self._missing[which]:
            self.started_ms[which] = self.now_ms
        run_ms = self.jobs[which].run_ms
        if run_ms is not None:
            heapq.heappush(self._due, Due(self.now_ms + run_ms, ENDS, number))
        return Ended(cause=CAUSE, write=bind.write, ending=Ending.DONE), Seen(cause=CAUSE, thing=pod)

    def _count_error(self, uid: str) -> None:
        if uid in self._erring:
            self._errors += 1
            if self._errors > ERRORS_MAX:
                self._give_up(f"{ERRORS_MAX:,} attempts ended in an error, the last: {self._erring[uid]}")

    def _give_up(self, why: str) -> None:
        """End here: nothing that comes after would mean anything."""
        if not self._is_given_up:
            self.faults.append(f"given up after {self.now_ms // 1000:,} s: {why}")
        self._is_given_up = True

    # -- what is counted

    def reasons(self) -> tuple[Reason, ...]:
        """Return why pods were turned down, the commonest reason first."""
        return self._turned_down.reasons((number, self.core.where(_uid(number))) for number in self._waiting)

    def _count(self, pod: Pod, node: str, sign: int) -> None:
        """Count a pod on a node, or off it."""
        levels = self.course.levels
        levels[RUNNING] += sign
        self._on[node] += sign
        levels[NODES_USED] += (self._on[node] == 1) if sign > 0 else -(self._on[node] == 0)
        for which, amount in self._levels_of(pod):
            levels[which] += sign * amount

    def _levels_of(self, pod: Pod) -> tuple[tuple[int, int], ...]:
        key = id(pod.spec.containers)
        known = self._asked.get(key)
        if known is None:
            asked = fit_request(pod)
            known = tuple(
                (NODES_USED + 1 + place, asked[name]) for place, name in enumerate(self.resources) if asked.get(name)
            )
            self._asked[key] = known
        return known


def _uid(number: int) -> str:
    """Return a pod's uid: one that no API server gives."""
    return f"#{number}"


def _number(uid: str) -> int:
    return int(uid[1:])


def _runs(pod: Pod) -> bool:
    """Say whether a pod of the cluster runs there."""
    return bool(pod.spec.node_name) and pod.status.phase not in FINISHED


def _serving(profiles: Mapping[str, Profile], jobs: Sequence[Job]) -> Mapping[str, Profile]:
    """Return the profile of every schedulerName there is; who names one that is not there is served by the first."""
    first = next(iter(profiles.values()))
    specs = {id(mould.spec): mould.spec for job in jobs for mould in job.moulds}
    named = dict.fromkeys(spec.scheduler_name or DEFAULT_SCHEDULER for spec in specs.values())
    return {name: profiles.get(name, first) for name in named} or {DEFAULT_SCHEDULER: first}


def _capacity(cluster: Sequence[Object]) -> Mapping[str, int]:
    """Return how much of each resource all nodes have together."""
    total: Counter[str] = Counter()
    for thing in cluster:
        if isinstance(thing, Node):
            total.update(allocatable(thing))
    total.pop("pods", None)
    return total
