"""Allocate: give waiting tasks idle room, queue by queue, job by job; a gang gets what it needs to start, or nothing.

Queues that lack of their share are served first; what none of them can use is lent to the others, who may have to give
it back.  What is being released counts, too, where idle room does not do: whoever is to have it keeps it until the
session ends.
Not here: pods that ask for nothing (backfill.py), and taking back (reclaim.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayplan.batch.actions.waiting import Line

if TYPE_CHECKING:
    from bayplan.batch.jobs import Queue
    from bayplan.batch.session import Session


def allocate(session: Session) -> None:
    """Serve the queue with the smallest share, and in it the first job, until nobody is left whom that helps."""
    line, votes = Line(session), session.votes
    had_enough: list[Queue] = []
    while line.queues:
        queue = line.queues.pop()
        if votes.is_overused(queue):
            had_enough.append(queue)
        elif _serve(session, line, queue):
            line.queues.push(queue)
    for queue in had_enough:
        line.queues.push(queue)
    while line.queues:
        queue = line.queues.pop()
        if _serve(session, line, queue):
            line.queues.push(queue)


def _serve(session: Session, line: Line, queue: Queue) -> bool:
    """Find room for the next unit of a queue's first job; say whether the queue has any left."""
    jobs = line.jobs(queue)
    if not jobs:
        return False
    job = jobs.pop()
    tasks = line.tasks(job)
    if session.seeker.start(job, tasks) and tasks:
        jobs.push(job)
    return True
