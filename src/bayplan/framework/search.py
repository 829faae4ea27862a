"""Searches: rules that look for something on each row, asked only where all others let the pod pass, and remembered.

Invariant: a remembered answer is forgotten when its row, or what the rule reads besides rows, has changed.
Not here: what is searched for (plugins).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayplan.cluster.columns import Bools, Int64s, Row
from bayplan.cluster.view import View
from bayplan.framework.plugin import Code

if TYPE_CHECKING:
    from bayplan.cluster.table import Table
    from bayplan.framework.plugin import AnyPlugin

UNKNOWN, NO, YES, WRONG = -1, 0, 1, 2


class Search:
    """One searching rule's answers for one part, by row."""

    def __init__(self, table: Table, plugin: AnyPlugin, state: object) -> None:
        self._table = table
        self._plugin = plugin
        self._state = state
        self._answers = np.full(table.columns.capacity, UNKNOWN, np.int8)      # (rows,)
        self._scores = np.zeros(table.columns.capacity, np.int64)              # (rows,)
        self._shared = plugin.shared(state, View(table, np.zeros(0, np.intp)))
        self._position = table.row_log.position

    def _catch_up(self) -> None:
        table = self._table
        shared = self._plugin.shared(self._state, View(table, np.zeros(0, np.intp)))
        rows = table.row_log.since(self._position)
        self._position = table.row_log.position
        if len(self._answers) < table.columns.capacity:
            self._answers = np.full(table.columns.capacity, UNKNOWN, np.int8)
            self._scores = np.zeros(table.columns.capacity, np.int64)
        elif rows is None or shared != self._shared:
            self._answers[:] = UNKNOWN
        else:
            self._answers[rows] = UNKNOWN
        self._shared = shared

    def narrow(self, mask: Bools) -> Bools:
        """Return which of some rows have what is searched for, as (rows,)."""
        self._catch_up()
        used = len(mask)
        rows = np.flatnonzero(mask & (self._answers[:used] == UNKNOWN))
        if len(rows):
            view = View(self._table, rows)
            ruling = self._plugin.filter(self._state, view)
            found = ruling.codes == 0
            self._answers[rows] = np.where(found, YES, NO)
            for code, outcome in enumerate(ruling.outcomes):
                if outcome.code is Code.ERROR:
                    self._answers[rows[ruling.codes == code]] = WRONG
            if self._plugin.overrides("score") and found.any():
                self._scores[rows] = self._plugin.score(self._state, view, found)
        narrowed: Bools = mask & (self._answers[:used] == YES)
        return narrowed

    def has_error(self, mask: Bools) -> bool:
        """Say whether the rule failed on any of some rows: the attempt then ends with its error."""
        return bool((self._answers[:len(mask)][mask] == WRONG).any())

    def reservation(self, row: Row) -> object | None:
        """Say what placing the pod on a row would take, if the rule takes anything."""
        if not self._plugin.overrides("reservation"):
            return None
        return self._plugin.reservation(self._state, View(self._table, np.array([row], np.intp)), row)

    def scores(self, mask: Bools) -> Int64s:
        """Return the scores of some rows."""
        return self._scores[:len(mask)][mask]
