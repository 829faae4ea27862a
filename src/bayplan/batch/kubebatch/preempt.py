"""Preempt: evict tasks of the same queue so that a more deserving one can start once they have left.

First between jobs of a queue, then inside jobs.  Between jobs a statement collects what one job needs, and is kept only
if the job can start then.
Not here: taking from other queues (reclaim.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from bayplan.batch.amounts import Amount
from bayplan.batch.heap import Heap
from bayplan.batch.tasks import Status, Task

if TYPE_CHECKING:
    from bayplan.batch.jobs import Job
    from bayplan.batch.session import Session
    from bayplan.batch.voting import Votes


def preempt(session: Session) -> None:
    """Let jobs that wait preempt others of their queue, then themselves."""
    votes = session.votes
    queues = dict.fromkeys(job.queue for job in session.jobs.values())
    waiting: dict[str, Heap[Job]] = {}
    tasks: dict[str, Heap[Task]] = {}
    for job in session.jobs.values():
        if job.count(Status.PENDING):
            waiting.setdefault(job.queue, Heap(votes.job_first)).push(job)
            tasks[job.uid] = _tasks(votes, job)
    for queue in queues:
        if queue in waiting:
            _between_jobs(session, waiting[queue], tasks)
        _inside_jobs(session, tasks)


def _tasks(votes: Votes, job: Job) -> Heap[Task]:
    found = Heap(votes.task_first)
    for task in job.having(Status.PENDING).values():
        found.push(task)
    return found


def _between_jobs(session: Session, jobs: Heap[Job], tasks: dict[str, Heap[Task]]) -> None:
    votes = session.votes
    while jobs:
        job = jobs.pop()
        mine, assigned = tasks[job.uid], False

        def is_other(task: Task, job: Job = job) -> bool:
            return task.job is not None and task.job is not job and task.job.queue == job.queue

        with session.statement() as statement:
            while mine:
                if make_room(session, mine.pop(), is_other):
                    assigned = True
                if votes.is_pipelined(job):
                    statement.keep()
                    break
            is_pipelined = statement.is_kept or votes.is_pipelined(job)
        if is_pipelined and assigned:
            jobs.push(job)


def _inside_jobs(session: Session, tasks: dict[str, Heap[Task]]) -> None:
    for uid, mine in tasks.items():
        job = session.jobs[uid]

        def is_own(task: Task, job: Job = job) -> bool:
            return task.job is job

        while mine:
            with session.statement() as statement:
                assigned = make_room(session, mine.pop(), is_own)
                statement.keep()
            if not assigned:
                break


def make_room(session: Session, preemptor: Task, may_go: Callable[[Task], bool]) -> bool:
    """Evict for a task on the first node, from the best, where that makes enough room, and have it wait there."""
    votes, needs, slack = session.votes, preemptor.charge.start, session.slack
    for row in session.chooser.ranked(preemptor):
        candidates = [task for task in session.on_row(row) if task.status is Status.RUNNING and may_go(task)]
        victims = votes.victims("preemptable", preemptor, candidates)
        if not victims or not needs.fits(total(victims), slack):
            continue
        last_first = Heap[Task](lambda left, right: not votes.task_first(left, right))
        for victim in victims:
            last_first.push(victim)
        freed = Amount()
        while last_first:
            victim = last_first.pop()
            session.evict(victim)
            freed.add(victim.charge.request)
            if needs.fits(freed, slack):
                break
        if needs.fits(freed, slack):
            session.pipeline(preemptor, row)
            return True
    return False


def total(tasks: list[Task]) -> Amount:
    """Return what some tasks are charged with together."""
    found = Amount()
    for task in tasks:
        found.add(task.charge.request)
    return found
