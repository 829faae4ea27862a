"""Asks: what tally rules ask of rows; they say it by asking.

Invariant: groups are told apart by everything that was asked of rows, so whatever was not foreseen makes them anew.
Not here: what groups answer (groups.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bayplan.cluster.columns import Bools, Int64s
from bayplan.cluster.tallies import Scope, Tally
from bayplan.cluster.view import View

if TYPE_CHECKING:
    from bayplan.cluster.table import Table


class Ask(NamedTuple):
    """A question that a tally rule puts to rows."""

    what: str  # has, count, any or domain
    key: str | None = None
    tally: Tally | None = None
    scope: Scope | None = None


class Unforeseen(Exception):
    """A rule asked groups something that they were not made for."""

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self.ask = ask


class Recorder(View):
    """All rows, for finding out what a tally rule asks."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.asks: dict[Ask, None] = {}

    def has(self, key: str) -> Bools:
        """Which rows have a label key."""
        self.asks[Ask("has", key)] = None
        return super().has(key)

    def count(self, tally: Tally, key: str | None = None, scope: Scope | None = None) -> Int64s:
        """Return the number of each row or of its domain."""
        self.asks[Ask("count", key, tally, scope)] = None
        return super().count(tally, key, scope)

    def any(self, tally: Tally, key: str | None = None, scope: Scope | None = None) -> Bools:
        """Which rows (or their domains) have any."""
        self.asks[Ask("any", key, tally, scope)] = None
        found: Bools = super().count(tally, key, scope) > 0
        return found

    def distinct(self, key: str, feasible: Bools, *, absent: bool) -> int:
        """Count the domains of a key among the feasible."""
        self.asks[Ask("domain", key)] = None
        return super().distinct(key, feasible, absent=absent)
