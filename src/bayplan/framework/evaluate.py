"""Evaluating all rows afresh: every rule of a profile asked about every row, in kube-scheduler's order.

This is the question with plans off, the referee of everything that is remembered, and the source of every detail: who
said no to which row and why, each raw and weighted score.
Invariant: nothing is remembered from one evaluation to the next.
Not here: choosing among the best (run.py) and remembering (plans.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from bayplan.api.objects import Pod, uid_of
from bayplan.cluster.columns import Bools, Row
from bayplan.cluster.residents import Resident
from bayplan.cluster.view import RowWith, View
from bayplan.framework.guard import Guard, PluginFault
from bayplan.framework.plugin import (
    SCORE_MAX,
    SKIP,
    Code,
    Failed,
    PodsMoved,
    Prepared,
    Rejected,
    Ruling,
)
from bayplan.framework.verdict import FITTING, NOT_TRIED, Answer, Evaluation, PreFilter, Scored

if TYPE_CHECKING:
    from bayplan.cluster.shapes import Shape
    from bayplan.cluster.table import Nomination, Table
    from bayplan.framework.profile import Instance, Profile


class Attempt:
    """One pod asked about, with one profile, on the table as it is."""

    def __init__(
        self,
        table: Table,
        profile: Profile,
        pod: Pod,
        shape: Shape,
        remembered: Mapping[str, Prepared[object] | Rejected | Failed] = MappingProxyType({}),
    ) -> None:
        self.table = table
        self.profile = profile
        self.pod = pod
        self.shape = shape
        self.view = View(table)
        self.guard = Guard(pod)
        self.result = Evaluation(self.view)
        self.remembered = remembered  # by rule, what need not be prepared again
        self.states: dict[str, object] = {}  # by rule, what prepare found
        self.skipped: set[str] = set()

    def evaluate(self) -> Evaluation:
        """Ask everything; a rule that fails ends the attempt with an error."""
        if self.table.count:
            try:
                self._ask()
            except PluginFault as fault:
                self.result.fault = fault
                self._fail(fault.plugin, str(fault))
            self.result.reservations = self._reserving()
        return self.result

    def _ask(self) -> None:
        self._prepare()
        if self.result.error is None and self.result.pre_filter.code is Code.SUCCESS:
            self._filter()
            if self.result.error is None and self.result.feasible.any():
                self._score()

    # 1 what can be said before any row is looked at

    def _prepare(self) -> None:
        names: frozenset[str] | None = None
        narrowed_by: list[str] = []
        rejection: tuple[str, Rejected] | None = None
        for instance in self.profile.pre_filter:
            found = self._prepared(instance)
            if isinstance(found, Failed):
                self._fail(instance.name, f'running PreFilter plugin "{instance.name}": {found.text}')
                return
            if isinstance(found, Rejected):
                rejection = (instance.name, found)  # the last counts
                if found.code is Code.UNRESOLVABLE:
                    names, narrowed_by = None, []  # and makes what was found before it void
                    break
                continue
            self._keep(instance, found)
            if found.names is not None:
                names = found.names if names is None else names & found.names
                narrowed_by = sorted({*narrowed_by, instance.name})
                if not names:
                    rejection = ("", Rejected(Code.UNRESOLVABLE, (_nobody(narrowed_by),)))
                    break
        for instance in dict.fromkeys((*self.profile.filter, *self.profile.pre_score, *self.profile.score)):
            if instance.name not in self.profile.asked_first:
                self._keep(instance, self._prepared(instance))
        code, plugin, texts = Code.SUCCESS, "", tuple[str, ...]()
        if rejection is not None:
            plugin, (code, texts, _) = rejection
        self.result.pre_filter = PreFilter(code, plugin, texts, names, tuple(narrowed_by), frozenset(self.skipped))

    def _prepared(self, instance: Instance) -> Prepared[object] | Rejected | Failed:
        known = self.remembered.get(instance.name)
        if known is not None:
            return known
        part = instance.plugin.reads
        return self.guard.prepare(instance, self.pod if part is None else self.shape.part(part), self.view)

    def _keep(self, instance: Instance, found: Prepared[object] | Rejected | Failed) -> None:
        if not isinstance(found, Prepared):
            if found.state is not None:
                self.states[instance.name] = found.state
            return
        self.states[instance.name] = found.state
        if not found.filters and instance.name in self.profile.asked_first:
            self.skipped.add(instance.name)

    # 2 which rows fit

    def _filter(self) -> None:
        result, names = self.result, self.result.pre_filter.names
        candidates = result.live.copy()
        if names is not None:
            candidates &= np.array([name in names for name in result.names], np.bool_)  # (rows,)
        own = self.table.row_of.get(self.pod.status.nominated_node_name)
        asked = candidates.copy()
        if own is not None:
            asked[own] = True  # upstream tries it whatever PreFilter said
        self._ask_filters(asked)
        for row, nominations in self._nominated():
            if asked[row]:
                self._ask_with(row, nominations)
        fits = asked & (result.turned_down_by == FITTING)
        fits[[row for row, answer in result.single.items() if answer.code is not Code.SUCCESS]] = False
        if own is not None:
            self._note_own(own, fits=bool(fits[own]), is_candidate=bool(candidates[own]))
        result.feasible = fits & candidates
        self._note_errors(candidates)

    def _note_own(self, own: Row, *, fits: bool, is_candidate: bool) -> None:
        """Note what became of the pod's own nominated node, which is tried before any other, and apart from them."""
        result = self.result
        answer = result.answer(own)
        if fits:
            result.nominated = own
        elif answer.code is not Code.ERROR:
            result.turned_down_first = answer
        if not is_candidate:
            result.turned_down_by[own] = NOT_TRIED  # as far as the others' round is concerned
            result.single.pop(own, None)
            result.own_outside = own

    def filters(self) -> Iterable[Instance]:
        """Return the rules to be asked about rows, in order."""
        return (
            instance
            for instance in self.profile.filter
            if instance.name not in self.skipped and instance.name in self.states
        )

    def _ask_filters(self, asked: Bools) -> None:
        """Ask the filters in order; a row is told the first no."""
        result = self.result
        left = asked.copy()
        for instance in self.filters():
            ruling = self.ruling(instance, left)
            no = left & (ruling.codes != 0)  # (rows,)
            if no.any():
                result.turned_down_by = np.where(no, np.int16(len(result.rulings)), result.turned_down_by)
                result.rulings.append((instance, ruling))
                left &= ~no
        result.turned_down_by[left] = FITTING

    def ruling(self, instance: Instance, left: Bools) -> Ruling:
        """Ask about all rows, or, where each row is a search, about those that are left."""
        state = self.states[instance.name]
        if not instance.plugin.searches:
            return self.guard.filter(instance, state, self.view)
        rows = np.flatnonzero(left)
        some = self.guard.filter(instance, state, View(self.table, rows))
        codes = np.zeros(len(left), np.int16)
        codes[rows] = some.codes
        return Ruling(codes, some.outcomes)

    def _nominated(self) -> Iterable[tuple[Row, list[Nomination]]]:
        """Return the rows that must also hold pods nominated there, of no lower priority."""
        priority, uid = self.pod.spec.priority or 0, uid_of(self.pod)
        for row, there in list(self.table.nominated_on.items()):
            nominations = [
                nomination
                for nomination in there.values()
                if nomination.uid != uid and (nomination.pod.spec.priority or 0) >= priority
            ]
            if nominations:
                yield Row(row), nominations

    def without_nominated(self, mask: Bools) -> Bools:
        """Return which of some rows still fit with the pods nominated there."""
        for instance in self.profile.filter:
            self._keep(instance, self._prepared(instance))
        left = mask.copy()
        for row, nominations in self._nominated():
            if left[row]:
                self._ask_with(row, nominations)
                left[row] = row not in self.result.single
        return left

    def _ask_with(self, row: Row, nominations: Sequence[Nomination]) -> None:
        """Ask the filters about one row as if the nominated pods ran there."""
        read = self.table.residents.read
        added = [Resident(nomination.pod, row, *read(nomination.pod), is_assumed=True) for nomination in nominations]
        view = RowWith(self.table, row, added)
        for instance in self.filters():
            state = self.states[instance.name]
            if instance.plugin.overrides("with_pods"):
                state = self.guard.with_pods(instance, state, view, row, PodsMoved(added))
            ruling = self.guard.filter(instance, state, view)
            if ruling.codes[0]:
                self.result.single[row] = Answer.of(instance.name, ruling.outcomes[int(ruling.codes[0])])
                return

    def _note_errors(self, candidates: Bools) -> None:
        """End the attempt if any candidate's answer is an error."""
        result = self.result
        failing = {
            which
            for which, (_, ruling) in enumerate(result.rulings)
            if any(outcome.code is Code.ERROR for outcome in ruling.outcomes)
        }
        if not failing and not result.single:
            return
        rows = [
            row
            for row in np.flatnonzero(candidates).tolist()
            if row in result.single or int(result.turned_down_by[row]) in failing
        ]
        texts = [text for answer in map(result.answer, rows) if answer.code is Code.ERROR for text in answer.texts]
        if texts:
            result.error = min(texts)

    # 3 which rows are best

    def _score(self) -> None:
        result, feasible = self.result, self.result.feasible
        states, skipped = dict(self.states), []
        for instance in self.profile.pre_score:
            if instance.name not in states:
                continue
            state = self.guard.prepare_score(instance, states[instance.name], self.view, feasible)
            if isinstance(state, Failed):
                result.error = f'running PreScore plugin "{instance.name}": {state.text}'
                return
            if state is SKIP:
                skipped.append(instance.name)
            states[instance.name] = state
        result.skipped_score = tuple(sorted(skipped))
        for instance in self.profile.score:
            if instance.name in states and states[instance.name] is not SKIP:
                scored = self._scored(instance, states[instance.name])
                if result.error is not None:
                    return
                result.scored[instance.name] = scored
                result.totals += scored.weighted

    def _scored(self, instance: Instance, state: object) -> Scored:
        """Ask one rule for its scores, and normalise and weigh them."""
        plugin, feasible = instance.plugin, self.result.feasible
        if plugin.searches:  # a search that was not made has found nothing to score
            rows = np.flatnonzero(feasible & any(instance is other for other in self.filters()))
            view, among = View(self.table, rows), np.ones(len(rows), np.bool_)
        else:
            rows, view, among = None, self.view, feasible
        raw = final = self.guard.score(instance, state, view, among)
        if plugin.overrides("normalize"):
            final = self.guard.normalize(instance, state, view, raw.copy(), among)
        wrong = final[among & ((final < 0) | (final > SCORE_MAX))]
        if len(wrong):
            self.result.error = (
                f'plugin "{instance.name}" returns an invalid score {wrong[0]}, '
                f"it should in the range of [0, {SCORE_MAX}] after normalizing"
            )
        if rows is None:
            return Scored(raw, final * instance.weight)
        whole = np.zeros((2, len(feasible)), np.int64)
        whole[0, rows], whole[1, rows] = raw, final * instance.weight
        return Scored(whole[0], whole[1])

    # 4 what a placement would take

    def _reserving(self) -> Callable[[Row], list[object]]:
        """Return what says what a row would take; it does not hold on to the attempt, nor so the answer to itself."""
        table = self.table
        asked = [
            (instance.plugin, self.states[instance.name])
            for instance in self.filters()
            if instance.plugin.overrides("reservation")
        ]

        def reservations(row: Row) -> list[object]:
            view = View(table, np.array([row], np.intp))
            found = (plugin.reservation(state, view, row) for plugin, state in asked)
            return [reservation for reservation in found if reservation is not None]

        return reservations

    def _fail(self, plugin: str, error: str) -> None:
        self.result.pre_filter = PreFilter(Code.ERROR, plugin, (error,), skipped=frozenset(self.skipped))
        self.result.error = error


def _nobody(narrowed_by: Sequence[str]) -> str:
    if len(narrowed_by) == 1:
        return f"node(s) didn't satisfy plugin {narrowed_by[0]}"
    return f"node(s) didn't satisfy plugin(s) [{' '.join(narrowed_by)}] simultaneously"
