"""Near: things that some nodes reach, found by a node's labels without looking at all of them.

A thing whose selector asks for one of some values of a label is kept under each of these values, any other among the
loose ones; within its place it is sorted by size, then by name, so that what came when makes no difference.  A node of
a cluster with a local volume on each of 5,000 nodes is thus shown its own volumes only.
Invariant: whatever a node's labels reach is among what they are shown, smallest first; once, if its places are values
of one label.
Not here: whether a node really reaches it (the rule asks).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping
from heapq import merge
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")
Spot = tuple[str, str]  # a label key and a value that it must have
LOOSE: Spot = ("", "")


class _Placed(NamedTuple, Generic[T]):
    spots: tuple[Spot, ...]
    size: int
    thing: T


class Near(Generic[T]):
    """Things by name, and by the label values that reach them."""

    def __init__(self) -> None:
        self.changes = 0
        self._placed: dict[str, _Placed[T]] = {}
        self._at: dict[Spot, list[tuple[int, str]]] = {}  # (size, name), sorted
        self._versions: dict[str, dict[str, int]] = {}  # label key -> value -> changes there, ever
        self._keys: dict[str, int] = {}  # label key -> spots of that key

    def put(self, name: str, size: int, spots: Iterable[Spot], thing: T) -> None:
        """Put a thing where it can be found, instead of what had its name."""
        self.drop(name)
        placed = self._placed[name] = _Placed(tuple(dict.fromkeys(spots)) or (LOOSE,), size, thing)
        for spot in placed.spots:
            there = self._at.get(spot)
            if there is None:
                there = self._at[spot] = []
                self._keys[spot[0]] = self._keys.get(spot[0], 0) + 1
            insort(there, (size, name))
            self._changed(spot)

    def drop(self, name: str) -> None:
        """Take a thing away."""
        placed = self._placed.pop(name, None)
        if placed is None:
            return
        for spot in placed.spots:
            there = self._at[spot]
            del there[bisect_left(there, (placed.size, name))]
            if not there:
                del self._at[spot]
                self._keys[spot[0]] -= 1
                if not self._keys[spot[0]]:
                    del self._keys[spot[0]]
            self._changed(spot)

    def _changed(self, spot: Spot) -> None:
        self.changes += 1
        versions = self._versions.setdefault(spot[0], {})
        versions[spot[1]] = versions.get(spot[1], 0) + 1

    def of(self, labels: Mapping[str, str], size: int = 0) -> Iterator[tuple[str, T]]:
        """Give what labels might reach and is at least of a size, the smallest first, with its name."""
        parts = [_from(there, size) for spot in self._spots(labels) if (there := self._at.get(spot)) is not None]
        for _, name in parts[0] if len(parts) == 1 else merge(*parts):
            yield name, self._placed[name].thing

    def version(self, labels: Mapping[str, str]) -> int:
        """Return a number that rises whenever something that labels might reach comes or goes."""
        version = 0
        for key, versions in self._versions.items():
            version += versions.get(labels.get(key, ""), 0)
        return version

    def _spots(self, labels: Mapping[str, str]) -> list[Spot]:
        return [LOOSE, *((key, labels[key]) for key in self._keys if key in labels)]

    def __len__(self) -> int:
        return len(self._placed)


def _from(there: list[tuple[int, str]], size: int) -> Iterator[tuple[int, str]]:
    """Give what is at least of a size, without copying: mostly the first will do."""
    return (there[at] for at in range(bisect_left(there, (size, "")), len(there)))
