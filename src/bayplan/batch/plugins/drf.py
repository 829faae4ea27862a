"""drf: the job that has least of what it has most of goes first (dominant resource fairness)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from bayplan.batch.amounts import Amount, dominant_share
from bayplan.batch.voting import Voter

if TYPE_CHECKING:
    from bayplan.batch.jobs import Job
    from bayplan.batch.session import Session
    from bayplan.batch.tasks import Task
    from bayplan.framework.tiers import TierPlugin

AS_GOOD_AS: Final = 1e-6


class Drf(Voter):
    """Shares of jobs in the whole cluster."""

    name = "drf"

    def __init__(self, session: Session, place: TierPlugin) -> None:
        super().__init__(session, place)
        self.allocated: dict[str, Amount] = {}
        self.share: dict[str, float] = {}
        for job in session.jobs.values():
            held = self.allocated[job.uid] = job.held.copy()
            self.share[job.uid] = dominant_share(held, session.whole)
        self.share_at_open = dict(self.share)

    def job_order(self, left: Job, right: Job) -> float:
        """Let the job with the smaller share go first."""
        return self.share[left.uid] - self.share[right.uid]

    def job_key(self, job: Job) -> float:
        """Let the job with the smaller share go first."""
        return self.share[job.uid]

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> list[Task]:
        """Name tasks whose jobs have, even without them, no less than the preemptor's would have with it."""
        whole = self.session.whole
        mine = self.allocated[_uid(preemptor)].copy().add(preemptor.charge.request)
        wanted = dominant_share(mine, whole)
        left: dict[str, Amount] = {}
        victims = []
        for task in candidates:
            uid = _uid(task)
            rest = left.get(uid)
            if rest is None:
                rest = left[uid] = self.allocated[uid].copy()
            share = dominant_share(rest.take(task.charge.request), whole)
            if wanted < share or abs(wanted - share) <= AS_GOOD_AS:
                victims.append(task)
        return victims

    def charged(self, task: Task) -> None:
        """Count a task that was given room."""
        uid = _uid(task)
        self.share[uid] = dominant_share(self.allocated[uid].add(task.charge.request), self.session.whole)

    def released(self, task: Task) -> None:
        """Count out a task that lost its room."""
        uid = _uid(task)
        self.share[uid] = dominant_share(self.allocated[uid].take(task.charge.request), self.session.whole)


def _uid(task: Task) -> str:
    return task.job.uid if task.job is not None else ""
