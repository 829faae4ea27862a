"""Seeking: find room for the next unit of a job: what it must have to start, or one task more once it has started.

Idle room is tried first, then what is being released, then, for whoever may evict, what others can be made to leave.
A unit is found room for as a whole, in a statement, or not at all; so no gang holds part of what it needs.
Invariant: after a search that found nothing, everything is as it was.
Not here: who is served next (actions/) and who may be a victim (victims.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayplan.batch.amounts import Amount
from bayplan.batch.choosing import Way
from bayplan.batch.tasks import Status
from bayplan.batch.waits import Cause, Wait

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Sequence

    from bayplan.batch.jobs import Job
    from bayplan.batch.session import Session
    from bayplan.batch.tasks import Kin, Task
    from bayplan.batch.victims import Hunt
    from bayplan.cluster.columns import Row


class Seeker:
    """Finds room for jobs of a session."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._limits = {name: Amount.of(queue.capability) for name, queue in session.queues.items() if queue.capability}
        self._taken = {name: Amount() for name in self._limits}
        for job in session.jobs.values():
            if job.queue in self._taken:
                taken = self._taken[job.queue].add(job.held)
                for status in (Status.RELEASING, Status.PIPELINED):
                    for task in job.having(status).values():
                        taken.add(task.charge.request)

    def start(self, job: Job, tasks: deque[Task], hunt: Hunt | None = None, *, may_grow: bool = True) -> bool:
        """Find room for a job's next unit among its waiting tasks; say whether there was some.

        Who found none is left out of `tasks`: nothing is freed while they are served.
        """
        if missing(job) > 1:
            found = (may_grow and self._gang_now(job, list(tasks))) or self._later(job, list(tasks), hunt)
            waiting = [task for task in tasks if found and task.status is Status.PENDING]
            tasks.clear()
            tasks.extend(waiting)
            return found
        in_vain: set[Kin] = set()  # nothing changed since one like it found no room
        while tasks:
            task = tasks.popleft()
            if task.kin in in_vain:
                continue
            in_vain.add(task.kin)
            if (may_grow and self._one_now(job, task)) or self._later(job, [task], hunt):
                return True
        return False

    def replace(self, job: Job, task: Task, hunt: Hunt) -> bool:
        """Find room for one more task of a job that has started, at the cost of others of it."""
        return self._later(job, [task], hunt)

    # -- 0 what was promised

    def redeem(self, job: Job, promised: Sequence[tuple[Task, Row]]) -> bool:
        """Give a job's tasks the room that was made for them, if it is theirs still; else they wait like others."""
        session, votes = self.session, self.session.votes
        with session.statement() as statement:
            begun = self._counts()
            if any(session.chooser.is_social(task) for task, _ in promised):
                session.clear_the_way()
            for task, row in promised:
                if self._is_allowed(job, task) and session.chooser.totals(task, Way.LATER)[row] >= 0:
                    self._seat_on(task, row)
            if job.count(Status.PIPELINED) + job.count(Status.ALLOCATED) and votes.is_pipelined(job):
                statement.keep()
            else:
                self._taken = begun
        if statement.is_kept and votes.is_ready(job):
            session.dispatch(job)
        return statement.is_kept

    # -- 1 idle room

    def _one_now(self, job: Job, task: Task) -> bool:
        if not self._seat_now(job, task):
            return False
        if self.session.votes.is_ready(job):
            self.session.dispatch(job)
            return True
        self.session.unseat(task)
        self._count(task, -1)
        return False

    def _gang_now(self, job: Job, tasks: Sequence[Task]) -> bool:
        session = self.session
        with session.statement() as statement:
            begun = self._counts()
            for left, task in zip(range(len(tasks), 0, -1), tasks, strict=True):
                if left < missing(job):
                    break
                if self._seat_now(job, task) and session.votes.is_ready(job):
                    statement.keep()
                    break
            if not statement.is_kept:
                self._taken = begun
        if statement.is_kept:
            session.dispatch(job)
        return statement.is_kept

    def _seat_now(self, job: Job, task: Task) -> bool:
        if not self._is_allowed(job, task):
            return False
        row = self.session.chooser.best(task, Way.NOW)
        if row is None:
            self._note_room(job, task)
            return False
        self.session.seat(task, row, Status.ALLOCATED)
        self._count(task, 1)
        return True

    # -- 2 what is being released, and what others can be made to leave

    def _later(self, job: Job, tasks: Sequence[Task], hunt: Hunt | None) -> bool:
        session = self.session
        if hunt is None and not session.room.is_anything_leaving:
            return False
        with session.statement() as statement:
            begun = self._counts()
            is_social = any(session.chooser.is_social(task) for task in {task.kin: task for task in tasks}.values())
            if is_social:
                session.clear_the_way()
            if hunt is not None:
                hunt.begin(job, is_social=is_social)
            for left, task in zip(range(len(tasks), 0, -1), tasks, strict=True):
                if left < missing(job):
                    break
                if self._seat_later(job, task, hunt) and session.votes.is_pipelined(job):
                    if hunt is not None:
                        hunt.spare()
                    statement.keep()
                    break
            if not statement.is_kept:
                self._taken = begun
        return statement.is_kept

    def _seat_later(self, job: Job, task: Task, hunt: Hunt | None) -> bool:
        session = self.session
        if not self._is_allowed(job, task):
            return False
        row = session.chooser.best(task, Way.LATER)
        if row is None and hunt is not None:
            row = hunt.make_room(task)
        if row is None:
            return False
        self._seat_on(task, row)
        return True

    def _seat_on(self, task: Task, row: Row) -> None:
        """Give a task room on a row where it has room later: at once, where nobody has to leave first."""
        session = self.session
        is_idle = session.room.has_now(task.charge, row) and not session.is_cleared(row)
        session.seat(task, row, Status.ALLOCATED if is_idle else Status.PIPELINED)
        self._count(task, 1)

    def _counts(self) -> dict[str, Amount]:
        return {name: taken.copy() for name, taken in self._taken.items()}

    # -- what a queue may have

    def _is_allowed(self, job: Job, task: Task) -> bool:
        limit = self._limits.get(job.queue)
        if limit is None:
            return True
        taken, asked = self._taken[job.queue], task.charge.request
        over = [
            name
            for name, _ in self.session.queues[job.queue].capability
            if asked.get(name) > 0 and taken.get(name) + asked.get(name) > limit.get(name)
        ]
        if over:
            name = over[0]
            text = (
                f"queue {job.queue} may have {limit.get(name):g} of {name}, has {taken.get(name):g}, "
                f"and {asked.get(name):g} more is asked for"
            )
            self.session.waits[job.uid] = Wait(Cause.LIMIT, lambda: text)
        return not over

    def _count(self, task: Task, sign: int) -> None:
        taken = self._taken.get(task.job.queue) if task.job is not None else None
        if taken is not None:
            (taken.add if sign > 0 else taken.take)(task.charge.request)

    def _note_room(self, job: Job, task: Task) -> None:
        if job.uid not in self.session.waits:
            self.session.waits[job.uid] = Wait(Cause.ROOM, lambda: lacking_room(self.session, job, task))


def missing(job: Job) -> int:
    """Return how many tasks a job lacks to start; one more, once it has started."""
    return max(job.min_available - job.ready - job.count(Status.PIPELINED), 1)


def lacking_room(session: Session, job: Job, task: Task) -> str:
    """Say of which resource there is too little for a task, and on how many nodes."""
    columns, room, needs = session.table.columns, session.room, task.charge.start
    live = columns.live[: columns.rows]
    short = []
    for name in needs.names():
        place = columns.resources.get(name)
        if place is None or not needs.get(name):
            continue
        scale = 1 if name in {"cpu", "memory"} else 1000
        idle = room.idle[place, : columns.rows][live]  # (rows,)
        nodes = int((idle * scale < needs.get(name)).sum())
        if nodes:
            short.append(f"{name} ({needs.get(name):g} wanted) on {nodes}")
    count = session.table.count
    why = f"too little {', '.join(short)}" if short else "other rules say no"
    return f"no room on any of {count} nodes for {missing(job)} more: {why}"
