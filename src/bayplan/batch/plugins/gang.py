"""gang: a job's tasks start together or not at all.

Unready jobs go before ready ones; a job is ready when enough of its tasks have room.  Whom a gang can spare is asked
by whoever looks for victims: those beyond its minimum one by one, the rest only together (victims.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bayplan.batch.statuses import NOT_ENOUGH_RESOURCES, NOT_ENOUGH_TASKS, Short, shortage
from bayplan.batch.voting import Voter

if TYPE_CHECKING:
    from bayplan.batch.jobs import Job
    from bayplan.batch.tasks import Task


class Gang(Voter):
    """All or nothing."""

    name = "gang"
    protects = True

    def job_order(self, left: Job, right: Job) -> int:
        """Let unready jobs go first."""
        return int(left.is_ready) - int(right.is_ready)

    def job_key(self, job: Job) -> int:
        """Let unready jobs go first."""
        return int(job.is_ready)

    def job_valid(self, job: Job) -> bool:
        """Say whether there are enough tasks at all."""
        return job.valid >= job.min_available

    def job_ready(self, job: Job) -> bool:
        """Count those who have room or are done."""
        return job.is_ready

    def job_pipelined(self, job: Job) -> bool:
        """Count those who wait for room to be released, too."""
        return job.is_pipelined

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> list[Task]:
        """Have nothing against anybody: bundles keep gangs whole."""
        return list(candidates)

    def reclaimable(self, reclaimer: Task, candidates: Sequence[Task]) -> list[Task]:
        """Have nothing against anybody: bundles keep gangs whole."""
        return list(candidates)

    def closing(self) -> None:
        """Say of every job that is not ready what it lacks."""
        for job in self.session.jobs.values():
            if not job.is_ready:
                self.session.short[job.uid] = self._short(job)

    def _short(self, job: Job) -> Short:
        if not self.job_valid(job):
            message = f"Not enough valid tasks for gang-scheduling, valid: {job.valid}, min: {job.min_available}"
            return Short(NOT_ENOUGH_TASKS, message)
        wait = self.session.waits.get(job.uid)
        return shortage(job) if wait is None else Short(NOT_ENOUGH_RESOURCES, str(wait))
