"""gang as kube-batch has it: each victim is judged as if it were the only one, and a job of one is not protected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bayplan.batch.statuses import shortage
from bayplan.batch.voting import Voter

if TYPE_CHECKING:
    from bayplan.batch.jobs import Job
    from bayplan.batch.tasks import Task


class KubeBatchGang(Voter):
    """All or nothing, as far as kube-batch looks."""

    name = "gang"

    def job_order(self, left: Job, right: Job) -> int:
        """Let unready jobs go first."""
        return int(left.is_ready) - int(right.is_ready)

    def job_ready(self, job: Job) -> bool:
        """Count those who have room or are done."""
        return job.is_ready

    def job_pipelined(self, job: Job) -> bool:
        """Count those who wait for room to be released, too."""
        return job.is_pipelined

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> list[Task]:
        """Spare tasks that their job cannot do without."""
        return [task for task in candidates if task.job is not None and _can_do_without(task.job)]

    def reclaimable(self, reclaimer: Task, candidates: Sequence[Task]) -> list[Task]:
        """Spare tasks that their job cannot do without."""
        return self.preemptable(reclaimer, candidates)

    def closing(self) -> None:
        """Say of every job that is not ready what it lacks."""
        for job in self.session.jobs.values():
            if not job.is_ready:
                self.session.short[job.uid] = shortage(job)


def _can_do_without(job: Job) -> bool:
    return job.min_available <= job.ready - 1 or job.min_available == 1
