"""Banks: own columns whose rules differ in amounts alone, so that one question over a few rows answers for all of them.

Twenty services in turn each find the rows that the other nineteen dirtied; asked together, twenty columns cost little
more than one, for what a question over a few rows costs is mostly the asking.
Invariant: a column that was refreshed here is what it would be had it been refreshed alone.
Not here: what a column is (own.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from bayplan.cluster.columns import Rows
from bayplan.cluster.view import View

if TYPE_CHECKING:
    from bayplan.cluster.table import Table
    from bayplan.framework.own import Own, RowRule

MEMBERS_LEAST: Final = 3  # fewer are as quick alone
MEMBERS_MOST: Final = 64  # of more, most are not asked about again soon


class Bank:
    """Own columns that are refreshed together."""

    def __init__(self, table: Table, together: int) -> None:
        self._table = table
        self._together = together  # columns times rows that are asked about at once
        self._members: list[Own] = []
        self._stacked: list[RowRule] | None = None  # the members' rules as one; None: to be made

    def join(self, own: Own) -> None:
        """Take a column in, if its rules can be asked with those of the others."""
        if not self._members or stacked([self._members[0].rules, own.rules]) is not None:
            self._members.append(own)
            self._stacked = None
            own.bank = self

    def leave(self, own: Own) -> None:
        """Let a column go that nobody uses any more."""
        if own in self._members:
            self._members.remove(own)
            self._stacked = None

    def refresh(self, asked: Own, since: int, rows: Rows) -> bool:
        """Refresh all columns that are no further behind than the one asked about; say whether that was worth it."""
        members = self._members
        if not MEMBERS_LEAST <= len(members) <= MEMBERS_MOST or len(members) * len(rows) > self._together:
            return False
        if 2 * sum(own.position >= since for own in members) < len(members):
            return False  # most are further behind: they would be asked about in vain
        if self._stacked is None:
            self._stacked = stacked([own.rules for own in members])
            if self._stacked is None:
                return False
        view = View(self._table, rows)
        totals = asked.totals_by(self._stacked, view)  # (members, rows)
        position = self._table.row_log.position
        for own, fresh in zip(members, totals, strict=True):
            if own is asked or own.position >= since:
                own.take(rows, fresh, position)
        return True


def stacked(all_rules: Sequence[Sequence[RowRule]]) -> list[RowRule] | None:
    """Return rules that answer for several columns at once, or None if they are not alike."""
    if len({len(rules) for rules in all_rules}) != 1:
        return None
    found = []
    for alike in zip(*all_rules, strict=True):
        first = alike[0]
        if any(rule.plugin is not first.plugin or rule[2:] != first[2:] for rule in alike):
            return None
        state = first.plugin.stacked([rule.state for rule in alike])
        if state is None:
            return None
        found.append(first._replace(state=state))
    return found
