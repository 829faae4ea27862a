"""Plans: the remembered evaluation of a shape by a profile; asked again, only what changed is worked out.

total(row) = own[row] + bonus[group[row]].  Own columns are shared by shapes with equal requests, groups by shapes with
equal constraints; a plan joins one of each, and keeps the bonus of the groups that have a feasible row.  It holds no rows
but those that its own column rules out.
Invariant: a plan's answer equals an evaluation of all rows afresh (evaluate.py); the engine check compares every one.
Not here: the text of a verdict, which is always an evaluation's.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from bayplan.cluster.columns import Bools, Int32s, Int64s, Row
from bayplan.cluster.shapes import VOLUMES
from bayplan.cluster.tallies import Tally
from bayplan.cluster.view import View
from bayplan.framework.groups import Ask, Groups, GroupView, NodeRule, Recorder, Unforeseen
from bayplan.framework.own import RULED_OUT, Own, RowRule
from bayplan.framework.plugin import KEYS, NODE, ROW, SCORE_MAX, SKIP, Failed, Prepared, Rejected
from bayplan.framework.search import Search

if TYPE_CHECKING:
    from bayplan.cluster.shapes import Shape
    from bayplan.cluster.table import Table
    from bayplan.framework.profile import Instance, Profile
    from bayplan.framework.settings import Settings

OwnKey: TypeAlias = tuple[tuple[int, bool, bool], ...]
GroupKey: TypeAlias = tuple[tuple[tuple[int, bool, bool], ...], frozenset[Ask]]
Narrowing: TypeAlias = Callable[[Bools], Bools]            # rows that pass, of those that passed so far


class Unplanned(Exception):
    """Raised where a question cannot be answered from a plan."""


class Memo:
    """What one rule found for one part, and what it read to find it."""

    def __init__(self, instance: Instance, part: object, table: Table) -> None:
        self.instance = instance
        self.part = part
        view = Recorder(table)
        self.prepared: Prepared[object] | Rejected | Failed = instance.plugin.prepare(part, view)
        self.asks: dict[Ask, None] | None = None           # of a tally rule, once found out
        self.search: Search | None = None
        self.of_volumes = instance.plugin.reads is VOLUMES and part is not None
        self._seen = table.ticks.value + (table.volumes.changes if self.of_volumes else 0)
        self._plain = [read for read in view.reads if read.tally is None]
        self._by_tally = [(read, read.tally) for read in view.reads if read.tally is not None]
        self._versions = [tally.version for _, tally in self._by_tally]

    @property
    def reads_tallies(self) -> bool:
        """Say whether it may be out of date though nothing but pods came and went."""
        return bool(self._by_tally)

    def stands(self, ticks: int, volume_changes: int) -> bool:
        """Say whether all that was read still reads the same."""
        seen = ticks + volume_changes if self.of_volumes else ticks
        if self._seen != seen:
            if not all(read.stands for read in self._plain):
                return False
            self._seen = seen
        for place, (read, tally) in enumerate(self._by_tally):
            if tally.version != self._versions[place]:
                if not read.stands:
                    return False
                self._versions[place] = tally.version
        return True


class KeyRule(NamedTuple):
    """A tally rule as a plan asks it."""

    memo: Memo
    state: object
    filters: bool
    scores: bool
    prepares: bool
    normalizes: bool


class Plan:
    """One shape by one profile."""

    def __init__(self, plans: Plans, memos: Sequence[Memo]) -> None:
        self._plans = plans
        self._table = plans.table
        self.memos = memos
        self._restless = [memo for memo in memos if memo.reads_tallies]
        self.keys: list[KeyRule] = []
        self.searches: list[tuple[Search, int, bool]] = []             # the search, its weight, whether it scores
        self.names: frozenset[str] | None = None
        self.rejected = False
        self.own: Own
        self.groups: Groups
        self._tab: Int32s | None = None                                # (groups,) the bonus, RULED_OUT where none
        self._along: Int32s | None = None                              # (rows,) the bonus of each row's group
        self._live = b""
        self._deps: dict[Tally, int] = {}
        self._seen = (-1, 0)
        self._of_volumes = any(memo.of_volumes for memo in memos)
        self._counts_nodes = False
        self._feasible: Int64s = np.zeros(0, np.int64)                 # (groups,) feasible rows of each
        self.keys_of: tuple[OwnKey, GroupKey] | None = None

    def join(self, own: Own, groups: Groups) -> None:
        """Take up an own column and groups, and count which rows the former rules out."""
        self.own, self.groups = own, groups
        self._tab = self._along = None
        self._recount()

    def stands(self) -> bool:
        """Say whether what the rules prepared is still right."""
        table = self._table
        seen = (table.ticks.value, table.volumes.changes if self._of_volumes else 0)
        asked: Sequence[Memo] = self._restless
        if seen != self._seen:
            self._tab = None
            self._seen = seen
            asked = self.memos
        for memo in asked:  # noqa: SIM110 a generator costs a microsecond more
            if not memo.stands(*seen):
                return False
        return True

    # 1 which rows are feasible, as far as own and node-only rules know

    def _recount(self) -> None:
        used = self._table.columns.rows
        out = np.flatnonzero(self.own.column[:used] < 0)
        groups = self.groups.of[out]
        self._off: dict[int, int] = dict(zip(out.tolist(), groups.tolist(), strict=True))
        self._off_in = np.bincount(groups, minlength=len(self.groups.size)).astype(np.int64)      # (groups,)
        self._flips_seen = self.own.flips_before + len(self.own.flips)
        self._moves_seen = self.groups.moves_before + len(self.groups.moves)
        self._tab = None
        self._feasible = np.zeros(0, np.int64)

    def _catch_up(self) -> None:
        """Follow rows that came to fit or ceased to, and rows that changed group."""
        own, groups = self.own, self.groups
        own.catch_up()
        if not groups.catch_up():
            raise Unforeseen(Ask("domain"))
        flips = own.flips_before + len(own.flips)
        moves = groups.moves_before + len(groups.moves)
        if flips == self._flips_seen and moves == self._moves_seen:
            return
        if self._flips_seen < own.flips_before or self._moves_seen < groups.moves_before:
            self._recount()
            return
        self._follow(groups.moves[self._moves_seen - groups.moves_before:],
                     own.flips[self._flips_seen - own.flips_before:])
        if moves != self._moves_seen:
            self._along = None
        self._flips_seen, self._moves_seen = flips, moves
        self._feasible = np.zeros(0, np.int64)

    def _follow(self, moved: Sequence[int], flipped: Sequence[int]) -> None:
        """Count rows that are ruled out in the groups where they now are."""
        off, of, column = self._off, self.groups.window, self.own.window
        if len(self._off_in) < len(self.groups.size):
            longer = np.zeros(len(self.groups.size), np.int64)
            longer[:len(self._off_in)] = self._off_in
            self._off_in = longer
        off_in = self._off_in
        for row in moved:
            if row in off:
                off_in[off[row]] -= 1
                off[row] = of[row]
                off_in[of[row]] += 1
        for row in flipped:
            if column[row] >= 0:
                if row in off:
                    off_in[off.pop(row)] -= 1
            elif row not in off:
                off[row] = of[row]
                off_in[of[row]] += 1

    # 2 the bonus of each live group

    def _stale(self) -> bool:
        if self._tab is None:
            return True
        stale = False
        for tally, version in self._deps.items():
            if tally.version != version:
                self._deps[tally] = tally.version
                stale = True
        return stale

    def bonus(self) -> Int32s | None:
        """Return each group's bonus, worked out again if anything it depends on has changed; None: nothing fits."""
        stale = self._stale()
        if not len(self._feasible):
            feasible = self.groups.size - self._off_in[:len(self.groups.size)]
            feasible[0] = 0
            self._feasible = feasible
            live = (feasible > 0).tobytes()
            stale = stale or live != self._live or self._counts_nodes
            self._live = live
        if stale:
            self._along = None
            self._tab = self.bonus_of(self._feasible, self._live)
        return self._tab

    def bonus_of(self, feasible: Int64s, live: bytes) -> Int32s | None:
        """Work out the bonus of the groups that have feasible rows."""
        view = self.groups.view(np.flatnonzero(feasible > 0), live, b"")
        view.rows_in = feasible
        fits = self.fitting(view)
        if not fits.all():
            view = self.groups.view(view.ids[fits], live, fits.tobytes())
            view.rows_in = feasible
        if not len(view):
            return None
        total = self._scores(view)
        self._note(view)
        tab = np.full(len(self.groups.size), RULED_OUT, np.int32)      # (groups,)
        tab[view.ids] = total
        return tab

    def fitting(self, view: GroupView) -> Bools:
        """Ask the tally rules which groups fit."""
        fits = np.ones(len(view), np.bool_)                            # (groups,)
        for rule in self.keys:
            if rule.filters:
                fits &= rule.memo.instance.plugin.fits(rule.state, view.as_rows)
        self._note(view)
        return fits

    def _scores(self, view: GroupView) -> Int64s:
        every = view.every
        total = view.settled
        if total is None:
            total = view.settled = self._node_scores(view, every)
        total = total.copy()
        for rule in self.keys:
            if not rule.scores:
                continue
            plugin, state = rule.memo.instance.plugin, rule.state
            if rule.prepares:
                state = plugin.prepare_score(state, view.as_rows, every)
                if state is SKIP:
                    continue
                if isinstance(state, Failed):
                    raise Unplanned
            scores = plugin.score(state, view.as_rows, every)
            if rule.normalizes:
                scores = plugin.normalize(state, view.as_rows, scores, every)
            _check(scores)
            total += scores * rule.memo.instance.weight
        return total

    def _node_scores(self, view: GroupView, every: Bools) -> Int64s:
        total = np.zeros(len(view), np.int64)                          # (groups,)
        for place, rule in enumerate(rule for rule in self.groups.rules if rule.scores):
            scores = self.groups.raw(place)[view.ids]
            if rule.normalizes:
                scores = rule.plugin.normalize(rule.state, view.as_rows, scores, every)
            _check(scores)
            total += scores * rule.weight
        return total

    def _note(self, view: GroupView) -> None:
        """Note which tallies the bonus depends on."""
        for read in view.reads:
            if read.tally is not None and read.tally not in self._deps:
                self._deps[read.tally] = read.tally.version
        view.reads.clear()
        for tally in view.asked:
            if tally not in self._deps:
                self._deps[tally] = tally.version
        view.asked.clear()
        self._counts_nodes = self._counts_nodes or view.asked_many
        view.asked_many = False

    # 3 the totals of rows

    def totals(self) -> Int32s | None:
        """Return the total of each row, negative where the pod does not fit; None: it fits nowhere.

        The answer is written over by the next one of this profile.
        """
        self._catch_up()
        tab = self.bonus()
        if tab is None:
            return None
        used = self._table.columns.rows
        total = self._plans.total
        if len(total) != used:
            total = self._plans.total = np.empty(used, np.int32)       # (rows,)
        if self._deps:
            np.take(tab, self.groups.of[:used], out=total, mode="wrap")
            total += self.own.column[:used]
            return total
        if self._along is None or len(self._along) != used:
            self._along = tab.take(self.groups.of[:used], mode="wrap")
        return np.add(self._along, self.own.column[:used], out=total)

    def totals_among(self, narrowed: Iterable[Narrowing]) -> Int64s | None:
        """Return the totals where something besides own column and groups rules rows out."""
        self._catch_up()
        used = self._table.columns.rows
        of, column = self.groups.of[:used], self.own.column[:used]
        self.bonus()                                       # so that what follows is up to date with the tallies
        feasible = self.groups.size - self._off_in[:len(self.groups.size)]
        feasible[0] = 0
        view = self.groups.view(np.flatnonzero(feasible > 0), (feasible > 0).tobytes(), b"")
        view.rows_in = feasible
        alive = np.zeros(len(self.groups.size), np.bool_)              # (groups,)
        alive[view.ids] = self.fitting(view)
        mask = alive[of] & (column >= 0)                               # (rows,)
        for narrow in narrowed:
            mask = narrow(mask)
        if not mask.any():
            return None
        feasible = np.bincount(of[mask], minlength=len(self.groups.size)).astype(np.int64)
        tab = self.bonus_of(feasible, (feasible > 0).tobytes())
        self._feasible = np.zeros(0, np.int64)
        self._tab = None
        if tab is None:
            return None
        total: Int64s = np.where(mask, tab[of].astype(np.int64) + column, RULED_OUT)
        for search, weight, scores in self.searches:
            if scores:
                total[mask] += weight * search.scores(mask)
        return total


    # 4 what a placement takes

    def reservations(self, row: Row) -> list[object]:
        """Ask the searching rules what placing the pod on a row would take."""
        found = (search.reservation(row) for search, _, _ in self.searches)
        return [reservation for reservation in found if reservation is not None]


class Plans:
    """All plans of one profile, within a byte budget; the least recently used go first."""

    def __init__(self, table: Table, profile: Profile, settings: Settings) -> None:
        self.table = table
        self.profile = profile
        self.settings = settings
        self._plans: OrderedDict[Shape, Plan] = OrderedDict()
        self._memos: OrderedDict[tuple[str, int], Memo] = OrderedDict()
        self._owns: dict[OwnKey, tuple[Own, list[Plan]]] = {}
        self._groups: dict[GroupKey, tuple[Groups, list[Plan]]] = {}
        self.total: Int32s = np.zeros(0, np.int32)         # (rows,) where the next answer is written
        self.bytes = 0
        self.made = 0                                      # plans made, and evicted: for metrics and tests
        self.evicted = 0
        first = {instance.name for instance in profile.pre_filter}
        rest = (instance for instance in (*profile.filter, *profile.pre_score, *profile.score)
                if instance.name not in first)
        self._instances = (*profile.pre_filter, *dict.fromkeys(rest))
        self._asked_first = first
        self._filtering = {instance.name for instance in profile.filter}
        self._scoring = {instance.name for instance in profile.score}
        self._preparing = {instance.name for instance in profile.pre_score
                           if instance.plugin.overrides("prepare_score")}
        self.can = all(instance.plugin.depends in {NODE, ROW, KEYS} or instance.plugin.searches
                       for instance in self._instances) and all(
                           instance.plugin.reads is not None for instance in self._instances)

    def plan(self, shape: Shape) -> Plan:
        """Return the plan of a shape: the remembered one if it stands."""
        plan = self._plans.get(shape)
        if plan is not None:
            if plan.stands():
                self._plans.move_to_end(shape)
                return plan
            self._let_go(shape)
        plan = self._made(shape)
        self._plans[shape] = plan
        self.made += 1
        self._keep_within_budget(shape)
        return plan

    def reserve_of(self, shape: Shape) -> Callable[[Row], list[object]]:
        """Return what says what a placement would take besides its row."""
        plan = self._plans.get(shape)
        return plan.reservations if plan is not None and plan.searches else _nothing

    def remembers(self, shape: Shape) -> bool:
        """Say whether there is a plan of a shape."""
        return shape in self._plans

    # -- making one

    def _memo(self, instance: Instance, shape: Shape) -> Memo:
        assert instance.plugin.reads is not None  # noqa: S101 `can` says so
        part = shape.part(instance.plugin.reads)
        key = (instance.name, id(part))
        memo = self._memos.get(key)
        table = self.table
        if memo is not None and memo.stands(table.ticks.value, table.volumes.changes if memo.of_volumes else 0):
            return memo
        fresh = self._memos[key] = Memo(instance, part, table)
        self._memos.move_to_end(key)
        fresh.asks = memo.asks if memo is not None else None
        return fresh

    def _made(self, shape: Shape) -> Plan:
        memos = [self._memo(instance, shape) for instance in self._instances]
        plan = Plan(self, memos)
        names: frozenset[str] | None = None
        rows, nodes, keys = list[tuple[Memo, RowRule]](), list[tuple[Memo, NodeRule]](), list[KeyRule]()
        for memo in memos:
            name, plugin, prepared = memo.instance.name, memo.instance.plugin, memo.prepared
            if not isinstance(prepared, Prepared):
                plan.rejected = plan.rejected or name in self._asked_first
                if name in self._asked_first or prepared.state is None:
                    continue
                prepared = Prepared(prepared.state)        # its PreFilter is off: nobody heard it refuse
            if prepared.names is not None and name in self._asked_first:
                names = prepared.names if names is None else names & prepared.names
            filters = name in self._filtering and (prepared.filters or name not in self._asked_first)
            scores, state = name in self._scoring, prepared.state
            if name in self._preparing and not scores:
                self._prepared_score(memo)                 # it may fail though nobody wants its scores
            if plugin.depends is KEYS and not plugin.searches:
                keys.append(KeyRule(memo, state, filters, scores, name in self._preparing,
                                    plugin.overrides("normalize")))
                continue
            if scores and name in self._preparing:
                state, scores = self._prepared_score(memo)
            if plugin.searches:
                self._add_search(plan, memo, state, filters=filters, scores=scores)
            elif plugin.depends is ROW:
                if filters or scores:
                    rows.append((memo, RowRule(plugin, state, memo.instance.weight, filters, scores)))
            elif filters or scores:
                nodes.append((memo, NodeRule(plugin, state, memo.instance.weight, filters, scores,
                                             plugin.overrides("normalize"))))
        plan.names = names
        plan.keys = [rule for rule in keys if rule.filters or rule.scores]
        if not plan.rejected:
            self._join(plan, rows, nodes)
        return plan

    def _prepared_score(self, memo: Memo) -> tuple[object, bool]:
        """Ask once whether a rule scores this part at all; only tally rules may have it depend on what is feasible."""
        view = View(self.table)
        state = memo.instance.plugin.prepare_score(memo.prepared.state, view, view.live)
        if isinstance(state, Failed):
            raise Unplanned
        return (memo.prepared.state, False) if state is SKIP else (state, True)

    def _add_search(self, plan: Plan, memo: Memo, state: object, *, filters: bool, scores: bool) -> None:
        if not filters:
            return                                         # nothing to search: it scores nothing either
        if memo.search is None:
            memo.search = Search(self.table, memo.instance.plugin, state)
        plan.searches.append((memo.search, memo.instance.weight, scores))

    def _join(self, plan: Plan, rows: Sequence[tuple[Memo, RowRule]], nodes: Sequence[tuple[Memo, NodeRule]]) -> None:
        """Give a plan its own column and groups, shared where they can be."""
        own_key = tuple((id(memo), rule.filters, rule.scores) for memo, rule in rows)
        if own_key not in self._owns:
            own = Own(self.table, [rule for _, rule in rows], self.settings)
            self._owns[own_key] = (own, [])
            self.bytes += own.bytes_taken
        for rule in plan.keys:
            if rule.memo.asks is None:
                self._find_asks(rule)
        asks = tuple(dict.fromkeys(ask for rule in plan.keys for ask in rule.memo.asks or ()))
        group_key = (tuple((id(memo), rule.filters, rule.scores) for memo, rule in nodes), frozenset(asks))
        if group_key not in self._groups:
            groups = Groups(self.table, [rule for _, rule in nodes], asks, self.settings)
            self._groups[group_key] = (groups, [])
            self.bytes += groups.bytes_taken
        own, own_users = self._owns[own_key]
        groups, group_users = self._groups[group_key]
        own_users.append(plan)
        group_users.append(plan)
        plan.keys_of = (own_key, group_key)
        own.catch_up()
        if not groups.catch_up():
            groups = Groups(self.table, groups.rules, asks, self.settings)
            self._groups[group_key] = (groups, group_users)
        plan.join(own, groups)

    def _find_asks(self, rule: KeyRule) -> None:
        """Find out what a tally rule asks by asking it about all rows."""
        view = Recorder(self.table)
        plugin, live = rule.memo.instance.plugin, view.live
        if rule.filters:
            plugin.fits(rule.state, view)
        if rule.scores and live.any():
            state = plugin.prepare_score(rule.state, view, live) if rule.prepares else rule.state
            if state is not SKIP and not isinstance(state, Failed):
                scores = plugin.score(state, view, live)
                if rule.normalizes:
                    plugin.normalize(state, view, scores, live)
        rule.memo.asks = view.asks

    def asks_more(self, shape: Shape, ask: Ask) -> Plan:
        """Make a plan again whose rule asked something unforeseen, or whose groups could not catch up."""
        plan = self._plans[shape]
        for rule in plan.keys:
            if rule.memo.asks is not None and (ask.key is not None or ask.tally is not None):
                rule.memo.asks[ask] = None
        self._let_go(shape)
        plan = self._plans[shape] = self._made(shape)
        return plan

    # -- letting go

    def _let_go(self, shape: Shape) -> None:
        plan = self._plans.pop(shape)
        if plan.keys_of is None:
            return
        own_key, group_key = plan.keys_of
        own, users = self._owns[own_key]
        users.remove(plan)
        if not users:
            del self._owns[own_key]
            self.bytes -= own.bytes_taken
        groups, users = self._groups[group_key]
        users.remove(plan)
        if not users:
            del self._groups[group_key]
            self.bytes -= groups.bytes_taken

    def _keep_within_budget(self, but: Shape) -> None:
        budget = self.settings.bytes_base + self.settings.bytes_per_row * self.table.columns.rows
        while self.bytes > budget and len(self._plans) > 1:
            oldest = next(iter(self._plans))
            if oldest is but:
                break
            self._let_go(oldest)
            self.evicted += 1
        while len(self._memos) > len(self._instances) * (len(self._plans) + 16):
            self._memos.popitem(last=False)


def _nothing(_: Row) -> list[object]:
    return []


def _check(scores: Int64s) -> None:
    """Leave scores that break the rules to the evaluation, which names the rule."""
    if int(scores.min()) < 0 or int(scores.max()) > SCORE_MAX:
        raise Unplanned
