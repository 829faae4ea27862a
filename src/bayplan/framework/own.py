"""Own columns: what depends on the row alone, summed over rules into one number a row, caught up from the row log.

Shared by all plans whose ROW rules read the same parts.  A row that any of the rules turns down has a large negative
number, so that adding a bonus leaves it negative.
Invariant: after `catch_up` every number equals the rules' answers on the table as it is.
Not here: what depends on other rows (groups.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from bayplan.cluster.columns import Int64s, Rows, window
from bayplan.cluster.view import View
from bayplan.framework.plugin import SCORE_MAX

if TYPE_CHECKING:
    from bayplan.cluster.table import Table
    from bayplan.framework.banks import Bank
    from bayplan.framework.memo import Memo
    from bayplan.framework.plugin import AnyPlugin
    from bayplan.framework.settings import Settings

Totals: TypeAlias = npt.NDArray[np.signedinteger[Any]]


class Width(NamedTuple):
    """The narrowest integers that hold every total of a profile, and what stands for "ruled out" among them."""

    dtype: type[np.signedinteger[Any]]
    ruled_out: int  # all columns of it together fit, and added to any total it stays negative

    @classmethod
    def of(cls, weights: Iterable[int], columns: int = 2) -> Width:
        """Choose by the weights of a profile's scores, and how many columns may each rule a row out."""
        most = SCORE_MAX * sum(weights)
        for dtype in (np.int16, np.int32):
            ruled_out = -(int(np.iinfo(dtype).max) // columns)
            if most < -ruled_out:
                return cls(dtype, ruled_out)
        return cls(np.int64, -(int(np.iinfo(np.int64).max) // columns))


FLIPS_KEPT: Final = 1 << 14


class RowRule(NamedTuple):
    """One rule that answers from the row's own facts."""

    plugin: AnyPlugin
    state: object
    weight: int
    filters: bool
    scores: bool

    @classmethod
    def of(cls, memo: Memo) -> RowRule:
        """Read it off a memo that has roles."""
        roles = memo.roles
        assert roles is not None  # noqa: S101 others are left out
        return cls(memo.instance.plugin, roles.state, memo.instance.weight, roles.filters, roles.scores)


def _scores_alone(rule: RowRule) -> bool:
    """Say whether a rule's closure would call a row unfit though here the rule does not filter."""
    return rule.scores and not rule.filters and rule.plugin.overrides("filter")


class Kept:
    """A number for each row, negative where it is ruled out, and which rows came to fit or ceased to."""

    def __init__(self, table: Table, width: Width, number: int) -> None:
        self._table = table
        self._width = width
        self._number = number  # of a row that nothing is known of
        self.column: Totals = np.full(table.columns.capacity, number, width.dtype)  # (rows,)
        self.window = window(self.column)
        self.flips: list[int] = []  # rows that came to fit, or ceased to, in order
        self.flips_before = 0

    def _lengthen(self, capacity: int) -> None:
        grown = np.full(capacity, self._number, self._width.dtype)
        grown[: len(self.column)] = self.column
        self.lie_in(grown)

    def lie_in(self, memory: Totals) -> None:
        """Take up memory that holds the same numbers, and perhaps more."""
        self.column = memory
        self.window = window(memory)

    def note(self, rows: Sequence[int]) -> None:
        """Note rows that came to fit, or ceased to; those who follow too slowly count anew."""
        self.flips += rows
        if len(self.flips) > FLIPS_KEPT:
            self.flips_before += len(self.flips)
            self.flips = []

    @property
    def flipped(self) -> int:
        """Return how many flips there have ever been."""
        return self.flips_before + len(self.flips)


class Own(Kept):
    """The sum of some ROW rules, per row."""

    def __init__(self, table: Table, rules: Sequence[RowRule], settings: Settings, width: Width) -> None:
        super().__init__(table, width, width.ruled_out)
        self.rules = rules
        self._filters = any(rule.filters for rule in rules)
        self._settings = settings
        self._epoch = -1
        self._closures: list[tuple[Callable[[int], int], RowRule]] | None = None
        self.position = table.row_log.position
        self.bank: Bank | None = None  # who is refreshed with it
        self.may_join: Bank | None = None  # a bank to ask when this is asked about again: most are asked about once
        self._recompute()

    @property
    def bytes_taken(self) -> int:
        """Return what it takes."""
        return self.column.nbytes

    def catch_up(self) -> None:
        """Ask again about the rows dirtied since last time."""
        table = self._table
        log = table.row_log
        lag = log.position - self.position
        if not lag:
            return
        if self.may_join is not None:
            self.may_join.join(self)
            self.may_join = None
        if table.columns.capacity > len(self.column):
            self._lengthen(table.columns.capacity)
        if lag == 1 and self._settings.scalar_rows:
            self.position = log.position
            self._row_by_row((log.last(),))
            return
        since, rows = self.position, log.since(self.position)
        self.position = log.position
        if rows is None or lag > table.columns.rows:
            before = self.column < 0  # (rows,)
            self._recompute()
            self.note(np.flatnonzero(before != (self.column < 0)).tolist())
        elif 2 * lag > self._settings.scalar_rows and self.bank is not None and self.bank.refresh(self, since, rows):
            return
        elif lag <= self._settings.scalar_rows:
            self._row_by_row(rows.tolist())
        else:
            self._refresh(rows)

    def _lengthen(self, capacity: int) -> None:
        if self.bank is None:
            super()._lengthen(capacity)
        else:
            self.bank.lengthen()

    def _row_by_row(self, rows: Sequence[int]) -> None:
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
                    total = self._width.ruled_out
                    break
                if rule.scores:
                    total += rule.weight * answer
            if (total < 0) != (column[row] < 0):
                self.note((row,))
            column[row] = total

    def _closed(self) -> list[tuple[Callable[[int], int], RowRule]] | None:
        """Return the rules' closures, made anew when the columns' memory has moved; None if a rule has none."""
        if self._epoch != self._table.columns.epoch:
            self._epoch = self._table.columns.epoch
            view = View(self._table, np.zeros(0, np.intp))
            made = [(rule.plugin.row(rule.state, view), rule) for rule in self.rules]
            self._closures = [(closure, rule) for closure, rule in made if closure is not None]
            if len(self._closures) < len(made) or any(_scores_alone(rule) for rule in self.rules):
                self._closures = None
        return self._closures

    def _recompute(self) -> None:
        """Ask about every row, in blocks."""
        used, block = self._table.columns.rows, self._settings.block
        if used <= block:
            self.column[:used] = self.totals_by(self.rules, View(self._table))
            return
        for start in range(0, used, block):
            rows = np.arange(start, min(start + block, used))
            self.column[rows] = self.totals_by(self.rules, View(self._table, rows))

    def _refresh(self, rows: Rows) -> None:
        """Ask about some rows; a row that is there twice does no harm."""
        totals = self.totals_by(self.rules, View(self._table, rows))
        flipped = (totals ^ self.column[rows]) < 0  # the sign bit: whether it fits
        if np.logical_or.reduce(flipped):
            self.note(list(dict.fromkeys(rows[flipped].tolist())))
        self.column[rows] = totals

    def totals_by(self, rules: Sequence[RowRule], view: View) -> Totals:
        """Return what some rules come to on the rows of a view: theirs, or those of a whole bank, as (..., rows)."""
        fits = view.live if self._table.count < self._table.columns.rows or not self._filters else None  # (rows,)
        for rule in rules:
            if rule.filters:
                mine = rule.plugin.fits(rule.state, view)
                fits = mine if fits is None else fits & mine
        assert fits is not None  # noqa: S101 either there are dead rows or there is a filter
        total: Int64s | None = None
        for rule in rules:
            if rule.scores:
                scores = rule.plugin.score(rule.state, view, fits)
                if rule.weight != 1:
                    scores = scores * rule.weight
                total = scores if total is None else total + scores
        dtype = self._width.dtype
        found = np.zeros(fits.shape, dtype) if total is None else total.astype(dtype)
        np.copyto(found, self._width.ruled_out, where=~fits)  # a bank in which nobody filters has one mask for all
        return found
