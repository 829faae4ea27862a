"""A history of the batch lane: sessions while jobs come and end, then rest, then an empty cluster."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.batch.session import Session
from bayplan.batch.tasks import Status
from tests.batch.rules import broken, needless, stranded, unserved
from tests.batch.world import World, a_world

LIVELY = 6
REST_MAX = 60
DRAIN_MAX = 200


def lived(seed: int) -> Iterator[str]:
    """Live through the history of a seed and say what broke, and when."""
    world = a_world(seed, singles=seed % 5 == 0)
    for number in range(LIVELY):
        yield from (f"session {number}: {fault}" for fault in _session(world)[1])
        world.live()
    for number in range(LIVELY, LIVELY + REST_MAX):
        has_acted, faults = _session(world)
        yield from (f"session {number}: {fault}" for fault in faults)
        if not has_acted:
            break
    else:
        yield f"no rest after {REST_MAX} sessions"
    yield from _drained(world)


def _drained(world: World) -> Iterator[str]:
    """Have all running work end, over and over: whoever fits the empty cluster starts at last."""
    for number in range(DRAIN_MAX):
        for one in world.running():
            world.gone(one["metadata"]["uid"])
        has_acted, faults = _session(world)
        yield from (f"drain {number}: {fault}" for fault in faults)
        if not has_acted:
            break
    yield from stranded(world)


def _session(world: World) -> tuple[bool, list[str]]:
    session = world.lane.open()
    session.run()
    has_acted = bool(session.effects)
    faults = list(needless(session))
    if not has_acted and not _waits_for_room(session):
        faults += unserved(world, session)
    world.lane.close(session)
    world.go_on(session)
    return has_acted, [*faults, *broken(world, session)]


def _waits_for_room(session: Session) -> bool:
    return any(step.verb is Status.PIPELINED for step in session.steps)
