"""Voting: what a plugin may say in a session, and how the votes of tiers are counted.

A plugin is a subclass of Voter that overrides what it has a say in.  Orders: the first plugin that sees a difference
decides.  Readiness: one "no" is a no.  Victims: in `kube-batch` behaviour the first tier that has a voter decides
alone; otherwise see victims.py.
Invariant: a plugin that is named twice votes once for each place, with the last place's arguments.
Not here: what our own plugins say (plugins/).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cmp_to_key
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

if TYPE_CHECKING:
    from bayplan.batch.jobs import Job, Queue
    from bayplan.batch.session import Session
    from bayplan.batch.tasks import Task
    from bayplan.framework.tiers import BatchConfiguration, TierPlugin

Victims: TypeAlias = "list[Task]"
Key: TypeAlias = Any  # something that can be compared with others of its kind


class Voter:
    """A plugin of a session: it is made when a session opens, and overrides what it has a say in."""

    name: ClassVar[str] = ""
    protects: ClassVar[bool] = False  # its votes on victims spare them, and name nobody: others must

    def __init__(self, session: Session, place: TierPlugin) -> None:
        self.session = session
        self.place = place

    # -- who goes first: below nought for the left one, above for the right one
    def job_order(self, left: Job, right: Job) -> float:
        """Compare two jobs."""
        raise NotImplementedError

    def queue_order(self, left: Queue, right: Queue) -> float:
        """Compare two queues."""
        raise NotImplementedError

    def task_order(self, left: Task, right: Task) -> float:
        """Compare two tasks."""
        raise NotImplementedError

    # -- the same as numbers, the smallest first; who has them is asked once for each, not once for each pair
    def job_key(self, job: Job) -> float:
        """Return a number by which jobs stand as job_order has them."""
        raise NotImplementedError

    def queue_key(self, queue: Queue) -> float:
        """Return a number by which queues stand as queue_order has them."""
        raise NotImplementedError

    # -- who is ready
    def job_valid(self, job: Job) -> bool:
        """Say whether a job may be looked at."""
        raise NotImplementedError

    def job_ready(self, job: Job) -> bool:
        """Say whether a job may start."""
        raise NotImplementedError

    def job_pipelined(self, job: Job) -> bool:
        """Say whether a job may start once what is being released is free."""
        raise NotImplementedError

    def overused(self, queue: Queue) -> bool:
        """Say whether a queue has had its share."""
        raise NotImplementedError

    # -- who may be a victim
    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> Victims:
        """Say which tasks of its queue may be evicted for a task."""
        raise NotImplementedError

    def reclaimable(self, reclaimer: Task, candidates: Sequence[Task]) -> Victims:
        """Say which tasks of other queues may be evicted for a task."""
        raise NotImplementedError

    # -- what happens
    def charged(self, task: Task) -> None:
        """Hear that a task was given room."""
        raise NotImplementedError

    def released(self, task: Task) -> None:
        """Hear that a task lost its room."""
        raise NotImplementedError

    def closing(self) -> None:
        """Hear that the session ends."""
        raise NotImplementedError

    @classmethod
    def overrides(cls, method: str) -> bool:
        """Say whether the plugin has a say in something."""
        return getattr(cls, method) is not getattr(Voter, method)


SWITCHES: Mapping[str, str] = {
    "job_order": "enable_job_order",
    "queue_order": "enable_queue_order",
    "task_order": "enable_task_order",
    "job_ready": "enable_job_ready",
    "job_pipelined": "enable_job_pipelined",
    "preemptable": "enable_preemptable",
    "reclaimable": "enable_reclaimable",
}  # what a place in a tier may switch off; overused, charged, released and closing are always on


class Votes:
    """The plugins of a session, asked together."""

    def __init__(self, configuration: BatchConfiguration, classes: Mapping[str, type[Voter]], session: Session) -> None:
        self._tiers = configuration.tiers
        last = {place.name: place for place in configuration.plugins}
        self.voters = {name: classes[name](session, place) for name, place in last.items() if name in classes}
        self._job_order = self._in_order("job_order")
        self._queue_order = self._in_order("queue_order")
        self._task_order = self._in_order("task_order")
        self._job_keys = self._keys("job_order", "job_key")
        self._queue_keys = self._keys("queue_order", "queue_key")
        names = {name for tier in self.of_tiers("task_order") for name, _ in tier}
        self.orders_by_priority = names == {"priority"}  # and by age: then a key does, and nobody need be asked
        self._valid = self._in_order("job_valid")
        self._ready = self._in_order("job_ready")
        self._pipelined = self._in_order("job_pipelined")
        self._overused = self._in_order("overused")
        self.on_charged = [one.charged for one in self.voters.values() if one.overrides("charged")]
        self.on_released = [one.released for one in self.voters.values() if one.overrides("released")]
        self.on_closing = [one.closing for one in self.voters.values() if one.overrides("closing")]

    def of_tiers(self, method: str) -> list[list[tuple[str, Callable[..., object]]]]:
        """Return, tier by tier, who has a say in something, by name."""
        found = []
        for tier in self._tiers:
            places = [place for place in tier.plugins if place.name in self.voters and self._is_on(place, method)]
            found.append([(place.name, getattr(self.voters[place.name], method)) for place in places])
        return found

    def _is_on(self, place: TierPlugin, method: str) -> bool:
        if not self.voters[place.name].overrides(method):
            return False
        return method not in SWITCHES or bool(getattr(place, SWITCHES[method]))

    def _in_order(self, method: str) -> list[Callable[..., object]]:
        return [one for tier in self.of_tiers(method) for _, one in tier]

    def _keys(self, order: str, key: str) -> list[Callable[..., object]] | None:
        """Return what gives the numbers of an order; None: somebody has none."""
        names = [name for tier in self.of_tiers(order) for name, _ in tier]
        if not all(self.voters[name].overrides(key) for name in names):
            return None
        return [getattr(self.voters[name], key) for name in names]

    # -- orders

    def job_key(self, job: Job) -> Key:
        """Return what jobs are sorted by."""
        if self._job_keys is None:
            return _by_job(self)(job)
        return (*[key(job) for key in self._job_keys], job.created, job.uid)

    def queue_key(self, queue: Queue) -> Key:
        """Return what queues are sorted by."""
        if self._queue_keys is None:
            return _by_queue(self)(queue)
        return (*[key(queue) for key in self._queue_keys], queue.created, queue.name)

    def job_first(self, left: Job, right: Job) -> bool:
        """Say whether one job goes before another; the older one, where nobody sees a difference."""
        for order in self._job_order:
            found = order(left, right)
            if found:
                return bool(found < 0)  # type: ignore[operator]  # the method's own type is a number
        return (left.created, left.uid) < (right.created, right.uid)

    def queue_first(self, left: Queue, right: Queue) -> bool:
        """Say whether one queue goes before another."""
        for order in self._queue_order:
            found = order(left, right)
            if found:
                return bool(found < 0)  # type: ignore[operator]  # the method's own type is a number
        return (left.created, left.name) < (right.created, right.name)

    def task_first(self, left: Task, right: Task) -> bool:
        """Say whether one task goes before another."""
        for order in self._task_order:
            found = order(left, right)
            if found:
                return bool(found < 0)  # type: ignore[operator]  # the method's own type is a number
        return (left.created, left.uid) < (right.created, right.uid)

    # -- readiness

    def is_valid(self, job: Job) -> bool:
        """Say whether a job may be looked at."""
        return all(valid(job) for valid in self._valid)

    def is_ready(self, job: Job) -> bool:
        """Say whether a job may start."""
        return all(ready(job) for ready in self._ready)

    def is_pipelined(self, job: Job) -> bool:
        """Say whether a job may start once what is being released is free."""
        return all(pipelined(job) for pipelined in self._pipelined)

    def is_overused(self, queue: Queue) -> bool:
        """Say whether a queue has had its share."""
        return any(overused(queue) for overused in self._overused)

    # -- victims, as kube-batch counts the votes

    def victims(self, method: str, asker: Task, candidates: Sequence[Task]) -> Victims:
        """Return whom all voters of the first tier that has any agree on, in the order of the first of them."""
        for tier in self.of_tiers(method):
            if tier:
                found: list[Task] | None = None
                for _, vote in tier:
                    named: list[Task] = vote(asker, candidates)  # type: ignore[assignment]  # as the method says
                    chosen = {task.uid for task in named}
                    found = named if found is None else [task for task in found if task.uid in chosen]
                return found or []
        return []


def _by_job(votes: Votes) -> Callable[[Job], Key]:
    return cmp_to_key(lambda left, right: -1 if votes.job_first(left, right) else 1)


def _by_queue(votes: Votes) -> Callable[[Queue], Key]:
    return cmp_to_key(lambda left, right: -1 if votes.queue_first(left, right) else 1)
