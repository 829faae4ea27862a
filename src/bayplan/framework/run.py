"""Ask the one question: where should this pod go, by this profile, on the table as it is.

Lanes, `place`, parity, benchmarks, explain and the engine check all ask it here.  With plans on, what was found out for
a shape is remembered; with plans off, every row is evaluated afresh, which is the referee of the former.
Invariant: both ways choose the same row.
Not here: how rows are evaluated (evaluate.py) and what is remembered (plans.py).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from bayplan.cluster.columns import Int64s, Row
from bayplan.framework.asks import Unforeseen
from bayplan.framework.evaluate import Attempt
from bayplan.framework.memo import OURS
from bayplan.framework.own import Totals
from bayplan.framework.plan import Unplanned
from bayplan.framework.plans import Plans
from bayplan.framework.settings import USUAL, Settings
from bayplan.framework.verdict import Evaluation, Verdict

if TYPE_CHECKING:
    from bayplan.api.objects import Pod
    from bayplan.cluster.reading import Reader
    from bayplan.cluster.shapes import Shape
    from bayplan.cluster.table import Table
    from bayplan.framework.profile import Profile

TRIES = 16


class Rules:
    """A table and the way to ask about it; equals take turns from a start that moves on with each decision."""

    def __init__(self, table: Table, reader: Reader, *, seed: int = 0, settings: Settings = USUAL) -> None:
        self.table = table
        self.reader = reader
        self.start = seed  # the row from which the first best is looked for
        self.settings = settings
        self._plans: dict[int, Plans] = {}  # by profile

    def ask(self, pod: Pod, profile: Profile) -> Verdict:
        """Choose a row for a pod, or say why there is none."""
        shape = self.reader.shape(pod)
        if self.settings.plans:
            try:
                return self._remembered(pod, profile, shape)
            except Unplanned:
                pass
            except Exception:
                asked = [instance for instances in profile.points.values() for instance in instances]
                if all(type(instance.plugin).__module__.startswith(OURS) for instance in asked):
                    raise
                self._plans.pop(id(profile), None)  # a rule of somebody's own failed; afresh, it is named
        evaluation = Attempt(self.table, profile, pod, shape).evaluate()
        row = self._chosen(evaluation)
        score = None if row is None else int(evaluation.totals[row])
        return Verdict(row, score, lambda: evaluation)

    # -- afresh

    def _chosen(self, evaluation: Evaluation) -> Row | None:
        if evaluation.nominated is not None:
            return evaluation.nominated  # tried before any other, which are then not looked at
        if evaluation.error is not None:
            return None
        if not evaluation.feasible.any():
            return None
        return self._next(np.where(evaluation.feasible, evaluation.totals, -1))

    def _next(self, totals: Int64s) -> Row:
        row = first_best(totals, self.start % len(totals))
        self.start = row + 1
        return row

    # -- from plans

    def plans(self, profile: Profile) -> Plans:
        """Return what is remembered for a profile."""
        found = self._plans.get(id(profile))
        if found is None:
            found = self._plans[id(profile)] = Plans(self.table, profile, self.settings)
        return found

    def remembered(self) -> Collection[Plans]:
        """Return what is remembered, for whoever counts it."""
        return self._plans.values()

    def _remembered(self, pod: Pod, profile: Profile, shape: Shape) -> Verdict:
        plans = self.plans(profile)
        totals = self.plan_totals(pod, profile, shape)

        def evaluate() -> Evaluation:
            return Attempt(self.table, profile, pod, shape, plans.prepared(shape)).evaluate()

        if totals is not None:
            row = first_best(totals, self.start % len(totals))
            score = int(totals[row])
            if score >= 0:
                self.start = row + 1
                verdict = Verdict(row, score, evaluate, plans.reserve_of(shape))
                verdict.totals = totals
                return verdict
        return Verdict(None, None, evaluate)

    def plan_totals(self, pod: Pod, profile: Profile, shape: Shape) -> Totals | None:
        """Return each row's total from the shape's plan, negative where the pod does not fit; None: nowhere."""
        plans = self.plans(profile)
        if not plans.can or pod.status.nominated_node_name:
            raise Unplanned
        if not self.table.count:
            return None
        plan = plans.plan(shape)
        if plan.is_rejected:
            return None
        for _ in range(TRIES):
            try:
                if plan.names is not None or self.table.nominated_on:
                    attempt = Attempt(self.table, profile, pod, shape, plan.prepared())
                    return plan.totals_among(attempt.without_nominated)
                return plan.totals()
            except Unforeseen as unforeseen:
                plan = plans.asks_more(shape, unforeseen.ask)
        raise Unplanned


def first_best(totals: Totals, start: int) -> Row:
    """Return the first row with the highest total, looking from a start and then around."""
    row = totals.argmax().item()
    if row < start:  # the first of all; perhaps another that is as good comes after the start
        after = start + totals[start:].argmax().item()
        if totals.item(after) == totals.item(row):
            row = after
    return Row(row)
