"""Catalogues: what is few and grows, interned once, then known by a number.

Taint sets, sets of declared features, the affinity terms that pods carry, images.  A catalogue has a version for
entries added or gone; an entry whose own facts change has one of its own.
Invariant: an entry's number never changes and is never given to another.
Not here: which row has which entry (columns) and how many pods carry a term (its tally).
"""

from __future__ import annotations

import enum
from collections.abc import Hashable, Iterator, Mapping
from typing import Generic, TypeVar

import msgspec

from bayplan.api.selectors import Selector
from bayplan.cluster.tallies import Tally
from bayplan.cluster.ticks import Ticks

E = TypeVar("E", bound=Hashable)


class Catalogue(Generic[E]):
    """Entries by number, in order of arrival."""

    def __init__(self, *first: E) -> None:
        self.version = 0
        self.entries: list[E] = []
        self._number: dict[E, int] = {}
        for entry in first:
            self.number(entry)

    def number(self, entry: E) -> int:
        """Return an entry's number, adding it when it is new."""
        found = self._number.get(entry)
        if found is None:
            found = self._number[entry] = len(self.entries)
            self.entries.append(entry)
            self.version += 1
        return found

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[E]:
        return iter(self.entries)


class Term(msgspec.Struct, frozen=True):
    """A pod (anti-)affinity term in canonical form: which pods, and in which topology."""

    namespaces: frozenset[str]
    namespace_selector: Selector
    selector: Selector
    key: str

    def matches(self, namespace: str, labels: Mapping[str, str], namespace_labels: Mapping[str, str]) -> bool:
        """Say whether a pod of this namespace with these labels is meant."""
        return (
            namespace in self.namespaces or self.namespace_selector.matches(namespace_labels)
        ) and self.selector.matches(labels)


class Kind(enum.Enum):
    """What a carried term says of the pods that match it."""

    REQUIRED = "required affinity"
    ANTI = "required anti-affinity"
    PREFERRED = "preferred affinity"
    AVOIDED = "preferred anti-affinity"


class Carried(msgspec.Struct, frozen=True):
    """A term as running pods carry it."""

    kind: Kind
    term: Term
    weight: int = 0  # of a preference; 0 where the term is required


class CarriedTerms(Catalogue[Carried]):
    """The terms that pods carry, each with the tally of the pods that carry it."""

    def __init__(self, ticks: Ticks) -> None:
        super().__init__()
        self._ticks = ticks
        self.tallies: list[Tally] = []

    def number(self, entry: Carried) -> int:
        """Return a term's number, giving a new one its tally."""
        found = super().number(entry)
        if found == len(self.tallies):
            self.tallies.append(Tally())
            self._ticks.tick()
        return found


class Images:
    """Which nodes report an image, and its size: that of the earliest-arrived node that reports it now."""

    def __init__(self) -> None:
        self.version = 0
        self._rows: dict[str, dict[int, tuple[int, int]]] = {}  # name -> row -> (arrival, size)

    def put(self, row: int, arrival: int, sizes: Mapping[str, int]) -> None:
        """Take over what a node reports."""
        for name, size in sizes.items():
            self._rows.setdefault(name, {})[row] = (arrival, size)
        self.version += bool(sizes)

    def drop(self, row: int, names: Mapping[str, int]) -> None:
        """Forget what a node reported."""
        for name in names:
            rows = self._rows[name]
            del rows[row]
            if not rows:
                del self._rows[name]
        self.version += bool(names)

    def rows(self, name: str) -> list[int]:
        """Return the rows that report an image."""
        return list(self._rows.get(name, ()))

    def size(self, name: str) -> int:
        """Return an image's size."""
        return min(self._rows[name].values())[1]
