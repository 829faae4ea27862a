"""proportion: the cluster is divided among queues by weight; what one does not ask for goes to the others.

Each resource is divided exactly, as water finds its level: nobody deserves more than it asks for, nor than its
capability.  A queue's share is what it has of what it deserves, in the resource of which it has most among those that
it asks for; the queue with the smallest share goes first, one whose share is whole is given no more, and what it has
beyond that may be taken back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from bayplan.batch.amounts import Amount, ratio
from bayplan.batch.voting import Voter

if TYPE_CHECKING:
    from bayplan.batch.jobs import Queue
    from bayplan.batch.session import Session
    from bayplan.batch.tasks import Task
    from bayplan.framework.tiers import TierPlugin

WHOLE: Final = 1 - 1e-9  # of a share: what is divided is not always divided evenly


class Portion:
    """What a queue asks for, has, and deserves."""

    __slots__ = ("allocated", "deserved", "limit", "request", "share", "weight")

    def __init__(self, queue: Queue) -> None:
        self.weight = queue.weight
        self.limit = dict(queue.capability)
        self.request = Amount()
        self.allocated = Amount()
        self.deserved = Amount()
        self.share = 0.0


class Proportion(Voter):
    """Shares of queues in what they deserve; only queues that have jobs take part."""

    name = "proportion"

    def __init__(self, session: Session, place: TierPlugin) -> None:
        super().__init__(session, place)
        self.portions: dict[str, Portion] = {}
        for job in session.jobs.values():
            portion = self.portions.get(job.queue)
            if portion is None:
                portion = self.portions[job.queue] = Portion(session.queues[job.queue])
            portion.allocated.add(job.held)
            portion.request.add(job.held).add(job.asked)
        self._divide()
        self.at_open = {name: (one.share, self._has_enough(one)) for name, one in self.portions.items()}

    def _divide(self) -> None:
        divide(self.session.whole, self.portions)
        for portion in self.portions.values():
            self._refresh(portion)

    def _refresh(self, portion: Portion) -> None:
        portion.share = _share(portion, portion.allocated)

    def queue_order(self, left: Queue, right: Queue) -> float:
        """Let the queue with the smaller share go first."""
        return self.portions[left.name].share - self.portions[right.name].share

    def queue_key(self, queue: Queue) -> float:
        """Let the queue with the smaller share go first."""
        return self.portions[queue.name].share

    def overused(self, queue: Queue) -> bool:
        """Say whether a queue has all that it deserves."""
        return self._has_enough(self.portions[queue.name])

    def _has_enough(self, portion: Portion) -> bool:
        return portion.share >= WHOLE

    def reclaimable(self, reclaimer: Task, candidates: Sequence[Task]) -> list[Task]:
        """Name tasks without which, one after the other, their queues would still have what they deserve."""
        left: dict[str, Amount] = {}
        victims = []
        for task in candidates:
            name = queue_of(task)
            rest = left.get(name, self.portions[name].allocated).copy().take(task.charge.request)
            if _share(self.portions[name], rest) >= WHOLE:
                left[name] = rest
                victims.append(task)
        return victims

    def charged(self, task: Task) -> None:
        """Count a task that was given room."""
        portion = self.portions[queue_of(task)]
        portion.allocated.add(task.charge.request)
        self._refresh(portion)

    def released(self, task: Task) -> None:
        """Count out a task that lost its room."""
        portion = self.portions[queue_of(task)]
        portion.allocated.take(task.charge.request)
        self._refresh(portion)


def _share(portion: Portion, allocated: Amount) -> float:
    """Return the largest share among the resources that a queue asks for; who deserves nothing has it all."""
    asked = [name for name in portion.request.names() if portion.request.get(name) > 0]
    if asked and not any(portion.deserved.get(name) for name in asked):
        return 1.0
    return max((ratio(allocated.get(name), portion.deserved.get(name)) for name in asked), default=0.0)


def divide(whole: Amount, portions: Mapping[str, Portion]) -> None:
    """Divide each resource among those who ask for it."""
    for name in whole.names():
        parts = [(one.weight, _wanted(one, name)) for one in portions.values()]
        for portion, level in zip(portions.values(), levels(whole.get(name), parts), strict=True):
            portion.deserved.add(Amount.named(name, level))


def _wanted(portion: Portion, name: str) -> float:
    wanted = portion.request.get(name)
    return min(wanted, portion.limit[name]) if name in portion.limit else wanted


def levels(whole: float, parts: Sequence[tuple[int, float]]) -> list[float]:
    """Divide something by weight among those who each want so much: nobody gets more, and nothing is left needlessly.

    Who has no weight gets what the others leave, in equal parts.

    >>> levels(12, [(1, 12), (2, 3), (3, 12)])
    [2.25, 3, 6.75]
    >>> levels(12, [(1, 4), (0, 12)])
    [4, 8.0]
    """
    found = [0.0] * len(parts)
    for are_weighed in (True, False):
        thirsty = [place for place, (weight, _) in enumerate(parts) if (weight > 0) == are_weighed]
        weight_of = {place: parts[place][0] if are_weighed else 1 for place in thirsty}
        left, weights = whole - sum(found), sum(weight_of.values())
        for place in sorted(thirsty, key=lambda place: parts[place][1] / weight_of[place]):
            weight, wanted = weight_of[place], parts[place][1]
            found[place] = wanted if wanted * weights <= left * weight else left * weight / weights
            left -= found[place]
            weights -= weight
    return found


def queue_of(task: Task) -> str:
    """Return the name of a task's queue."""
    return task.job.queue if task.job is not None else ""
