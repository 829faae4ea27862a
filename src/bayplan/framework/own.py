"""Own columns: what depends on the row alone, summed over rules into one number a row, caught up from the row log.

Shared by all plans whose ROW rules read the same parts.  A row that any of the rules turns down has a large negative
number, so that adding a bonus leaves it negative.
Invariant: after `catch_up` every number equals the rules' answers on the table as it is.
Not here: what depends on other rows (groups.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from bayplan.cluster.columns import Int32s, Int64s, Rows, window
from bayplan.cluster.view import View

if TYPE_CHECKING:
    from bayplan.cluster.table import Table
    from bayplan.framework.plugin import AnyPlugin
    from bayplan.framework.settings import Settings

RULED_OUT: Final = -(1 << 29)
FLIPS_KEPT: Final = 1 << 14


class RowRule(NamedTuple):
    """One rule that answers from the row's own facts."""

    plugin: AnyPlugin
    state: object
    weight: int
    filters: bool
    scores: bool


class Own:
    """The sum of some ROW rules, per row."""

    def __init__(self, table: Table, rules: Sequence[RowRule], settings: Settings) -> None:
        self._table = table
        self._rules = rules
        self._settings = settings
        self._epoch = -1
        self._closures: list[tuple[Callable[[int], int], RowRule]] | None = None
        self.column: Int32s = np.full(table.columns.capacity, RULED_OUT, np.int32)     # (rows,)
        self.window = window(self.column)
        self.flips: list[int] = []                         # rows that came to fit, or ceased to, in order
        self.flips_before = 0
        self.position = table.row_log.position
        self._refresh(np.arange(table.columns.rows))
        self.flips = []
        self.flips_before = 0

    @property
    def bytes(self) -> int:
        """Return what it takes."""
        return self.column.nbytes

    def catch_up(self) -> None:
        """Ask again about the rows dirtied since last time."""
        table = self._table
        log = table.row_log
        lag = log.position - self.position
        if not lag:
            return
        if table.columns.capacity > len(self.column):
            self._lengthen(table.columns.capacity)
        rows = log.since(self.position)
        self.position = log.position
        if rows is None or lag > table.columns.rows:
            self._refresh(np.arange(table.columns.rows))
        elif lag <= self._settings.scalar_rows:
            self._row_by_row(rows.tolist())
        else:
            self._refresh(rows)

    def _lengthen(self, capacity: int) -> None:
        grown = np.full(capacity, RULED_OUT, np.int32)
        grown[:len(self.column)] = self.column
        self.column = grown
        self.window = window(grown)

    def _row_by_row(self, rows: list[int]) -> None:
        closures = self._closed()
        if closures is None:
            self._refresh(np.array(rows, np.intp))
            return
        column = self.window
        for row in rows:
            total = 0
            for closure, rule in closures:
                answer = closure(row)
                if answer < 0 and rule.filters:
                    total = RULED_OUT
                    break
                if rule.scores:
                    total += rule.weight * answer
            if (total < 0) != (column[row] < 0):
                self._flip(row)
            column[row] = total

    def _flip(self, row: int) -> None:
        self.flips.append(row)
        if len(self.flips) > FLIPS_KEPT:
            self.flips_before += len(self.flips)
            self.flips = []

    def _closed(self) -> list[tuple[Callable[[int], int], RowRule]] | None:
        """Return the rules' closures, made anew when the columns' memory has moved; None if a rule has none."""
        if self._epoch != self._table.columns.epoch:
            self._epoch = self._table.columns.epoch
            view = View(self._table, np.zeros(0, np.intp))
            made = [(rule.plugin.row(rule.state, view), rule) for rule in self._rules]
            self._closures = [(closure, rule) for closure, rule in made if closure is not None]
            if len(self._closures) < len(made):
                self._closures = None
        return self._closures

    def _refresh(self, rows: Rows) -> None:
        """Ask about rows in blocks."""
        block = self._settings.block
        for start in range(0, len(rows), block):
            some = rows[start:start + block]
            totals = self._totals(some)
            flipped = (totals ^ self.column[some]) < 0     # the sign bit: whether it fits
            if flipped.any():
                for row in dict.fromkeys(some[flipped].tolist()):
                    self._flip(row)
            self.column[some] = totals

    def _totals(self, rows: Rows) -> Int32s:
        everything = len(rows) == self._table.columns.rows and (not len(rows) or int(rows[0]) == 0)
        view = View(self._table) if everything and len(np.unique(rows)) == len(rows) else View(self._table, rows)
        total: Int64s = np.zeros(len(rows), np.int64)                  # (rows,)
        fits = view.live.copy()
        for rule in self._rules:
            if rule.filters:
                fits &= rule.plugin.fits(rule.state, view)
        for rule in self._rules:
            if rule.scores:
                scores = rule.plugin.score(rule.state, view, fits)
                total += scores if rule.weight == 1 else scores * rule.weight
        total[~fits] = RULED_OUT
        return total.astype(np.int32)
