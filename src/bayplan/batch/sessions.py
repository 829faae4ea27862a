"""Sessions as the core asks for them: what a batch profile's lane hears, when it is asked, and what it hands out.

A session is run as a whole; what it decided is handed out in portions, and events are folded in between: who has to
leave, then job by job, so that each job goes or does not by itself, then who waits and why.  Until a job is handed out
its tasks stay assumed on their rows.  What a session decided counts until it is known to have failed: a task that is no
longer assumed waits again, and one that nobody asks to leave any more runs on.
Invariant: between two calls of `plan` a task is binding if, and only if, the table has it assumed.
Not here: what happens in a session (session.py) and how what it decided is carried out (core).
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from bayplan.api.objects import Object, Pod, uid_of
from bayplan.batch.intake import drop, put
from bayplan.batch.lane import BatchLane, filters_of
from bayplan.batch.tasks import CHARGED, Status, status_of
from bayplan.batch.waits import Cause, waiting_text
from bayplan.framework.lane import (
    QUOTA_EXCEEDED,
    UNSCHEDULABLE,
    Eviction,
    LaneKind,
    Placement,
    Plan,
    Rejection,
    Unplaced,
)
from bayplan.framework.profile import Instance, Profile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bayplan.batch.session import Session
    from bayplan.batch.tasks import Task
    from bayplan.cluster.columns import Row
    from bayplan.framework.lane import Entity, Ground, Waiters
    from bayplan.framework.registry import Registry
    from bayplan.framework.tiers import BatchConfiguration

NAME: Final = "sessions"
NS_PER_MS: Final = 1_000_000
STEP: Final = 2  # work units of one thing that a session did
ROWS_PER_UNIT: Final = 512
TOLD_AT_ONCE: Final = 64
JUDGED_LATE: Final = ("NodeResourcesFit",)  # beside the session's own rules; it asks its own columns about room
GATES: Final = "SchedulingGates"
QUOTA: Final = frozenset({Cause.LIMIT, Cause.SHARE})


def batch_profile(given: BatchConfiguration, registry: Registry) -> Profile:
    """Return a profile whose pods are tried in sessions, for whoever makes a core."""
    rules = [*filters_of(given, registry), *_made(registry, *JUDGED_LATE)]
    points = {"preEnqueue": _made(registry, GATES), "preFilter": rules, "filter": rules}
    kind = LaneKind(NAME, lambda ground, profile: Sessions(ground, profile, given, registry), has_sessions=True)
    return Profile(given.scheduler_name, points, lane=kind)


def _made(registry: Registry, *names: str) -> list[Instance]:
    rules = ((name, registry.rule(name)) for name in names)
    return [Instance(name, rule()) for name, rule in rules if rule is not None]


class Sessions:
    """The lane of a batch profile."""

    def __init__(self, ground: Ground, profile: Profile, given: BatchConfiguration, registry: Registry) -> None:
        self.lane = BatchLane(ground.rules, given, registry)
        self._ground = ground
        self._profile = profile
        self._keeps_room = given.behaviour == "bayplan"
        self._period_ms = max(1, given.period // NS_PER_MS)
        self._next_ms = 0  # when the period is over
        self._nodes_version = -1
        self._is_stirred = True  # something came that may let somebody start
        self._outgoing: deque[Plan] = deque()  # decided, not handed out
        self._binding: set[str] = set()  # tasks that were given a node, until that is known to have held or failed
        self._leaving: set[str] = set()  # tasks that were evicted, likewise
        self._told: dict[str, str] = {}  # by task: why it waits, as it was last said

    # -- what is heard

    def put(self, thing: Object) -> None:
        """Hear of an object, new or changed."""
        if isinstance(thing, Pod):
            self._put_pod(thing)
        elif put(self.lane.jobs, thing):
            self._is_stirred = True

    def drop(self, thing: Object) -> None:
        """Hear that an object is gone; the room of a pod, or its place in a queue, is free."""
        drop(self.lane.jobs, thing)
        self._is_stirred |= not isinstance(thing, Pod) or bool(thing.spec.node_name)
        if isinstance(thing, Pod):
            self._told.pop(uid_of(thing), None)

    def _put_pod(self, pod: Pod) -> None:
        """Take over a pod; what was decided about it holds until it is known to have failed."""
        jobs, table, uid = self.lane.jobs, self._ground.table, uid_of(pod)
        known = jobs.tasks.get(uid)
        before = None if known is None else known.status
        if pod.spec.scheduling_gates and not pod.spec.node_name:
            jobs.drop_pod(uid)  # its gang does without it until it may go
            return
        task = jobs.put_pod(pod)
        if task is None or task.job is None:
            return
        if task.status is Status.PENDING:
            if table.is_assumed(uid):
                task.job.move(task, Status.BINDING)
                self._binding.add(uid)
            elif before is not Status.PENDING:
                self._is_stirred |= task.job.valid >= task.job.min_available
            return
        self._told.pop(uid, None)
        if uid in self._ground.evicting:
            task.job.move(task, Status.RELEASING)
        resident = table.pods.get(uid)
        if resident is not None and (task.status is Status.RELEASING) != (before is Status.RELEASING):
            table.row_log.append(resident.row)  # its room is counted another way
        self._is_stirred |= before in CHARGED and task.status not in CHARGED

    # -- when it is asked

    def next_ms(self) -> int | None:
        """Return at once when something came that may let somebody start, else the end of the period; None: no news."""
        if self._is_stirred or self._nodes_version != self._ground.table.nodes_version:
            return 0
        return self._next_ms if self.lane.is_news else None

    def plan(self, first: Entity | None, waiting: Waiters, now_ms: int, budget: int) -> Plan:
        """Run a session, or hand out more of what the last one decided."""
        spent = 0
        if not self._outgoing:
            self._nodes_version, self._is_stirred = self._ground.table.nodes_version, False
            self._next_ms = now_ms + self._period_ms
            spent = self._run()
        portion = self._outgoing.popleft()
        return portion._replace(spent=spent + portion.spent, is_done=not self._outgoing)

    def _run(self) -> int:
        """Run a session and put down what it decided, in portions; return what it cost."""
        self._settled()
        verdicts: list[Unplaced] = []
        session = self.lane.run(lambda session: verdicts.extend(self._verdicts(session)))
        if session is None:
            self._outgoing.append(Plan(1))
            return 0
        self._keep_room(session)
        evictions = list(_evictions(session))
        self._leaving.update(eviction.uid for eviction in evictions)
        self._outgoing.append(Plan(1 + STEP * len(evictions), evictions=evictions))
        for placements in _by_job(session):
            for placement in placements:
                self._binding.add(placement.uid)
                self._told.pop(placement.uid, None)
            self._outgoing.append(Plan(STEP * len(placements), placements))
        for start in range(0, len(verdicts), TOLD_AT_ONCE):
            told = verdicts[start : start + TOLD_AT_ONCE]
            self._outgoing.append(Plan(STEP * len(told), verdicts=told))
        return STEP * len(session.steps) + len(session.jobs) + self._ground.table.columns.rows // ROWS_PER_UNIT

    # -- what became of what was decided

    def _settled(self) -> None:
        """Have those wait again whose binding failed, and those run on whose eviction did."""
        table, tasks = self._ground.table, self.lane.jobs.tasks
        for uid in sorted(self._binding):
            task = tasks.get(uid)
            if task is not None and task.status is Status.BINDING and table.is_assumed(uid):
                continue
            self._binding.discard(uid)
            if task is not None and task.status is Status.BINDING:
                self._back(task, Status.PENDING)
        for uid in sorted(self._leaving):
            task = tasks.get(uid)
            if task is not None and task.status is Status.RELEASING and uid in self._ground.evicting:
                continue
            self._leaving.discard(uid)
            if task is not None and task.status is Status.RELEASING:
                self._back(task, status_of(task.pod))

    def _back(self, task: Task, status: Status) -> None:
        """Give a task back the status that its pod has."""
        if task.job is None or status is task.status:
            return
        task.job.move(task, status)
        task.row = None
        self._told.pop(task.uid, None)
        self.lane.jobs.version += 1
        resident = self._ground.table.pods.get(task.uid)
        if resident is not None:
            self._ground.table.row_log.append(resident.row)  # its room is counted another way

    # -- what is handed out

    def _verdicts(self, session: Session) -> Iterator[Unplaced]:
        """Yield why each task waits that was not told just this; those of a job that have no room wait alike."""
        for job in self.lane.jobs.jobs.values():
            alike = ""
            for status in _WAIT:
                for uid, task in job.having(status).items():
                    if status is Status.PENDING:
                        message = alike = alike or waiting_text(session, task)
                    else:
                        message = waiting_text(session, task)
                    if self._told.get(uid) != message:
                        self._told[uid] = message
                        yield Unplaced(uid, _rejection(session, task, message), self._promised(session, task))

    def _promised(self, session: Session, task: Task) -> Row | None:
        """Return the row where room is kept for a task until others have left."""
        return session.row_of(task) if task.status is not Status.PENDING and self._keeps_room else None

    def _keep_room(self, session: Session) -> None:
        """Have who was promised room be thought of as there by those who are tried otherwise."""
        table = self._ground.table
        for uid, name in session.promises.items() if self._keeps_room else ():
            if uid not in table.nominations and name in table.row_of:
                table.nominate(session.tasks[uid].pod, table.row_of[name])


_WAIT: Final = (Status.PENDING, Status.PIPELINED, Status.ALLOCATED)


def _rejection(session: Session, task: Task, message: str) -> Rejection:
    wait = None if task.job is None else session.waits.get(task.job.uid)
    is_quota = wait is not None and wait.cause in QUOTA
    by = frozenset({NAME if wait is None else str(wait.cause)})
    return Rejection(QUOTA_EXCEEDED if is_quota else UNSCHEDULABLE, message, by)


def _by_job(session: Session) -> list[list[Placement]]:
    """Return what a session bound, job by job."""
    found: dict[str, list[Placement]] = {}
    for step in session.steps:
        if step.verb is Status.BINDING and step.task.job is not None:
            found.setdefault(step.task.job.uid, []).append(Placement(step.task.uid, step.row, (), ()))
    return list(found.values())


def _evictions(session: Session) -> Iterator[Eviction]:
    """Yield whom a session evicted, and for whom: who is to have room there."""
    heirs = {step.row: step.task for step in session.steps if step.verb is Status.PIPELINED}
    for step in session.steps:
        if step.verb is Status.RELEASING:
            heir = heirs.get(step.row)
            why = f"{step.action} for {heir.key}" if heir is not None else step.action
            yield Eviction(step.task.uid, "" if heir is None else heir.uid, why)
