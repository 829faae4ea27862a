"""Waits: why a job waits, as one primary reason with its numbers.

Invariant: every job that still asks for room when a session ends has exactly one.
Not here: finding out (seeking.py) and kube-batch's own words (statuses.py).
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from bayplan.batch.tasks import Status

if TYPE_CHECKING:
    from bayplan.batch.session import Session
    from bayplan.batch.tasks import Task
    from bayplan.cluster.residents import Resident


class Cause(enum.StrEnum):
    """What is in the way."""

    SHARE = "share"  # its queue has all that it deserves
    LIMIT = "limit"  # its queue has all that it may have
    ROOM = "room"  # no node has room
    MEMBERS = "members"  # it has fewer members than must start together
    TURN = "turn"  # others go first


class Wait(NamedTuple):
    """Why a job waits; the numbers are put into words when somebody asks."""

    cause: Cause
    say: Callable[[], str]

    def __str__(self) -> str:
        return self.say()


def waiting_text(session: Session, task: Task) -> str:
    """Say why a task waits, before the session closes."""
    job = task.job
    if job is None or job.uid not in session.jobs:
        return "its PodGroup is not there" if job is None or job.group is None else f"queue {job.queue} is not there"
    if task.status is Status.PIPELINED:
        row = session.row_of(task)
        leaving = [one.pod.key for one in session.table.on_row[row].values() if _is_leaving(session, one)]
        return f"waits on {session.node_name(row)} until others have left: {', '.join(sorted(leaving))}"
    if task.status is Status.ALLOCATED and session.configuration.behaviour == "bayplan":
        return f"has room on {session.node_name(session.row_of(task))}, and waits for others of its gang"
    if not session.votes.is_valid(job):
        return f"its gang has {job.valid} members and must have {job.min_available}"
    wait = session.waits.get(job.uid)
    return str(wait) if wait is not None else "others go first"


def _is_leaving(session: Session, resident: Resident) -> bool:
    task = session.tasks.get(resident.uid)
    is_evicted = task is not None and task.status is Status.RELEASING
    return is_evicted or resident.pod.metadata.deletion_timestamp is not None
