"""Who waits: a session's queues, jobs and tasks in the order in which they are served.

Each queue stands in the line once, and so does each job.  While one is served only its own place changes, so taking the
first and putting it back keeps the line in order; where others had to leave for it, their queues are put in order anew.
Not here: serving them.
"""

from __future__ import annotations

import heapq
from collections import deque
from functools import cmp_to_key
from typing import TYPE_CHECKING, Generic, TypeVar

from bayplan.batch.tasks import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bayplan.batch.jobs import Job, Queue
    from bayplan.batch.session import Session
    from bayplan.batch.tasks import Task
    from bayplan.batch.voting import Key

T = TypeVar("T")


class Ordered(Generic[T]):
    """Things in order of a key that is worked out when each is put in."""

    def __init__(self, key_of: Callable[[T], Key]) -> None:
        self._key_of = key_of
        self._items: list[tuple[Key, T]] = []

    def __len__(self) -> int:
        return len(self._items)

    def push(self, item: T) -> None:
        """Put something in."""
        heapq.heappush(self._items, (self._key_of(item), item))

    def pop(self) -> T:
        """Take out the first."""
        return heapq.heappop(self._items)[1]

    def refresh(self) -> None:
        """Work every key out again."""
        self._items = [(self._key_of(item), item) for _, item in self._items]
        heapq.heapify(self._items)


class Line:
    """Queues, and in each of them jobs that have waiting tasks."""

    def __init__(self, session: Session) -> None:
        votes = session.votes
        self._session = session
        self.queues: Ordered[Queue] = Ordered(votes.queue_key)
        self._jobs: dict[str, Ordered[Job]] = {}
        self._tasks: dict[str, deque[Task]] = {}
        for job in session.jobs.values():
            if job.count(Status.PENDING) and votes.is_valid(job):
                self._jobs.setdefault(job.queue, Ordered(votes.job_key)).push(job)
        for name in self._jobs:
            self.queues.push(session.queues[name])

    def jobs(self, queue: Queue) -> Ordered[Job]:
        """Return a queue's jobs."""
        return self._jobs[queue.name]

    def refresh(self, queues: Iterable[str]) -> None:
        """Put jobs of some queues, and the queues, in order again: others than who was served changed."""
        names = list(queues)
        for name in names:
            if name in self._jobs:
                self._jobs[name].refresh()
        if names:
            self.queues.refresh()

    def tasks(self, job: Job) -> deque[Task]:
        """Return a job's waiting tasks, those that ask for nothing last, and only if somebody here takes them."""
        found = self._tasks.get(job.uid)
        session = self._session
        if found is None:
            waiting = in_order(session, job.having(Status.PENDING).values())
            empty = [task for task in waiting if task.charge.start.is_empty(session.slack)]
            asking = [task for task in waiting if not task.charge.start.is_empty(session.slack)] if empty else waiting
            found = self._tasks[job.uid] = deque([*asking, *empty])
        if not session.configuration.allocates_empty_pods and session.votes.is_ready(job):
            while found and found[-1].charge.start.is_empty(session.slack):
                found.pop()  # backfill's
        return found


def in_order(session: Session, tasks: Iterable[Task]) -> list[Task]:
    """Return tasks in the order in which they are served."""
    votes = session.votes
    if votes.orders_by_priority:
        return sorted(tasks, key=lambda task: (-task.priority, task.created, task.uid))

    def compare(left: Task, right: Task) -> int:
        return -1 if votes.task_first(left, right) else 1

    return sorted(tasks, key=cmp_to_key(compare))
