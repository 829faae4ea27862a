"""The seam: a case put to bayplan, its answer in the form of a case's `result`."""

from collections.abc import Callable, Iterable
from typing import TypeAlias

import numpy as np

from bayplan.api.decode import decode_tree
from bayplan.api.objects import Pod
from bayplan.cluster.claims import Reservation
from bayplan.cluster.columns import Row
from bayplan.cluster.fold import put
from bayplan.cluster.reading import Reader
from bayplan.cluster.table import Table
from bayplan.cluster.view import View
from bayplan.framework.plugin import Code, Outcome, Prepared
from bayplan.framework.profile import DEFAULT_SCHEDULER, Profile
from bayplan.framework.run import Rules
from bayplan.framework.verdict import NO_NODES, NOT_TRIED, Evaluation
from tests.parity.case import Case, Manifest, Result
from tests.parity.profiles import profile_for

Reserving: TypeAlias = Callable[[Row], list[object]]


def evaluate(case: Case) -> Result:
    """Return what bayplan concludes about the case."""
    pod = decode_tree(case["pod"])
    assert isinstance(pod, Pod)
    table = table_of(case["objects"], but=pod)
    name = pod.spec.scheduler_name or DEFAULT_SCHEDULER
    profile = profile_for(case.get("config"), name, case.get("featureGates") or {})
    return answer(table, profile, pod)


def table_of(objects: Iterable[Manifest], but: Pod | None = None) -> Table:
    """Return the table of a case's objects, folded in in their order."""
    table = Table()
    things = [decode_tree(tree) for tree in objects]
    for thing in sorted(things, key=lambda thing: isinstance(thing, Pod)):  # nominations name nodes listed later
        put(table, thing)
    return table


def answer(table: Table, profile: Profile, pod: Pod) -> Result:
    """Ask about a pod and put the answer into a result's words."""
    result: Result = {}
    held = _pre_enqueue(table, profile, pod)
    if held is not None:
        result["preEnqueue"] = held
    verdict = Rules(table, Reader(table)).ask(pod, profile)
    evaluation = verdict.evaluation
    if not table.count:
        return result | {"fit_error": NO_NODES}
    result["prefilter"] = _pre_filter(evaluation)
    result["nodes"] = {name: _node(evaluation, row) for name, row in table.row_of.items()}
    choice = _choice(evaluation, verdict.row)
    if choice:
        result["choice"] = choice
    if evaluation.error is not None:
        return result | {"scheduler_error": evaluation.error}
    if evaluation.skipped_score:
        result["skippedScore"] = list(evaluation.skipped_score)
    if evaluation.feasible.any():
        result["best"] = sorted(evaluation.names[row] for row in evaluation.best)
        _volumes(pod, evaluation, result, _reserving(table, profile, pod, evaluation))
    else:
        result["fit_error"] = evaluation.message()
        result["unschedulablePlugins"] = sorted(evaluation.rejectors())
    return result


def _choice(evaluation: Evaluation, chosen: Row | None) -> list[str]:
    """Return the nodes that may be chosen; if what was chosen (from what is remembered) is none of them, that alone."""
    if evaluation.nominated is not None:
        allowed = [evaluation.nominated]
    else:
        allowed = [] if evaluation.error is not None else [Row(row) for row in evaluation.best.tolist()]
    if chosen in allowed or (chosen is None and not allowed):
        return sorted(evaluation.names[row] for row in allowed)
    return ["nothing"] if chosen is None else [evaluation.names[chosen]]


def _pre_enqueue(table: Table, profile: Profile, pod: Pod) -> Result | None:
    view = View(table)
    for instance in profile.pre_enqueue:
        outcome: Outcome | None = instance.plugin.pre_enqueue(pod, view)
        if outcome is not None:
            return {"code": outcome.code, "plugin": instance.name, "reasons": list(outcome.texts)}
    return None


def _pre_filter(evaluation: Evaluation) -> Result:
    found = evaluation.pre_filter
    result: Result = {"status": found.code}
    if found.plugin:
        result["plugin"] = found.plugin
    if found.texts:
        result["reasons"] = list(found.texts)
    if found.names is not None:
        result["nodeNames"] = sorted(found.names)
    if found.skipped:
        result["skipped"] = sorted(found.skipped)
    return result


def _node(evaluation: Evaluation, row: int) -> Result:
    said = evaluation.answer(row)
    result: Result = {"fit": said.code is Code.SUCCESS, "code": said.code, "reasons": list(said.texts)}
    if said.plugin:
        result["plugin"] = said.plugin
    if evaluation.turned_down_by[row] == NOT_TRIED and row not in evaluation.single:
        result["notTried"] = True
    if evaluation.feasible[row] and evaluation.error is None:
        result["raw"] = {name: int(scored.raw[row]) for name, scored in evaluation.scored.items()}
        result["norm"] = {name: int(scored.weighted[row]) for name, scored in evaluation.scored.items()}
        result["total"] = int(evaluation.totals[row])
    return result


def _reserving(table: Table, profile: Profile, pod: Pod, evaluation: Evaluation) -> Reserving:
    """Return what says what a row has for the pod's claims: the oracle asks the binder even where it may not filter."""
    if any(instance.plugin.overrides("reservation") for instance in profile.filter):
        return evaluation.reservations
    shape = Reader(table).shape(pod)
    known = dict.fromkeys(instance for instances in profile.points.values() for instance in instances)
    rules = [
        (instance.plugin, instance.plugin.prepare(shape.part(instance.plugin.reads), View(table)))
        for instance in known
        if instance.plugin.overrides("reservation") and instance.plugin.reads is not None
    ]

    def taken(row: Row) -> list[object]:
        view = View(table, np.array([row], np.intp))
        found = (rule.reservation(ready.state, view, row) for rule, ready in rules if isinstance(ready, Prepared))
        return [reservation for reservation in found if reservation is not None]

    return taken


def _volumes(pod: Pod, evaluation: Evaluation, result: Result, reserving: Reserving) -> None:
    """Say what placing the pod would write about its claims, for each node where there is something to write."""
    for row in np.flatnonzero(evaluation.feasible).tolist():
        for reservation in reserving(Row(row)):
            assert isinstance(reservation, Reservation)
            taking = reservation.named(pod)
            wanted: Result = {}
            if taking.bind:
                wanted["bind"] = dict(taking.bind)
            if taking.provision:
                wanted["provision"] = list(taking.provision)
            if wanted:
                result["nodes"][evaluation.names[row]]["volumes"] = wanted
