"""Asking: one pod and one profile put to the live table and to one built afresh, and all that they answer compared.

Compared node by node: who says no and why, raw and weighted scores, totals, the best; beside them what was found before
any node was looked at, errors and the message.  The chosen row is the first of the best from the live table's start.
Not here: what happens between two questions (changes.py).
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from bayplan.api.objects import Pod
from bayplan.cluster.columns import Int32s, Int64s, Row
from bayplan.cluster.reading import Reader
from bayplan.cluster.shapes import Shape
from bayplan.cluster.table import Table
from bayplan.framework.profile import Profile
from bayplan.framework.run import Rules
from bayplan.framework.settings import Settings
from bayplan.framework.verdict import Evaluation, Verdict
from tests.engine.changes import World
from tests.parity.topics.draw import Draw


class Fresh(NamedTuple):
    """A table built from the objects, and where the live table's nodes are in it."""

    table: Table
    rules: Rules
    rows: list[int]  # of the live table's nodes, in the order of their rows there
    names: list[str]
    live_rows: list[int]


def fresh_of(world: World) -> Fresh:
    """Build it."""
    table = world.rebuilt()
    pairs = sorted((row, name) for name, row in world.table.row_of.items())
    names = [name for _, name in pairs]
    rows = [int(table.row_of[name]) for name in names]
    rules = Rules(table, Reader(table), settings=Settings(plans=False))
    return Fresh(table, rules, rows, names, [int(row) for row, _ in pairs])


def ask_everything(world: World, draw: Draw) -> None:
    """Ask about some pods with both profiles, so that the table has much to keep up to date."""
    rules = Rules(world.table, world.reader)
    for _ in range(4):
        pod = world.new_pod(world.template(draw))
        for setting in world.pool.settings:
            assert rules.ask(pod, setting.profile).evaluation is not None


class Watched(Rules):
    """Rules that show what a plan answered to the last question."""

    planned = False  # a plan answered
    was_there = False  # and it had been made for an earlier question
    totals: Int32s | Int64s | None = None  # what it answered; None: the pod fits nowhere

    def ask(self, pod: Pod, profile: Profile) -> Verdict:
        """Ask, having forgotten the last answer."""
        self.planned = self.was_there = False
        self.totals = None
        return super().ask(pod, profile)

    def plan_totals(self, pod: Pod, profile: Profile, shape: Shape) -> Int32s | Int64s | None:
        """Note what the plan answers."""
        was_there = self.plans(profile).remembers(shape)
        totals = super().plan_totals(pod, profile, shape)
        self.planned, self.was_there = True, was_there
        self.totals = None if totals is None else totals.copy()
        return totals


def remembered_differences(rules: Watched, afresh: Verdict, fresh: Fresh) -> Iterator[str]:
    """Name what differs between a plan's totals and those of an evaluation of all rows of a table built afresh."""
    theirs = afresh.evaluation
    if not rules.planned:
        return
    if theirs.error is not None:  # a plan may say "nowhere": the evaluation says why
        if rules.totals is not None and rules.totals[fresh.live_rows].max(initial=-1) >= 0:
            yield f"a plan answered, afresh there is an error: {theirs.error}"
        return
    for name, row, other in zip(fresh.names, fresh.live_rows, fresh.rows, strict=True):
        total = None if rules.totals is None or rules.totals[row] < 0 else int(rules.totals[row])
        expected = int(theirs.totals[other]) if theirs.feasible[other] else None
        if total != expected:
            yield f"node {name}: remembered {total}, afresh {expected}"


def differences(starts: tuple[int, int], verdict: Verdict, afresh: Verdict, fresh: Fresh) -> Iterator[str]:
    """Name what differs between the live table's verdict and the one of a table built afresh."""
    ours, theirs = verdict.evaluation, afresh.evaluation
    for fault in (ours.fault, theirs.fault):
        if fault is not None:
            yield f"a rule broke its contract: {fault}"
    yield from _before_rows(ours, theirs)
    yield from _by_node(ours, theirs, fresh)
    yield from _scores(ours, theirs, fresh)
    yield from _chosen(starts, verdict, theirs, fresh)


def _before_rows(ours: Evaluation, theirs: Evaluation) -> Iterator[str]:
    if ours.pre_filter != theirs.pre_filter:
        yield f"before any node: {ours.pre_filter}, afresh {theirs.pre_filter}"
    if ours.error != theirs.error:
        yield f"error: {ours.error!r}, afresh {theirs.error!r}"
    if ours.skipped_score != theirs.skipped_score:
        yield f"not scored by {ours.skipped_score}, afresh {theirs.skipped_score}"
    if not ours.feasible.any() and ours.message() != theirs.message():
        yield f"message: {ours.message()!r}, afresh {theirs.message()!r}"


def _by_node(ours: Evaluation, theirs: Evaluation, fresh: Fresh) -> Iterator[str]:
    for name, row, other in zip(fresh.names, fresh.live_rows, fresh.rows, strict=True):
        if ours.answer(row) != theirs.answer(other):
            yield f"node {name}: {ours.answer(row)}, afresh {theirs.answer(other)}"
        if bool(ours.feasible[row]) != bool(theirs.feasible[other]):
            yield f"node {name}: feasible {bool(ours.feasible[row])}, afresh {bool(theirs.feasible[other])}"


def _scores(ours: Evaluation, theirs: Evaluation, fresh: Fresh) -> Iterator[str]:
    if ours.scored.keys() != theirs.scored.keys():
        yield f"scored by {sorted(ours.scored)}, afresh by {sorted(theirs.scored)}"
        return
    fits = ours.feasible[fresh.live_rows] & theirs.feasible[fresh.rows]
    mine, others = np.array(fresh.live_rows, np.intp)[fits], np.array(fresh.rows, np.intp)[fits]
    columns = [("total", ours.totals, theirs.totals)]
    for rule, scored in ours.scored.items():
        columns.append((f"{rule} raw", scored.raw, theirs.scored[rule].raw))
        columns.append((f"{rule} weighted", scored.weighted, theirs.scored[rule].weighted))
    for what, column, other in columns:
        for at in np.flatnonzero(column[mine] != other[others]).tolist():
            yield f"node {ours.names[mine[at]]}: {what} {column[mine[at]]}, afresh {other[others[at]]}"


def _chosen(starts: tuple[int, int], verdict: Verdict, theirs: Evaluation, fresh: Fresh) -> Iterator[str]:
    """Name it when the choice is not the first of the best from the start, or the pod's own nominated node."""
    start, start_after = starts
    live_row = dict(zip(fresh.rows, fresh.live_rows, strict=True))
    best = [live_row[row] for row in theirs.best.tolist()] if theirs.error is None and theirs.nominated is None else []
    first = start % max(len(verdict.evaluation.live), 1)
    expected = min(best, key=lambda row: (row < first, row)) if best else None
    if start_after != (start if expected is None else expected + 1):
        yield f"the next start is {start_after}, after {start} and {expected}"
    if theirs.nominated is not None:
        expected = live_row[theirs.nominated]
    if verdict.row != expected:
        yield f"chosen row {verdict.row}, expected {expected}: the first of {sorted(best)} from {start}"
    if verdict.row is None or expected is None:
        return
    row = fresh.rows[fresh.live_rows.index(expected)]
    if verdict.score != int(theirs.totals[row]):
        yield f"score {verdict.score}, afresh {theirs.totals[row]}"
    takes = theirs.reservations(Row(row))
    for found in (verdict.reservations(), verdict.evaluation.reservations(verdict.row)):
        if found != takes:
            yield f"node {theirs.names[row]}: would take {found}, afresh {takes}"
