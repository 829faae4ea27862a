"""Bases: what node-only rules say of rows, and where the rows are; shared by all groups that see rows alike in this.

Two rows of one base pass the same rules, have the same scores and lie in the same domain of every small key.
Invariant: after `catch_up`, `values[of[row]]` is what the rules say of the row's node as it is; base 0 is ruled out.
Not here: what pods a row has (groups.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from bayplan.cluster.columns import Bools, Int64s, Rows
from bayplan.cluster.keys import ABSENT
from bayplan.cluster.view import View
from bayplan.framework.asks import Ask

if TYPE_CHECKING:
    from bayplan.cluster.table import Table
    from bayplan.framework.memo import Memo
    from bayplan.framework.plugin import AnyPlugin

WIDE: Final = 1 << 60  # no more values than this are told apart in one number


class NodeRule(NamedTuple):
    """One rule that answers from the node, catalogues and books."""

    plugin: AnyPlugin
    state: object
    weight: int
    filters: bool
    scores: bool
    normalizes: bool
    is_ours: bool

    @classmethod
    def of(cls, memo: Memo) -> NodeRule:
        """Read it off a memo that has roles."""
        roles = memo.roles
        assert roles is not None  # noqa: S101 others are left out
        return cls(
            memo.instance.plugin,
            roles.state,
            memo.instance.weight,
            roles.filters,
            roles.scores,
            roles.normalizes,
            roles.is_ours,
        )


class Base:
    """The base of each row, by number, and the values that make a base."""

    def __init__(self, table: Table, memos: Sequence[Memo], facts: Sequence[Ask]) -> None:
        self.table = table
        self.memos = memos  # kept, because a base is found by who they are
        self.rules = [NodeRule.of(memo) for memo in memos]
        self.facts = facts
        self.of: Rows = np.zeros(table.columns.capacity, np.intp)  # (rows,) 0 where a row is ruled out
        self.values: list[tuple[int, ...]] = [()]
        self._numbers: dict[tuple[int, ...], int] = {}
        self._position = table.node_log.position
        self._place(np.arange(table.columns.rows))

    @property
    def width(self) -> int:
        """Return how many values make a base."""
        return sum(rule.scores for rule in self.rules) + len(self.facts)

    def catch_up(self) -> None:
        """Judge again the rows whose node changed."""
        log = self.table.node_log
        if self._position == log.position:
            return
        if len(self.of) < self.table.columns.capacity:
            grown = np.zeros(self.table.columns.capacity, np.intp)
            grown[: len(self.of)] = self.of
            self.of = grown
        rows = log.since(self._position)
        self._position = log.position
        self._place(np.arange(self.table.columns.rows) if rows is None else np.unique(rows))

    def _judge(self, rows: Rows) -> tuple[Bools, list[Int64s]]:
        """Ask the node-only rules about rows: whether they pass, and every value of a base."""
        whole = len(rows) == self.table.columns.rows
        view = View(self.table) if whole else View(self.table, rows)
        passes = view.live.copy()
        for rule in self.rules:
            if rule.filters:
                passes &= rule.plugin.fits(rule.state, view)
        values = [rule.plugin.score(rule.state, view, passes) for rule in self.rules if rule.scores]
        values += [self._fact(ask, rows) for ask in self.facts]
        return passes, values

    def _fact(self, ask: Ask, rows: Rows) -> Int64s:
        if ask.what == "inside":
            assert ask.scope is not None  # noqa: S101 what "inside" is about
            inside = ask.scope.inside
            known = rows < len(inside)
            return np.where(known, inside[np.where(known, rows, 0)] if len(inside) else False, False).astype(np.int64)
        assert ask.key is not None  # noqa: S101 all others are about a key
        ids = self.table.key(ask.key).ids[rows]
        return ids.astype(np.int64) if ask.what == "domain" else (ids != ABSENT).astype(np.int64)

    def _place(self, rows: Rows) -> None:
        """Give rows their base."""
        passes, values = self._judge(rows)
        bases = np.zeros(len(rows), np.int64)
        if passes.any():
            key = np.zeros(int(np.count_nonzero(passes)), np.int64)
            size = 1
            for value in values:
                mine = value[passes]
                least, most = int(mine.min()), int(mine.max())
                if size * (most - least + 1) >= WIDE:  # name what there is by small numbers before going on
                    _, key = np.unique(key, return_inverse=True)
                    seen, mine = np.unique(mine, return_inverse=True)
                    size, least, most = len(key), 0, len(seen) - 1
                key = key * (most - least + 1) + (mine - least)
                size *= most - least + 1
            _, first, which = np.unique(key, return_index=True, return_inverse=True)
            taken = [value[passes][first].tolist() for value in values]
            numbers = np.array([self._number(tuple(some[at] for some in taken)) for at in range(len(first))], np.int64)
            bases[passes] = numbers[which]
        self.of[rows] = bases

    def _number(self, values: tuple[int, ...]) -> int:
        found = self._numbers.get(values)
        if found is None:
            found = self._numbers[values] = len(self.values)
            self.values.append(values)
        return found
