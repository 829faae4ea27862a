"""The scheduler's core: events in, effects out, one bounded turn after another.

A turn takes steps until its budget of work units is spent or nothing is left to do: first a job that was begun (a list
taken in, a table built anew, who is woken), then events, then what is due, then attempts.  An exception of our own ends
the turn: its step's effects are dropped, a new table is built from the objects that are known, in steps like any other,
and whoever was being tried backs off.
Invariant: the same events, times and budgets give the same effects, byte for byte.
Not here: what an event does (intake.py), trying (pod_lane.py), and the way to a node (binding.py).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from bayplan.api.messages import AnyEffect, Ask, Effect, Event, Listed, Nominate, PatchStatus, Record, Stop, who
from bayplan.api.objects import Pod
from bayplan.cluster.claims import Reservation
from bayplan.cluster.shapes import VOLUMES
from bayplan.cluster.table import Table
from bayplan.cluster.view import View
from bayplan.core import settings
from bayplan.core.binding import ERROR, UNSCHEDULABLE, Binding, Stage
from bayplan.core.intake import Intake
from bayplan.core.known import Known
from bayplan.core.pod_lane import PodLane
from bayplan.core.points import sorting
from bayplan.core.queue import Queue
from bayplan.core.rebuild import rebuilt
from bayplan.core.settings import CoreSettings
from bayplan.core.stories import Line, Stories
from bayplan.core.waiting import Attempt, Group, Held, Rejection, Result, Waiting
from bayplan.framework.guard import Guard, PluginFault, raised
from bayplan.framework.plugin import Change
from bayplan.framework.profile import Profile
from bayplan.framework.verdict import NO_NODES, Verdict

Job = Iterator[int]
"""Steps of something that takes several: what each cost."""

USUAL = CoreSettings()
CAUSE = "attempt {}"


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """The record of a turn."""

    number: int
    now_ms: int
    budget: int
    spent: int
    effects: tuple[AnyEffect, ...]
    is_idle: bool  # nothing is left to do before something happens or the time comes
    wake_at_ms: int | None  # when that is
    fault: str = ""  # an exception of our own that ended it
    notes: tuple[str, ...] = ()  # what a list differed in, what was set aside
    over: tuple[Attempt, ...] = ()  # attempts that ended


class Core:
    """A scheduler: what it knows, what waits, what is on its way."""

    def __init__(self, profiles: Mapping[str, Profile], *, seed: int = 0, with_settings: CoreSettings = USUAL) -> None:
        self.profiles = dict(profiles)
        self.table = Table()
        self.known = Known()
        self.stories = Stories(with_settings.story_bytes_max)
        self.lane = PodLane(self.table, self.profiles, seed=seed)
        first = next(iter(self.profiles.values()))
        self.queue = Queue(sorting(first), self._held, self._tell_place, with_settings.queue)
        self.binding = Binding(self.table, [])
        self.intake = Intake(self)
        self.now_ms = 0
        self.turns = 0
        self.may_try = True  # False: what happens is taken in, and nobody is tried: others lead, or it is to end
        self.has_permits = any(self.binding.around(profile).permitting for profile in self.profiles.values())
        self.out: list[Effect] = self.binding.out
        self.notes: list[str] = []
        self._inbox: deque[Event] = deque()
        self._jobs: deque[tuple[Job, Event | None]] = deque()
        self._trying: Waiting | None = None
        self._faults: deque[int] = deque()
        self._no_node: dict[tuple[int, int], tuple[tuple[int, ...], Rejection]] = {}  # by profile and shape

    # -- a turn

    def turn(self, events: Sequence[Event], now_ms: int, budget: int) -> Turn:
        """Take in events and work until the budget is spent; return what is to be done and when to come back."""
        self.turns += 1
        self.now_ms = max(self.now_ms, now_ms)
        self.out.clear()
        self.notes.clear()
        self.binding.over.clear()
        self._inbox.extend(events)
        spent, fault, stop = 0, "", False
        while spent < budget:
            mark = len(self.out)
            try:
                cost = self._step()
            except Exception as error:  # noqa: BLE001 - whatever it is, it ends the turn and not the process
                unsent = self.out[mark:]
                del self.out[mark:]
                fault, stop = raised(error), self._recover(unsent)
                break
            if not cost:
                break
            spent += cost
        effects: tuple[AnyEffect, ...] = tuple(self.out)
        if stop:
            effects += (Stop(cause=f"{settings.FAULTS_MAX} exceptions within a minute, the last: {fault}"),)
        return Turn(
            number=self.turns,
            now_ms=self.now_ms,
            budget=budget,
            spent=spent,
            effects=effects,
            is_idle=not self._has_work(),
            wake_at_ms=self._next_ms(),
            fault=fault,
            notes=tuple(self.notes),
            over=tuple(self.binding.over),
        )

    def _step(self) -> int:
        """Do the next thing and return what it cost; 0: there is nothing to do."""
        if self._jobs:
            cost = next(self._jobs[0][0], 0)
            if not cost:
                self._jobs.popleft()
            return cost or 1
        if self._inbox:
            event = self._inbox.popleft()
            job = self.intake.take(event)
            if job is not None:
                self._jobs.append((job, event))
            return settings.EVENT
        if self.intake.has_changes:
            self._jobs.append((self.intake.waking(), None))
            return 1
        moved = self.queue.tick(self.now_ms) + self._advance_all()
        return moved or (self._attempt() if self.may_try else 0)

    def _has_work(self) -> bool:
        return bool(
            self._jobs
            or self._inbox
            or self.intake.has_changes
            or self.intake.is_stirred
            or (self.may_try and self.queue.has_next())
        )

    def _next_ms(self) -> int | None:
        times = (self.queue.next_ms(self.now_ms), self.binding.next_ms())
        return min((time for time in times if time is not None), default=None)

    # -- 1 those on their way

    def _advance_all(self) -> int:
        due = self.binding.next_ms()
        if not self.intake.is_stirred and (due is None or due > self.now_ms):
            return 0
        self.intake.is_stirred = False
        slow = list(self.binding.slow.values())
        for flight in slow:
            self._trying = flight.waiting
            self.advance(flight.waiting)
            self._trying = None
        return len(slow)

    def advance(self, waiting: Waiting) -> None:
        """Let a pod on its way go on as far as it can."""
        flight = self.binding.flights.get(waiting.uid)
        if flight is None:
            return
        rejection = self.binding.advance(flight, self.now_ms)
        if rejection is not None:
            self.fail(waiting, rejection)
        elif flight.stage is not Stage.PERMIT:
            self.queue.done(waiting.uid)  # from here on a failure is an error

    # -- 2 trying

    def _attempt(self) -> int:
        waiting = self.queue.pop()
        if waiting is None:
            return 0
        self._trying = waiting
        waiting.began_ms = self.now_ms
        cost = settings.ATTEMPT
        pod = waiting.pod
        if pod.metadata.deletion_timestamp is not None:
            self.queue.remove(waiting.uid)
            self._record(
                pod,
                "Warning",
                "FailedScheduling",
                f"skip schedule deleting pod: {pod.key}",
                CAUSE.format(waiting.attempts),
            )
        else:
            cost += self._try(waiting)
        self._trying = None
        return cost

    def _try(self, waiting: Waiting) -> int:
        """Take a pod to a node, or say why there is none."""
        pod, profile = waiting.pod, waiting.profile
        shape = self.lane.reader.shape(pod)
        key, stamp = (id(profile), id(shape)), self._stamp()
        known = self._no_node.get(key)
        if known is not None and known[0] == stamp and not pod.status.nominated_node_name:
            self.fail(waiting, known[1])  # its like was just told so, and nothing has changed
            return 0
        verdict = self.lane.rules.ask(pod, profile)
        if verdict.row is None:
            rejection = self._no_row(verdict)._replace(shape=shape)
            if not self.table.nominated_on and not pod.status.nominated_node_name and rejection.by:
                self._no_node[key] = (stamp, rejection)
            self.fail(waiting, rejection)
        else:
            reservations = tuple(one for one in verdict.reservations() if isinstance(one, Reservation))
            rejected = self.binding.start(waiting, verdict.row, reservations, self.now_ms)
            self._no_node.clear()
            if rejected is not None:
                self.fail(waiting, rejected)
            else:
                self.tell(waiting.uid, f"reserved {self.binding.flights[waiting.uid].node}")
                self.advance(waiting)
                self.intake.is_stirred |= self.has_permits
        return self.table.columns.rows // settings.ROWS_PER_UNIT

    def _stamp(self) -> tuple[int, ...]:
        """Return what rises whenever an answer may be another."""
        table = self.table
        books = table.volumes
        return (table.ticks.value, table.row_log.position, books.changes, books.version, len(table.nominations))

    def _no_row(self, verdict: Verdict) -> Rejection:
        message = verdict.message or ""
        if verdict.error is not None:
            return Rejection(ERROR, message)
        by = frozenset[str]() if message == NO_NODES else verdict.evaluation.rejectors() - {""}
        return Rejection(UNSCHEDULABLE, message, by)

    # -- 3 failing

    def fail(self, waiting: Waiting, rejection: Rejection) -> None:
        """Take back what was done for a pod, and have it wait; tell the world."""
        flight = self.binding.undo(waiting.uid)
        self.binding.over.append(waiting.over(Result.ERROR if rejection.reason == ERROR else Result.UNSCHEDULABLE))
        pod = waiting.pod
        if rejection.shape is None:
            rejection = rejection._replace(shape=self.lane.reader.shape(pod))
        if self.queue.all.get(waiting.uid) is waiting:
            self.queue.back(waiting, rejection, self.now_ms)
        self.lane.reader.forget(waiting.uid)
        if flight is not None:
            self.intake.note(frozenset({Change.POD_GONE}), flight.node)
        cause = CAUSE.format(waiting.attempts)
        if pod.status.nominated_node_name:
            self.intake.note(frozenset({Change.POD_GONE}), pod.status.nominated_node_name)
            self.table.drop_nomination(waiting.uid)
            self.out.append(Nominate(**who(pod, cause), node=""))
        self._record(pod, "Warning", "FailedScheduling", rejection.message, cause)
        if waiting.told != (rejection.reason, rejection.message):
            waiting.told = (rejection.reason, rejection.message)
            self.out.append(PatchStatus(**who(pod, cause), reason=rejection.reason, message=rejection.message))

    def _record(self, pod: Pod, kind: str, reason: str, note: str, cause: str) -> None:
        text = note.encode()
        if len(text) > settings.NOTE_BYTES_MAX:
            note = text[: settings.NOTE_BYTES_MAX - 4].decode(errors="ignore") + " ..."
        self.out.append(Record(**who(pod, cause), type=kind, reason=reason, action="Scheduling", note=note))

    # -- 4 exceptions of our own

    def _recover(self, unsent: list[Effect]) -> bool:
        """Begin to build a new table; say whether there have been too many exceptions."""
        failed = [] if self._trying is None else [self._trying]
        asks = [effect.write for effect in unsent if isinstance(effect, Ask)]  # what they are about may be bound
        flights = (self.binding.flight_of(effect.write) for effect in unsent if not isinstance(effect, Ask))
        failed += [flight.waiting for flight in flights if flight is not None and flight.waiting not in failed]
        self._trying = None
        lists = [event for _, event in self._jobs if isinstance(event, Listed)]
        self._jobs.clear()
        self._inbox.extendleft(reversed(lists))
        self._jobs.append((rebuilt(self, failed, asks), None))
        self._faults.append(self.now_ms)
        while self._faults[0] <= self.now_ms - settings.FAULTS_WITHIN_MS:
            self._faults.popleft()
        return len(self._faults) >= settings.FAULTS_MAX

    def shape_stamp(self, group: Group) -> tuple[int, int]:
        """Return what rises when the shapes of some pods that wait may be others."""
        table = self.table
        has_volumes = group.shape is None or group.shape.part(VOLUMES) is not None
        return (table.meanings.value + table.avoided.version, table.volumes.version if has_volumes else 0)

    def adopt(self, table: Table) -> None:
        """Go on with a table that was built anew."""
        self.table = table
        self.lane = PodLane(table, self.profiles, seed=self.lane.rules.start)
        self._no_node.clear()

    # -- what the queue asks, and what is told of it

    def _held(self, waiting: Waiting) -> Held | None:
        guard = Guard(waiting.pod)
        for instance in waiting.profile.pre_enqueue:
            try:
                outcome = guard.pre_enqueue(instance, View(self.table))
            except PluginFault as fault:
                return Held(instance.name, str(fault))
            if outcome is not None:
                return Held(instance.name, ", ".join(outcome.texts))
        return None

    def _tell_place(self, uid: str, what: str, why: str) -> None:
        self.tell(uid, what, why)

    def tell(self, uid: str, what: str, why: str = "") -> None:
        """Add a line to a pod's story."""
        cause = self.intake.cause or (f"attempt {self._trying.attempts}" if self._trying is not None else "time passed")
        self.stories.tell(uid, Line(self.now_ms, self.turns, cause, what, why))

    def profile_of(self, pod: Pod) -> Profile | None:
        """Return the profile that serves a pod, if any does."""
        return self.profiles.get(pod.spec.scheduler_name or "default-scheduler")

    def where(self, uid: str) -> str:
        """Say where a pod is and why."""
        flight = self.binding.flights.get(uid)
        if flight is not None:
            return f"on its way to {flight.node}: {flight.stage}"
        return self.queue.where(uid) or "not in the queue"
