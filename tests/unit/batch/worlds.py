"""Small clusters with queues and gangs, for the tests of this room: manifests are built, and a lane hears of them."""

from __future__ import annotations

from typing import Any, TypeAlias

from bayplan.api.decode import KINDS, decode_tree
from bayplan.api.wider import widened
from bayplan.batch.intake import put as put_batch
from bayplan.batch.lane import BatchLane
from bayplan.batch.plugins.predicates import FIELDS
from bayplan.batch.session import Session
from bayplan.batch.tasks import Status
from bayplan.cluster.fold import put
from bayplan.cluster.reading import Reader
from bayplan.cluster.table import Table
from bayplan.framework.registry import Registry
from bayplan.framework.run import Rules
from bayplan.framework.tiers import BatchConfiguration, Behaviour, Tier, TierPlugin

Manifest: TypeAlias = dict[str, Any]

REGISTRY = Registry.installed()
WIDE = widened(KINDS, FIELDS)
ALL = ("priority gang conformance", "drf predicates proportion nodeorder")


def configuration(
    *tiers: str,
    actions: str = "reclaim allocate backfill preempt",
    behaviour: Behaviour = "bayplan",
    **rest: Any,  # noqa: ANN401 any other field of it
) -> BatchConfiguration:
    """Return a configuration whose tiers are written as plugins' names."""
    made = tuple(Tier(tuple(TierPlugin(name=name) for name in tier.split())) for tier in tiers or ALL)
    given = {"form": "tiers", "namespace_as_queue": False, **rest}
    return BatchConfiguration(actions=tuple(actions.split()), tiers=made, behaviour=behaviour, **given)


def node(name: str, cpu: str = "4", memory: str = "16Gi", **more: str) -> Manifest:
    """Return a ready node."""
    amounts = {"cpu": cpu, "memory": memory, "pods": "110", **more}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": amounts, "capacity": amounts, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def queue(name: str, weight: int = 1, **capability: str) -> Manifest:
    """Return a queue."""
    return {
        "apiVersion": "scheduling.incubator.k8s.io/v1alpha1",
        "kind": "Queue",
        "metadata": {"name": name, "uid": name},
        "spec": {"weight": weight, "capability": capability},
    }


def gang(name: str, least: int = 1, within: str = "q", created: int = 0, **more: Any) -> Manifest:  # noqa: ANN401 other fields
    """Return a PodGroup."""
    return {
        "apiVersion": "scheduling.incubator.k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "ns", "uid": name, "creationTimestamp": moment(created)},
        "spec": {"minMember": least, "queue": within, **more},
    }


def pod(
    name: str, of: str = "", on: str = "", created: int = 0, priority: int | None = None, **requests: str
) -> Manifest:
    """Return a pod of a gang: it runs, if it is on a node."""
    spec: Manifest = {
        "schedulerName": "kube-batch",
        "containers": [{"name": "c", "resources": {"requests": requests}}],
    }
    if priority is not None:
        spec["priority"] = priority
    if on:
        spec["nodeName"] = on
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "ns",
            "uid": name,
            "creationTimestamp": moment(created),
            "annotations": {"scheduling.k8s.io/group-name": of} if of else {},
        },
        "spec": spec,
        "status": {"phase": "Running" if on else "Pending"},
    }


def pods(of: str, number: int, on: str = "", **rest: Any) -> list[Manifest]:  # noqa: ANN401 as pod
    """Return so many pods of a gang, alike."""
    return [pod(f"{of}-{place}{'r' if on else ''}", of, on, **rest) for place in range(number)]


def moment(minutes: int) -> str:
    """Return a time, so many minutes into the day."""
    return f"2024-01-01T{minutes // 60:02}:{minutes % 60:02}:00Z"


def a_lane(given: BatchConfiguration, *things: Manifest | list[Manifest]) -> BatchLane:
    """Return a lane that has heard of some objects."""
    lane = BatchLane(Rules(table := Table(), Reader(table)), given, REGISTRY)
    for thing in things:
        for one in thing if isinstance(thing, list) else [thing]:
            tell(lane, one)
    return lane


def tell(lane: BatchLane, manifest: Manifest) -> None:
    """Have a lane hear of an object."""
    thing = decode_tree(manifest, WIDE)
    put(lane.table, thing)
    put_batch(lane.jobs, thing)


def ran(lane: BatchLane) -> Session:
    """Return a session that was run and not closed."""
    session = lane.open()
    session.run()
    return session


def did(session: Session, verb: Status) -> dict[str, str]:
    """Return which pods became something, and on which node."""
    return {step.task.pod.metadata.name: session.node_name(step.row) for step in session.steps if step.verb is verb}


def bound(session: Session) -> dict[str, str]:
    """Return which pods were bound, and where."""
    return did(session, Status.BINDING)


def evicted(session: Session) -> set[str]:
    """Return which pods were evicted."""
    return set(did(session, Status.RELEASING))
