"""Verdicts: what one attempt concluded, who ruled out which rows and why, in Kubernetes' own words.

An evaluation is the whole answer, row by row; a verdict is what the asker gets: the chosen row or why there is none.
What is only sometimes wanted is computed from the evaluation when asked for, before the placement is applied.
Not here: asking the rules (evaluate.py) and choosing (run.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bayplan.cluster.columns import Bools, Int64s, Row
from bayplan.framework.guard import PluginFault
from bayplan.framework.plugin import Code, Outcome, Ruling
from bayplan.framework.profile import Instance

if TYPE_CHECKING:
    from bayplan.cluster.view import View
    from bayplan.framework.own import Totals

NO_NODES = "no nodes available to schedule pods"
FITTING, NOT_TRIED = -1, -2


class PreFilter(NamedTuple):
    """What was found before any row was looked at."""

    code: Code = Code.SUCCESS
    plugin: str = ""
    texts: tuple[str, ...] = ()
    names: frozenset[str] | None = None  # the only nodes to look at
    narrowed_by: tuple[str, ...] = ()  # the rules that said so, sorted
    skipped: frozenset[str] = frozenset()  # rules whose filter is not asked


class Scored(NamedTuple):
    """One rule's scores: as it gave them, and normalised times weight."""

    raw: Int64s  # (rows,)
    weighted: Int64s  # (rows,)


class Answer(NamedTuple):
    """What one row was told: a status, the rule that said so and its texts."""

    code: Code
    plugin: str = ""
    texts: tuple[str, ...] = ()

    @classmethod
    def of(cls, plugin: str, outcome: Outcome) -> Answer:
        """Return a rule's answer about a row; a failure becomes one text that names the rule."""
        if outcome.code is Code.ERROR:
            return cls(outcome.code, plugin, (f'running "{plugin}" filter plugin: {", ".join(outcome.texts)}',))
        return cls(outcome.code, plugin, outcome.texts)


def _nothing(_: Row) -> list[object]:
    return []


class Evaluation:
    """The whole answer to one question, row by row."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._names: list[str] | None = None
        live = view.live.copy()
        self.live: Bools = live
        self.pre_filter = PreFilter()
        self.turned_down_by = np.full(len(live), NOT_TRIED, np.int16)  # index into `rulings`, FITTING or NOT_TRIED
        self.rulings: list[tuple[Instance, Ruling]] = []
        self.single: dict[int, Answer] = {}  # rows answered apart: nominated pods were counted there
        self.feasible: Bools = np.zeros(len(live), np.bool_)
        self.nominated: Row | None = None  # the pod's own nominated node, where it fits
        self.turned_down_first: Answer | None = None  # what that node was told, where it does not fit
        self.own_outside: Row | None = None  # that node, where it is not among those to look at
        self.scored: dict[str, Scored] = {}
        self.skipped_score: tuple[str, ...] = ()
        self.totals: Int64s = np.zeros(len(live), np.int64)
        self.error: str | None = None  # the attempt ended with an error of this text
        self.fault: PluginFault | None = None  # it did because a rule broke the contract
        self.reservations: Callable[[Row], list[object]] = _nothing  # what placing the pod on a row would take

    @property
    def names(self) -> list[str]:
        """The names of the rows' nodes."""
        if self._names is None:
            self._names = self._view.names
        return self._names

    def answer(self, row: int) -> Answer:
        """Return what a row was told."""
        if row in self.single:
            return self.single[row]
        which = int(self.turned_down_by[row])
        if which == FITTING:
            return Answer(Code.SUCCESS)
        if which == NOT_TRIED:
            return self.untried
        instance, ruling = self.rulings[which]
        return Answer.of(instance.name, ruling.outcomes[int(ruling.codes[row])])

    @property
    def untried(self) -> Answer:
        """Return what is said of rows that no filter was asked about."""
        pre = self.pre_filter
        if pre.code is not Code.SUCCESS:
            return Answer(pre.code, pre.plugin, pre.texts)
        names = {*pre.narrowed_by, self.turned_down_first.plugin} if self.turned_down_first else pre.narrowed_by
        return Answer(Code.UNRESOLVABLE, "", (f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(names))}]",))

    @property
    def best(self) -> Int64s:
        """Return the rows with the highest total among the feasible."""
        rows = np.flatnonzero(self.feasible)
        totals = self.totals[rows]
        best: Int64s = rows[totals == totals.max()] if len(rows) else rows
        return best

    def reasons(self) -> Mapping[str, int]:
        """Count, for each reason text, the nodes that gave it."""
        counts: Counter[str] = Counter()
        apart = np.zeros(len(self.live), np.bool_)
        apart[list(self.single)] = True
        for row in self.single:
            counts.update(self.answer(row).texts)
        if self.own_outside is not None and self.turned_down_first is not None:
            counts.update(self.turned_down_first.texts)
            apart[self.own_outside] = True
        rest = self.live & ~apart
        for which, (_, ruling) in enumerate(self.rulings):
            codes = ruling.codes.take(np.flatnonzero(rest & (self.turned_down_by == which)))
            for code, number in enumerate(np.bincount(codes, minlength=1).tolist()):
                for text in ruling.outcomes[code].texts if number else ():
                    counts[text] += number
        untried = int(np.count_nonzero(rest & (self.turned_down_by == NOT_TRIED)))
        for text in self.untried.texts if untried else ():
            counts[text] += untried
        return counts

    def rejectors(self) -> frozenset[str]:
        """Return the names of the rules that turned nodes down."""
        names = set(self.pre_filter.narrowed_by)
        if self.pre_filter.plugin:
            names.add(self.pre_filter.plugin)
        if self.turned_down_first is not None:
            names.add(self.turned_down_first.plugin)
        apart = np.zeros(len(self.live), np.bool_)
        apart[list(self.single)] = True
        for which, (instance, _) in enumerate(self.rulings):
            if np.any(self.live & ~apart & (self.turned_down_by == which)):
                names.add(instance.name)
        return frozenset(names | {answer.plugin for answer in self.single.values() if answer.plugin})

    def message(self) -> str:
        """Say why nothing fits, as kube-scheduler does, without the part about preemption."""
        nodes = int(np.count_nonzero(self.live))
        if not nodes:
            return NO_NODES
        if self.pre_filter.code is not Code.SUCCESS:
            return f"0/{nodes} nodes are available: {', '.join(self.pre_filter.texts)}."
        lines = sorted(f"{number} {text}" for text, number in self.reasons().items())
        return f"0/{nodes} nodes are available: {', '.join(lines)}." if lines else f"0/{nodes} nodes are available:"


class Verdict:
    """What one attempt concluded: a row, or why there is none."""

    __slots__ = ("_evaluate", "_evaluation", "_reserve", "row", "score", "totals")

    def __init__(
        self,
        row: Row | None,
        score: int | None,
        evaluate: Callable[[], Evaluation],
        reserve: Callable[[Row], list[object]] | None = None,
    ) -> None:
        self.row = row
        self.score = score
        self._evaluate = evaluate
        self._reserve = reserve  # what a row would take, where it is known without evaluating
        self._evaluation: Evaluation | None = None
        self.totals: Totals | None = None  # (rows,) as a plan answered; written over by the next answer

    @property
    def evaluation(self) -> Evaluation:
        """Return the whole answer, worked out when first asked for: ask before anything changes."""
        if self._evaluation is None:
            self._evaluation = self._evaluate()
        return self._evaluation

    def reservations(self) -> list[object]:
        """Return what the placement takes besides its row: volumes to bind or to make, devices."""
        if self.row is None:
            return []
        return self._reserve(self.row) if self._reserve is not None else self.evaluation.reservations(self.row)

    @property
    def error(self) -> str | None:
        """Return the text of the error that ended the attempt."""
        return None if self.row is not None else self.evaluation.error

    @property
    def message(self) -> str | None:
        """Return why the pod was not placed, in kube-scheduler's words."""
        if self.row is not None:
            return None
        return self.evaluation.error or self.evaluation.message()

    @property
    def among(self) -> int:
        """Return how many nodes were equally good."""
        if self.totals is not None and self._evaluation is None:
            return int(np.count_nonzero(self.totals == self.score))
        return len(self.evaluation.best)
