"""`bayplan place`: read manifests, place what waits, print where it goes.

Not here: reading manifests and the loop over pods (`answers/snapshot.py`, `core/pod_lane.py`), and why
(`answers/why.py`).
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypeAlias

import click
import msgspec

from bayplan.answers.missing import missing
from bayplan.answers.sessions import seats
from bayplan.answers.snapshot import Cluster, Snapshot, called, identity_of, waits
from bayplan.answers.why import NoSuchPod, Why, meant, why, why_running
from bayplan.api.groups import odd
from bayplan.api.objects import Pod
from bayplan.batch.plugins.predicates import FIELDS
from bayplan.cli import progress, sources, tables
from bayplan.cli.options import with_configuration
from bayplan.cli.rules import Policy, Rules, kinds_of, note, whole_policy
from bayplan.core.pod_lane import Decision, PodLane

Output: TypeAlias = Literal["table", "json", "yaml"]
Row: TypeAlias = dict[str, object]

REFUSED: Final = 2
REFUSED_SHOWN_MAX: Final = 20


class Placed(NamedTuple):
    """What came of it."""

    decisions: list[Row]
    faults: list[str]
    why: Why | None


@click.command(
    epilog="Exit status: 0 all was understood, 2 something of the input was refused, 1 nothing could be done."
)
@click.option(
    "-f",
    "--file",
    "files",
    multiple=True,
    required=True,
    metavar="FILE",
    help="Manifests or `kubectl get -o yaml|json` lists: a file, a folder, or - for standard input. Repeatable.",
)
@with_configuration
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json", "yaml"]),
    default="table",
    show_default=True,
    help="How to print the answer.",
)
@click.option(
    "--why",
    metavar="POD",
    help="Explain one pod, NAMESPACE/NAME: every node, every rule, the reasons with their numbers, the scores.",
)
def place(**given: object) -> int:
    """Say where each waiting pod of some manifests would go, or why nowhere.

    Reads nodes, what runs on them, and what waits; deployments, jobs and the like count as the pods they would make.
    Pods are tried by priority, then in the order read. Nothing is changed anywhere.
    """
    options = msgspec.convert(given, Options)
    if options.config is not None and options.algorithm_provider is not None:
        raise click.ClickException("give --config or --algorithm-provider, not both")
    rules = whole_policy(options.config, Rules(options.plugins, options.feature_gates), options.algorithm_provider)
    snapshot = Snapshot(kinds_of(rules.profiles.values(), FIELDS if rules.batches else ()))
    for name, raw in sources.opened(options.files):
        snapshot.read(name, raw)
    cluster = snapshot.cluster()
    _tell(snapshot, cluster)
    placed = _placed(cluster, rules, options)
    refused = [*snapshot.refused, *placed.faults]
    click.echo(_answer(placed, refused, cluster, options))
    _tell_refused(refused)
    if options.output == "table":
        _tell_next(placed)
    return REFUSED if refused else 0


class Options(msgspec.Struct, frozen=True):
    """What was typed."""

    files: tuple[str, ...]
    config: str | None
    algorithm_provider: str | None
    seed: int
    feature_gates: tuple[str, ...]
    plugins: tuple[str, ...]
    output: Output
    why: str | None


# --- placing ---------------------------------------------------------------------------------------------------------


def _placed(cluster: Cluster, rules: Policy, options: Options) -> Placed:
    """Place what waits; explain one pod when its turn comes."""
    lane = PodLane(cluster.table, rules.profiles, seed=options.seed)
    one = _meant(options.why, cluster)
    explained = why_running(lane, one) if one is not None and not waits(one) else None
    decisions, faults = _in_sessions(cluster, rules, options), dict[str, str]()
    in_sessions = {given.scheduler_name for given in rules.batches}
    alone = [pod for pod in cluster.waiting if pod.spec.scheduler_name not in in_sessions]
    steps = lane.run(alone) if explained is None or options.output != "table" else iter(())
    for decision in progress.shown(steps, len(alone), "placing"):
        decisions.append(_row(decision, options))
        if decision.fault is not None:
            faults.setdefault(decision.fault.plugin, str(decision.fault))
        if decision.pod is one:
            explained = why(lane, decision)
            if options.output == "table":
                break
    return Placed(decisions, list(faults.values()), explained)


def _in_sessions(cluster: Cluster, rules: Policy, options: Options) -> list[Row]:
    """Place what is served in sessions, profile after profile."""
    return [
        {"pod": seat.pod.key, "node": seat.node, "message": seat.message, "score": None, "among": 0}
        for given in rules.batches
        for seat in seats(cluster, given, rules.registry, seed=options.seed)
    ]


def _meant(name: str | None, cluster: Cluster) -> Pod | None:
    if name is None:
        return None
    try:
        return meant(name, (thing for thing in cluster.objects if isinstance(thing, Pod)))
    except NoSuchPod as error:
        raise click.ClickException(str(error)) from None


def _row(decision: Decision, options: Options) -> Row:
    """Take down a decision while it can be asked; how many were as good costs extra and is only for programs."""
    return {
        "pod": decision.pod.key,
        "node": decision.node,
        "message": decision.message,
        "score": decision.score,
        "among": decision.among if options.output != "table" else 0,
    }


# --- showing ---------------------------------------------------------------------------------------------------------


def _answer(placed: Placed, refused: list[str], cluster: Cluster, options: Options) -> str:
    """Write the answer in the form that is asked for."""
    if options.output != "table":
        answer: dict[str, object] = {"decisions": placed.decisions, "refused": refused}
        if placed.why is not None:
            answer["why"] = placed.why
        if options.output == "yaml":
            return msgspec.yaml.encode(msgspec.to_builtins(answer)).decode().rstrip("\n")
        return msgspec.json.format(msgspec.json.encode(answer), indent=2).decode()
    if placed.why is not None:
        return "\n".join(tables.explanation(placed.why))
    if not placed.decisions:
        return "No pod waits to be placed."
    return "\n".join([*tables.placements(placed.decisions), "", tables.summary(placed.decisions, cluster.table.count)])


def _tell(snapshot: Snapshot, cluster: Cluster) -> None:
    """Say what was passed over and what is missing."""
    if snapshot.passed:
        kinds = ", ".join(f"{number:,} {kind}" for kind, number in sorted(snapshot.passed.items()))
        note(f"passed over: {kinds}")
    for lack in missing(cluster.objects):
        note(f"missing: {lack}")
    for thing in cluster.objects:
        for oddity in odd(thing):
            note(f"odd: {type(thing).__name__} {called(identity_of(thing))}: {oddity}")


def _tell_refused(refused: list[str]) -> None:
    for problem in refused[:REFUSED_SHOWN_MAX]:
        note(f"refused: {problem}")
    if len(refused) > REFUSED_SHOWN_MAX:
        note(f"refused: {len(refused) - REFUSED_SHOWN_MAX:,} more; -o json lists all")


def _tell_next(placed: Placed) -> None:
    """Say what to ask next of a pod that goes nowhere."""
    nowhere = next((one["pod"] for one in placed.decisions if one["node"] is None), None)
    if nowhere is not None and placed.why is None:
        note(f"add --why {nowhere} to see what each node and rule says")
