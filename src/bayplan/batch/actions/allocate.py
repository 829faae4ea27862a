"""Allocate: give waiting tasks idle room, queue by queue, job by job; a gang gets what it needs to start, or nothing.

What is being released counts, too, where idle room does not do: whoever is to have it keeps it until the session ends.
Not here: pods that ask for nothing (backfill.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayplan.batch.actions.waiting import Line

if TYPE_CHECKING:
    from bayplan.batch.session import Session


def allocate(session: Session) -> None:
    """Serve the queue with the smallest share, and in it the first job, until nobody is left whom that helps."""
    line = Line(session)
    while line.queues:
        queue = line.queues.pop()
        jobs = line.jobs(queue)
        if not jobs or session.votes.is_overused(queue):
            continue
        job = jobs.pop()
        tasks = line.tasks(job)
        if session.seeker.start(job, tasks) and tasks:
            jobs.push(job)
        line.queues.push(queue)
