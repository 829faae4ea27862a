"""Allocate: give waiting tasks idle room, or room that is being released: queue by queue, job by job.

In `kube-batch` behaviour queues, jobs and tasks stand in heaps that are not put in order again, and a queue stands in
its heap once per job; a gang that gets part of its room keeps it until the session ends.
Not here: pods that ask for nothing (backfill.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayplan.batch.choosing import Way
from bayplan.batch.heap import Heap
from bayplan.batch.room import IDLE, LEAVING
from bayplan.batch.tasks import Status

if TYPE_CHECKING:
    from bayplan.batch.jobs import Job, Queue
    from bayplan.batch.session import Session
    from bayplan.batch.tasks import Task
    from bayplan.cluster.columns import Row


def allocate(session: Session) -> None:
    """Go through queues and jobs until nobody is left who can be given anything."""
    votes = session.votes
    queues = Heap(votes.queue_first)
    jobs: dict[str, Heap[Job]] = {}
    for job in session.jobs.values():
        queues.push(session.queues[job.queue])
        jobs.setdefault(job.queue, Heap(votes.job_first)).push(job)
    waiting: dict[str, Heap[Task]] = {}
    while queues:
        queue: Queue = queues.pop()
        mine = jobs[queue.name]
        if votes.is_overused(queue) or not mine:
            continue
        job = mine.pop()
        tasks = waiting.get(job.uid)
        if tasks is None:
            tasks = waiting[job.uid] = _waiting(session, job)
        if _serve(session, job, tasks):
            mine.push(job)
        queues.push(queue)


def _waiting(session: Session, job: Job) -> Heap[Task]:
    """Return a job's tasks that wait for room."""
    tasks = Heap(session.votes.task_first)
    takes_all = session.configuration.allocates_empty_pods
    for task in job.having(Status.PENDING).values():
        if takes_all or not task.charge.start.is_empty(session.slack):
            tasks.push(task)
    return tasks


def _serve(session: Session, job: Job, tasks: Heap[Task]) -> bool:
    """Give room to a job's tasks until it is ready; say whether it is, with more to come."""
    while tasks:
        task = tasks.pop()
        job.missing = {}
        row = session.chooser.best(task, Way.EITHER)
        if row is None:
            return False
        _give(session, job, task, row)
        if tasks and session.votes.is_ready(job):
            return True
    return False


def _give(session: Session, job: Job, task: Task, row: Row) -> None:
    room, needs = session.room, task.charge.start
    if room.fits(needs, row, IDLE):
        session.allocate(task, row)
        return
    job.missing[session.node_name(row)] = _missing(session, task, row)
    if room.fits(needs, row, LEAVING):
        session.pipeline(task, row)


def _missing(session: Session, task: Task, row: Row) -> tuple[str, ...]:
    """Name the resources of which a row has not enough idle, the tolerance taken off."""
    idle, needs, slack = session.room.amount(row), task.charge.start, session.slack
    slacks = {"cpu": slack.cpu, "memory": slack.memory}
    return tuple(
        name
        for name in needs.names()
        if needs.get(name) > 0 and idle.get(name) - needs.get(name) - slacks.get(name, slack.other) < 0
    )
