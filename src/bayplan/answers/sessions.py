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
from bayplan.batch.waits import waiting_text
from bayplan.cluster.reading import Reader
from bayplan.framework.run import Rules

if TYPE_CHECKING:
    from bayplan.answers.snapshot import Cluster
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
    lane = BatchLane(Rules(cluster.table, Reader(cluster.table), seed=seed), given, registry)
    for thing in cluster.objects:
        put(lane.jobs, thing)
    bound, session = dict[str, str](), None
    for _ in range(SESSIONS_MAX):
        session = lane.open()
        session.run()
        fresh = {step.task.uid: session.node_name(step.row) for step in session.steps if step.verb is Status.BINDING}
        bound |= fresh
        waiting = {uid: waiting_text(session, one) for uid, one in lane.jobs.tasks.items() if uid not in bound}
        lane.close(session)
        if not session.effects:
            break
    for pod in cluster.waiting:
        if pod.spec.scheduler_name == given.scheduler_name:
            uid = uid_of(pod)
            yield Seat(pod, bound.get(uid), None if uid in bound else waiting.get(uid, "its queue is not there"))
