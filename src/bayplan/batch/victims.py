"""Victims: whom to make leave so that a task can start, and no more of them than needed.

A hunt is proved before anybody is told: victims leave inside a statement, with them thought of as gone the rules are
asked again, and when the whole unit has room each victim is given back whose room is not needed.  A gang gives what it
has beyond its minimum, one by one, or all of itself.  Consent to reclaim is asked of every voting plugin of every tier;
to preempt, of those of the first tier that votes and of those that only protect, wherever they stand; somebody who does
not only protect must be among them.
Invariant: whoever is evicted when a hunt ends is needed: with any of them back, the plan fails.
Not here: for whom (seeking.py), and kube-batch's way (kubebatch/).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cmp_to_key
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from bayplan.batch.choosing import Way
from bayplan.batch.tasks import CHARGED, GOING, Status
from bayplan.cluster.columns import Row

if TYPE_CHECKING:
    from bayplan.batch.jobs import Job
    from bayplan.batch.session import Session
    from bayplan.batch.tasks import Task
    from bayplan.cluster.columns import Int64s
    from bayplan.cluster.shapes import Shape

Vote: TypeAlias = Callable[..., object]  # (asker, candidates) -> who of them may be evicted
ROWS_TRIED_MAX = 64  # nodes on which room is looked for in vain


class Taken(NamedTuple):
    """Who was made to leave together, and what each was before."""

    tasks: tuple[tuple[Task, Status], ...]


class Hunt:
    """Makes room by having others leave."""

    def __init__(
        self, session: Session, method: str, may_go: Callable[[Job, Job], bool], *, inside: bool = False
    ) -> None:
        self._session = session
        self._may_go = may_go  # of the asker's job and a candidate's
        self._inside = inside  # one job: the urgency of tasks decides, and only protectors are asked
        self._voters = [one for one in _voters(session, method) if not inside or one[2]]
        self.can = inside or any(not protects for _, _, protects in self._voters)
        names = {name for name, _, protects in self._voters if not protects}
        self._is_by_queue = not inside and (method == "reclaimable" or self._follows_order(names))
        self._keeps_gangs = any(name == "gang" for name, _, _ in self._voters)
        self._jobs: dict[str, list[Job]] = {}  # by queue
        for one in session.jobs.values():
            if one.count(Status.RUNNING):
                self._jobs.setdefault(one.queue, []).append(one)
        self._samples: dict[str, list[Task]] = {}  # by job: a running task of each template
        self._held = session.held = session.held or Held(session)
        self._taken: list[Taken] = []
        self._job: Job | None = None
        self._is_social = False
        self._hopeless: set[tuple[tuple[object, ...], Shape]] = (
            set()
        )  # by who asks, what nobody can be made to leave for

    def begin(self, job: Job, *, is_social: bool) -> None:
        """Begin a statement for a job; `is_social`: other rules than room look at who is there."""
        self._job = job
        self._is_social = is_social
        self._taken.clear()

    def had_leave(self) -> set[str]:
        """Return the queues that somebody was made to leave in the last statement."""
        found = {task.job.queue for taken in self._taken for task, _ in taken.tasks if task.job is not None}
        self._taken.clear()
        return found

    # -- making room

    def make_room(self, task: Task) -> Row | None:
        """Have others leave until a task has room on some row, and return that; None: they cannot make any."""
        session, job = self._session, self._job
        if not self.can or job is None or task.charge.start.is_empty(session.slack):
            return None
        key = (self._kind(job), session.chooser.shape(task))
        if key in self._hopeless:
            return None
        givers = [queue for queue in self._jobs if self._may_give(task, job, queue)]
        if not givers:
            self._hopeless.add(key)
            return None
        for row in self._rows(task, givers):
            point, taken = session.point(), len(self._taken)
            for victim in self._candidates(row, job):
                if self._inside and victim.priority >= task.priority:
                    continue
                if victim.status is Status.RUNNING and self._make_leave(task, victim) and self._fits(task, row):
                    return row
            session.back(point)
            del self._taken[taken:]
        if not self._taken:
            self._hopeless.add(key)
        return None

    def _follows_order(self, names: set[str]) -> bool:
        """Say whether nobody can be made to leave for a job where that is so for one served before it of its kind."""
        in_order = {name for tier in self._session.votes.of_tiers("job_order") for name, _ in tier}
        return names <= {"priority", "drf"} & in_order

    def _kind(self, job: Job) -> tuple[object, ...]:
        """Return what jobs answered alike have in common; the one with the smallest share is served first."""
        return (job.queue, job.is_ready, job.priority) if self._is_by_queue else (job.uid,)

    def _may_give(self, asker: Task, job: Job, queue: str) -> bool:
        """Say whether some task of a queue may have to leave; a queue that lacks its share gives nothing to others."""
        session = self._session
        if queue != job.queue and not session.votes.is_overused(session.queues[queue]):
            return False
        if self._inside:
            return queue == job.queue
        deciding = [vote for _, vote, protects in self._voters if not protects]
        return any(
            all(vote(asker, (one,)) for vote in deciding)
            for other in self._jobs[queue]
            if self._may_go(job, other)
            for one in self._sampled(other)
        )

    def _sampled(self, job: Job) -> list[Task]:
        """Return a running task of each of a job's templates: those who name victims answer them alike."""
        found = self._samples.get(job.uid)
        if found is None or any(task.status is not Status.RUNNING for task in found):
            found = list({task.charge: task for task in job.having(Status.RUNNING).values()}.values())
            self._samples[job.uid] = found
        return found

    def _rows(self, task: Task, givers: list[str]) -> Iterator[Row]:
        """Yield the rows where enough could be made free, those that lack least first."""
        session = self._session
        room, columns = session.room, session.table.columns
        places = np.array([place for place, _ in task.charge.places], np.intp)
        need = np.array([amount for _, amount in task.charge.places], np.int64).reshape(-1, 1)  # (needs, 1)
        have = room.idle[places, : columns.rows] + room.leaving[places, : columns.rows]  # (needs, rows)
        could = have + self._held.of(givers)[places, : columns.rows]
        fits = (could >= need).all(axis=0) & columns.live[: columns.rows]  # (rows,)
        lacks = (np.maximum(need - have, 0) / need).sum(axis=0)  # (rows,)
        lacks[session.chooser.totals(task, Way.ANYWHERE) < 0] += len(need)  # who stands in the way may leave, too
        rows = np.flatnonzero(fits)
        best_first = rows[np.argsort(lacks[rows], kind="stable")]
        return (Row(row) for row in best_first[:ROWS_TRIED_MAX].tolist())

    def _candidates(self, row: Row, job: Job) -> list[Task]:
        """Return who may leave a row, the least deserving first."""
        session = self._session
        found = [
            task
            for task in session.on_row(row)
            if task.status is Status.RUNNING and task.job is not None and self._may_go(job, task.job)
        ]
        return sorted(found, key=cmp_to_key(self._less_deserving))

    def _less_deserving(self, one: Task, other: Task) -> int:
        """Compare two candidates: by queue, by job, by task, always the last first."""
        votes, queues = self._session.votes, self._session.queues
        if one.job is None or other.job is None:
            return 0
        if one.job is other.job:
            return 1 if votes.task_first(one, other) else -1
        if one.job.queue != other.job.queue:
            return 1 if votes.queue_first(queues[one.job.queue], queues[other.job.queue]) else -1
        return 1 if votes.job_first(one.job, other.job) else -1

    def _make_leave(self, asker: Task, victim: Task) -> bool:
        """Have a task leave, with its whole gang if it cannot be spared alone; False: somebody does not consent."""
        session, bundle = self._session, self._bundle(victim)
        point = session.point()
        taken = []
        for task in bundle:
            if not self._consented(asker, task):
                session.back(point)
                return False
            taken.append((task, task.status))
            self._held.leave(task)
            session.evict(task)
            if self._is_social:
                session.think_gone(task.uid)
        if taken:
            self._taken.append(Taken(tuple(taken)))
        return bool(taken)

    def _bundle(self, victim: Task) -> list[Task]:
        """Return who has to leave with a task: nobody, or its whole gang; nobody at all may, if some just got room."""
        job = victim.job
        if job is None or not self._keeps_gangs or job.ready - 1 >= job.min_available:
            return [victim]
        if self._inside:
            return []
        gang = [task for status in GOING for task in job.having(status).values()]
        charged = sum(job.count(status) for status in CHARGED) + job.count(Status.PIPELINED)
        return gang if len(gang) == charged else []

    def _consented(self, asker: Task, victim: Task) -> bool:
        return all(vote(asker, (victim,)) for _, vote, _ in self._voters)

    def _fits(self, task: Task, row: Row) -> bool:
        room = self._session.room
        if any(room.idle[place, row] + room.leaving[place, row] < amount for place, amount in task.charge.places):
            return False
        return bool(self._session.chooser.totals(task, Way.LATER)[row] >= 0)

    # -- taking no more than needed

    def spare(self) -> None:
        """Have everybody stay whose room is not needed for what the statement placed."""
        session = self._session
        for taken in reversed(self._taken):
            point = session.point()
            rows = {session.row_of(task) for task, _ in taken.tasks}
            for task, status in taken.tasks:
                session.think_back(task.uid)
                session.spare(task, status)
                self._held.stay(task)
            jobs = {task.job for task, _ in taken.tasks if task.job is not None}
            if not (all(self._is_whole(job) for job in jobs) and all(self._still_fits(row) for row in rows)):
                session.back(point)

    def _is_whole(self, job: Job) -> bool:
        return not self._keeps_gangs or job.ready >= job.min_available

    def _still_fits(self, row: Row) -> bool:
        """Say whether what was placed on a row may stay with others back."""
        session = self._session
        if bool((session.room.idle[:, row] + session.room.leaving[:, row] < 0).any()):
            return False
        for task in list(session.on_row(row)):
            if task.status in {Status.PIPELINED, Status.ALLOCATED} and task.job is self._job:
                point = session.point()
                session.lift(task)
                fits = self._fits(task, row)
                session.back(point)
                if not fits:
                    return False
        return True


def _voters(session: Session, method: str) -> list[tuple[str, Vote, bool]]:
    """Return whose consent is asked for, by name, and whether each only protects."""
    votes = session.votes
    tiers = [[(name, vote, votes.voters[name].protects) for name, vote in tier] for tier in votes.of_tiers(method)]
    first = next((tier for tier in tiers if any(not protects for _, _, protects in tier)), [])
    is_asked = method == "reclaimable"
    return [one for tier in tiers for one in tier if is_asked or tier is first or one[2]]


class Held:
    """What running tasks of each queue hold on each row: where looking for victims is worth while."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._columns: dict[str, Int64s] = {}  # by queue: (resources, rows)

    def of(self, queues: list[str]) -> Int64s:
        """Return what some queues hold together, as (resources, rows)."""
        total = np.zeros_like(self._session.room.idle)
        for name in queues:
            column = self._columns.get(name)
            if column is None:
                column = self._columns[name] = self._counted(name)
            total += column
        return total

    def _counted(self, name: str) -> Int64s:
        session = self._session
        column = np.zeros_like(session.room.idle)  # (resources, rows)
        pods = session.table.pods
        for job in session.jobs.values():
            if job.queue == name:
                for task in job.having(Status.RUNNING).values():
                    resident = pods.get(task.uid)
                    if resident is not None:
                        for place, amount in task.charge.places:
                            column[place, resident.row] += amount
        return column

    def leave(self, task: Task) -> None:
        """Count a task out, until the statement is taken back."""
        row = self._session.row_of(task)
        self._move(task, row, -1)
        self._session.note(lambda: self._move(task, row, 1))

    def stay(self, task: Task) -> None:
        """Count a task in again."""
        row = self._session.row_of(task)
        self._move(task, row, 1)
        self._session.note(lambda: self._move(task, row, -1))

    def _move(self, task: Task, row: Row, sign: int) -> None:
        column = self._columns.get(task.job.queue) if task.job is not None else None
        if column is not None:
            for place, amount in task.charge.places:
                column[place, row] += sign * amount
