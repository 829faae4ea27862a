"""Detail: what every rule says of every node, also where a rule before it had said no.

This is the same question as always, asked once more for people: as plain values, by node, in the order of the rules.
Invariant: where the attempt itself asked, the answer here is the attempt's.
Not here: the summary of it (`answers/why.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from bayplan.framework.evaluate import Attempt
from bayplan.framework.guard import PluginFault
from bayplan.framework.plugin import Code, Outcome, Ruling
from bayplan.framework.profile import Instance
from bayplan.framework.reasons import Kind, amount, named

if TYPE_CHECKING:
    from bayplan.api.objects import Node, Pod, Taint
    from bayplan.cluster.shapes import Shape
    from bayplan.cluster.table import Table
    from bayplan.framework.profile import Profile
    from bayplan.framework.verdict import Answer, Evaluation

KEEPS_OFF: Final = frozenset({"NoSchedule", "NoExecute"})


class Remark(msgspec.Struct, frozen=True):
    """One text of a rule about one node, and how much is missing there if that is a number."""

    kind: Kind
    text: str
    subject: str = ""
    short: str | None = None


class Said(msgspec.Struct, frozen=True):
    """What one rule says of one node."""

    plugin: str
    verdict: Code
    reasons: tuple[Remark, ...] = ()


class Score(msgspec.Struct, frozen=True):
    """What one rule scores one node."""

    plugin: str
    raw: int
    weighted: int  # normalised, times the rule's weight


class OfNode(msgspec.Struct, frozen=True):
    """All that is said of one node."""

    name: str
    fits: bool
    filters: tuple[Said, ...]
    scores: tuple[Score, ...] = ()
    total: int | None = None
    is_best: bool = False
    taints: tuple[str, ...] = ()  # those that keep pods off, whether tolerated or not
    note: str = ""  # what is odd about the answer


class Detail(msgspec.Struct, frozen=True):
    """All that is said of all nodes."""

    nodes: tuple[OfNode, ...]
    skipped: tuple[str, ...]  # rules whose filter has nothing to say about this pod
    unscored: tuple[str, ...]  # rules that do not score this pod


def detailed(table: Table, profile: Profile, pod: Pod, shape: Shape) -> Detail:
    """Ask every rule of a profile about every node."""
    attempt = Attempt(table, profile, pod, shape)
    evaluation = attempt.evaluate()
    rulings = list(_rulings(attempt, evaluation))
    order = sorted(table.row_of.values(), key=lambda row: int(table.columns.arrival[row]))
    nodes = ((row, node) for row in order if (node := table.nodes[row]) is not None)
    best = set(evaluation.best.tolist()) if evaluation.error is None else set()
    return Detail(
        tuple(_of_node(evaluation, node, row, rulings, is_best=row in best) for row, node in nodes),
        tuple(sorted(evaluation.pre_filter.skipped)),
        evaluation.skipped_score,
    )


def _rulings(attempt: Attempt, evaluation: Evaluation) -> Iterator[tuple[Instance, Ruling]]:
    """Ask every filter about all rows; one that fails then has said so in the attempt."""
    if evaluation.pre_filter.code is not Code.SUCCESS and evaluation.fault is None:
        return
    for instance in attempt.filters():
        try:
            yield instance, attempt.ruling(instance, evaluation.live)
        except PluginFault as fault:
            codes = np.ones(len(evaluation.live), np.int16)
            yield instance, Ruling(codes, (Outcome(Code.SUCCESS), Outcome(Code.ERROR, (str(fault),))))


def _of_node(
    evaluation: Evaluation, node: Node, row: int, rulings: Sequence[tuple[Instance, Ruling]], *, is_best: bool
) -> OfNode:
    name = node.metadata.name
    taints = tuple(_written(taint) for taint in node.spec.taints if taint.effect in KEEPS_OFF)
    fits = bool(evaluation.feasible[row]) and evaluation.error is None
    answer = evaluation.answer(row)
    said = [_said(instance, ruling, row) for instance, ruling in rulings]
    note = ""
    if row in evaluation.single:
        note = "judged with the pods that are nominated there"
    if answer.code is not Code.SUCCESS and not any(one.verdict is not Code.SUCCESS for one in said):
        said.append(_apart(answer))
    if not fits:
        return OfNode(name, fits, tuple(said), taints=taints, note=note)
    scores = tuple(
        Score(plugin, int(scored.raw[row]), int(scored.weighted[row])) for plugin, scored in evaluation.scored.items()
    )
    return OfNode(name, fits, tuple(said), scores, int(evaluation.totals[row]), is_best, taints, note)


def _written(taint: Taint) -> str:
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


def _said(instance: Instance, ruling: Ruling, row: int) -> Said:
    code = int(ruling.codes[row])
    if not code:
        return Said(instance.name, Code.SUCCESS)
    outcome, short = ruling.outcomes[code], ruling.short or {}
    remarks = []
    for text in outcome.texts:
        kind, subject = named(text, instance.name, outcome.code)
        missing = int(short[text][row]) if text in short else 0
        remarks.append(Remark(kind, text, subject, amount(text, missing) if missing > 0 else None))
    return Said(instance.name, outcome.code, tuple(remarks))


def _apart(answer: Answer) -> Said:
    """Say what was said of a node outside the filters: before them, or with other pods thought of as there."""
    remarks = (Remark(*_kind(text, answer)) for text in answer.texts)
    return Said(answer.plugin, answer.code, tuple(remarks))


def _kind(text: str, answer: Answer) -> tuple[Kind, str, str]:
    kind, subject = named(text, answer.plugin, answer.code)
    return kind, text, subject
