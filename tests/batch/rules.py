"""What must hold after every session, and at rest, whatever came before; told from objects and steps alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from bayplan.batch.choosing import Way
from bayplan.batch.plugins.proportion import Proportion
from bayplan.batch.room import Room
from bayplan.batch.session import Session
from bayplan.batch.tasks import Status
from bayplan.cluster.columns import Row
from tests.batch.world import World, alone_with
from tests.unit.batch.worlds import Manifest


def cpu(one: Manifest) -> int:
    """Return what a pod asks for of CPU, in milli."""
    asked = one["spec"]["containers"][0]["resources"]["requests"].get("cpu", "0")
    return int(asked.removesuffix("m")) if asked.endswith("m") else int(asked) * 1000


def group(one: Manifest) -> str:
    """Return a pod's gang."""
    return str(one["metadata"]["annotations"]["scheduling.k8s.io/group-name"])


def broken(world: World, session: Session) -> Iterator[str]:
    """Say what a session, closed and carried out, broke."""
    yield from _overfull(world)
    yield from _torn(world, session)
    yield from _beyond(world, session)
    room = world.lane.room
    room.catch_up()
    fresh = Room(world.lane.table, world.lane.charges, world.lane.jobs.tasks, room.slack)
    if not (np.array_equal(room.idle, fresh.idle) and np.array_equal(room.leaving, fresh.leaving)):
        yield "room is not what a recount gives"
    if any(resident.is_assumed for resident in world.lane.table.pods.values()):
        yield "somebody is still assumed"


def _overfull(world: World) -> Iterator[str]:
    used: Counter[str] = Counter()
    for one in world.running():
        used[one["spec"]["nodeName"]] += cpu(one)
    for name, amount in used.items():
        if amount > world.cpu[name]:
            yield f"{name} holds {amount} of {world.cpu[name]}"


def _torn(world: World, session: Session) -> Iterator[str]:
    if "gang" not in session.votes.voters:
        return
    runs = Counter(group(one) for one in world.running())
    for step in session.steps:
        if step.verb is Status.BINDING:
            name = group(world.pods[step.task.uid]) if step.task.uid in world.pods else ""
            if name and runs[name] < world.least[name]:
                yield f"{name} runs with {runs[name]} of {world.least[name]}"
    hurt = {step.task.uid.partition("-")[0] for step in session.steps if step.verb is Status.RELEASING}
    for name in hurt:
        if 0 < runs[name] < world.least[name]:
            yield f"{name} was left with {runs[name]} of {world.least[name]}"


def _beyond(world: World, session: Session) -> Iterator[str]:
    fed = {step.task.job.queue for step in session.steps if step.verb is Status.BINDING and step.task.job is not None}
    used: Counter[str] = Counter()
    for one in world.running():
        used[world.lane.jobs.jobs[f"ns/{group(one)}"].queue] += cpu(one)
    for name, limit in world.capability.items():
        if name in fed and used[name] > limit:
            yield f"queue {name} has {used[name]} and may have {limit}"


def needless(session: Session) -> Iterator[str]:
    """Look, before a session is closed, for a victim that could stay: its room is not needed, nor was its gang torn."""
    room = session.room
    for step in session.steps:
        job = step.task.job
        if step.verb is not Status.RELEASING or job is None or _has_wishes(session, step.row):
            continue
        if "gang" in session.votes.voters and job.ready + 1 < job.min_available:
            continue  # it went with its gang
        left = room.idle[:, step.row] + room.leaving[:, step.row]
        if all(left[place] >= amount for place, amount in step.task.charge.places):
            yield f"{step.task.key} left though its room is not needed"


def _has_wishes(session: Session, row: Row) -> bool:
    """Say whether somebody on a row wants a port or to be apart: then it is not room alone that matters."""
    specs = [resident.pod.spec for resident in session.table.on_row[row].values()]
    return any(spec.affinity is not None or spec.containers[0].ports for spec in specs)


def unserved(world: World, session: Session) -> Iterator[str]:
    """Look, at rest, for single tasks of queues that lack of their share, though idle room would do."""
    proportion = session.votes.voters.get("proportion")
    if not isinstance(proportion, Proportion):
        return
    for job in session.jobs.values():
        tasks = job.having(Status.PENDING)
        if not tasks or not session.votes.is_valid(job) or job.min_available - job.ready > 1:
            continue
        if proportion.overused(session.queues[job.queue]) or job.queue in world.capability:
            continue
        for task in tasks.values():
            if not task.charge.request.is_empty(session.slack):
                rows = np.flatnonzero(session.chooser.totals(task, Way.NOW) >= 0).tolist()
                yield from (f"{task.key} waits though {session.node_name(Row(row))} has room" for row in rows[:1])


def stranded(world: World) -> Iterator[str]:
    """Look, when nothing runs any more, for jobs that wait though the empty cluster has room for them."""
    jobs = {job.uid: job for job in world.lane.jobs.open_jobs()}
    for job in jobs.values():
        waiting = [world.pods[uid] for uid in job.having(Status.PENDING)]
        does_all = "backfill" in world.configuration.actions
        waiting = [one for one in waiting if does_all or cpu(one)]
        if not waiting or len(waiting) < len(job.tasks) or job.valid < job.min_available:
            continue
        alone = alone_with(world, job.name, waiting)
        session = alone.open()
        session.run()
        if session.effects:
            yield f"{job.uid} waits though it fits the empty cluster"
