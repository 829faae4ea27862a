"""Reclaim: a queue that has less than its share takes back what others have beyond theirs.

Not here: taking from the own queue (preempt.py), and choosing whom (victims.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayplan.batch.actions.waiting import Line
from bayplan.batch.victims import Hunt

if TYPE_CHECKING:
    from bayplan.batch.session import Session


def reclaim(session: Session) -> None:
    """Serve queues that lack of their share, a unit of one job at a time."""
    hunt = Hunt(session, "reclaimable", lambda asker, other: other.queue != asker.queue)
    if not hunt.can:
        return
    line = Line(session)
    while line.queues:
        queue = line.queues.pop()
        jobs = line.jobs(queue)
        if not jobs or session.votes.is_overused(queue):
            continue
        job = jobs.pop()
        tasks = line.tasks(job)
        if session.seeker.start(job, tasks, hunt) and tasks:
            jobs.push(job)
        line.queues.push(queue)
        line.refresh(hunt.had_leave())
