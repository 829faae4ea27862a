"""Rebuilding: a new table from the objects that are known, after an exception of our own.

Nobody knows what the exception left half done, so nothing of the old table is kept.  Each object is laid on the new one
in a step of its own; one that cannot be is set aside and said so.  Then what is on its way is assumed again, and the
queue is brought in line with the objects.
Invariant: afterwards every pod of ours that is known and not placed is in the queue, and nobody else is.
Not here: that it happened (scheduler.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

from bayplan.api.objects import Object, Pod, uid_of
from bayplan.cluster import fold
from bayplan.cluster.table import FINISHED, Table
from bayplan.core import settings
from bayplan.core.known import meta_of
from bayplan.core.waiting import Place, Waiting
from bayplan.framework.guard import raised
from bayplan.framework.lane import ERROR, Rejection

if TYPE_CHECKING:
    from bayplan.core.scheduler import Core

OURS: Final = Rejection(ERROR, "an internal error: the attempt is made again")


def rebuilt(core: Core, failed: list[Waiting], asks: list[int]) -> Iterator[int]:
    """Build a table anew and go on with it; whoever was being tried backs off."""
    for waiting in failed:
        core.binding.forget(waiting.uid)
    table = Table()
    for thing in core.known:
        _laid(core, thing, partial(fold.put, table))
        yield settings.RESTORED
    core.adopt(table)
    yield from _reconciled(core)
    for _ in core.binding.again(table):
        yield settings.RESTORED
    for lane in core.hearing:  # what is on its way counts as such
        for thing in core.known:
            _laid(core, thing, lane.put)
            yield settings.RESTORED
    for write in asks:  # they were not sent: nobody would ever answer
        flight = core.binding.flight_of(write)
        if flight is not None:
            core.binding.ask_again(flight, write)
    for waiting in list(core.queue.all.values()):  # also those of a rebuilding that was itself cut short
        if waiting.place is Place.IN_FLIGHT and waiting.uid not in core.binding.flights:
            core.queue.back(waiting, OURS, core.now_ms)
    yield from _regrouped(core)
    core.intake.note_anything()
    core.binding.slow.stir_all()


def _laid(core: Core, thing: Object, lay: Callable[[Object], object]) -> None:
    """Lay an object; one that cannot be is set aside, and must not keep the others from it."""
    try:
        lay(thing)
    except Exception as error:  # noqa: BLE001 - whatever is wrong with it
        core.known.drop(thing)
        core.notes.append(f"set aside {type(thing).__name__} {meta_of(thing).name}: {raised(error)}")


def _reconciled(core: Core) -> Iterator[int]:
    waiting: dict[str, Pod] = {}
    placed: dict[str, Pod] = {}
    for thing in core.known:
        if isinstance(thing, Pod):
            yield settings.RESTORED
            is_placed = bool(thing.spec.node_name) or thing.status.phase in FINISHED
            (placed if is_placed else waiting)[uid_of(thing)] = thing
    for uid in list(core.binding.flights):
        if uid in placed and placed[uid].spec.node_name:
            core.binding.confirm(placed[uid], uid)
        elif uid not in waiting:
            core.binding.forget(uid)
        yield settings.RESTORED
    for uid in list(core.queue.all):
        if uid not in waiting:
            core.queue.remove(uid)
            yield settings.RESTORED
    for uid, pod in waiting.items():
        profile = core.profile_of(pod)
        if profile is not None and uid not in core.queue.all and pod.metadata.deletion_timestamp is None:
            core.queue.add(pod, profile, core.now_ms)
            yield settings.RESTORED


def _regrouped(core: Core) -> Iterator[int]:
    """Group those that wait for a change by their shapes on the new table."""
    for group in list(core.queue.all_groups()):
        for waiting in list(group.members.values()):
            shape = core.lane.reader.shape(waiting.pod)
            core.lane.reader.forget(waiting.uid)
            core.queue.regroup(waiting, Rejection("", "", group.by, shape, group.is_late))
            yield settings.RESTORED
