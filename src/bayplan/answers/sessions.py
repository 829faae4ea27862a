"""Where sessions of the batch lane would put what waits: run until one starts nobody more, and nobody is told.

Invariant: every waiting pod of the profile's schedulerName is answered once.
Not here: reading manifests (snapshot.py) and sessions themselves (batch).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from bayplan.api.objects import Pod, uid_of
from bayplan.batch.intake import put
from bayplan.batch.lane import BatchLane
from bayplan.batch.tasks import Status

if TYPE_CHECKING:
    from bayplan.answers.snapshot import Cluster
    from bayplan.batch.session import Session
    from bayplan.framework.registry import Registry
    from bayplan.framework.tiers import BatchConfiguration

SESSIONS_MAX: Final = 1000


class Seat(NamedTuple):
    """What becomes of one pod."""

    pod: Pod
    node: str | None
    message: str | None


def seats(cluster: Cluster, given: BatchConfiguration, registry: Registry, *, seed: int = 0) -> Iterator[Seat]:
    """Run sessions over a cluster, and say of each pod that waits for them where it goes, or why it waits."""
    lane = BatchLane(cluster.table, given, registry, seed=seed)
    for thing in cluster.objects:
        put(lane.jobs, thing)
    bound, session = dict[str, str](), None
    leaving: list[str] = []
    for _ in range(SESSIONS_MAX):
        session = lane.open()
        session.run()
        fresh = {step.task.uid: session.node_name(step.row) for step in session.steps if step.verb is Status.BINDING}
        leaving += [step.task.key for step in session.steps if step.verb is Status.RELEASING]
        waiting = {uid: _message(session, uid, leaving) for uid in lane.jobs.tasks if uid not in bound | fresh}
        lane.close(session)
        bound |= fresh
        if not session.effects:
            break
    for pod in cluster.waiting:
        if pod.spec.scheduler_name == given.scheduler_name:
            uid = uid_of(pod)
            yield Seat(pod, bound.get(uid), None if uid in bound else waiting.get(uid, "its queue is not there"))


def _message(session: Session, uid: str, leaving: list[str]) -> str:
    """Say why a task waits."""
    task = session.tasks[uid]
    job = task.job
    if job is None or job.uid not in session.jobs:
        return "its PodGroup is not there" if job is None or job.group is None else f"queue {job.queue} is not there"
    if task.status is Status.PIPELINED:
        return f"waits on {session.node_name(session.row_of(task))} until others have left: {', '.join(leaving)}"
    if not session.votes.is_valid(job):
        return f"its gang has {job.valid} members and must have {job.min_available}"
    wait = session.waits.get(job.uid)
    return str(wait) if wait is not None else "others go first"
