"""Groups: rows that node-only rules and tally rules see alike, and the view of them that tally rules are asked with.

A row's group follows from its base (what node-only rules say of it, which domain of each small key, which scopes) and
from the numbers that tally rules ask of the row itself.  Tally rules say what they ask by asking.
Invariant: after `catch_up`, two rows of a group give every recorded question the same answer.
Not here: the rules' answers and the groups' bonus (plans.py).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, TypeVar

import numpy as np

from bayplan.cluster.columns import Bools, Int64s, Rows, window
from bayplan.cluster.keys import ABSENT, Key
from bayplan.cluster.tallies import Domains, Scope, Tally
from bayplan.cluster.topology import Topology
from bayplan.cluster.view import View
from bayplan.framework.asks import Ask, Unforeseen
from bayplan.framework.bases import Base
from bayplan.framework.own import Totals, Width

if TYPE_CHECKING:
    from bayplan.cluster.table import Table
    from bayplan.framework.settings import Settings

H = TypeVar("H", bound=Hashable)

BaseOf: TypeAlias = Callable[[tuple[Ask, ...]], Base]  # the base with some facts, shared where there is one

RULED_OUT: Final = 0  # the group of rows that node-only rules do not pass
GROUPS_AT_FIRST: Final = 16
VIEWS_KEPT: Final = 64
ALONG_KEPT: Final = 2
MOVES_KEPT: Final = 1 << 14


class Along(NamedTuple):
    """A bonus, row by row, as of some moves."""

    bonus: Totals  # (groups,) kept, because it is found by who it is
    moves: int
    rows: Totals


class Groups:
    """Rows by what node-only rules and tally rules see of them."""

    def __init__(self, table: Table, asks: Sequence[Ask], settings: Settings, base_of: BaseOf) -> None:
        self.table = table
        self.asks = asks
        self.settings = settings
        self._sort_asks()
        self.base = base_of(self.facts)
        self.tallies: dict[Tally, list[str | None]] = {}  # by which keys its numbers are asked for
        for ask in self.numbers:
            if ask.tally is not None and ask.key not in self.tallies.setdefault(ask.tally, []):
                self.tallies[ask.tally].append(ask.key)
        self._build()

    @property
    def bytes_taken(self) -> int:
        """Return what it takes."""
        return (1 + ALONG_KEPT) * self.of.nbytes + 8 * len(self.facts) * (len(self.size) + 8)

    # 1 what a base and a group are made of

    def _sort_asks(self) -> None:
        """Sort questions into what is a base's (ids of small keys, bits) and what is a row's own number."""
        table, base, numbers = self.table, dict[Ask, None](), dict[Ask, None]()
        for ask in self.asks:
            if ask.key is None:
                numbers[ask] = None
            elif ask.what == "domain" or self._is_small(ask.key):
                base[Ask("domain", ask.key)] = None
            elif ask.what == "has":
                base[ask] = None
            else:
                base[Ask("has", ask.key)] = None
                numbers[ask] = None
        for ask in numbers:
            if ask.scope is not None and ask.key is None:
                base[Ask("inside", None, None, ask.scope)] = None
        self.facts: tuple[Ask, ...] = tuple(base)
        self.numbers: tuple[Ask, ...] = tuple(numbers)
        self.small = {ask.key: self._is_small(ask.key) for ask in self.asks if ask.key is not None}
        self._keys = {key: table.key(key) for key in self.small}

    def _is_small(self, key: str) -> bool:
        domains = len(self.table.key(key).values)
        return domains * self.settings.rows_per_domain <= max(self.table.columns.rows, 1)

    def _build(self) -> None:
        table = self.table
        used = table.columns.rows
        self.position = table.node_log.position
        self.tally_positions = {tally: tally.changed_before + len(tally.changed) for tally in self.tallies}
        self.of: Rows = np.zeros(table.columns.capacity, np.intp)  # (rows,)
        self.window = window(self.of)
        self._ids: dict[tuple[int, ...], int] = {}
        self._places: dict[Ask, int] = {}  # of each fact and number among the values
        self.size: Int64s = np.zeros(GROUPS_AT_FIRST, np.int64)  # (groups,) rows of each
        self.count = 1
        self._values: list[Int64s] = [
            np.zeros(GROUPS_AT_FIRST, np.int64) for _ in range(self.base.width + len(self.numbers))
        ]
        self._views: OrderedDict[tuple[bytes, bytes], GroupView] = OrderedDict()
        self._along: OrderedDict[int, Along] = OrderedDict()  # see along
        self.moves: list[int] = []  # rows that changed group, in order
        self.moves_before = 0
        self.base.catch_up()
        rows = np.arange(used)
        self._regroup(rows, self.base.of[rows])
        self.moves = []
        self.moves_before = 0

    # 3 the group of rows

    def _regroup(self, rows: Rows, bases: Int64s) -> None:
        """Give rows of known base their group: most have none of anything, so their group follows from the base."""
        odd = self._rows_with_numbers()
        nothing = (0,) * len(self.numbers)
        there = np.flatnonzero(np.bincount(bases))
        plain = {base: self._group((base, *nothing)) if base else RULED_OUT for base in there.tolist()}
        table = np.zeros(max(plain, default=0) + 1, np.intp)
        for base, group in plain.items():
            table[base] = group
        new = table[bases]  # (rows,)
        if odd:
            whole = len(rows) == self.table.columns.rows
            for at, row in ((row, row) for row in odd) if whole else enumerate(rows.tolist()):
                if whole or row in odd:
                    new[at] = self._group_of(row)
        old = self.of[rows]
        changed = np.flatnonzero(new != old)
        if not len(changed):
            return
        self.of[rows] = new
        self.size[: self.count] -= np.bincount(old[changed], minlength=self.count)
        self.size[: self.count] += np.bincount(new[changed], minlength=self.count)
        self._moved(rows[changed].tolist())

    def _rows_with_numbers(self) -> set[int]:
        rows: set[int] = set()
        for ask in self.numbers:
            assert ask.tally is not None  # noqa: S101 every number is a tally's
            for row in ask.tally.rows:
                rows.update(self._sharing(row, ask.key))
        return rows

    def _sharing(self, row: int, key: str | None) -> Sequence[int]:
        """Return the rows that see a change of a tally on one row: itself, or all of its domain."""
        if key is None:
            return (row,)
        domain_id = int(self._keys[key].ids[row])
        if domain_id == ABSENT:
            return ()
        return self._keys[key].rows_of[domain_id]

    def _group_of(self, row: int) -> int:
        base = self.base.of.item(row)
        return self._group((base, *[self._number(ask, row) for ask in self.numbers])) if base else RULED_OUT

    def _number(self, ask: Ask, row: int) -> int:
        tally = ask.tally
        assert tally is not None  # noqa: S101 every number is a tally's
        if ask.key is None:
            number = tally.rows.get(row, 0) if ask.scope is None or ask.scope.holds(row) else 0
        else:
            key = self._keys[ask.key]
            domain_id = int(key.ids[row])
            if domain_id == ABSENT:
                number = 0
            elif len(key.rows_of[domain_id]) == 1:  # the usual hostname: the domain is the row
                number = tally.rows.get(row, 0) if ask.scope is None or ask.scope.holds(row) else 0
            else:
                numbers = tally.domains(key, ask.scope).numbers
                number = int(numbers[domain_id]) if domain_id < len(numbers) else 0
        return int(number > 0) if ask.what == "any" else number

    def _group(self, name: tuple[int, ...]) -> int:
        group = self._ids.get(name)
        if group is None:
            group = self._ids[name] = self.count
            self.count += 1
            if self.count > len(self.size):
                self.size = np.concatenate((self.size, np.zeros_like(self.size)))
                self._values = [np.concatenate((value, np.zeros_like(value))) for value in self._values]
            for column, value in zip(self._values, (*self.base.values[name[0]], *name[1:]), strict=True):
                column[group] = value
        return group

    def _moved(self, rows: list[int]) -> None:
        self.moves += rows
        if len(self.moves) > MOVES_KEPT:
            self.moves_before += len(self.moves)
            self.moves = []

    # 4 catching up

    def catch_up(self) -> bool:
        """Follow what changed since last time; say whether the groups can go on as they are."""
        table = self.table
        if self.position != table.node_log.position:
            if any(self._is_small(key) != small for key, small in self.small.items()):
                return False
            rows = table.node_log.since(self.position)
            if rows is None:
                return False
            self.position = table.node_log.position
            self._lengthen()
            self.base.catch_up()
            changed = np.unique(rows)
            self._regroup(changed, self.base.of[changed])
            if any(ask.key is not None for ask in self.numbers):
                return self._catch_up_tallies() and self._number_all()
        return self._catch_up_tallies()

    def _number_all(self) -> bool:
        """Give every row its group anew: a node that changed domain changes the numbers of others there."""
        rows = np.arange(self.table.columns.rows)
        self._regroup(rows, self.base.of[rows])
        return True

    def _lengthen(self) -> None:
        if len(self.of) < self.table.columns.capacity:
            grown = np.zeros(self.table.columns.capacity, np.intp)
            grown[: len(self.of)] = self.of
            self.of = grown
            self.window = window(grown)

    def _catch_up_tallies(self) -> bool:
        if not self.tallies:
            return True
        touched: set[int] = set()
        for tally, keys in self.tallies.items():
            position, end = self.tally_positions[tally], tally.changed_before + len(tally.changed)
            if position == end:
                continue
            if position < tally.changed_before:
                return False
            self.tally_positions[tally] = end
            changed = tally.changed[position - tally.changed_before :]
            for key in keys:
                if key is None:
                    touched.update(changed)
                else:
                    touched.update(row for one in changed for row in self._sharing(one, key))
        of, moved = self.window, list[int]()
        for row in touched:
            group, old = self._group_of(row), of[row]
            if group != old:
                self.size[old] -= 1
                self.size[group] += 1
                of[row] = group
                moved.append(row)
        self._moved(moved)
        return True

    # 5 what groups answer

    def view(self, feasible: Int64s, live: bytes, fitting: bytes, fits: Bools | None = None) -> GroupView:
        """Return the view of the groups that have feasible rows, and of these the ones that fit."""
        key = (live, fitting)
        found = self._views.get(key)
        if found is None:
            ids = np.flatnonzero(feasible > 0)
            found = self._views[key] = GroupView(self, ids if fits is None else ids[fits])
            if len(self._views) > VIEWS_KEPT:
                self._views.popitem(last=False)
        return found

    def along(self, bonus: Totals) -> Along:
        """Spread a bonus over the rows; kept for a few that stand, because many plans share one."""
        known, used = self._along.get(id(bonus)), self.table.columns.rows
        moves = self.moves_before + len(self.moves)
        if known is None or known.moves != moves or len(known.rows) != used:
            known = self._along[id(bonus)] = Along(bonus, moves, bonus.take(self.of[:used], mode="wrap"))
            if len(self._along) > ALONG_KEPT:
                self._along.popitem(last=False)
        return known

    def value(self, ask: Ask) -> Int64s:
        """Return each group's value of a recorded question or fact.  Raise Unforeseen for any other."""
        if not self._places:
            first = self.base.width - len(self.facts)
            self._places = {each: first + place for place, each in enumerate((*self.facts, *self.numbers))}
        place = self._places.get(ask)
        if place is None:
            raise Unforeseen(ask)
        return self._values[place]

    def raw(self, rule: int) -> Int64s:
        """Return each group's score by the rule-th of the rules that score."""
        return self._values[rule]


class GroupView(Topology):
    """Some groups, asked like rows."""

    def __init__(self, groups: Groups, ids: Rows) -> None:
        super().__init__(groups.table)
        self.groups = groups
        self.ids = ids
        self.rows_in: Int64s = groups.size  # (groups,) how many feasible rows each has
        self._many: int | None = None
        self._distinct: dict[tuple[str, bool], int] = {}
        self._gathered: dict[tuple[str, str | None, Tally | None, Scope | None], Int64s] = {}
        self._domains: dict[tuple[Tally, str, Scope | None], tuple[Key, Domains, Int64s]] = {}
        self._has: dict[str, Bools] = {}
        self.asked: dict[Tally, None] = {}  # whose numbers by domain were asked
        self.asked_many = False
        self.every: Bools = np.ones(len(ids), np.bool_)  # all groups of a plan's view are feasible
        self.every.flags.writeable = False
        self.settled: Int64s | None = None  # what node-only rules score here, once worked out
        self.tab: Totals | None = None  # (groups,) the same as a bonus of all groups
        self._blank: Totals | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def recorded(self, ask: Callable[[], H], tally: Tally | None = None) -> H:
        """Ask, and note the tally: whoever keeps the answer asks again when it, or any node, has changed."""
        if tally is not None:
            self.asked[tally] = None
        return ask()

    @property
    def as_rows(self) -> View:
        """The groups as rules are asked with them."""
        return self  # type: ignore[return-value]  # it answers all that a tally rule may ask; a test holds it to that

    def _value(self, what: str, key: str | None, tally: Tally | None = None, scope: Scope | None = None) -> Int64s:
        name = (what, key, tally, scope)
        found = self._gathered.get(name)
        if found is None:
            found = self._gathered[name] = self.groups.value(Ask(what, key, tally, scope))[self.ids]
            found.flags.writeable = False
        return found

    def has(self, key: str) -> Bools:
        """Which groups' rows have a label key."""
        found = self._has.get(key)
        if found is None:
            small = self.groups.small.get(key)
            if small is None:
                raise Unforeseen(Ask("has", key))
            if small or Ask("domain", key) in self.groups.facts:
                found = self._value("domain", key) != ABSENT
            else:
                found = self._value("has", key) != 0
            found = self._has[key] = self.every if found.all() else found
        return found

    def count(self, tally: Tally, key: str | None = None, scope: Scope | None = None) -> Int64s:
        """Return the number of each group's rows or of their domain."""
        if key is None or not self.groups.small.get(key, False):
            return self._value("count", key, tally, scope)
        return self._of_domain(tally, key, scope)

    def any(self, tally: Tally, key: str | None = None, scope: Scope | None = None) -> Bools:
        """Which groups' rows (or their domains) have any."""
        there: Bools
        if key is None or not self.groups.small.get(key, False):
            there = self._value("any", key, tally, scope) != 0
        else:
            there = self._of_domain(tally, key, scope) > 0
        return there

    def _of_domain(self, tally: Tally, key: str, scope: Scope | None) -> Int64s:
        self.asked[tally] = None
        name = (tally, key, scope)
        known = self._domains.get(name)
        if known is None:
            column = self._key(key)
            known = self._domains[name] = column, tally.domains(column, scope), self._value("domain", key)
        column, domains, ids = known
        domains.reach(len(column.values) + 1)
        return domains.numbers.take(ids, mode="wrap")  # absent is -1: the last, never written

    def many(self, feasible: Bools) -> int:
        """Count the nodes among the feasible."""
        self.asked_many = True
        if feasible is not self.every:
            return int(self.rows_in[self.ids[feasible]].sum())
        if self._many is None:
            self._many = sum(self.rows_in[self.ids].tolist())
        return self._many

    def spread(self, total: Int64s, width: Width) -> Totals:
        """Return these groups' totals as a bonus of all groups, the others ruled out."""
        groups = len(self.groups.size)
        if self._blank is None or len(self._blank) != groups:
            self._blank = np.full(groups, width.ruled_out, width.dtype)
        tab = self._blank.copy()
        tab[self.ids] = total
        return tab

    def holding(self, rows_in: Int64s) -> GroupView:
        """Note how many feasible rows each group has now."""
        self.rows_in = rows_in
        self._many = None
        return self

    def distinct(self, key: str, feasible: Bools, *, absent: bool) -> int:
        """Count the domains of a key among the feasible."""
        ask = Ask("domain", key)
        if ask not in self.groups.facts:
            raise Unforeseen(ask)
        if feasible is self.every and (key, absent) in self._distinct:
            return self._distinct[key, absent]
        found = set(self._value("domain", key)[feasible].tolist())
        number = len(found) - (not absent and ABSENT in found)
        if feasible is self.every:
            self._distinct[key, absent] = number
        return number
