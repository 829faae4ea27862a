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

from bayplan.cluster.columns import Bools, Int64s, Row, window
from bayplan.cluster.tallies import Tally
from bayplan.framework.asks import Ask, Unforeseen
from bayplan.framework.groups import Groups, GroupView
from bayplan.framework.own import Own, Totals
from bayplan.framework.plugin import SCORE_MAX, SKIP, Failed, Prepared, Rejected

if TYPE_CHECKING:
    from bayplan.framework.memo import Memo, Roles
    from bayplan.framework.plans import Kept, Plans
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
        self.searches: list[tuple[Search, int, bool]] = []  # the search, its weight, whether it scores
        self.names: frozenset[str] | None = None
        self.is_rejected = False
        self.own: Own
        self.groups: Groups
        self._tab: Totals | None = None  # (groups,) the bonus, ruled out where there is none
        self._along: Totals | None = None  # (rows,) the bonus of each row's group
        self._live = b""
        self._deps: dict[Tally, int] = {}
        self._seen = (-1, 0)
        self._of_volumes = any(memo.of_volumes for memo in memos)
        self._counts_nodes = False
        self._feasible: Int64s = np.zeros(0, np.int64)  # (groups,) feasible rows of each
        self.kept: tuple[Kept[Own], Kept[Groups]] | tuple[()] = ()

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
        self._off: dict[int, int] = {}  # rows that the own column rules out -> their groups
        self._off_in = np.zeros(len(self.groups.size), np.int64)  # (groups,) how many each has
        if len(out):
            groups = self.groups.of[out]
            self._off = dict(zip(out.tolist(), groups.tolist(), strict=True))
            self._off_in += np.bincount(groups, minlength=len(self._off_in))
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
        self._follow(
            groups.moves[self._moves_seen - groups.moves_before :], own.flips[self._flips_seen - own.flips_before :]
        )
        if moves != self._moves_seen:
            self._along = None
        self._flips_seen, self._moves_seen = flips, moves
        self._feasible = np.zeros(0, np.int64)

    def _follow(self, moved: Sequence[int], flipped: Sequence[int]) -> None:
        """Count rows that are ruled out in the groups where they now are."""
        off, of, column = self._off, self.groups.window, self.own.window
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
        for row in set(flipped):  # what a row is now counts, not how often it changed
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
            self._along = None
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
        width = self._plans.width
        tab = np.full(len(self.groups.size), width.ruled_out, width.dtype)  # (groups,)
        tab[view.ids] = total
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
            total = total + scores * rule.memo.instance.weight
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
        if tab is None:
            return None
        used = self._table.columns.rows
        if self._deps:
            return self._sum(tab)
        if self._along is None or len(self._along) != used:
            self._along = tab.take(self.groups.of[:used], mode="wrap")
        return np.add(self._along, self.own.column[:used], out=self._room())

    def _sum(self, tab: Totals) -> Totals:
        """Add each row's own and its group's bonus."""
        used, total = self._table.columns.rows, self._room()
        np.take(tab, self.groups.of[:used], out=total, mode="wrap")
        total += self.own.column[:used]
        return total

    def _room(self) -> Totals:
        """Return where an answer is written, as (rows,)."""
        used, plans = self._table.columns.rows, self._plans
        if len(plans.total) != used:
            plans.total = np.empty(used, plans.width.dtype)
        return plans.total

    def totals_among(self, narrowed: Iterable[Narrowing]) -> Totals | None:
        """Return the totals where something besides own column and groups rules rows out."""
        self._catch_up()
        used, groups = self._table.columns.rows, self.groups
        of, column = groups.of[:used], self.own.column[:used]
        feasible = groups.size - self._off_in[: len(groups.size)]
        feasible[0] = 0
        view = groups.view(feasible, (feasible > 0).tobytes(), b"").holding(feasible)
        alive = np.zeros(len(groups.size), np.bool_)  # (groups,)
        alive[view.ids] = self.fitting(view)
        passed: Bools = alive.take(of, mode="wrap")  # (rows,)
        passed &= column >= 0
        mask = passed
        for narrow in narrowed:
            mask = narrow(mask)
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
        for search, weight, scores in self.searches:
            if scores and search.scores_anything:
                np.add(total, weight * search.scores(used), out=total, casting="same_kind")
        np.copyto(total, -1, where=~mask)
        return total

    # 4 what else is known

    def prepared(self) -> dict[str, Prepared[object] | Rejected | Failed]:
        """Return what each rule prepared."""
        return {memo.instance.name: memo.prepared for memo in self.memos}

    def reservations(self, row: Row) -> list[object]:
        """Ask the searching rules what placing the pod on a row would take."""
        found = (search.reservation(row) for search, _, _ in self.searches)
        return [reservation for reservation in found if reservation is not None]


def _check(scores: Int64s) -> None:
    """Leave scores that break the rules to the evaluation, which names the rule."""
    if int(scores.min()) < 0 or int(scores.max()) > SCORE_MAX:
        raise Unplanned
