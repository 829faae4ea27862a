"""Tallies and scopes: how many pods match, or carry, on each row and in each domain, kept up to date.

A tally is a sparse row -> number; asked for as a column, it keeps that column up to date too.  Per topology key (and
scope) it keeps the number of each domain.  A weighted tally follows others and is kept as one number.  A scope is a set
of rows: those that pass a node affinity and tolerations and have some keys.
Invariant: a tally's domain numbers are the sums of its rows' numbers over the rows of the domain (within the scope);
tests/unit/cluster/test_tallies.py recounts them.
Not here: which pods match (catalogues and table.py) and what a rule makes of the numbers (plugins).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec
import numpy as np

from bayplan.api.selectors import RequiredAffinity, Selector
from bayplan.cluster.columns import Bools, Int64s, window
from bayplan.cluster.keys import ABSENT, Key

if TYPE_CHECKING:
    from bayplan.cluster.shapes import Tolerations

A = TypeVar("A", Int64s, Bools)

DOMAINS_AT_FIRST: Final = 16
FEW: Final = 48
CHANGES_KEPT: Final = 4096


class Scope:
    """A set of rows: those that a node affinity and tolerations let pass and that have all of some keys."""

    def __init__(
        self, affinity: RequiredAffinity | None, tolerations: Tolerations | None, keys: tuple[Key, ...]
    ) -> None:
        self.affinity = affinity
        self.tolerations = tolerations  # None where taints do not matter
        self.keys = keys
        self.version = 0
        self.inside: Bools = np.zeros(0, np.bool_)  # (rows,)

    def holds(self, row: int) -> bool:
        """Say whether a row is inside."""
        return row < len(self.inside) and self.inside.item(row)

    def of_rows(self, rows: int) -> Bools:
        """Return for each row whether it is inside."""
        if len(self.inside) < rows:
            self.inside = _longer(self.inside, rows)
        return self.inside[:rows]

    def put(self, row: int, *, inside: bool) -> None:
        """Take a row in or out; the caller has taken the row's numbers out of all domains before."""
        if row >= len(self.inside):
            self.inside = _longer(self.inside, row + 1)
        if bool(self.inside[row]) != inside:
            self.inside[row] = inside
            self.version += 1


class Domains:
    """A number for each domain of one key, over the rows of one scope (or over all rows that have the key)."""

    def __init__(self, key: Key, scope: Scope | None) -> None:
        self.key = key
        self.scope = scope
        self.version = 0
        self.numbers: Int64s = np.zeros(DOMAINS_AT_FIRST, np.int64)  # (domains,)
        self._window = window(self.numbers)
        self.many = 0  # domains that have any
        self._taken: list[int] | None = []  # which they are; None: to be looked up

    def add(self, row: int, change: int) -> None:
        """Add to the number of the row's domain."""
        scope = self.scope
        if scope is not None and not scope.holds(row):
            return
        domain_id = self.key.ids.item(row)
        if domain_id == ABSENT:
            return
        if domain_id + 1 >= len(self.numbers):
            self.reach(domain_id + 2)
        numbers = self._window
        old = numbers[domain_id]
        numbers[domain_id] = old + change
        if not old:
            self.many += 1
            self._taken = None
        if not old + change:
            self.many -= 1
            self._taken = None
        self.version += 1

    def fill(self, numbers: Mapping[int, int]) -> None:
        """Begin with the numbers of these rows."""
        if not numbers:
            return
        rows = np.fromiter(numbers, np.intp, len(numbers))
        amounts = np.fromiter(numbers.values(), np.int64, len(numbers))  # (rows,)
        if self.scope is not None:
            inside = self.scope.of_rows(int(rows.max()) + 1)[rows]
            rows, amounts = rows[inside], amounts[inside]
        ids = self.key.ids[rows]
        there = ids != ABSENT
        self.reach(len(self.key.values) + 1)
        np.add.at(self.numbers, ids[there], amounts[there])
        self.many = int(np.count_nonzero(self.numbers))
        self._taken = None
        self.version += 1

    def of_rows(self, rows: int) -> Int64s:
        """Return for each row the number of its domain, 0 where it has none."""
        ids = self.key.ids[:rows]
        self.reach(len(self.key.values) + 1)
        found: Int64s = self.numbers[ids]  # absent is -1: the last, never written  (rows,)
        return found

    def reach(self, length: int) -> None:
        """Make room; the last number always stays nought, so that "absent" may index it."""
        if length > len(self.numbers):
            self.numbers = _longer(self.numbers, length)
            self._window = window(self.numbers)

    def taken(self) -> list[int]:
        """Return the ids of the domains that have any."""
        if self._taken is None:
            self._taken = np.flatnonzero(self.numbers).tolist()
        return self._taken

    def least(self, among: list[int]) -> int | None:
        """Return the smallest number of some domains, if there are any."""
        if not among:
            return None
        self.reach(among[-1] + 2)
        if len(among) <= FEW:  # plain Python beats NumPy's call by far
            numbers = self._window
            return min([numbers[domain_id] for domain_id in among])
        return int(self.numbers[among].min())


class Tally:
    """A number for each row, and for each domain of the keys and scopes somebody asked about."""

    def __init__(self) -> None:
        self.version = 0
        self.rows: dict[int, int] = {}
        self.changed: list[int] = []  # rows changed, in order; `changed_before` were let go
        self.changed_before = 0
        self.all = 0  # the sum over all rows
        self._column: Int64s | None = None
        self._domains: dict[tuple[str, int], Domains] = {}
        self._followers: list[tuple[Tally, int]] = []  # weighted tallies that this one is part of
        self.parts: tuple[tuple[Tally, int], ...] = ()  # of a weighted tally: what it follows

    def add(self, row: int, change: int) -> None:
        """Add to a row's number and to everything derived from it."""
        rows = self.rows
        number = rows.get(row, 0) + change
        if number:
            rows[row] = number
        else:
            rows.pop(row, None)
        if self._column is not None:
            if row >= len(self._column):
                self._column = _longer(self._column, row + 1)
            self._column[row] = number
        for domains in self._domains.values():
            domains.add(row, change)
        self.all += change
        self.version += 1
        changed = self.changed
        changed.append(row)
        if len(changed) > CHANGES_KEPT:
            self.changed_before += len(changed)
            self.changed = []
        if self._followers:
            for follower, weight in self._followers:
                follower.add(row, change * weight)

    def fill(self, numbers: dict[int, int]) -> None:
        """Begin with these numbers; nobody has asked for anything yet."""
        self.rows = numbers
        self.all = sum(numbers.values())
        self.version += 1

    def follow(self, parts: Sequence[tuple[Tally, int]]) -> None:
        """Become the weighted sum of other tallies."""
        self.parts = tuple(parts)
        for tally, weight in parts:
            tally._followers.append((self, weight))  # noqa: SLF001 a tally's own kind
            for row, number in tally.rows.items():
                self.add(row, number * weight)

    def column(self, rows: int) -> Int64s:
        """Return the number of each row."""
        if self._column is None:
            self._column = np.zeros(rows, np.int64)
            if self.rows:
                self._column[list(self.rows)] = list(self.rows.values())
        elif len(self._column) < rows:
            self._column = _longer(self._column, rows)
        return self._column[:rows]

    def domains(self, key: Key, scope: Scope | None) -> Domains:
        """Return the numbers by domain of a key within a scope, counted afresh the first time."""
        found = self._domains.get((key.name, id(scope)))
        if found is None:
            found = self._domains[key.name, id(scope)] = Domains(key, scope)
            found.fill(self.rows)
        return found

    def lift(self, row: int) -> None:
        """Take a row's number out of all domains, because the row's labels or scopes are about to change."""
        number = self.rows.get(row)
        if number:
            for domains in self._domains.values():
                domains.add(row, -number)

    def settle(self, row: int) -> None:
        """Put a row's number back into the domains where the row now is."""
        number = self.rows.get(row)
        if number:
            for domains in self._domains.values():
                domains.add(row, number)
            self.version += 1


def recounted(tally: Tally, key: Key, scope: Scope | None) -> Mapping[str, int]:
    """Return a tally's numbers by domain value, counted from its rows: the referee of what is kept."""
    numbers: dict[str, int] = {}
    for row, number in tally.rows.items():
        if key.ids[row] != ABSENT and (scope is None or scope.holds(row)):
            value = key.values[key.ids[row]]
            numbers[value] = numbers.get(value, 0) + number
    return numbers


class Match(msgspec.Struct, frozen=True):
    """Which pods a tally counts: those that meet every term; with or without the pods that are terminating."""

    terms: tuple[tuple[frozenset[str] | None, Selector], ...]  # (namespaces, or None for all; labels)
    terminating: bool = True

    @property
    def pair(self) -> tuple[str, str] | None:
        """Return a label that every counted pod has, if there is one: only pods that have it need be asked about."""
        for _, selector in self.terms:
            for clause in selector.clauses:
                if clause.operator == "In" and len(clause.values) == 1:
                    return clause.key, clause.values[0]
        return None

    def holds(self, namespace: str, labels: Mapping[str, str], *, terminating: bool) -> bool:
        """Say whether a pod of this namespace with these labels is counted."""
        if terminating and not self.terminating:
            return False
        return all(
            (namespaces is None or namespace in namespaces) and selector.matches(labels)
            for namespaces, selector in self.terms
        )


def _longer(column: A, length: int) -> A:
    grown = np.zeros(max(2 * len(column), length), column.dtype)
    grown[: len(column)] = column
    return grown
