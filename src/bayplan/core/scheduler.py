"""The scheduler's core: events in, effects out, one bounded turn after another.

A turn takes steps until its budget of work units is spent or nothing is left to do: first a job that was begun (a list
taken in, a table built anew, who is woken), then events, then what is due, then attempts.  An exception of our own ends
the turn: its step's effects are dropped, a new table is built from the objects that are known, in steps like any other,
and whoever was being tried backs off.
Invariant: the same events, times and budgets give the same effects, byte for byte.
Not here: what an event does (intake.py), deciding (a lane), and what is done about it (settling.py, binding.py).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from bayplan.api.messages import (
    AnyEffect,
    Ask,
    Effect,
    Event,
    Gone,
    Listed,
    Nominate,
    PatchStatus,
    Record,
    Seen,
    Stop,
    who,
)
from bayplan.api.objects import Pod
from bayplan.cluster.columns import Row
from bayplan.cluster.shapes import VOLUMES
from bayplan.cluster.table import Table
from bayplan.cluster.view import View
from bayplan.core import settings
from bayplan.core.binding import Binding, Stage
from bayplan.core.intake import Intake, cost_of
from bayplan.core.known import Known
from bayplan.core.pod_lane import PodLane
from bayplan.core.points import sorting
from bayplan.core.queue import Queue
from bayplan.core.rebuild import rebuilt
from bayplan.core.settings import CoreSettings
from bayplan.core.settling import Late, Settling
from bayplan.core.stories import Line, Stories
from bayplan.core.waiting import Attempt, Group, Held, Result, Waiting
from bayplan.framework.guard import Guard, PluginFault, raised
from bayplan.framework.lane import ERROR, Hearing, Lane, Rejection, Unplaced
from bayplan.framework.plugin import Change
from bayplan.framework.profile import Profile

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


class Paused(NamedTuple):
    """A lane that has more to plan, and the pod that was handed to it."""

    lane: Lane
    first: Waiting | None


class Core:
    """A scheduler: what it knows, what waits, what is on its way."""

    def __init__(self, profiles: Mapping[str, Profile], *, seed: int = 0, with_settings: CoreSettings = USUAL) -> None:
        self.profiles = dict(profiles)
        self.table = Table()
        self.known = Known()
        self.stories = Stories(with_settings.story_bytes_max)
        self.lane = PodLane(self.table, self.profiles, seed=seed)
        self.settling = Settling(self)
        self._lanes: dict[int, Lane] = {}  # by profile: those that are not the pod lane
        self._with_sessions: list[Lane] = []
        self.hearing: list[Hearing] = []  # lanes that keep something of what is heard
        self._make_lanes()
        first = next(iter(self.profiles.values()))
        self.queue = Queue(sorting(first), self._held, self._tell_place, with_settings.queue)
        self.queue.stamp = self.shape_stamp
        self.binding = Binding(self.table, [])
        self.intake = Intake(self)
        self.now_ms = 0
        self.turns = 0
        self.may_try = True  # False: what happens is taken in, and nobody is tried: others lead, or it is to end
        self.out: list[Effect] = self.binding.out
        self.notes: list[str] = []
        self._inbox: deque[Event] = deque()
        self._jobs: deque[tuple[Job, Event | None]] = deque()
        self.trying: Waiting | None = None
        self._paused: Paused | None = None  # a lane that has begun and is to go on
        self._was_paused = False  # and has just had its turn
        self._late: deque[Late] = deque()  # decided over several turns, to be looked at again
        self._left = 0  # of the turn's budget
        self._faults: deque[int] = deque()

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
            self._left = budget - spent
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
        if self._paused is not None and self.table.has_trial:
            return self._go_on(self._paused)  # nothing else may touch the table
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
            return cost_of(event.thing) if isinstance(event, Seen | Gone) else settings.EVENT
        if self._late:
            self.settling.settle_late(self._late.popleft())
            return settings.ATTEMPT
        if self.intake.has_changes:
            self._jobs.append((self.intake.waking(), None))
            return 1
        moved = self.queue.tick(self.now_ms) + self._advance_next()
        return moved or (self._plan() if self.may_try else 0)

    def _has_work(self) -> bool:
        return bool(
            self._jobs
            or self._inbox
            or self._late
            or self.intake.has_changes
            or self.binding.slow.has_due(self.now_ms)
            or (self.may_try and (self._paused or self.queue.has_next() or self._due()))
        )

    def _next_ms(self) -> int | None:
        times = [self.queue.next_ms(self.now_ms), self.binding.slow.next_ms()]
        times += [lane.next_ms() for lane in self._with_sessions] if self.may_try else []
        return min((time for time in times if time is not None), default=None)

    # -- 1 those on their way

    def _advance_next(self) -> int:
        """Let one of those who wait on their way go on, if anything happened that concerns it."""
        if not self.binding.slow.has_due(self.now_ms):
            return 0
        flight = self.binding.slow.take(self.now_ms)
        if flight is not None:
            self.trying = flight.waiting
            self.advance(flight.waiting)
            self.trying = None
        return settings.ADVANCED

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

    def _plan(self) -> int:
        """Have a lane go on, or begin with whoever is next; return what it cost, 0: nobody is."""
        due = None if self._paused is not None else self._due()
        if self._paused is not None and (self._paused.first is not None or not self._was_paused):
            self._was_paused = True  # so that others have their turn when it pauses again
            return self._go_on(self._paused)
        self._was_paused = False
        if due is not None:
            return self._go_on(due)
        waiting = self.queue.pop()
        if waiting is None:
            return 0 if self._paused is None else self._go_on(self._paused)
        self.trying = waiting
        waiting.began_ms = self.now_ms
        pod = waiting.pod
        if pod.metadata.deletion_timestamp is None:
            return self._go_on(Paused(self._lane_of(waiting.profile), waiting), beside=self._paused)
        self.queue.remove(waiting.uid)
        note = f"skip schedule deleting pod: {pod.key}"
        self._record(pod, "Warning", "FailedScheduling", note, CAUSE.format(waiting.attempts))
        self.trying = None
        return settings.ATTEMPT

    def _go_on(self, paused: Paused, beside: Paused | None = None) -> int:
        """Have a lane plan until it is done or pauses; then its plan is carried out."""
        first = paused.first
        if first is not None and self.queue.all.get(first.uid) is not first:
            first = None  # it is gone
        self.trying = first
        plan = paused.lane.plan(first, self.queue, self.now_ms, max(1, self._left))
        is_fresh = paused is not self._paused
        self._paused = beside if plan.is_done else paused
        if is_fresh or not plan.placements:
            self.settling.settle(plan if self.may_try else self.settling.taken_back(plan))
        else:
            self._late.append(Late(plan, self.table.row_log.position))
        self.trying = None
        return max(1, plan.spent)

    def _due(self) -> Paused | None:
        """Return a lane whose time has come."""
        for lane in self._with_sessions:
            at_ms = lane.next_ms()
            if at_ms is not None and at_ms <= self.now_ms:
                return Paused(lane, None)
        return None

    def _lane_of(self, profile: Profile) -> Lane:
        return self._lanes.get(id(profile), self.lane)

    # -- 3 failing

    def fail(self, waiting: Waiting, rejection: Rejection, unplaced: Unplaced | None = None) -> None:
        """Take back what was done for a pod, and have it wait, nominated or not; tell the world."""
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
        if unplaced is None or not unplaced.keeps:
            self._nominate(waiting, unplaced.nominated if unplaced is not None else None, cause)
        self._record(pod, "Warning", "FailedScheduling", rejection.message, cause)
        if not waiting.was_told(rejection):
            waiting.told_reason, waiting.told_message = rejection.reason, rejection.message
            self.out.append(PatchStatus(**who(pod, cause), reason=rejection.reason, message=rejection.message))

    def _nominate(self, waiting: Waiting, row: Row | None, cause: str) -> None:
        """Have room kept for a pod on a row, and nowhere else."""
        pod, before = waiting.pod, waiting.nominated_to
        node = None if row is None else self.table.nodes[row]
        name = "" if node is None else node.metadata.name
        if name == before:
            return
        waiting.nominated = name
        if before:
            self.intake.note(frozenset({Change.POD_GONE}), before)
            self.table.drop_nomination(waiting.uid)
        if row is not None:
            self.table.nominate(pod, row)
        self.out.append(Nominate(**who(pod, cause), node=name))

    def _record(self, pod: Pod, kind: str, reason: str, note: str, cause: str) -> None:
        text = note.encode()
        if len(text) > settings.NOTE_BYTES_MAX:
            note = text[: settings.NOTE_BYTES_MAX - 4].decode(errors="ignore") + " ..."
        self.out.append(Record(**who(pod, cause), type=kind, reason=reason, action="Scheduling", note=note))

    # -- 4 exceptions of our own

    def _recover(self, unsent: list[Effect]) -> bool:
        """Begin to build a new table; say whether there have been too many exceptions."""
        failed = [] if self.trying is None else [self.trying]
        if self._paused is not None and self._paused.first is not None:
            failed += [one for one in [self._paused.first] if one not in failed]
        self._paused = None
        self._late.clear()
        self.settling.unsend(unsent)
        asks = [effect.write for effect in unsent if isinstance(effect, Ask)]  # what they are about may be bound
        flights = (self.binding.flight_of(effect.write) for effect in unsent if not isinstance(effect, Ask))
        failed += [flight.waiting for flight in flights if flight is not None and flight.waiting not in failed]
        self.trying = None
        lists = [event for _, event in self._jobs if isinstance(event, Listed)]
        self._jobs.clear()
        self._inbox.extendleft(reversed(lists))
        self._jobs.append((rebuilt(self, failed, asks), None))
        self._faults.append(self.now_ms)
        while self._faults[0] <= self.now_ms - settings.FAULTS_WITHIN_MS:
            self._faults.popleft()
        return len(self._faults) >= settings.FAULTS_MAX

    def shape_stamp(self, group: Group | None) -> tuple[int, int]:
        """Return what rises when the shapes of some pods that wait, or of any, may be others."""
        table = self.table
        has_volumes = group is None or group.shape is None or group.shape.part(VOLUMES) is not None
        return (table.meanings.value + table.avoided.version, table.volumes.version if has_volumes else 0)

    def adopt(self, table: Table) -> None:
        """Go on with a table that was built anew."""
        self.table = table
        self.lane = PodLane(table, self.profiles, seed=self.lane.rules.start)
        self.queue.forget_memos()
        self.intake.forget_reading()
        self._make_lanes()

    def _make_lanes(self) -> None:
        """Make the lanes that profiles name, on the table as it is now."""
        ground = self.lane.ground(self.settling.evicting)
        self._lanes.clear()
        self._with_sessions.clear()
        self.hearing.clear()
        for profile in self.profiles.values():
            if profile.lane is not None:
                lane = self._lanes[id(profile)] = profile.lane.make(ground, profile)
                self._with_sessions += [lane] if profile.lane.has_sessions else []
                self.hearing += [lane] if isinstance(lane, Hearing) else []

    # -- what the queue asks, and what is told of it

    def _held(self, waiting: Waiting) -> Held | None:
        guard, view = Guard(waiting.pod), View(self.table)
        for instance in waiting.profile.pre_enqueue:
            try:
                outcome = guard.pre_enqueue(instance, view)
            except PluginFault as fault:
                return Held(instance.name, str(fault))
            if outcome is not None:
                return Held(instance.name, ", ".join(outcome.texts))
        return None

    def _tell_place(self, uid: str, what: str, why: str) -> None:
        self.tell(uid, what, why)

    def tell(self, uid: str, what: str, why: str = "") -> None:
        """Add a line to a pod's story."""
        cause = self.intake.cause or (f"attempt {self.trying.attempts}" if self.trying is not None else "time passed")
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
