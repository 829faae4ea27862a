"""Statuses: what a session says of each PodGroup when it closes: phase, counts, and why a gang is not ready.

Invariant: what is said is a function of what was said before and of the session's end; nothing here changes anything.
Not here: writing it (effects), and shadow groups, which nobody is told of.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from bayplan.batch.jobs import Condition, GroupStatus
from bayplan.batch.tasks import CHARGED, Status

if TYPE_CHECKING:
    from bayplan.batch.jobs import Group, Job
    from bayplan.batch.session import Session

UNSCHEDULABLE: Final = "Unschedulable"
NOT_ENOUGH_RESOURCES: Final = "NotEnoughResources"
NOT_ENOUGH_TASKS: Final = "NotEnoughTasks"
PENDING, RUNNING, UNKNOWN = "Pending", "Running", "Unknown"


class Short(NamedTuple):
    """Why a gang is not ready."""

    reason: str
    message: str


def statuses(session: Session) -> dict[str, GroupStatus]:
    """Return what is to be said of each PodGroup of a session, by the uid of its job."""
    return {
        job.uid: _status(job, job.group, session.short.get(job.uid))
        for job in session.jobs.values()
        if job.group is not None and not job.group.is_shadow
    }


def _status(job: Job, group: Group, short: Short | None) -> GroupStatus:
    """Say how a job is; `short` is why its gang is not ready."""
    if short is not None and job.count(Status.RUNNING):
        phase = UNKNOWN
    else:
        charged = sum(job.count(status) for status in CHARGED)
        phase = RUNNING if charged >= group.min_member else PENDING
    return GroupStatus(
        phase=phase,
        running=job.count(Status.RUNNING),
        succeeded=job.count(Status.SUCCEEDED),
        failed=job.count(Status.FAILED),
        conditions=_conditions(group.status.conditions, short),
    )


def _conditions(before: tuple[Condition, ...], short: Short | None) -> tuple[Condition, ...]:
    """Set the condition Unschedulable where a gang is not ready; where it is, take back what was said of it."""
    others = tuple(one for one in before if one.type != UNSCHEDULABLE)
    if short is not None:
        return (*others, Condition(UNSCHEDULABLE, "True", short.reason, short.message))
    if len(others) < len(before):
        return (*others, Condition(UNSCHEDULABLE, "False", "", ""))
    return others


def shortage(job: Job) -> Short:
    """Say how many tasks of a gang lack room, and what the last one lacked, in kube-batch's words."""
    return Short(
        NOT_ENOUGH_RESOURCES,
        f"{job.min_available - job.ready}/{len(job.tasks)} tasks in gang unschedulable: {_lacking(job)}",
    )


def _lacking(job: Job) -> str:
    if not job.missing:
        return "0 nodes are available"
    counts = Counter(name for names in job.missing.values() for name in names)
    reasons = ", ".join(sorted(f"{count} insufficient {name}" for name, count in counts.items()))
    return f"0/{len(job.missing)} nodes are available, {reasons}."
