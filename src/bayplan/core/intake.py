"""Intake: what each event does to what is known, to the table, to the queue and to those on their way.

What changed is collected until no event waits any more; then those are woken whom it may help, in bounded steps.  A
list is taken in object by object; what is not on it is gone.
Invariant: an object that is told twice, or in an older form, changes nothing.
Not here: trying (scheduler.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from bayplan.api.claims import PersistentVolume, PersistentVolumeClaim
from bayplan.api.messages import Answered, Ended, Event, Gone, Listed, Seen
from bayplan.api.objects import Node, Object, Pod, uid_of
from bayplan.cluster import fold
from bayplan.cluster.table import FINISHED
from bayplan.core import settings
from bayplan.core.binding import Stage
from bayplan.core.known import is_another, is_older, key_of, meta_of
from bayplan.core.waiting import Group, Place
from bayplan.core.wakeups import Looks, Since, changes_of, own_changes
from bayplan.framework.lane import Rejection
from bayplan.framework.plugin import Change

if TYPE_CHECKING:
    from bayplan.core.scheduler import Core

WOKEN_AT_ONCE: Final = 16
COMPARED_AT_ONCE: Final = 256


class Intake:
    """Takes events in."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.cause = ""  # of what is being done now
        self._changes: set[Change] = set()
        self._names: set[str] = set()  # of nodes on which something happened
        self._position = 0  # in the table's log of rows
        self._is_anywhere = False
        self._reread_at = (-1, -1)  # versions of what shapes depend on, when all who wait were read last

    def take(self, event: Event) -> Iterator[int] | None:
        """Take in an event; return the steps that it takes, if it takes several."""
        self.cause = event.cause or type(event).__name__.lower()
        try:
            match event:
                case Seen():
                    self._seen(event.thing)
                case Gone():
                    self._gone(event.thing)
                case Ended():
                    self._ended(event)
                case Answered():
                    self._answered(event)
                case Listed():
                    return self._listed(event)
                case _:
                    raise TypeError(f"expected an event, got a {type(event).__name__}")
        finally:
            self.cause = ""
        return None

    # -- objects

    def _seen(self, thing: Object) -> bool:
        """Take in an object; say whether it is news."""
        core = self._core
        old = core.known.like(thing)
        if old is not None and is_another(thing, old):
            self._gone(old)
            old = None
        if old is not None and (is_older(thing, old) or thing == old):
            return False
        core.known.put(thing)
        if isinstance(thing, Pod):
            self._seen_pod(old if isinstance(old, Pod) else None, thing)
        else:
            fold.put(core.table, thing)
            self.note(changes_of(old, thing), meta_of(thing).name)
        if isinstance(thing, PersistentVolume | PersistentVolumeClaim):
            core.binding.take_again(thing)
            core.binding.slow.stir_by(thing)
        for lane in core.hearing:
            lane.put(thing)
        return True

    def _gone(self, thing: Object) -> None:
        core = self._core
        old = core.known.like(thing)
        if old is None or is_another(thing, old):
            return
        core.known.drop(thing)
        if isinstance(old, Pod):
            uid = uid_of(old)
            core.settling.left(uid)
            core.queue.remove(uid)
            flight = core.binding.undo(uid)
            core.lane.reader.forget(uid)
            if flight is not None:
                self.note(frozenset({Change.POD_GONE}), flight.node)
            self._unnominated(old)
            core.tell(uid, "deleted")
        self.note(changes_of(old, None), _node_of(old))
        fold.drop(core.table, old)
        if isinstance(old, PersistentVolume | PersistentVolumeClaim):
            core.binding.slow.stir_by(old)
        for lane in core.hearing:
            lane.drop(old)

    def _seen_pod(self, old: Pod | None, pod: Pod) -> None:
        if pod.spec.node_name or pod.status.phase in FINISHED:
            self._placed_pod(old, pod)
        else:
            self._waiting_pod(old, pod)

    def _placed_pod(self, old: Pod | None, pod: Pod) -> None:
        """Take in a pod that runs, or has ended: it waits no more."""
        core, uid = self._core, uid_of(pod)
        core.queue.remove(uid)
        core.lane.reader.forget(uid)
        if pod.metadata.deletion_timestamp is not None or pod.status.phase in FINISHED:
            core.settling.left(uid)
        flight = core.binding.confirm(pod, uid) if pod.spec.node_name else core.binding.undo(uid)
        fold.put(core.table, pod)
        if flight is not None and (pod.spec.node_name != flight.node or pod.status.phase in FINISHED):
            self.note(frozenset({Change.POD_GONE}), flight.node)
        if old is None or not old.spec.node_name:
            core.tell(uid, f"seen on {pod.spec.node_name}" if pod.spec.node_name else f"ended: {pod.status.phase}")
        if old is not None and not old.spec.node_name:
            self._unnominated(old)
        changes = changes_of(old, pod)
        self.note(changes, pod.spec.node_name)
        if old is not None and old.spec.node_name != pod.spec.node_name:
            self.note(changes, old.spec.node_name)

    def _waiting_pod(self, old: Pod | None, pod: Pod) -> None:
        core, uid = self._core, uid_of(pod)
        flight = core.binding.flights.get(uid)
        is_leaving = pod.metadata.deletion_timestamp is not None
        if flight is not None and is_leaving and flight.stage in {Stage.PERMIT, Stage.VOLUMES}:
            core.binding.undo(uid)
            core.queue.remove(uid)
            self.note(frozenset({Change.POD_GONE}), flight.node)
        fold.put(core.table, pod)
        if old is not None and old.status.nominated_node_name != pod.status.nominated_node_name:
            self._unnominated(old)
        else:
            self._nominated_still(uid)
        profile = core.profile_of(pod)
        if profile is None:
            return
        if uid not in core.queue.all:
            core.queue.add(pod, profile, core.now_ms)
            return
        waiting = core.queue.all[uid]
        core.queue.update(pod, own_changes(waiting.pod, pod), core.now_ms)
        if waiting.place is Place.UNSCHEDULABLE and waiting.group is not None:
            self._regroup(waiting.group, [uid])

    def _nominated_still(self, uid: str) -> None:
        """Keep a pod nominated as we had noted on it: what was seen is from before."""
        core = self._core
        waiting = core.queue.all.get(uid)
        if waiting is None or waiting.nominated is None or uid in core.binding.flights:
            return
        core.table.drop_nomination(uid)
        row = core.table.row_of.get(waiting.nominated)
        if row is not None:
            core.table.nominate(waiting.pod, row)

    def _unnominated(self, old: Pod) -> None:
        """Note that nobody has to leave room for a pod where it was nominated."""
        if old.status.nominated_node_name:
            self.note(frozenset({Change.POD_GONE}), old.status.nominated_node_name)

    # -- lists

    def _listed(self, event: Listed) -> Iterator[int]:
        """Take in all objects of a kind, one after another; then let go of what is not there any more."""
        core = self._core
        here = {(event.kind, namespace, name) for namespace, name in event.unread}  # as it was last understood
        news = 0
        for thing in event.things:
            here.add(key_of(thing))
            self.cause = event.cause or "listed"
            news += self._seen(thing)
            if isinstance(thing, Pod) and not thing.spec.node_name:
                flight = core.binding.flights.get(uid_of(thing))
                if flight is not None:
                    core.binding.ask_whether_bound(flight)  # the list may be older than the write
            self.cause = ""
            yield cost_of(thing)
        missing = []
        for count, thing in enumerate(core.known.of_kind(event.kind)):
            if key_of(thing) not in here:
                missing.append(thing)
            if count % COMPARED_AT_ONCE == 0:
                yield settings.EVENT
        for thing in missing:
            self.cause = event.cause or "listed"
            self._gone(thing)
            self.cause = ""
            yield cost_of(thing)
        if news or missing:
            core.notes.append(f"listing {event.kind}: {news} new or changed, {len(missing)} gone unheard")

    # -- writes and reads

    def _ended(self, event: Ended) -> None:
        core = self._core
        flight = core.binding.flight_of(event.write)
        if flight is None:
            core.settling.ended(event.write, event.ending)  # else it is late, or told twice
            return
        rejection = core.binding.ended(flight, event.write, event.ending, event.text)
        core.binding.slow.stir(flight.waiting.uid)
        if rejection is not None:
            core.fail(flight.waiting, rejection)

    def _answered(self, event: Answered) -> None:
        core = self._core
        flight = core.binding.flight_of(event.write)
        if flight is None:
            return
        if event.has_failed:
            core.binding.ask_again(flight, event.write)
            return
        if event.thing is not None:
            self._seen(event.thing)
        elif core.binding.is_about_pod(event.write):
            self._gone(flight.pod)
        if core.binding.flight_of(event.write) is None:
            return  # what was read has settled it
        core.binding.slow.stir(flight.waiting.uid)
        rejection = core.binding.answered(flight, event.write, event.thing)
        if rejection is not None:
            core.fail(flight.waiting, rejection)

    # -- waking

    @property
    def has_changes(self) -> bool:
        """Whether something changed that may help somebody."""
        return bool(self._changes)

    def note(self, changes: frozenset[Change], node: str = "") -> None:
        """Note what changed, and on which node."""
        if changes:
            self._core.queue.note(changes)
            self._changes |= changes
            if node:
                self._names.add(node)

    def note_anything(self) -> None:
        """Have everybody looked at: nobody knows what changed."""
        self._changes |= set(Change)
        self._is_anywhere = True

    def waking(self) -> Iterator[int]:
        """Wake whom the changes may help, a few at a time."""
        core, table = self._core, self._core.table
        changes = frozenset(self._changes)
        since = None if self._is_anywhere else table.row_log.since(self._position)
        rows = None
        if since is not None:
            named = [table.row_of[name] for name in sorted(self._names) if name in table.row_of]
            rows = np.unique(np.concatenate((since, np.array(named, np.intp))))
        self._changes, self._names, self._is_anywhere = set(), set(), False
        self._position = table.row_log.position
        if not core.queue.has_parked:
            return
        yield from self._reread()
        looks, why = Looks(table, Since(changes, rows)), ", ".join(sorted(changes))
        for profile in core.profiles.values():
            for instance in looks.candidates(profile):
                for waiting in list(core.queue.gated(profile, instance.name)):
                    core.queue.wake(waiting, why, core.now_ms)
                    yield settings.WOKEN
                lookout = core.queue.lookout(profile, instance.name)
                for passing in () if lookout is None else looks.at(lookout):
                    yield settings.LOOK
                    for group in [group for alike in passing for group in alike.groups]:
                        yield from self._wake(group, why)

    def _wake(self, group: Group, why: str) -> Iterator[int]:
        for count, waiting in enumerate(list(group.members.values())):
            self._core.queue.wake(waiting, why, self._core.now_ms)
            if count % WOKEN_AT_ONCE == WOKEN_AT_ONCE - 1:
                yield WOKEN_AT_ONCE * settings.WOKEN

    def _reread(self) -> Iterator[int]:
        """Read those who wait again where their shapes may be others by now."""
        core = self._core
        stamp = core.shape_stamp(None)
        if stamp == self._reread_at:
            return
        for group in list(core.queue.all_groups()):
            known = core.shape_stamp(group)
            if group.known != known:
                uids = list(group.members)
                for start in range(0, len(uids), WOKEN_AT_ONCE):
                    self._regroup(group, uids[start : start + WOKEN_AT_ONCE])
                    yield WOKEN_AT_ONCE * settings.WOKEN
                group.known = known
        self._reread_at = stamp

    def forget_reading(self) -> None:
        """Have everybody read again: versions of another table say nothing."""
        self._reread_at = (-1, -1)

    def _regroup(self, group: Group, uids: list[str]) -> None:
        """Put pods whose shape is another by now among those that are like them."""
        core = self._core
        for uid in uids:
            waiting = group.members[uid]
            shape = core.lane.reader.shape(waiting.pod)
            core.lane.reader.forget(uid)
            if shape is not group.shape:
                core.queue.regroup(waiting, Rejection("", "", group.by, shape, group.is_late))


def cost_of(thing: Object) -> int:
    """Return the work units of folding an object in."""
    return settings.OF_NODE if isinstance(thing, Node) else settings.EVENT


def _node_of(thing: Object) -> str:
    return thing.spec.node_name if isinstance(thing, Pod) else meta_of(thing).name
