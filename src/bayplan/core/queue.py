"""The queue: everything that waits, where and why.

Active pods are tried in the order of the profile's sort; those that failed back off; those that rules turned down wait
for a change, in groups of one shape and the same rules, each of which is looked at once per event; gated pods wait for
their gate.  A pod that was taken out is in flight until its binding is certain or it comes back; what changed meanwhile
is remembered for it.
Invariant: a pod is in exactly one place (`check` says so); a heap's stale entries are known by their ticket.
Not here: which change helps whom (wakeups.py), and trying (scheduler.py).
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator
from typing import Final, NamedTuple

from bayplan.api.objects import Pod, uid_of
from bayplan.core.lookouts import Lookout
from bayplan.core.waiting import SECOND_MS, Backoff, Group, Held, Place, Waiting, backs_off
from bayplan.framework.lane import Entity, Rejection
from bayplan.framework.plugin import Change
from bayplan.framework.profile import Instance, Profile

FLUSH_EVERY_MS: Final = 30 * SECOND_MS
LEFT_OVER_MS: Final = 300 * SECOND_MS
WAITED_LONG: Final = "it has waited long"
MOVED_MOST: Final = 64
"""How many are moved in one step."""

TAKEN_FROM: Final = frozenset({Place.ACTIVE, Place.BACKING_OFF, Place.UNSCHEDULABLE, Place.SESSION})
"""Where a pod may be when a lane decides about it."""

PARKED: Final = frozenset({Place.UNSCHEDULABLE, Place.GATED})
"""Where a pod waits for a change, or is held back."""

GroupKey = tuple[int, int, frozenset[str], bool]


class _Entry(NamedTuple):
    """A place in a heap; the sort key first."""

    key: tuple[float, ...]
    number: int
    ticket: int
    waiting: Waiting


class Settings(NamedTuple):
    """What decides when a pod is tried again."""

    backoff: Backoff = Backoff()
    left_over_ms: int | None = LEFT_OVER_MS  # None: whoever waits is never tried without a reason


Sort = Callable[[Pod, float], tuple[float, ...]]
Gate = Callable[[Waiting], Held | None]
Teller = Callable[[str, str, str], None]  # uid, what happened, why


class Queue:
    """All pods that are not placed yet."""

    def __init__(self, sort: Sort, gate: Gate, tell: Teller, settings: Settings) -> None:
        self.settings = settings
        self._sort = sort
        self._gate = gate
        self._tell = tell
        self.all: dict[str, Waiting] = {}
        self._active: list[_Entry] = []
        self._backoff: list[_Entry] = []  # turned down by rules: may be taken early
        self._errors: list[_Entry] = []
        self._groups: dict[GroupKey, Group] = {}
        self._lookouts: dict[tuple[int, str], Lookout] = {}  # by profile and rule
        self.stamp: Callable[[Group], tuple[int, int]] = lambda _: (-1, -1)  # what rises when shapes may be others
        self._gated: dict[tuple[int, str], dict[str, Waiting]] = {}  # by profile and rule
        self._left_over: deque[Waiting] = deque()  # who had waited long when that was last looked at, the longest first
        self._until_ms = 0  # of the last who failed: one number for all to whom the same second was given
        self._sessions: dict[int, dict[str, Waiting]] = {}  # by profile: whom its lane asks for in its own time
        self._kin: dict[tuple[int, str], dict[str, Waiting]] = {}  # by profile and name: who are tried together
        self._flight: dict[str, int] = {}  # uid -> how many changes had happened when it was taken
        self._changes: deque[frozenset[Change]] = deque()  # since the first of those in flight was taken
        self._changes_before = 0  # how many came before those
        self._arrivals = 0
        self._next_flush_ms = 0

    def __len__(self) -> int:
        return len(self.all)

    # -- coming, changing, going

    def add(self, pod: Pod, profile: Profile, now_ms: int) -> Waiting:
        """Take in a pod that is new."""
        self._arrivals += 1
        waiting = self.all[uid_of(pod)] = Waiting(pod, profile, self._arrivals, now_ms)
        self._join_kin(waiting)
        self._activate(waiting, "added", now_ms)
        return waiting

    def update(self, pod: Pod, changes: frozenset[Change], now_ms: int) -> None:
        """Take over a pod's new form; what changed may be what it waits for."""
        waiting = self.all[uid_of(pod)]
        self._leave_kin(waiting)
        waiting.pod = pod
        self._join_kin(waiting)
        match waiting.place:
            case Place.ACTIVE:
                self._push_active(waiting)  # its priority may be another
            case Place.UNSCHEDULABLE:
                if waiting.group is not None and self.helps(waiting.profile, waiting.group.by, changes):
                    self._requeue(waiting, "its own object changed", now_ms)
            case Place.GATED:
                if self.helps(waiting.profile, (waiting.held_by,), changes):
                    self._requeue(waiting, "its own object changed", now_ms)
            case Place.IN_FLIGHT:
                self.note(changes)
            case _:
                pass

    def remove(self, uid: str) -> Waiting | None:
        """Let go of a pod, wherever it is."""
        waiting = self.all.pop(uid, None)
        if waiting is not None:
            self._leave(waiting)
            self._leave_kin(waiting)
            self.done(uid)
        return waiting

    # -- who are tried together

    def get(self, uid: str) -> Waiting | None:
        """Return a pod that a lane may take: neither held back nor in flight."""
        waiting = self.all.get(uid)
        return waiting if waiting is not None and waiting.place in TAKEN_FROM else None

    def kin(self, entity: Entity) -> list[Waiting]:
        """Return those of a pod's group whom a lane may take, itself included if it is being tried."""
        asked = self.all.get(entity.uid)
        if asked is None or not asked.kin:
            return [] if asked is None else [asked]
        alike = self._kin[id(asked.profile), asked.kin].values()
        return [one for one in alike if one is asked or one.place in TAKEN_FROM]

    def of(self, profile: Profile) -> Collection[Waiting]:
        """Return whom a profile's lane may take in a session."""
        return self._sessions.get(id(profile), {}).values()

    def _join_kin(self, waiting: Waiting) -> None:
        lane = waiting.profile.lane
        if lane is not None and lane.kin is not None:
            waiting.kin = lane.kin(waiting.pod)
            if waiting.kin:
                self._kin.setdefault((id(waiting.profile), waiting.kin), {})[waiting.uid] = waiting

    def _leave_kin(self, waiting: Waiting) -> None:
        if waiting.kin:
            alike = self._kin[id(waiting.profile), waiting.kin]
            del alike[waiting.uid]
            if not alike:
                del self._kin[id(waiting.profile), waiting.kin]
            waiting.kin = ""

    # -- taking out and coming back

    def pop(self) -> Waiting | None:
        """Take out the next to be tried: when nobody is active, whoever backs off after no error."""
        waiting = self._first(self._active) or self._first(self._backoff)
        if waiting is not None:
            self._take_out(waiting)
        return waiting

    def take(self, uid: str) -> Waiting | None:
        """Take out a pod that a lane has decided about, wherever it waits; one that is being tried is out already."""
        waiting = self.all.get(uid)
        if waiting is None or waiting.place is Place.GATED:
            return None
        if waiting.place is not Place.IN_FLIGHT:
            self._take_out(waiting)
        return waiting

    def _take_out(self, waiting: Waiting) -> None:
        self._leave(waiting)
        waiting.place = Place.IN_FLIGHT
        waiting.attempts += 1
        self._flight[waiting.uid] = self._changes_before + len(self._changes)

    def has_next(self) -> bool:
        """Say whether pop would find anybody."""
        return self._peek(self._active) is not None or self._peek(self._backoff) is not None

    def back(self, waiting: Waiting, rejection: Rejection, now_ms: int) -> None:
        """Take a pod back after an attempt that failed."""
        if waiting.place is not Place.IN_FLIGHT:
            raise ValueError(f"{waiting!r} came back to the queue, but it is not in flight")
        if rejection.by:
            waiting.failures += 1
            waiting.errors = 0
        else:
            waiting.errors += 1
        waiting.since_ms = waiting.flushed_ms = now_ms
        until_ms = self.settings.backoff.until(waiting)
        self._until_ms = waiting.until_ms = self._until_ms if self._until_ms == until_ms else until_ms
        since = self._since(waiting.uid)
        self.done(waiting.uid)
        if waiting.has_sessions:
            self._activate(waiting, rejection.message, now_ms)
        elif not rejection.by:
            self._requeue(waiting, "an error", now_ms)
        elif any(self.helps(waiting.profile, rejection.by, changes) for changes in since):
            self._requeue(waiting, "something changed while it was tried", now_ms)
        else:
            self._park(waiting, rejection)

    def done(self, uid: str) -> None:
        """Stop remembering changes for a pod: from here on a failure is an error."""
        if self._flight.pop(uid, None) is None:
            return
        first = next(iter(self._flight.values()), None)
        while self._changes and (first is None or self._changes_before < first):
            self._changes.popleft()
            self._changes_before += 1

    def note(self, changes: frozenset[Change]) -> None:
        """Remember what changed for those in flight."""
        if self._flight and changes:
            self._changes.append(changes)

    def _since(self, uid: str) -> list[frozenset[Change]]:
        began = self._flight.get(uid)
        return [] if began is None else list(self._changes)[began - self._changes_before :]

    @staticmethod
    def helps(profile: Profile, rules: Collection[str], changes: frozenset[Change]) -> bool:
        """Say whether one of some changes is one that one of some rules waits for."""
        return any(wakes is None or not changes.isdisjoint(wakes) for wakes in wakers(profile, rules))

    # -- waking

    def lookout(self, profile: Profile, rule: str) -> Lookout | None:
        """Return who waits for a rule, if anybody does."""
        return self._lookouts.get((id(profile), rule))

    @property
    def has_parked(self) -> bool:
        """Whether anybody waits for a change, or is held back."""
        return bool(self._groups) or any(self._gated.values())

    def _parked(self) -> Iterator[Waiting]:
        """Return all who wait for a change, or are held back."""
        for group in self._groups.values():
            yield from group.members.values()
        for held in self._gated.values():
            yield from held.values()

    def forget_memos(self) -> None:
        """Forget what rules found on a table that is given up."""
        for lookout in self._lookouts.values():
            lookout.forget()

    def all_groups(self) -> Collection[Group]:
        """Return everybody who waits for a change."""
        return self._groups.values()

    def gated(self, profile: Profile, rule: str) -> Collection[Waiting]:
        """Return whom a rule holds back."""
        return self._gated.get((id(profile), rule), {}).values()

    def wake(self, waiting: Waiting, why: str, now_ms: int) -> None:
        """Have a pod that waits tried again, after its backoff."""
        if waiting.place in PARKED:
            self._requeue(waiting, why, now_ms)

    def activate(self, uid: str, now_ms: int) -> None:
        """Have a pod tried at once, by demand of a rule; one in flight is not parked when it comes back."""
        waiting = self.all.get(uid)
        if waiting is None:
            return
        if waiting.place is Place.IN_FLIGHT:
            self.note(frozenset(Change))
        elif waiting.place not in {Place.ACTIVE, Place.SESSION}:
            self._leave(waiting)
            self._activate(waiting, "a rule asked for it", now_ms)

    def again(self, waiting: Waiting, why: str, now_ms: int) -> None:
        """Take a pod back that was not really tried: it goes without a backoff."""
        self.done(waiting.uid)
        self._activate(waiting, why, now_ms)

    def regroup(self, waiting: Waiting, rejection: Rejection) -> None:
        """Put a pod that waits among those that are now like it."""
        if waiting.place is Place.UNSCHEDULABLE:
            self._ungroup(waiting)
            self._join(waiting, rejection)

    def tick(self, now_ms: int) -> int:
        """End backoffs and move who has waited long, so many at a time; return how many moved."""
        moved = 0
        for heap in (self._backoff, self._errors):
            while moved < MOVED_MOST and (waiting := self._peek(heap)) is not None and not backs_off(waiting, now_ms):
                heapq.heappop(heap)
                self._enter_active(waiting, "its backoff ended")
                moved += 1
        return moved + self._flush(now_ms)

    def next_ms(self, now_ms: int) -> int | None:
        """Return when tick next has something to do."""
        times = [
            waiting.until_ms + SECOND_MS
            for heap in (self._backoff, self._errors)
            if (waiting := self._peek(heap)) is not None
        ]
        if self.settings.left_over_ms is not None and self.has_parked:
            times.append(now_ms + 1 if self._left_over else max(self._next_flush_ms, now_ms + 1))
        return min(times, default=None)

    def _flush(self, now_ms: int) -> int:
        longest_ms, moved = self.settings.left_over_ms, 0
        if longest_ms is None:
            return 0
        if not self._left_over and now_ms >= self._next_flush_ms:
            due = [one for one in self._parked() if now_ms - one.flushed_ms > longest_ms]
            self._left_over.extend(sorted(due, key=lambda one: (one.flushed_ms, one.number)))
            self._next_flush_ms = (now_ms // FLUSH_EVERY_MS + 1) * FLUSH_EVERY_MS
        while self._left_over and moved < MOVED_MOST:
            waiting = self._left_over.popleft()
            is_here = self.all.get(waiting.uid) is waiting and waiting.place in PARKED
            if is_here and now_ms - waiting.flushed_ms > longest_ms:  # else it has moved since
                waiting.flushed_ms = now_ms
                self._requeue(waiting, WAITED_LONG, now_ms)
                moved += 1
        return moved

    # -- from place to place

    def _requeue(self, waiting: Waiting, why: str, now_ms: int) -> None:
        if waiting.has_sessions or not backs_off(waiting, now_ms):
            self._leave(waiting)
            self._activate(waiting, why, now_ms)
            return
        self._leave(waiting)
        if self._is_held(waiting, now_ms):
            return
        waiting.place = Place.BACKING_OFF
        waiting.ticket += 1
        key = (float(waiting.until_ms), *self._sort(waiting.pod, waiting.since_ms / SECOND_MS))
        heap = self._errors if waiting.errors else self._backoff
        heapq.heappush(heap, _Entry(key, waiting.number, waiting.ticket, waiting))
        self._tell(waiting.uid, str(Place.BACKING_OFF), why)

    def _activate(self, waiting: Waiting, why: str, now_ms: int) -> None:
        if not self._is_held(waiting, now_ms):
            if waiting.first_ms is None:
                waiting.first_ms = now_ms
            self._enter_active(waiting, why)

    def _enter_active(self, waiting: Waiting, why: str) -> None:
        if waiting.has_sessions:
            waiting.place = Place.SESSION
            self._sessions.setdefault(id(waiting.profile), {})[waiting.uid] = waiting
            self._tell(waiting.uid, str(Place.SESSION), why)
            return
        waiting.place = Place.ACTIVE
        self._push_active(waiting)
        self._tell(waiting.uid, str(Place.ACTIVE), why)

    def _push_active(self, waiting: Waiting) -> None:
        waiting.ticket += 1
        key = self._sort(waiting.pod, waiting.since_ms / SECOND_MS)
        heapq.heappush(self._active, _Entry(key, waiting.number, waiting.ticket, waiting))

    def _is_held(self, waiting: Waiting, now_ms: int) -> bool:
        held = self._gate(waiting)
        if held is None:
            return False
        waiting.place, waiting.held_by, waiting.flushed_ms = Place.GATED, held.by, now_ms
        self._gated.setdefault((id(waiting.profile), held.by), {})[waiting.uid] = waiting
        self._tell(waiting.uid, str(Place.GATED), held.message)
        return True

    def _park(self, waiting: Waiting, rejection: Rejection) -> None:
        waiting.place = Place.UNSCHEDULABLE
        self._join(waiting, rejection)
        self._tell(waiting.uid, str(Place.UNSCHEDULABLE), rejection.message)

    def _join(self, waiting: Waiting, rejection: Rejection) -> None:
        key = (id(waiting.profile), id(rejection.shape), rejection.by, rejection.is_late)
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = Group(waiting.profile, rejection)
            group.known = self.stamp(group)
            for instance in self._known_rules(group):
                at = id(group.profile), instance.name
                lookout = self._lookouts.get(at)
                if lookout is None:
                    lookout = self._lookouts[at] = Lookout(instance, group.profile)
                lookout.join(group)
        group.members[waiting.uid] = waiting
        waiting.group = group

    def _ungroup(self, waiting: Waiting) -> None:
        group = waiting.group
        if group is None:
            return
        waiting.group = None
        del group.members[waiting.uid]
        if group.members:
            return
        del self._groups[id(group.profile), id(group.shape), group.by, group.is_late]
        for instance in self._known_rules(group):
            lookout = self._lookouts[id(group.profile), instance.name]
            lookout.leave(group)
            if not lookout:
                del self._lookouts[id(group.profile), instance.name]

    @staticmethod
    def _known_rules(group: Group) -> list[Instance]:
        named = group.profile.named
        return [named[rule] for rule in sorted(group.by) if rule in named]

    def _leave(self, waiting: Waiting) -> None:
        """Take a pod out of the place where it is."""
        waiting.ticket += 1
        match waiting.place:
            case Place.UNSCHEDULABLE:
                self._ungroup(waiting)
            case Place.GATED:
                self._gated[id(waiting.profile), waiting.held_by].pop(waiting.uid, None)
            case Place.SESSION:
                self._sessions[id(waiting.profile)].pop(waiting.uid, None)
            case _:
                pass

    def _first(self, heap: list[_Entry]) -> Waiting | None:
        waiting = self._peek(heap)
        if waiting is not None:
            heapq.heappop(heap)
        return waiting

    @staticmethod
    def _peek(heap: list[_Entry]) -> Waiting | None:
        """Return who is first, having thrown away entries that count no more."""
        while heap and heap[0].ticket != heap[0].waiting.ticket:
            heapq.heappop(heap)
        return heap[0].waiting if heap else None

    # -- for whoever asks

    def places(self) -> Counter[Place]:
        """Count the pods in each place."""
        return Counter(waiting.place for waiting in self.all.values())

    def where(self, uid: str) -> str | None:
        """Say where a pod is and why."""
        waiting = self.all.get(uid)
        return None if waiting is None else waiting.where

    def check(self) -> Iterator[str]:
        """Name what is not as it must be: a pod in two places, or in none."""
        heaps = (self._active, self._backoff, self._errors)
        queued = Counter(one.waiting.uid for heap in heaps for one in heap if one.ticket == one.waiting.ticket)
        grouped = Counter(uid for group in self._groups.values() for uid in group.members)
        gated = {uid for there in self._gated.values() for uid in there}
        sessions = {uid for there in self._sessions.values() for uid in there}
        for uid, waiting in self.all.items():
            places = queued[uid] + grouped[uid] + (uid in gated) + (uid in sessions)
            places += waiting.place is Place.IN_FLIGHT
            if places != 1:
                yield f"{waiting!r} is in {places} places"
        kin = {uid for there in self._kin.values() for uid in there}
        for uid in {*queued, *grouped, *gated, *sessions, *kin, *self._flight} - self.all.keys():
            yield f"{uid} is in a place of the queue, but the queue does not know it"


def wakers(profile: Profile, rules: Collection[str]) -> Iterator[frozenset[Change] | None]:
    """Return what each of some rules waits for; None: anything."""
    for rule in rules:
        if rule in profile.named:
            wakes = profile.named[rule].plugin.wakes
            yield None if wakes is None else frozenset(wakes)
