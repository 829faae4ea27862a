"""priority: what is more urgent goes first, and only what is less urgent is evicted for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bayplan.batch.voting import Voter

if TYPE_CHECKING:
    from bayplan.batch.jobs import Job
    from bayplan.batch.tasks import Task


class Priority(Voter):
    """By the priority of pods, and of jobs' priority classes."""

    name = "priority"

    def task_order(self, left: Task, right: Task) -> int:
        """Let the more urgent task go first."""
        return right.priority - left.priority

    def job_order(self, left: Job, right: Job) -> int:
        """Let the more urgent job go first."""
        return right.priority - left.priority

    def job_key(self, job: Job) -> int:
        """Let the more urgent job go first."""
        return -job.priority

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> list[Task]:
        """Spare tasks of jobs that are as urgent."""
        urgency = preemptor.job.priority if preemptor.job is not None else 0
        return [task for task in candidates if task.job is not None and task.job.priority < urgency]
