"""Why: why a pod goes where it goes, or waits: a summary, then every rule's word on every node.

It is asked of a lane before the pod is placed, so that nothing but what was there counts.  A pod that runs already is
judged as if it did not.
Invariant: the node, the total and the message are those of the decision that the lane makes.
Not here: showing it (cli), and what rules say (`framework/detail.py`).
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from bayplan.api.objects import Pod, uid_of
from bayplan.cluster.table import FINISHED
from bayplan.core.pod_lane import Decision, PodLane
from bayplan.framework.detail import Detail, OfNode, detailed
from bayplan.framework.reasons import Reason, of_outcome, reasons_of

GUESSES_MAX = 3


class Weight(msgspec.Struct, frozen=True):
    """A scoring rule of the profile and how much it counts."""

    plugin: str
    weight: int


class Why(msgspec.Struct, frozen=True, rename="camel"):
    """Why one pod goes where it goes, or waits."""

    pod: str
    profile: str
    priority: int
    runs_on: str | None  # it runs already: what follows is as if it did not
    node: str | None
    score: int | None
    among: int
    message: str | None
    held_by: str | None  # the rule that keeps it from being tried
    reasons: tuple[Reason, ...]  # why nodes were turned down, the commonest first
    nodes_fit: int
    nodes: tuple[OfNode, ...]  # best first, then those that miss least
    weights: tuple[Weight, ...]
    skipped: tuple[str, ...]  # rules whose filter has nothing to say about this pod
    unscored: tuple[str, ...]  # rules that do not score this pod


class NoSuchPod(Exception):
    """A pod that is not in the input, or is meant ambiguously."""


def why(lane: PodLane, decision: Decision, *, runs_on: str | None = None) -> Why:
    """Explain a decision that has just been made and not yet settled."""
    pod, profile, verdict = decision.pod, decision.profile, decision.verdict
    detail = Detail((), (), ())
    reasons: list[Reason] = []
    if decision.held_by is not None:
        instance, outcome = decision.held_by
        reasons = of_outcome(outcome.texts, instance.name, outcome.code)
    elif verdict is not None:
        detail = detailed(lane.table, profile, pod, lane.reader.shape(pod))
        reasons = reasons_of(verdict.evaluation)
    return Why(
        pod=pod.key,
        profile=profile.scheduler_name,
        priority=pod.spec.priority or 0,
        runs_on=runs_on,
        node=decision.node,
        score=decision.score,
        among=decision.among,
        message=decision.message,
        held_by=decision.held_by[0].name if decision.held_by is not None else None,
        reasons=tuple(reasons),
        nodes_fit=sum(node.fits for node in detail.nodes),
        nodes=tuple(sorted(detail.nodes, key=_rank)),
        weights=tuple(Weight(instance.name, instance.weight) for instance in profile.score),
        skipped=detail.skipped,
        unscored=detail.unscored,
    )


def why_running(lane: PodLane, pod: Pod) -> Why:
    """Explain a pod that runs, as if it were still to be placed; the table is as before afterwards."""
    table, start = lane.table, lane.rules.start
    node = pod.spec.node_name
    resident = table.remove(uid_of(pod)) if uid_of(pod) in table.pods else None
    free = replace(pod, spec=replace(pod.spec, node_name=""))
    try:
        return why(lane, lane.ask(free), runs_on=node)
    finally:
        lane.rules.start = start
        lane.reader.forget(uid_of(pod))
        if resident is not None:
            table.seat(resident)


def meant(name: str, pods: Iterable[Pod]) -> Pod:
    """Find the pod that somebody means by `namespace/name`, or by a name that is there once."""
    pods = list(pods)
    found = [pod for pod in pods if pod.key == name] or [pod for pod in pods if pod.metadata.name == name]
    if len(found) == 1:
        pod = found[0]
        if pod.status.phase in FINISHED:
            raise NoSuchPod(f"pod {pod.key} has finished ({pod.status.phase}): it is not placed any more")
        if pod.metadata.deletion_timestamp is not None and not pod.spec.node_name:
            raise NoSuchPod(f"pod {pod.key} is on its way out: it is not placed any more")
        return pod
    if found:
        raise NoSuchPod(f"there are {len(found)} pods called {name}; say which: {_some(pod.key for pod in found)}")
    bare = name.rpartition("/")[2]
    like = [pod.key for pod in pods if bare in pod.metadata.name]
    known = f"did you mean {_some(like)}?" if like else f"there are: {_some(pod.key for pod in pods)}"
    raise NoSuchPod(f"no pod {name} in the input; {known if pods else 'there is no pod at all'}")


def _some(names: Iterable[str]) -> str:
    names = list(names)
    more = f" and {len(names) - GUESSES_MAX:,} more" if len(names) > GUESSES_MAX else ""
    return ", ".join(names[:GUESSES_MAX]) + more


def _rank(node: OfNode) -> tuple[int, int]:
    return -1 - (node.total or 0) if node.fits else 0, sum(bool(said.reasons) for said in node.filters)
