"""What a rule may ask of the cluster as a whole: tallies by topology, scopes, catalogues, books; all of it recorded.

Views of rows and of groups of rows both are this, so what a rule reads here it reads alike from either.
Invariant: every answer that can change is recorded with a way to ask it again, and with the tally it came from if only
that tally can change it.
Not here: answers per row (view.py) and per group (framework/groups.py).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from bayplan.cluster.keys import Key
from bayplan.cluster.tallies import Match, Scope, Tally

if TYPE_CHECKING:
    from bayplan.api.objects import Namespace
    from bayplan.api.selectors import RequiredAffinity, Selector
    from bayplan.cluster.books import Book
    from bayplan.cluster.books.volumes import VolumeBooks
    from bayplan.cluster.catalogues import Carried
    from bayplan.cluster.columns import Row
    from bayplan.cluster.shapes import Tolerations
    from bayplan.cluster.table import Table

A = TypeVar("A", bound=Hashable)
V = TypeVar("V")


class Read(NamedTuple):
    """Something a rule asked, what it was told, and how to ask again."""

    ask: Callable[[], Hashable]
    answer: Hashable
    tally: Tally | None = None  # all that can change the answer; None: anything may

    @property
    def stands(self) -> bool:
        """Say whether the answer is still the same."""
        return self.ask() == self.answer


class Topology:
    """The cluster as a whole, as rules may ask about it."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.reads: list[Read] = []

    def recorded(self, ask: Callable[[], A], tally: Tally | None = None) -> A:
        """Ask something that may change, and note the answer."""
        answer = ask()
        self.reads.append(Read(ask, answer, tally))
        return answer

    # -- pods by topology

    def tally(self, match: Match) -> Tally:
        """Return the tally of the pods that meet a condition."""
        return self.table.residents.tally(match)

    def carried(self, number: int) -> tuple[Carried, Tally]:
        """Return a term that running pods may carry, and the tally of those that do."""
        return self.table.carried.entries[number], self.table.carried.tallies[number]

    def all_carried(self) -> Iterator[tuple[Carried, Tally]]:
        """Return every term that running pods may carry, with its tally."""
        self.recorded(lambda: self.table.carried.version)
        return zip(self.table.carried.entries, self.table.carried.tallies, strict=True)

    def anywhere(self, tally: Tally) -> bool:
        """Say whether any row at all has any of a tally that is never negative."""
        return self.recorded(lambda: tally.all > 0, tally)

    def everywhere(self, tally: Tally) -> int:
        """Return the number over all rows."""
        return self.recorded(lambda: tally.all, tally)

    def first_host(self, tally: Tally, besides: Row | None = None) -> str | None:
        """Return the first node by name that has any of a tally, without one row if asked."""
        nodes = self.table.nodes
        return self.recorded(
            lambda: min(
                (
                    node.metadata.name
                    for row, number in tally.rows.items()
                    if number > 0 and row != besides and (node := nodes[row]) is not None
                ),
                default=None,
            ),
            tally,
        )

    def label(self, name: str, key: str) -> str | None:
        """Return a label of the node with a name."""

        def ask() -> str | None:
            row = self.table.row_of.get(name)
            node = None if row is None else self.table.nodes[row]
            return None if node is None else node.metadata.labels.get(key)

        return self.recorded(ask)

    def sum_of(self, parts: Iterable[tuple[Tally, int]]) -> Tally:
        """Return the tally that is the weighted sum of others."""
        parts = tuple(parts)
        if len(parts) == 1 and parts[0][1] == 1:
            return parts[0][0]
        return self.table.sum_of(parts)

    def scope(self, affinity: RequiredAffinity | None, tolerations: Tolerations | None, keys: tuple[str, ...]) -> Scope:
        """Return the set of rows that pass an affinity and tolerations and have all of some keys."""
        return self.table.scope(affinity, tolerations, keys)

    def total(self, tally: Tally, key: str, scope: Scope | None = None) -> int:
        """Return the number over all rows that have a key."""
        return self.recorded(lambda: int(tally.domains(self._key(key), scope).numbers.sum()), tally)

    def none(self, tally: Tally, key: str) -> bool:
        """Say whether no row that has a key has any of a tally that is never negative."""
        return self.recorded(lambda: not tally.domains(self._key(key), None).many, tally)

    def domains(self, key: str, scope: Scope | None = None) -> int:
        """Return how many domains of a key there are in a scope."""
        return self.recorded(lambda: self.table.every.domains(self._key(key), scope).many)

    def least(self, tally: Tally, key: str, scope: Scope | None = None, besides: Row | None = None) -> int | None:
        """Return the smallest number of a domain, without that of one row if asked; None where there is no domain."""

        def ask() -> int | None:
            column = self._key(key)
            there = self.table.every.domains(column, scope).taken()
            if besides is not None:
                there = [domain_id for domain_id in there if domain_id != column.ids[besides]]
            domains = tally.domains(column, scope)
            if not tally.parts and domains.many < len(there):
                return 0  # fewer have any than there are, and a plain count is never negative
            return domains.least(there)

        return self.recorded(ask, tally)

    def _key(self, name: str) -> Key:
        return self.table.key(name)

    # -- books

    def looked_up(self, book: Book[V], key: str) -> V | None:
        """Return a book's entry, and note its version."""
        self.recorded(lambda: book.version_of(key))
        return book.get(key)

    def listed(self, book: Book[V]) -> Iterator[V]:
        """Return all entries of a book, and note its version."""
        self.recorded(lambda: book.version)
        return iter(book)

    @property
    def volumes(self) -> VolumeBooks:
        """The books of volumes; read them through `looked_up` and `listed`."""
        return self.table.volumes

    @property
    def namespaces(self) -> Book[Namespace]:
        """The book of namespaces; read it through `looked_up` and `listed`."""
        return self.table.namespaces

    def namespaces_matching(self, selector: Selector) -> frozenset[str]:
        """Return the names of the namespaces whose labels a selector matches."""

        def ask() -> frozenset[str]:
            return frozenset(
                namespace.metadata.name
                for namespace in self.table.namespaces
                if selector.matches(namespace.metadata.labels)
            )

        return self.recorded(ask)
