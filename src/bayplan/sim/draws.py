"""Draws: random nodes, pods and storage for a history, all from one seed.

Pods come from a few templates, as in life: plain, spread over zones, apart from their like, with host ports, with
tolerations, gated, with claims.
Invariant: the same generator state gives the same object.
Not here: when they come (world.py).
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from msgspec.structs import replace

from bayplan.api.claims import (
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeSpec,
    PersistentVolumeStatus,
    StorageClass,
)
from bayplan.api.objects import (
    Affinity,
    ClaimVolume,
    Container,
    ContainerPort,
    LabelSelector,
    Node,
    NodeSpec,
    NodeStatus,
    ObjectMeta,
    PersistentVolumeClaimSpec,
    Pod,
    PodAffinityTerm,
    PodAntiAffinity,
    PodMeta,
    PodSchedulingGate,
    PodSpec,
    ResourceRequirements,
    Taint,
    Toleration,
    TopologySpreadConstraint,
    Volume,
)

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
TAINTS = (Taint(key="dedicated", value="a", effect="NoSchedule"), Taint(key="spot", effect="PreferNoSchedule"))
LATE = "late"
GROUP, SIZE = "group.example.com/name", "group.example.com/size"
KINDS = ("plain", "plain", "plain", "spread", "apart", "ports", "tolerant", "picky", "urgent", "gated", "claims")


class Template(NamedTuple):
    """What pods of one template have in common."""

    app: str
    kind: str
    cpu: str
    memory: str
    size: int = 0  # of the groups that its pods form, 0: none
    priority: int = 0  # of all of a group


def templates(luck: Random, *, with_groups: bool = False) -> list[Template]:
    """Draw a few templates, some of pods that go in groups."""
    plain = _templates(luck)
    if not with_groups:
        return plain
    kinds = ("plain", "tolerant", "picky")  # alike in all that decides where they fit
    groups = [
        one._replace(kind=luck.choice(kinds), size=luck.randint(2, 5), priority=luck.randrange(4)) for one in plain
    ]
    return [group if number % 2 else one for number, (one, group) in enumerate(zip(plain, groups, strict=True))]


def _templates(luck: Random) -> list[Template]:
    return [
        Template(
            f"app{number}",
            luck.choice(KINDS),
            f"{luck.choice((100, 250, 500, 1000, 2000))}m",
            luck.choice(("128Mi", "1Gi")),
        )
        for number in range(luck.randint(2, 10))
    ]


def node(luck: Random, name: str) -> Node:
    """Draw a node."""
    labels = {HOSTNAME: name, "disk": luck.choice(("ssd", "hdd"))}
    if luck.random() < 0.9:
        labels[ZONE] = luck.choice("abc")
    taints = tuple(taint for taint in TAINTS if luck.random() < 0.15)
    room: dict[str, str | int | float] = {
        "cpu": str(luck.choice((1, 2, 4, 8))),
        "memory": f"{luck.choice((2, 4, 8))}Gi",
        "pods": str(luck.choice((3, 10, 110))),
    }
    return Node(
        metadata=ObjectMeta(name=name, uid=f"node-{name}-{luck.randrange(1 << 30)}", labels=labels),
        spec=NodeSpec(taints=taints, unschedulable=luck.random() < 0.05),
        status=NodeStatus(allocatable=room),
    )


def pod(luck: Random, template: Template, number: int, scheduler: str, group: str = "") -> Pod:
    """Draw a pod of a template."""
    kind, labels = template.kind, {"app": template.app}
    if group:
        labels |= {GROUP: group, SIZE: str(template.size)}
    requests: dict[str, str | int | float] = {"cpu": template.cpu, "memory": template.memory}
    ports = (ContainerPort(host_port=8000 + luck.randrange(2)),) if kind == "ports" else ()
    name = f"{template.app}-{number}"
    spec = PodSpec(
        scheduler_name=scheduler,
        containers=(Container(name="main", resources=ResourceRequirements(requests=requests), ports=ports),),
        priority=luck.randrange(3) if kind == "urgent" else template.priority,
    )
    meta = PodMeta(name=name, namespace="default", uid=f"pod-{name}-{luck.randrange(1 << 30)}", labels=labels)
    return Pod(metadata=meta, spec=_of_kind(luck, spec, template, name))


def _of_kind(luck: Random, spec: PodSpec, template: Template, name: str) -> PodSpec:
    alike = LabelSelector(match_labels={"app": template.app})
    changed = spec
    match template.kind:
        case "spread":
            rule = TopologySpreadConstraint(
                max_skew=1, topology_key=ZONE, when_unsatisfiable="DoNotSchedule", label_selector=alike
            )
            changed = replace(spec, topology_spread_constraints=(rule,))
        case "apart":
            term = PodAffinityTerm(label_selector=alike, topology_key=luck.choice((HOSTNAME, ZONE)))
            apart = PodAntiAffinity(required_during_scheduling_ignored_during_execution=(term,))
            changed = replace(spec, affinity=Affinity(pod_anti_affinity=apart))
        case "tolerant":
            changed = replace(spec, tolerations=(Toleration(key="dedicated", operator="Exists"),))
        case "picky":
            changed = replace(spec, node_selector={"disk": "ssd"})
        case "gated":
            changed = replace(spec, scheduling_gates=(PodSchedulingGate(name="wait"),))
        case "claims":
            mounted = Volume(name="data", persistent_volume_claim=ClaimVolume(claim_name=f"{name}-data"))
            changed = replace(spec, volumes=(mounted,))
        case _:
            pass
    return changed


def storage_class() -> StorageClass:
    """Return the class of all claims: bound when a pod needs them."""
    return StorageClass(
        metadata=ObjectMeta(name=LATE, uid="class"),
        provisioner="disk.example.com",
        volume_binding_mode="WaitForFirstConsumer",
    )


def claim(luck: Random, name: str) -> PersistentVolumeClaim:
    """Draw a claim."""
    return PersistentVolumeClaim(
        metadata=ObjectMeta(name=name, namespace="default", uid=f"claim-{name}-{luck.randrange(1 << 30)}"),
        spec=PersistentVolumeClaimSpec(
            access_modes=("ReadWriteOnce",),
            storage_class_name=LATE,
            resources=ResourceRequirements(requests={"storage": luck.choice(("1Gi", "5Gi"))}),
        ),
    )


def volume(luck: Random, name: str) -> PersistentVolume:
    """Draw a volume that is free."""
    return PersistentVolume(
        metadata=ObjectMeta(name=name, uid=f"volume-{name}-{luck.randrange(1 << 30)}"),
        spec=PersistentVolumeSpec(
            capacity={"storage": luck.choice(("1Gi", "10Gi"))},
            access_modes=("ReadWriteOnce",),
            storage_class_name=LATE,
        ),
        status=PersistentVolumeStatus(phase="Available"),
    )
