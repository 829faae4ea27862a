"""Plans: all that is remembered for a profile, within a byte budget; the least recently used goes first.

Own columns are shared by shapes with equal requests, groups by shapes with equal constraints, and what rules prepare by
shapes with an equal part.
Invariant: what no plan uses any more is let go; `bytes_taken` is what is kept.
Not here: how a plan answers (plan.py).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Final, Generic, TypeAlias, TypeVar
from weakref import WeakValueDictionary

import numpy as np

from bayplan.cluster.columns import Row
from bayplan.cluster.view import View
from bayplan.framework.asks import Ask, Recorder
from bayplan.framework.banks import Bank
from bayplan.framework.bases import Base
from bayplan.framework.groups import Groups
from bayplan.framework.memo import Duty, Memo, Roles
from bayplan.framework.own import Own, RowRule, Totals, Width
from bayplan.framework.plan import KeyRule, Plan, Unplanned
from bayplan.framework.plugin import KEYS, NODE, ROW, SKIP, Failed, Prepared, Rejected
from bayplan.framework.search import Search

if TYPE_CHECKING:
    from bayplan.cluster.shapes import Shape
    from bayplan.cluster.table import Table
    from bayplan.framework.profile import Profile
    from bayplan.framework.settings import Settings

T = TypeVar("T")
MEMOS_MORE: Final = 16  # of each rule than there are plans: those of plans that went may be wanted again
Memos: TypeAlias = OrderedDict[int, Memo]  # by the id of the part, which the memo holds
OwnKey: TypeAlias = tuple[int, ...]
BaseKey: TypeAlias = tuple[tuple[Hashable, ...], tuple[Ask, ...]]
GroupKey: TypeAlias = tuple[tuple[Hashable, ...], frozenset[Ask]]


class Shared(Generic[T]):
    """Something that plans share, how many do, and what it takes."""

    __slots__ = ("bytes_taken", "forget", "thing", "users")

    def __init__(self, thing: T, bytes_taken: int, forget: Callable[[], object]) -> None:
        self.thing = thing
        self.bytes_taken = bytes_taken
        self.forget = forget
        self.users = 0


class Plans:
    """All plans of one profile."""

    def __init__(self, table: Table, profile: Profile, settings: Settings) -> None:
        self.table = table
        self.profile = profile  # kept, because plans are found by who it is
        self.settings = settings
        self._plans: OrderedDict[Shape, Plan] = OrderedDict()
        self._owns: dict[OwnKey, Shared[Own]] = {}
        self._banks: dict[tuple[tuple[int, bool, bool], ...], Bank] = {}  # by rules
        self._groups: dict[GroupKey, Shared[Groups]] = {}
        self._bases: WeakValueDictionary[BaseKey, Base] = WeakValueDictionary()
        self.width = Width.of(
            (instance.weight for instance in profile.score), 2 + sum(one.plugin.searches for one in profile.filter)
        )
        self.total: Totals = np.zeros(0, self.width.dtype)  # (rows,) where the next answer is written
        self.bytes_taken = 0
        self.made = 0  # plans made, and let go of for want of room
        self.evicted = 0
        rest = (*profile.filter, *profile.pre_score, *profile.score)
        instances = dict.fromkeys((*profile.pre_filter, *(one for one in rest if one.name not in profile.asked_first)))
        self.can = all(
            instance.plugin.reads is not None
            and (instance.plugin.depends in {NODE, ROW, KEYS} or instance.plugin.searches)
            for instance in instances
        )
        duties = [Duty.of(instance, profile) for instance in instances] if self.can else []
        self._memos: list[tuple[Duty, Memos]] = [(duty, OrderedDict()) for duty in duties]

    def plan(self, shape: Shape) -> Plan:
        """Return the plan of a shape: the remembered one if it stands."""
        plan = self._plans.get(shape)
        if plan is not None and plan.stands():
            self._plans.move_to_end(shape)
            return plan
        return self._renewed(shape, plan)

    def asks_more(self, shape: Shape, ask: Ask) -> Plan:
        """Make a plan again whose rule asked something unforeseen, or whose groups could not catch up."""
        plan = self._plans[shape]
        for rule in plan.keys:
            if rule.memo.asks is not None and (ask.key is not None or ask.tally is not None):
                rule.memo.asks[ask] = None
        return self._renewed(shape, plan)

    def reserve_of(self, shape: Shape) -> Callable[[Row], list[object]]:
        """Return what says what a placement would take besides its row."""
        plan = self._plans.get(shape)
        return plan.reservations if plan is not None and plan.searches else _nothing

    def prepared(self, shape: Shape) -> dict[str, Prepared[object] | Rejected | Failed]:
        """Return what each rule prepared for a shape."""
        plan = self._plans.get(shape)
        return {} if plan is None else plan.prepared()

    def remembers(self, shape: Shape) -> bool:
        """Say whether there is a plan of a shape."""
        return shape in self._plans

    # -- making one

    def _renewed(self, shape: Shape, old: Plan | None) -> Plan:
        """Make a plan; what it shares with the one it replaces stays."""
        plan = self._made(shape)
        self._plans[shape] = plan
        self._plans.move_to_end(shape)
        self.made += 1
        if old is not None:
            self._release(old)
        self._keep_within_budget(shape)
        return plan

    def _made(self, shape: Shape) -> Plan:
        """Sort what the rules have to say by where their answers live, and join an own column and groups."""
        plan = Plan(self, self._memos_of(shape))
        rows, nodes = list[Memo](), list[Memo]()
        for memo in plan.memos:
            if memo.rejects:
                plan.is_rejected = True
            if memo.names is not None:
                plan.names = memo.names if plan.names is None else plan.names & memo.names
            roles, plugin = memo.roles, memo.instance.plugin
            if roles is None:
                continue
            if memo.search is not None:
                plan.searches.append(memo.search)
            elif plugin.depends is KEYS:
                plan.keys.append(KeyRule(memo, roles))
            else:
                (rows if plugin.depends is ROW else nodes).append(memo)
        if not plan.is_rejected:
            self._join(plan, rows, nodes)
        return plan

    def _memos_of(self, shape: Shape) -> list[Memo]:
        """Return what each rule prepared for its part, prepared again where that does not stand."""
        found, table = list[Memo](), self.table
        ticks = table.ticks.value
        for duty, known in self._memos:
            part = shape.part(duty.reads)
            memo = known.get(id(part))
            if memo is None or (
                (memo.seen != ticks or memo.reads_tallies)
                and not memo.stands(ticks, table.volumes.changes if memo.of_volumes else 0)
            ):
                fresh = Memo(duty, part, table)
                fresh.asks = memo.asks if memo is not None else None
                self._give_roles(fresh)
                memo = known[id(part)] = fresh
                known.move_to_end(id(part))
            found.append(memo)
        return found

    def _give_roles(self, memo: Memo) -> None:
        """Work out what a rule does for a part in this profile."""
        duty, plugin, prepared = memo.duty, memo.instance.plugin, memo.prepared
        if not isinstance(prepared, Prepared):
            memo.rejects = duty.is_first
            if duty.is_first or prepared.state is None:
                return
            prepared = Prepared(prepared.state)  # its PreFilter is off: nobody heard it refuse
        memo.names = prepared.names if duty.is_first else None
        filters, scores = duty.filters and (prepared.filters or not duty.is_first), duty.scores
        state, prepares = prepared.state, duty.prepares
        if prepares and (plugin.depends is not KEYS or plugin.searches or not scores):
            state, is_scored = self._prepared_score(memo, state)  # it may fail though nobody wants its scores
            scores, prepares = scores and is_scored, False
        if plugin.searches:
            scores = scores and filters  # nothing to search: it scores nothing either
            weight = memo.instance.weight if scores else 0
            memo.search = Search(self.table, plugin, state, weight, self.width) if filters else None
        if filters or scores:
            memo.roles = Roles(state, filters, scores, prepares, duty.normalizes, duty.is_ours)

    def _prepared_score(self, memo: Memo, state: object) -> tuple[object, bool]:
        """Ask once whether a rule scores this part at all; only tally rules may have it depend on what is feasible."""
        view = View(self.table)
        found = memo.instance.plugin.prepare_score(state, view, view.live)
        if isinstance(found, Failed):
            raise Unplanned
        return (state, False) if found is SKIP else (found, True)

    def _join(self, plan: Plan, rows: Sequence[Memo], nodes: Sequence[Memo]) -> None:
        """Give a plan its own column and groups, shared where they can be."""
        own_key = tuple(map(id, rows))
        own = self._owns.get(own_key)
        if own is None:
            made = Own(self.table, [RowRule.of(memo) for memo in rows], self.settings, self.width)
            own = self._owns[own_key] = Shared(made, made.bytes_taken, lambda: self._forget_own(own_key, made))
            made.may_join = self._bank_of(made)
            self.bytes_taken += own.bytes_taken
        for rule in plan.keys:
            if rule.memo.asks is None:
                self._find_asks(rule)
        asks = tuple(dict.fromkeys(ask for rule in plan.keys for ask in rule.memo.asks or ()))
        names = tuple([memo.answers for memo in nodes])
        group_key = (names, frozenset(asks))
        groups = self._groups.get(group_key)
        if groups is None or not groups.thing.catch_up():
            if groups is not None:
                groups.forget = _nothing_to_forget  # whoever still has them lets go of nothing but bytes
            found = Groups(self.table, asks, self.settings, lambda facts: self._base(nodes, names, facts))
            groups = self._groups[group_key] = Shared(found, found.bytes_taken, lambda: self._groups.pop(group_key))
            self.bytes_taken += groups.bytes_taken
        plan.shared = (own, groups)
        own.users += 1
        groups.users += 1
        own.thing.catch_up()
        plan.join(own.thing, groups.thing)

    def _bank_of(self, own: Own) -> Bank:
        """Return the bank of the own columns that ask the same rules."""
        key = tuple((id(rule.plugin), rule.filters, rule.scores) for rule in own.rules)
        bank = self._banks.get(key)
        if bank is None:
            bank = self._banks[key] = Bank(self.table, self.width, self.settings.together)
        return bank

    def _forget_own(self, key: OwnKey, own: Own) -> None:
        del self._owns[key]
        if own.bank is not None:
            own.bank.leave(own)

    def _base(self, nodes: Sequence[Memo], names: tuple[Hashable, ...], facts: tuple[Ask, ...]) -> Base:
        """Return the base that these node-only rules and facts make, shared by all groups that stand on it."""
        base = self._bases.get((names, facts))
        if base is None:
            base = self._bases[names, facts] = Base(self.table, nodes, facts)
        return base

    def _find_asks(self, rule: KeyRule) -> None:
        """Find out what a tally rule asks by asking it about all rows."""
        view, roles, plugin = Recorder(self.table), rule.roles, rule.memo.instance.plugin
        if roles.filters:
            plugin.fits(roles.state, view)
        if roles.scores and view.live.any():
            state = plugin.prepare_score(roles.state, view, view.live) if roles.prepares else roles.state
            if state is not SKIP and not isinstance(state, Failed):
                scores = plugin.score(state, view, view.live)
                if roles.normalizes:
                    plugin.normalize(state, view, scores, view.live)
        rule.memo.asks = view.asks

    # -- letting go

    def _release(self, plan: Plan) -> None:
        """Let go of an own column and groups that no plan uses any more."""
        for shared in plan.shared:
            shared.users -= 1
            if not shared.users:
                shared.forget()
                self.bytes_taken -= shared.bytes_taken

    def _keep_within_budget(self, but: Shape) -> None:
        budget = self.settings.bytes_base + self.settings.bytes_per_row * self.table.columns.rows
        while self.bytes_taken > budget and len(self._plans) > 1:
            oldest = next(iter(self._plans))
            if oldest is but:
                break
            self._release(self._plans.pop(oldest))
            self.evicted += 1
        for _, known in self._memos:
            while len(known) > len(self._plans) + MEMOS_MORE:
                known.popitem(last=False)


def _nothing_to_forget() -> None:
    """Do nothing."""


def _nothing(_: Row) -> list[object]:
    return []
