"""Searches: rules that look for something on each row, asked only where all others let the pod pass, and remembered.

A search is one more column of a plan: where something was found its score, where not the number that rules a row out.
A row that was not asked about yet counts as if it had been found; `settle` asks before anybody takes that for true.
Invariant: a remembered answer is forgotten when its row, or what the rule reads besides rows, has changed.
Not here: what is searched for (plugins).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from bayplan.cluster.columns import Bools, Row, Rows
from bayplan.cluster.view import View
from bayplan.framework.own import Kept, Width
from bayplan.framework.plugin import NODE, Code

if TYPE_CHECKING:
    from bayplan.cluster.table import Table
    from bayplan.framework.plugin import AnyPlugin

NOBODY: Rows = np.zeros(0, np.intp)


class Search(Kept):
    """One searching rule's answers for one part, by row."""

    def __init__(self, table: Table, plugin: AnyPlugin, state: object, weight: int, width: Width) -> None:
        super().__init__(table, width, 0)
        self._plugin = plugin
        self._state = state
        self._weight = weight if plugin.overrides("score") else 0  # nought: it does not score
        self._nowhere = View(table, NOBODY)
        self._log = table.node_log if plugin.depends is NODE else table.row_log
        self._begin()

    def _begin(self) -> None:
        """Know nothing of any row."""
        self._shared = self._plugin.shared(self._state, self._nowhere)
        self._position = self._log.position
        self._wrong: set[int] = set()  # rows on which searching failed
        self._unasked: Rows = np.arange(self._table.columns.rows)  # rows to be asked about, if need be
        self._risky: Rows = NOBODY  # rows on which the rule may fail
        self._risky_at = -1  # where the log of nodes was when that was asked

    def catch_up(self) -> None:
        """Forget the answers that may not be right any more."""
        log = self._log
        shared = self._plugin.shared(self._state, self._nowhere)
        if log.position == self._position and shared == self._shared:
            return
        rows = log.since(self._position)
        if len(self.column) < self._table.columns.capacity:
            self._lengthen(self._table.columns.capacity)
            rows = None
        if rows is None or shared != self._shared:
            self.column[:] = 0
            self.flips_before += len(self.flips) + 1  # whoever follows counts anew
            self.flips = []
            self._begin()
            return
        self._position = log.position
        self.note([row for row in rows.tolist() if self.window[row] < 0])
        self.column[rows] = 0
        self._wrong.difference_update(rows.tolist())
        self._unasked = np.concatenate((self._unasked, rows)) if len(self._unasked) else rows.copy()

    def settle(self, passing: Callable[[Rows], Bools]) -> bool:
        """Ask about the rows that all others let pass and nobody has asked about; say whether any was ruled out."""
        if self._plugin.depends is not NODE or self._risky_at != self._table.node_log.position:
            self._risky_at = self._table.node_log.position
            self._risky = self._plugin.may_fail_on(self._state, self._nowhere)
        if not len(self._unasked):
            return False
        wanted = passing(self._unasked)
        if len(self._risky):
            wanted |= np.isin(self._unasked, self._risky)
        if not wanted.any():
            return False
        rows = self._unasked[wanted]
        self._unasked = self._unasked[~wanted]
        return self._ask(rows if len(rows) == 1 else np.unique(rows))

    def _ask(self, rows: Rows) -> bool:
        view = View(self._table, rows)
        ruling = self._plugin.filter(self._state, view)
        found = ruling.codes == 0  # (rows asked,)
        for code, outcome in enumerate(ruling.outcomes):
            if outcome.code is Code.ERROR:
                self._wrong.update(rows[ruling.codes == code].tolist())
        if self._weight:
            scores = self._weight * self._plugin.score(self._state, view, found)
            self.column[rows] = np.where(found, scores, self._width.ruled_out)
        elif not found.all():
            self.column[rows] = np.where(found, 0, self._width.ruled_out)
        lost = rows[~found].tolist()
        self.note(lost)
        return bool(lost)

    def has_error(self) -> bool:
        """Say whether the rule failed on any row: then an evaluation has to tell whether that ends the attempt."""
        return bool(self._wrong) and not self._wrong.isdisjoint(self._risky.tolist())

    def narrow(self, mask: Bools) -> Bools:
        """Return which of some rows have what is searched for, as (rows,)."""
        self.settle(lambda rows: mask[rows])
        narrowed: Bools = mask & (self.column[: len(mask)] >= 0)
        return narrowed

    def reservation(self, row: Row) -> object | None:
        """Say what placing the pod on a row would take, if the rule takes anything."""
        if not self._plugin.overrides("reservation"):
            return None
        return self._plugin.reservation(self._state, View(self._table, np.array([row], np.intp)), row)
