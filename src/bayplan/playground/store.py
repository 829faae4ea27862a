"""The store: objects by kind, namespace and name, numbered changes, and a bounded memory of them for watches.

Every change takes the next revision, which is the object's resourceVersion.  A watcher holds a place in its shelf's
log, not a queue: one that does not read costs nothing, and is told that it fell behind.
Invariants: what is stored is never changed in place (a change stores a new tree); a log is in the order of revisions;
a shelf at an older revision that its log still covers can be told exactly.
Not here: whether a change is allowed (`verbs.py`).
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import Final, Literal, NamedTuple, TypeAlias

from bayplan.playground.trees import Map, encoded, opened

Key: TypeAlias = tuple[str, str]  # namespace (empty where there is none) and name
ChangeType: TypeAlias = Literal["ADDED", "MODIFIED", "DELETED"]

LOG_MAX: Final = 20_000


class Stored:
    """An object as it was at one revision; its JSON is written once, when it is first asked for."""

    __slots__ = ("_raw", "revision", "tree")

    def __init__(self, tree: Map, revision: int) -> None:
        """Keep a tree that nobody changes any more."""
        self.tree = tree
        self.revision = revision
        self._raw: bytes | None = None

    @property
    def raw(self) -> bytes:
        """Give the object's JSON."""
        if self._raw is None:
            self._raw = encoded(self.tree)
        return self._raw


class Change(NamedTuple):
    """What happened to one object; of a deletion `now` is its last state under the deletion's revision."""

    type: ChangeType
    key: Key
    now: Stored
    before: Stored | None


class TooOld(Exception):
    """A revision that the log no longer reaches back to."""

    def __init__(self, asked: int, floor: int) -> None:
        """Say what was asked for, and what is remembered."""
        super().__init__(f"too old resource version: {asked} ({floor})")


class Shelf:
    """The objects of one kind and the log of their changes."""

    def __init__(self, log_max: int) -> None:
        """Begin empty."""
        self.objects: dict[Key, Stored] = {}
        self.log: list[Change] = []
        self.dropped = 0  # how many changes the log has forgotten: a place in the log counts them
        self.floor = 0  # changes after this revision are all in the log
        self._log_max = log_max
        self._order: list[Key] | None = []
        self._waiting: set[asyncio.Future[None]] = set()

    def ordered(self) -> list[Key]:
        """Give the keys in the order in which lists show them."""
        if self._order is None:
            self._order = sorted(self.objects)
        return self._order

    @property
    def end(self) -> int:
        """Give the place after the log's last change."""
        return self.dropped + len(self.log)

    def place_after(self, revision: int) -> int:
        """Give the place of the first change after a revision; raise TooOld where that is forgotten."""
        if revision < self.floor:
            raise TooOld(revision, self.floor)
        return self.dropped + bisect_right(self.log, revision, key=lambda change: change.now.revision)

    def since(self, place: int) -> list[Change]:
        """Give the changes from a place on; raise TooOld where the first of them is forgotten."""
        if place < self.dropped:
            raise TooOld(0, self.floor)
        return self.log[place - self.dropped :]

    def as_of(self, revision: int) -> dict[Key, Stored]:
        """Give the objects as they were at a revision; raise TooOld where that is forgotten."""
        later = self.since(self.place_after(revision))
        if not later:
            return self.objects
        objects = dict(self.objects)
        for change in reversed(later):
            if change.before is None:
                objects.pop(change.key, None)
            else:
                objects[change.key] = change.before
        return objects

    def record(self, change: Change) -> None:
        """Take a change in, and wake who waits for one."""
        if change.type == "DELETED":
            del self.objects[change.key]
        else:
            self.objects[change.key] = change.now
        if change.type != "MODIFIED":
            self._order = None
        self.log.append(change)
        if len(self.log) > 2 * self._log_max:
            self.forget(len(self.log) - self._log_max)
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)
        self._waiting.clear()

    def forget(self, number: int) -> None:
        """Drop the oldest changes."""
        if number > 0:
            self.floor = self.log[number - 1].now.revision
            del self.log[:number]
            self.dropped += number

    async def change_after(self, place: int, seconds: float) -> None:
        """Wait until there is a change at a place, for so long at most."""
        if self.end > place:
            return
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(waiting)
        try:
            await asyncio.wait_for(waiting, seconds)
        except TimeoutError:
            pass
        finally:
            self._waiting.discard(waiting)


class Store:
    """All shelves, under one count of revisions."""

    def __init__(self, log_max: int = LOG_MAX) -> None:
        """Begin empty; a log keeps at least its last `log_max` changes."""
        self.revision = 1
        self._log_max = log_max
        self._shelves: dict[tuple[str, str], Shelf] = {}
        self._listeners: list[Callable[[tuple[str, str], Change], None]] = []

    def shelf(self, of: tuple[str, str]) -> Shelf:
        """Give the shelf of a kind, by its group and plural."""
        shelf = self._shelves.get(of)
        if shelf is None:
            shelf = self._shelves[of] = Shelf(self._log_max)
        return shelf

    def listen(self, listener: Callable[[tuple[str, str], Change], None]) -> None:
        """Tell a listener of every change from now on, in order, right after it is made."""
        self._listeners.append(listener)

    def put(self, of: tuple[str, str], key: Key, tree: Map) -> Stored:
        """Store an object, new or anew; the tree becomes the store's."""
        before = self.shelf(of).objects.get(key)
        stored = self._numbered(tree)
        self._record(of, Change("ADDED" if before is None else "MODIFIED", key, stored, before))
        return stored

    def remove(self, of: tuple[str, str], key: Key, last: Map) -> Stored:
        """Remove an object; `last` is what watchers are shown, and becomes the store's."""
        before = self.shelf(of).objects[key]
        stored = self._numbered(last)
        self._record(of, Change("DELETED", key, stored, before))
        return stored

    def reflect(self, of: tuple[str, str], key: Key, tree: Map | None) -> None:
        """Show what another server has under a key, or that it has nothing there, with that server's revisions."""
        before = self.shelf(of).objects.get(key)
        self.revision += 1
        if tree is not None:
            now = Stored(tree, self.revision)
            self._record(of, Change("ADDED" if before is None else "MODIFIED", key, now, before))
        elif before is not None:
            self._record(of, Change("DELETED", key, before, before))

    def shelves(self) -> Iterable[tuple[tuple[str, str], Shelf]]:
        """Give every shelf that was ever asked for."""
        return list(self._shelves.items())

    def forget(self) -> None:
        """Expire the history of every shelf."""
        for shelf in self._shelves.values():
            shelf.forget(len(shelf.log))

    def _numbered(self, tree: Map) -> Stored:
        self.revision += 1
        opened(tree, "metadata")["resourceVersion"] = str(self.revision)
        return Stored(tree, self.revision)

    def _record(self, of: tuple[str, str], change: Change) -> None:
        self.shelf(of).record(change)
        for listener in self._listeners:
            listener(of, change)
