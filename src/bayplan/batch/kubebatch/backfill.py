"""Backfill: give pods that ask for nothing a node that they may run on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayplan.batch.tasks import Status

if TYPE_CHECKING:
    from bayplan.batch.session import Session


def backfill(session: Session) -> None:
    """Place every waiting task that needs nothing to start."""
    for job in session.jobs.values():
        for task in list(job.having(Status.PENDING).values()):
            if task.charge.start.is_empty(session.slack):
                for row in session.chooser.possible(task):
                    if session.allocate(task, row):
                        break
