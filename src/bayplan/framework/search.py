"""Searches: rules that look for something on each row, asked only where all others let the pod pass, and remembered.

Invariant: a remembered answer is forgotten when its row, or what the rule reads besides rows, has changed.
Not here: what is searched for (plugins).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayplan.cluster.columns import Bools, Int64s, Row, Rows
from bayplan.cluster.view import View
from bayplan.framework.plugin import NODE, Code

if TYPE_CHECKING:
    from bayplan.cluster.table import Table
    from bayplan.framework.plugin import AnyPlugin

NOBODY: Rows = np.zeros(0, np.intp)


class Search:
    """One searching rule's answers for one part, by row."""

    def __init__(self, table: Table, plugin: AnyPlugin, state: object) -> None:
        self._table = table
        self._plugin = plugin
        self._state = state
        self._nowhere = View(table, NOBODY)
        self._log = table.node_log if plugin.depends is NODE else table.row_log
        self._begin()

    def _begin(self) -> None:
        """Know nothing of any row."""
        table = self._table
        self._shared = self._plugin.shared(self._state, self._nowhere)
        self._position = self._log.position
        self._found: Bools = np.zeros(table.columns.capacity, np.bool_)  # (rows,) what is searched for is there
        self._wrong: Bools = np.zeros(table.columns.capacity, np.bool_)  # (rows,) searching there failed
        self._scores: Int64s = np.zeros(table.columns.capacity, np.int64)  # (rows,) nought where it was not found
        self._unasked: Rows = np.arange(table.columns.rows)  # rows to be asked about, if need be
        self._risky: Rows = NOBODY  # rows on which the rule may fail
        self._risky_at = -1  # where the log of nodes was when that was asked
        self.scores_anything = False

    def _catch_up(self) -> None:
        """Forget the answers that may not be right any more."""
        table = self._table
        shared = self._plugin.shared(self._state, self._nowhere)
        rows = self._log.since(self._position)
        if len(self._found) < table.columns.capacity or rows is None or shared != self._shared:
            self._begin()
        elif len(rows):
            self._position = self._log.position
            self._found[rows] = self._wrong[rows] = False
            self._scores[rows] = 0
            self._unasked = np.concatenate((self._unasked, rows)) if len(self._unasked) else rows.copy()

    def narrow(self, mask: Bools) -> Bools:
        """Return which of some rows have what is searched for, as (rows,)."""
        self._catch_up()
        if self._plugin.depends is not NODE or self._risky_at != self._table.node_log.position:
            self._risky_at = self._table.node_log.position
            self._risky = self._plugin.may_fail_on(self._state, self._nowhere)
        if len(self._unasked):
            wanted = mask[self._unasked]
            if len(self._risky):
                wanted |= np.isin(self._unasked, self._risky)
            if wanted.any():
                self._ask(np.array(sorted(set(self._unasked[wanted].tolist())), np.intp))
                self._unasked = self._unasked[~wanted]
        narrowed: Bools = mask & self._found[: len(mask)]
        return narrowed

    def _ask(self, rows: Rows) -> None:
        view = View(self._table, rows)
        ruling = self._plugin.filter(self._state, view)
        found = ruling.codes == 0  # (rows asked,)
        self._found[rows] = found
        for code, outcome in enumerate(ruling.outcomes):
            if outcome.code is Code.ERROR:
                self._wrong[rows[ruling.codes == code]] = True
        if self._plugin.overrides("score") and found.any():
            scores = np.where(found, self._plugin.score(self._state, view, found), 0)
            self._scores[rows] = scores
            self.scores_anything = self.scores_anything or bool(scores.any())

    def has_error(self) -> bool:
        """Say whether the rule failed on any row: then an evaluation has to tell whether that ends the attempt."""
        return bool(self._wrong[self._risky].any()) if len(self._risky) else False

    def reservation(self, row: Row) -> object | None:
        """Say what placing the pod on a row would take, if the rule takes anything."""
        if not self._plugin.overrides("reservation"):
            return None
        return self._plugin.reservation(self._state, View(self._table, np.array([row], np.intp)), row)

    def scores(self, rows: int) -> Int64s:
        """Return the score of each row."""
        return self._scores[:rows]
