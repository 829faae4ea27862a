"""Books: keyed state that is not a column, with a version per entry and one for the whole.

Namespaces, services, owners, claims, volumes, classes, CSI objects, nominations.  A reader may note an entry's version
(0 while it was never there) or the whole book's, and is out of date when it has changed.
Invariant: versions only rise; an entry that goes keeps the version of its going.
Not here: what an entry means to a rule (plugins).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from bayplan.cluster.ticks import Ticks

V = TypeVar("V")


class Book(Generic[V]):
    """Entries by key."""

    def __init__(self, ticks: Ticks | None = None) -> None:
        self.version = 0
        self._ticks = ticks if ticks is not None else Ticks()
        self.entries: dict[str, V] = {}
        self._versions: dict[str, int] = {}

    def get(self, key: str) -> V | None:
        """Return an entry, or None."""
        return self.entries.get(key)

    def version_of(self, key: str) -> int:
        """Return the version at which an entry last changed."""
        return self._versions.get(key, 0)

    def put(self, key: str, entry: V) -> V | None:
        """Write an entry and return the one it replaces."""
        old = self.entries.get(key)
        self.entries[key] = entry
        self._changed(key)
        return old

    def drop(self, key: str) -> V | None:
        """Remove an entry and return it."""
        old = self.entries.pop(key, None)
        if old is not None:
            self._changed(key)
        return old

    def _changed(self, key: str) -> None:
        self.version += 1
        self._versions[key] = self.version
        self._ticks.tick()

    def __iter__(self) -> Iterator[V]:
        return iter(self.entries.values())

    def __len__(self) -> int:
        return len(self.entries)
