"""A plan: the remembered evaluation of a shape by a profile; asked again, only what changed is worked out.

total(row) = own[row] + bonus[group[row]].  A plan joins an own column and groups, both shared with others, and keeps
the bonus of the groups that have a feasible row.  It holds no rows but those that its own column rules out.
Invariant: a plan's answer equals an evaluation of all rows afresh (evaluate.py); the engine check compares every one.
Not here: which plans there are (plans.py), and the text of a verdict, which is always an evaluation's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from bayplan.cluster.columns import Bools, Int64s, Row, Rows, window
from bayplan.cluster.tallies import Tally
from bayplan.framework.asks import Ask, Unforeseen
from bayplan.framework.groups import Along, Groups, GroupView
from bayplan.framework.own import Kept, Own, Totals
from bayplan.framework.plugin import SCORE_MAX, SKIP, Failed, Prepared, Rejected

if TYPE_CHECKING:
    from bayplan.framework.memo import Memo, Roles
    from bayplan.framework.plans import Plans, Shared
    from bayplan.framework.search import Search

Narrowing: TypeAlias = Callable[[Bools], Bools]  # rows that pass, of those that passed so far


class Unplanned(Exception):
    """Raised where a question cannot be answered from a plan."""


class KeyRule(NamedTuple):
    """A tally rule as a plan asks it."""

    memo: Memo
    roles: Roles


class Plan:
    """One shape by one profile."""

    def __init__(self, plans: Plans, memos: Sequence[Memo]) -> None:
        self._plans = plans
        self._table = plans.table
        self.memos = memos
        self._restless = [memo for memo in memos if memo.reads_tallies]
        self.keys: list[KeyRule] = []
        self.searches: list[Search] = []
        self.names: frozenset[str] | None = None
        self.is_rejected = False
        self.own: Own
        self.groups: Groups
        self._tab: Totals | None = None  # (groups,) the bonus, ruled out where there is none
        self._along: Along | None = None  # the same row by row, while it stands
        self._live = b""
        self._deps: dict[Tally, int] = {}
        self._ticks = -1
        self._changes = 0  # of volumes
        self._of_volumes = [memo for memo in memos if memo.of_volumes]
        self._counts_nodes = False
        self._feasible: Int64s = np.zeros(0, np.int64)  # (groups,) feasible rows of each
        self.shared: tuple[Shared[Own], Shared[Groups]] | tuple[()] = ()

    def join(self, own: Own, groups: Groups) -> None:
        """Take up an own column and groups, and count which rows the former rules out."""
        self.own, self.groups = own, groups
        self._columns: list[Own | Search] = [own, *self.searches]
        self._tab = None
        self._recount()

    def stands(self) -> bool:
        """Say whether what the rules prepared is still right."""
        ticks = self._table.ticks.value
        changes = self._table.volumes.changes if self._of_volumes else 0
        asked: Sequence[Memo] = self._restless
        if ticks != self._ticks:
            self._tab = None
            asked = self.memos
        elif changes != self._changes:
            asked = (*self._restless, *self._of_volumes)
        self._ticks, self._changes = ticks, changes
        for memo in asked:  # noqa: SIM110 a generator costs a microsecond more
            if not memo.stands(ticks, changes):
                return False
        return True

    # 1 which rows are feasible, as far as own, node-only rules and searches know

    def _recount(self) -> None:
        used = self._table.columns.rows
        lowest = self.own.column[:used]
        for search in self.searches:
            lowest = np.minimum(lowest, search.column[:used])
        out = np.flatnonzero(lowest < 0)
        self._off: dict[int, int] = {}  # rows that these columns rule out -> their groups
        self._off_in = np.zeros(len(self.groups.size), np.int64)  # (groups,) how many each has
        if len(out):
            groups = self.groups.of[out]
            self._off = dict(zip(out.tolist(), groups.tolist(), strict=True))
            self._off_in += np.bincount(groups, minlength=len(self._off_in))
        self._flips_seen = [kept.flipped for kept in self._columns]
        self._flips_in_all = sum(self._flips_seen)
        self._moves_seen = self.groups.moves_before + len(self.groups.moves)
        self._tab = None
        self._feasible = np.zeros(0, np.int64)

    def _catch_up(self) -> None:
        """Have everything that the plan joins follow what changed."""
        self.own.catch_up()
        for search in self.searches:
            search.catch_up()
        if not self.groups.catch_up():
            raise Unforeseen(Ask("domain"))
        self._follow()

    def _follow(self) -> None:
        """Follow rows that came to fit or ceased to, and rows that changed group."""
        groups, seen = self.groups, self._flips_seen
        flips = self.own.flips_before + len(self.own.flips)
        for search in self.searches:
            flips += search.flips_before + len(search.flips)
        moves = groups.moves_before + len(groups.moves)
        if flips == self._flips_in_all and moves == self._moves_seen:
            return
        if self._moves_seen < groups.moves_before or any(map(_is_late, self._columns, seen)):
            self._recount()
            return
        flipped = set[int]()
        for kept, at in zip(self._columns, seen, strict=True):
            flipped.update(kept.flips[at - kept.flips_before :])
        self._recount_rows(groups.moves[self._moves_seen - groups.moves_before :], flipped)
        self._flips_in_all, self._moves_seen = flips, moves
        self._flips_seen = [kept.flipped for kept in self._columns]
        self._feasible = np.zeros(0, np.int64)

    def _recount_rows(self, moved: Sequence[int], flipped: Iterable[int]) -> None:
        """Count rows that are ruled out in the groups where they now are."""
        off, of, column = self._off, self.groups.window, self.own.window
        others = [search.window for search in self.searches]
        if len(self._off_in) < len(self.groups.size):
            longer = np.zeros(len(self.groups.size), np.int64)
            longer[: len(self._off_in)] = self._off_in
            self._off_in = longer
        off_in = window(self._off_in)
        for row in moved:
            if row in off:
                off_in[off[row]] -= 1
                off[row] = of[row]
                off_in[of[row]] += 1
        for row in flipped:  # what a row is now counts, not how often it changed
            if column[row] >= 0 and (not others or min([numbers[row] for numbers in others]) >= 0):
                if row in off:
                    off_in[off.pop(row)] -= 1
            elif row not in off:
                off[row] = of[row]
                off_in[of[row]] += 1

    def _settle(self, tab: Totals) -> bool:
        """Have the searches ask about rows of groups that fit; say whether that ruled any out."""
        lost = False
        for place, search in enumerate(self.searches):
            before = self._columns[: 1 + place]

            def passing(rows: Rows, before: Sequence[Kept] = before) -> Bools:
                passes = tab[self.groups.of[rows]] >= 0  # (rows,)
                for kept in before:
                    passes &= kept.column[rows] >= 0
                return passes

            lost = search.settle(passing) or lost
            if search.has_error():
                raise Unplanned  # the evaluation says which row failed, and how
        return lost

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

    def bonus(self) -> Totals | None:
        """Return each group's bonus, worked out again if anything it depends on has changed; None: nothing fits."""
        stale = self._stale()
        if not len(self._feasible):
            feasible = self.groups.size - self._off_in[: len(self.groups.size)]
            feasible[0] = 0
            self._feasible = feasible
            live = (feasible > 0).tobytes()
            stale = stale or live != self._live or self._counts_nodes
            self._live = live
        if stale:
            self._tab = self.bonus_of(self._feasible, self._live)
        return self._tab

    def bonus_of(self, feasible: Int64s, live: bytes) -> Totals | None:
        """Work out the bonus of the groups that have feasible rows."""
        view = self.groups.view(feasible, live, b"").holding(feasible)
        fits = self.fitting(view)
        if fits is not view.every and not fits.all():
            self._note(view)  # what was asked to rule groups out matters as much
            view = self.groups.view(feasible, live, fits.tobytes(), fits).holding(feasible)
        if not len(view):
            self._note(view)
            return None
        total = self._scores(view)
        self._note(view)
        is_settled = total is view.settled  # no tally rule scores: the bonus is the view's own
        if is_settled and view.tab is not None and len(view.tab) == len(self.groups.size):
            return view.tab
        tab = view.spread(total, self._plans.width)  # (groups,)
        if is_settled:
            view.tab = tab
        return tab

    def fitting(self, view: GroupView) -> Bools:
        """Ask the tally rules which groups fit."""
        fits = view.every  # (groups,)
        for rule in self.keys:
            if rule.roles.filters:
                fits = fits & rule.memo.instance.plugin.fits(rule.roles.state, view.as_rows)
        return fits

    def _scores(self, view: GroupView) -> Int64s:
        every = view.every
        total = view.settled
        if total is None:
            total = view.settled = self._node_scores(view, every)
        for rule in self.keys:
            roles, plugin = rule.roles, rule.memo.instance.plugin
            if not roles.scores:
                continue
            state = roles.state
            if roles.prepares:
                state = plugin.prepare_score(state, view.as_rows, every)
                if state is SKIP:
                    continue
                if isinstance(state, Failed):
                    raise Unplanned
            scores = plugin.score(state, view.as_rows, every)
            if roles.normalizes:
                scores = plugin.normalize(state, view.as_rows, scores, every)
            if not roles.is_ours:
                _check(scores)
            weight = rule.memo.instance.weight
            total = total + (scores if weight == 1 else scores * weight)
        return total

    def _node_scores(self, view: GroupView, every: Bools) -> Int64s:
        total = np.zeros(len(view), np.int64)  # (groups,)
        for place, rule in enumerate(rule for rule in self.groups.base.rules if rule.scores):
            scores = self.groups.raw(place)[view.ids]
            if rule.normalizes:
                scores = rule.plugin.normalize(rule.state, view.as_rows, scores, every)
            if not rule.is_ours:
                _check(scores)
            total += scores * rule.weight
        return total

    def _note(self, view: GroupView) -> None:
        """Note which tallies the bonus depends on."""
        for tally in view.asked:
            if tally not in self._deps:
                self._deps[tally] = tally.version
        view.asked.clear()
        self._counts_nodes = self._counts_nodes or view.asked_many
        view.asked_many = False

    # 3 the totals of rows

    def totals(self) -> Totals | None:
        """Return the total of each row, negative where the pod does not fit; None: it fits nowhere.

        The answer is written over by the next one of this profile.
        """
        self._catch_up()
        tab = self.bonus()
        while tab is not None and self.searches and self._settle(tab):
            self._follow()
            tab = self.bonus()
        if tab is None:
            return None
        if self._deps:
            return self._sum(tab)
        used, along = self._table.columns.rows, self._along
        if along is None or along.bonus is not tab or along.moves != self._moves_seen or len(along.rows) != used:
            along = self._along = self.groups.along(tab)
        return self._with_searches(np.add(along.rows, self.own.column[:used], out=self._room()))

    def _sum(self, tab: Totals) -> Totals:
        """Add each row's own and its group's bonus."""
        used, total = self._table.columns.rows, self._room()
        np.take(tab, self.groups.of[:used], out=total, mode="wrap")
        total += self.own.column[:used]
        return self._with_searches(total)

    def _with_searches(self, total: Totals) -> Totals:
        for search in self.searches:
            total += search.column[: len(total)]
        return total

    def _room(self) -> Totals:
        """Return where an answer is written, as (rows,)."""
        used, plans = self._table.columns.rows, self._plans
        if len(plans.total) != used:
            plans.total = np.empty(used, plans.width.dtype)
        return plans.total

    def totals_among(self, without_nominated: Narrowing) -> Totals | None:
        """Return the totals where the pod's own names, or pods nominated to rows, rule rows out too."""
        self._catch_up()
        used, groups = self._table.columns.rows, self.groups
        of = groups.of[:used]
        feasible = groups.size - self._off_in[: len(groups.size)]
        feasible[0] = 0
        view = groups.view(feasible, (feasible > 0).tobytes(), b"").holding(feasible)
        alive = np.zeros(len(groups.size), np.bool_)  # (groups,)
        alive[view.ids] = self.fitting(view)
        passed: Bools = alive.take(of, mode="wrap")  # (rows,)
        for kept in self._columns:
            passed &= kept.column[:used] >= 0
        mask = passed if self.names is None else passed & self._named(self.names)
        for search in self.searches:
            mask = search.narrow(mask)
            if search.has_error():
                raise Unplanned  # the evaluation says which row failed, and how
        if self._table.nominated_on:
            mask = without_nominated(mask)
        if not mask.any():
            return None
        lost = of[np.flatnonzero(passed & ~mask)]
        feasible[~alive] = 0
        feasible -= np.bincount(lost, minlength=len(feasible))
        tab = self.bonus_of(feasible, (feasible > 0).tobytes())
        self._feasible = np.zeros(0, np.int64)  # what is kept for the usual way is out of date now
        self._tab = None
        if tab is None:
            return None
        total = self._sum(tab)
        np.copyto(total, -1, where=~mask)
        return total

    def _named(self, names: frozenset[str]) -> Bools:
        """Return which rows have these names, as (rows,)."""
        named = np.zeros(self._table.columns.rows, np.bool_)
        named[[row for name in names if (row := self._table.row_of.get(name)) is not None]] = True
        return named

    # 4 what else is known

    def prepared(self) -> dict[str, Prepared[object] | Rejected | Failed]:
        """Return what each rule prepared."""
        return {memo.instance.name: memo.prepared for memo in self.memos}

    def reservations(self, row: Row) -> list[object]:
        """Ask the searching rules what placing the pod on a row would take."""
        found = (search.reservation(row) for search in self.searches)
        return [reservation for reservation in found if reservation is not None]


def _check(scores: Int64s) -> None:
    """Leave scores that break the rules to the evaluation, which names the rule."""
    if int(scores.min()) < 0 or int(scores.max()) > SCORE_MAX:
        raise Unplanned


def _is_late(kept: Kept, seen: int) -> bool:
    """Say whether flips were let go of since so many had been seen."""
    return seen < kept.flips_before
