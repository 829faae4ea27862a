"""Reclaim: evict tasks of other queues so that one of a queue that has less than its share can start.

Not here: taking from the own queue (preempt.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayplan.batch.amounts import Amount
from bayplan.batch.heap import Heap
from bayplan.batch.kubebatch.preempt import total
from bayplan.batch.tasks import Status

if TYPE_CHECKING:
    from bayplan.batch.jobs import Job, Queue
    from bayplan.batch.session import Session
    from bayplan.batch.tasks import Task


def reclaim(session: Session) -> None:
    """Serve the queues in turn, one task of one job at a time."""
    votes = session.votes
    queues: Heap[Queue] = Heap(votes.queue_first)
    waiting: dict[str, Heap[Job]] = {}
    tasks: dict[str, Heap[Task]] = {}
    for name in dict.fromkeys(job.queue for job in session.jobs.values()):
        queues.push(session.queues[name])
    for job in session.jobs.values():
        if job.count(Status.PENDING):
            waiting.setdefault(job.queue, Heap(votes.job_first)).push(job)
            mine = tasks[job.uid] = Heap(votes.task_first)
            for task in job.having(Status.PENDING).values():
                mine.push(task)
    while queues:
        queue = queues.pop()
        jobs = waiting.get(queue.name)
        if votes.is_overused(queue) or not jobs:
            continue
        mine = tasks[jobs.pop().uid]
        if mine and _reclaim_for(session, mine.pop(), queue):
            queues.push(queue)


def _reclaim_for(session: Session, task: Task, queue: Queue) -> bool:
    """Evict for a task on the first node where that makes enough room, and have it wait there."""
    needs, slack = task.charge.start, session.slack
    for row in session.chooser.possible(task):
        candidates = [
            one
            for one in session.on_row(row)
            if one.status is Status.RUNNING and one.job is not None and one.job.queue != queue.name
        ]
        victims = session.votes.victims("reclaimable", task, candidates)
        if not victims or not needs.fits(total(victims), slack):
            continue
        freed = Amount()
        for victim in victims:
            session.evict(victim)
            freed.add(victim.charge.request)
            if needs.fits(freed, slack):
                break
        session.pipeline(task, row)
        return True
    return False
