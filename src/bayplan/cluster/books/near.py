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
from typing import Final, Generic, NamedTuple, TypeVar

T = TypeVar("T")
Spot = tuple[str, str]  # a label key and a value that it must have
LOOSE: Spot = ("", "")
CHANGES_KEPT: Final = 4096


class Where(NamedTuple):
    """The places one of which reaches a thing (none: it cannot be said so simply), and all label keys it speaks of."""

    spots: tuple[Spot, ...] = ()
    keys: frozenset[str] = frozenset()


class _Placed(NamedTuple, Generic[T]):
    where: Where
    size: int
    thing: T


class Near(Generic[T]):
    """Things by name, and by the label values that reach them."""

    def __init__(self) -> None:
        self.changes = 0  # rises with every change
        self.keys_version = 0  # rises when `keys` is another set
        self.keys: dict[str, int] = {}  # label keys that things speak of, and how many do
        self._placed: dict[str, _Placed[T]] = {}
        self._at: dict[Spot, list[tuple[int, str]]] = {}  # (size, name), sorted
        self._log: list[Spot] = []  # where the last changes were
        self._log_before = 0
        self._keys: dict[str, int] = {}  # label key -> spots of that key

    def put(self, name: str, size: int, where: Where, thing: T) -> None:
        """Put a thing where it can be found, instead of what had its name."""
        self.drop(name)
        placed = self._placed[name] = _Placed(
            Where(tuple(dict.fromkeys(where.spots)) or (LOOSE,), where.keys), size, thing
        )
        self._speak(where.keys, 1)
        for spot in placed.where.spots:
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
        self._speak(placed.where.keys, -1)
        for spot in placed.where.spots:
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
        self._log.append(spot)
        if len(self._log) > CHANGES_KEPT:
            self._log_before += len(self._log)
            self._log = []

    def _speak(self, keys: Iterable[str], change: int) -> None:
        for key in keys:
            number = self.keys.get(key, 0) + change
            if number and key in self.keys:
                self.keys[key] = number
                continue
            self.keys_version += 1
            if number:
                self.keys[key] = number
            else:
                del self.keys[key]

    def of(self, labels: Mapping[str, str], size: int = 0) -> Iterator[tuple[str, T]]:
        """Give what labels might reach and is at least of a size, the smallest first, with its name."""
        parts = [_from(there, size) for spot in self._spots(labels) if (there := self._at.get(spot)) is not None]
        for _, name in parts[0] if len(parts) == 1 else merge(*parts):
            yield name, self._placed[name].thing

    def since(self, position: int) -> list[Spot] | None:
        """Return the places where something changed since `changes` was this; None when too long ago to be known."""
        return None if position < self._log_before else self._log[position - self._log_before :]

    def _spots(self, labels: Mapping[str, str]) -> list[Spot]:
        return [LOOSE, *((key, labels[key]) for key in self._keys if key in labels)]

    def __len__(self) -> int:
        return len(self._placed)


def _from(there: list[tuple[int, str]], size: int) -> Iterator[tuple[int, str]]:
    """Give what is at least of a size, without copying: mostly the first will do."""
    return (there[at] for at in range(bisect_left(there, (size, "")), len(there)))
