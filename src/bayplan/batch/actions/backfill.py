"""Backfill: give pods that ask for nothing a node that they may run on."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from bayplan.batch.actions.waiting import in_order
from bayplan.batch.tasks import Status

if TYPE_CHECKING:
    from bayplan.batch.session import Session


def backfill(session: Session) -> None:
    """Place every waiting task that needs nothing to start, whatever its queue has."""
    for job in session.jobs.values():
        empty = [task for task in job.having(Status.PENDING).values() if task.charge.start.is_empty(session.slack)]
        if empty and session.votes.is_valid(job):
            tasks = deque(in_order(session, empty))
            while tasks and session.seeker.start(job, tasks):
                pass
