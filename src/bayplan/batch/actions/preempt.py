"""Preempt: a job that goes before others of its queue, and a task before others of its job, makes them leave.

Not here: taking from other queues (reclaim.py), and choosing whom (victims.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayplan.batch.actions.waiting import Line, in_order
from bayplan.batch.tasks import Status
from bayplan.batch.victims import Hunt

if TYPE_CHECKING:
    from bayplan.batch.jobs import Job
    from bayplan.batch.session import Session


def preempt(session: Session) -> None:
    """Serve the jobs of each queue in order; then look inside jobs that have started."""
    hunt = Hunt(session, "preemptable", lambda asker, other: other is not asker and other.queue == asker.queue)
    if hunt.can:
        line = Line(session)
        while line.queues:
            queue = line.queues.pop()
            jobs = line.jobs(queue)
            while jobs:
                job = jobs.pop()
                tasks, may_grow = line.tasks(job), not session.votes.is_overused(queue)
                if session.seeker.start(job, tasks, hunt, may_grow=may_grow) and tasks:
                    jobs.push(job)
                line.refresh(hunt.had_leave())
    for job in session.jobs.values():
        waiting, running = job.having(Status.PENDING).values(), job.having(Status.RUNNING).values()
        if not waiting or not running or not session.votes.is_ready(job):
            continue
        if max(task.priority for task in waiting) > min(task.priority for task in running):
            _inside(session, job)


def _inside(session: Session, job: Job) -> None:
    """Have less urgent tasks of a job leave for more urgent ones, as far as it can spare them."""
    hunt = Hunt(session, "preemptable", lambda asker, other: other is asker, inside=True)
    for task in in_order(session, job.having(Status.PENDING).values()):
        if not session.seeker.replace(job, task, hunt):
            return
