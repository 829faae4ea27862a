"""Banks: own columns whose rules differ in amounts alone, so that one question over a few rows answers for all of them.

Twenty services in turn each find the rows that the other nineteen dirtied; asked together, twenty columns cost little
more than one, for what a question over a few rows costs is mostly the asking.
Invariant: a column that was refreshed here is what it would be had it been refreshed alone.
Not here: what a column is (own.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from bayplan.cluster.columns import Rows
from bayplan.cluster.view import View

if TYPE_CHECKING:
    from bayplan.cluster.table import Table
    from bayplan.framework.own import Own, RowRule, Totals, Width

MEMBERS_LEAST: Final = 3  # fewer are as quick alone
MEMBERS_MOST: Final = 64  # of more, most are not asked about again soon


class Bank:
    """Own columns that are refreshed together, and lie in one block so that they are written together, too."""

    def __init__(self, table: Table, width: Width, together: int) -> None:
        self._table = table
        self._width = width
        self._together = together  # columns times rows that are asked about at once
        self._members: list[Own] = []
        self._block: Totals = np.zeros((0, 0), width.dtype)  # (members and room for more, rows)
        self._stacked: list[RowRule] | None = None  # the members' rules as one; None: to be made

    def join(self, own: Own) -> None:
        """Take a column in, if its rules can be asked with those of the others."""
        if self._members and stacked([self._members[0].rules, own.rules]) is None:
            return
        self._members.append(own)
        self._stacked = None
        own.bank = self
        if len(self._members) > len(self._block):
            self.lengthen()
        else:
            self._move_in(own, len(self._members) - 1)

    def leave(self, own: Own) -> None:
        """Let a column go that nobody uses any more; the last one takes its place."""
        if own not in self._members:
            return
        place, last = self._members.index(own), self._members.pop()
        self._stacked = None
        own.bank = None
        own.lie_in(own.column.copy())
        if last is not own:
            self._members[place] = last
            self._move_in(last, place)

    def lengthen(self) -> None:
        """Make room for more rows, or for more members."""
        shape = (max(2 * len(self._members), MEMBERS_LEAST), self._table.columns.capacity)
        self._block = np.full(shape, self._width.ruled_out, self._width.dtype)
        for place, own in enumerate(self._members):
            self._move_in(own, place)

    def _move_in(self, own: Own, place: int) -> None:
        column = self._block[place]
        column[: len(own.column)] = own.column
        column[len(own.column) :] = self._width.ruled_out
        own.lie_in(column)

    def refresh(self, asked: Own, since: int, rows: Rows) -> bool:
        """Refresh all columns that are no further behind than the one asked about; say whether that was worth it."""
        members = self._members
        if not MEMBERS_LEAST <= len(members) <= MEMBERS_MOST or len(members) * len(rows) > self._together:
            return False
        if 2 * sum([own.position >= since for own in members]) < len(members):
            return False  # most are further behind: they would be asked about in vain
        if self._stacked is None:
            self._stacked = stacked([own.rules for own in members])
            if self._stacked is None:
                return False
        totals = asked.totals_by(self._stacked, View(self._table, rows))  # (members, rows)
        self._write(rows, totals)
        position = self._table.row_log.position
        for own in members:
            if own is asked or own.position >= since:  # to others these rows are right, but not all
                own.position = position
        return True

    def _write(self, rows: Rows, totals: Totals) -> None:
        block = self._block[: len(self._members)]  # (members, rows of the table)
        flipped = (block[:, rows] ^ totals) < 0  # the sign bit: whether it fits
        if np.logical_or.reduce(flipped, axis=None):
            for place, which in enumerate(flipped):
                if np.logical_or.reduce(which):
                    self._members[place].note(list(dict.fromkeys(rows[which].tolist())))
        block[:, rows] = totals


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
