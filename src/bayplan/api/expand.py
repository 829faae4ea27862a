"""The pods that workloads make, beyond those that are there, and the claims and owners made with them.

An object that is controlled by another of the input makes nothing: its owner does.  What is made is called
`<owner>-<n>`, and is what the controller would have created, before the API server saw it (`api/defaults.py` is next).
Invariant: no workload makes more than PODS_MAX pods, whatever its manifest asks for.
Not here: where the pods go.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, count, islice
from typing import Final, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from bayplan.api.claims import PersistentVolumeClaim
from bayplan.api.defaults import DEFAULT_NAMESPACE, AdmissionError
from bayplan.api.objects import (
    Affinity,
    ClaimVolume,
    Labels,
    LabelSelector,
    Meta,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    Object,
    ObjectMeta,
    OwnerReference,
    Pod,
    PodMeta,
    PodSpec,
    Requirement,
    Toleration,
    Volume,
)
from bayplan.api.selectors import NODE_NAME_FIELD, RequiredAffinity, tolerates
from bayplan.api.workloads import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    PodTemplateSpec,
    ReplicaSet,
    ReplicaSetSpec,
    ReplicationController,
    StatefulSet,
)

PODS_MAX: Final = 1_000_000
HASH_LABEL: Final = "pod-template-hash"

Workload: TypeAlias = Deployment | ReplicaSet | ReplicationController | StatefulSet | DaemonSet | Job

_WORKLOADS: Final = (Deployment, ReplicaSet, ReplicationController, StatefulSet, DaemonSet, Job)
_GROUPS: Final = {ReplicationController: "v1", Job: "batch/v1"}

# What the controller lets the pods of a DaemonSet bear.
_DAEMON_TOLERATIONS: Final = tuple(
    Toleration(key=f"node.kubernetes.io/{state}", operator="Exists", effect=effect)
    for state, effect in (
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    )
)
_DAEMON_NETWORK: Final = Toleration(
    key="node.kubernetes.io/network-unavailable", operator="Exists", effect="NoSchedule"
)


class Made(NamedTuple):
    """What workloads would make, and what of the input could not be expanded."""

    pods: dict[int, list[Pod]]  # by their workload's place in the input
    claims: list[PersistentVolumeClaim]
    owners: list[ReplicaSet]
    refused: list[tuple[Object, AdmissionError]]


def expanded(things: Sequence[Object]) -> Made:
    """Make what the workloads among these objects would, beyond what is there."""
    made = Made({}, [], [], [])
    present = _Present(things)
    nodes = [thing for thing in things if isinstance(thing, Node)]
    for place, thing in enumerate(things):
        if not isinstance(thing, _WORKLOADS) or thing.metadata.deletion_timestamp or present.is_controlled(thing):
            continue
        try:
            pods = _made_by(thing, present, nodes, made)
        except AdmissionError as error:
            made.refused.append((thing, error))
            continue
        made.pods[place] = pods
        if isinstance(thing, StatefulSet):
            made.claims.extend(present.missing_claims(_claims_of(thing, pods)))
    loose = [thing for thing in things if isinstance(thing, Pod)]
    for pod in chain(loose, *made.pods.values()):
        made.claims.extend(present.missing_claims(_ephemeral_claims(pod)))
    return made


def pods_of(workload: Workload, present: Sequence[Pod] = (), nodes: Sequence[Node] = ()) -> list[Pod]:
    """Make the pods of one workload that are not among those present."""
    return _made_by(workload, _Present([workload, *present]), nodes, Made({}, [], [], []))


# --- what is there ---------------------------------------------------------------------------------------------------


class _Present:
    """Whose what is: pods by their controller, workloads under workloads, and names that are taken."""

    def __init__(self, things: Iterable[Object]) -> None:
        self.pods: dict[tuple[str, ...], list[Pod]] = defaultdict(list)
        self.replica_sets: dict[tuple[str, ...], list[ReplicaSet]] = defaultdict(list)
        self.names: set[tuple[str, str]] = set()
        self._claims: set[tuple[str, str]] = set()
        self._known: set[tuple[str, ...]] = set()
        for thing in things:
            if isinstance(thing, Pod):
                self._add_pod(thing)
            elif isinstance(thing, PersistentVolumeClaim):
                self._claims.add((_namespace(thing.metadata), thing.metadata.name))
            elif isinstance(thing, (*_WORKLOADS, CronJob)):
                self._known.update(_identities(type(thing).__name__, thing.metadata))
                if isinstance(thing, ReplicaSet):
                    for key in _controllers(thing.metadata):
                        self.replica_sets[key].append(thing)

    def _add_pod(self, pod: Pod) -> None:
        meta = pod.metadata
        self.names.add((_namespace(meta), meta.name))
        for key in _controllers(meta):
            self.pods[key].append(pod)
        for owner in meta.owner_references:  # a ReplicaSet that is not in the input still names its Deployment
            stem = owner.name.removesuffix(f"-{meta.labels.get(HASH_LABEL, '')}")
            if owner.controller and owner.kind == "ReplicaSet" and stem != owner.name:
                self.pods["Deployment", _namespace(meta), stem].append(pod)

    def is_controlled(self, thing: Workload) -> bool:
        """Say whether another workload of the input makes this one's pods."""
        return any(key in self._known for key in _controllers(thing.metadata))

    def of(self, workload: Workload) -> list[Pod]:
        """List a workload's own pods and, for a Deployment, those of its ReplicaSets, each once."""
        keys = _identities(type(workload).__name__, workload.metadata)
        if isinstance(workload, Deployment):
            below = [owned for key in keys for owned in self.replica_sets.get(key, ())]
            keys += [key for owned in below for key in _identities("ReplicaSet", owned.metadata)]
        found = {id(pod): pod for key in keys for pod in self.pods.get(key, ())}
        return list(found.values())

    def missing_claims(self, claims: Iterable[PersistentVolumeClaim]) -> Iterator[PersistentVolumeClaim]:
        """Pass on the claims that are not there yet."""
        for claim in claims:
            key = (claim.metadata.namespace, claim.metadata.name)
            if key not in self._claims:
                self._claims.add(key)
                yield claim


def _identities(kind: str, meta: Meta) -> list[tuple[str, ...]]:
    """Give the keys by which a reference may mean an object: its uid, or its kind and name."""
    named = (kind, _namespace(meta), meta.name)
    return [(meta.uid,), named] if meta.uid else [named]


def _controllers(meta: Meta) -> list[tuple[str, ...]]:
    """Give the keys of an object's controller: the uid if there is one, and the name for owners without."""
    owner = next((owner for owner in meta.owner_references if owner.controller), None)
    if owner is None:
        return []
    named = (owner.kind, _namespace(meta), owner.name)
    return [(owner.uid,), named] if owner.uid else [named]


def _namespace(meta: Meta) -> str:
    return meta.namespace or DEFAULT_NAMESPACE


def _uid(thing: Workload | Pod) -> str:
    """Give the uid by which an object will be known once it has its namespace."""
    meta = thing.metadata
    return meta.uid or f"{type(thing).__name__.lower()}/{_namespace(meta)}/{meta.name}"


# --- what is made ----------------------------------------------------------------------------------------------------


def _made_by(workload: Workload, present: _Present, nodes: Sequence[Node], made: Made) -> list[Pod]:
    there = present.of(workload)
    if isinstance(workload, DaemonSet):
        return _daemons(workload, there, present, nodes)
    template = workload.spec.template
    if template is None:
        return []
    wanted = _wanted(workload)
    missing = wanted - sum(_counts(workload, pod) for pod in there)
    if missing > PODS_MAX:
        raise AdmissionError(("spec",), f"expected at most {PODS_MAX:,} pods of one workload, got {missing:,}")
    owner: Workload = workload
    if isinstance(workload, Deployment) and missing > 0:
        owner = _replica_set(workload, present, made)
        template = owner.spec.template
    start = workload.spec.ordinals.start if isinstance(workload, StatefulSet) and workload.spec.ordinals else 0
    numbers = islice(_free(workload, present, start), max(missing, 0))
    return [_numbered(workload, owner, template, number) for number in numbers]


def _wanted(workload: Workload) -> int:
    """Say how many pods a workload wants to have running."""
    if not isinstance(workload, Job):
        replicas = None if isinstance(workload, DaemonSet) else workload.spec.replicas
        return 1 if replicas is None else replicas
    spec, status = workload.spec, workload.status
    if spec.suspend or status.completion_time is not None:
        return 0
    at_once = 1 if spec.parallelism is None else spec.parallelism
    if spec.completions is None:  # without parallelism either it is one pod; with it, a queue that one success ends
        return 0 if status.succeeded else at_once
    return max(min(at_once, spec.completions - status.succeeded), 0)


def _counts(workload: Workload, pod: Pod) -> bool:
    """Say whether a pod counts as one that is there: a StatefulSet waits for its pods to be gone, others do not."""
    leaving = pod.metadata.deletion_timestamp is not None and not isinstance(workload, StatefulSet)
    return not leaving and pod.status.phase not in {"Succeeded", "Failed"}


def _free(workload: Workload, present: _Present, start: int = 0) -> Iterator[int]:
    """Count upwards, leaving out names that are taken, and taking the others."""
    namespace = _namespace(workload.metadata)
    for number in count(start):
        name = (namespace, f"{workload.metadata.name}-{number}")
        if name not in present.names:
            present.names.add(name)
            yield number


def _numbered(workload: Workload, owner: Workload, template: PodTemplateSpec, number: int) -> Pod:
    name = f"{workload.metadata.name}-{number}"
    more: Labels = {}
    spec = template.spec
    if isinstance(workload, StatefulSet):
        more = {"statefulset.kubernetes.io/pod-name": name, "apps.kubernetes.io/pod-index": str(number)}
        spec = replace(spec, volumes=_with_claims(workload, spec.volumes, name))
    elif isinstance(workload, Job):
        job = workload.metadata.name
        more = {"job-name": job, "batch.kubernetes.io/job-name": job}
        if workload.spec.completion_mode == "Indexed":
            more["batch.kubernetes.io/job-completion-index"] = str(number)
    labels = {**template.metadata.labels, **more}
    return _pod(owner, name, replace(template.metadata, labels=labels), spec)


def _pod(owner: Workload, name: str, mould: PodMeta, spec: PodSpec) -> Pod:
    reference = OwnerReference(
        api_version=_GROUPS.get(type(owner), "apps/v1"),
        kind=type(owner).__name__,
        name=owner.metadata.name,
        uid=_uid(owner),
        controller=True,
    )
    meta = PodMeta(
        name=name,
        namespace=_namespace(owner.metadata),
        generate_name=f"{owner.metadata.name}-",
        labels=mould.labels,
        annotations=mould.annotations,
        owner_references=(reference,),
    )
    return Pod(metadata=meta, spec=spec)


def _replica_set(deployment: Deployment, present: _Present, made: Made) -> ReplicaSet:
    """Find the ReplicaSet by which a Deployment would make pods now, or make it: spreading goes by its selector."""
    template = deployment.spec.template
    for key in _identities("Deployment", deployment.metadata):
        for owned in present.replica_sets.get(key, ()):
            labels = {name: value for name, value in owned.spec.template.metadata.labels.items() if name != HASH_LABEL}
            if labels == template.metadata.labels and owned.spec.template.spec == template.spec:
                return owned
    digest = hashlib.sha256(msgspec.json.encode(template)).hexdigest()[:10]
    labels = {**template.metadata.labels, HASH_LABEL: digest}
    selector = deployment.spec.selector or LabelSelector()
    owner = OwnerReference(
        api_version="apps/v1",
        kind="Deployment",
        name=deployment.metadata.name,
        uid=_uid(deployment),
        controller=True,
    )
    fresh = ReplicaSet(
        metadata=ObjectMeta(
            name=f"{deployment.metadata.name}-{digest}",
            namespace=_namespace(deployment.metadata),
            labels=labels,
            owner_references=(owner,),
        ),
        spec=ReplicaSetSpec(
            replicas=deployment.spec.replicas,
            selector=replace(selector, match_labels={**selector.match_labels, HASH_LABEL: digest}),
            template=replace(template, metadata=replace(template.metadata, labels=labels)),
        ),
    )
    made.owners.append(fresh)
    return fresh


# --- one for every node ----------------------------------------------------------------------------------------------


def _daemons(workload: DaemonSet, there: Sequence[Pod], present: _Present, nodes: Sequence[Node]) -> list[Pod]:
    template = workload.spec.template
    served = {name for pod in there if _counts(workload, pod) for name in _nodes_of(pod)}
    spec = _daemon_spec(template.spec)
    chosen = [node for node in nodes if node.metadata.name not in served and _runs_on(spec, node)]
    numbers = _free(workload, present)
    return [
        _pod(
            workload,
            f"{workload.metadata.name}-{number}",
            template.metadata,
            replace(spec, affinity=_only_on(spec.affinity, node.metadata.name)),
        )
        for node, number in zip(chosen, numbers, strict=False)
    ]


def _nodes_of(pod: Pod) -> Iterable[str]:
    """Give the node that a daemon runs on or is meant for."""
    if pod.spec.node_name:
        return (pod.spec.node_name,)
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    return RequiredAffinity.of(None, affinity).names() or ()


def _daemon_spec(spec: PodSpec) -> PodSpec:
    borne = (*_DAEMON_TOLERATIONS, _DAEMON_NETWORK) if spec.host_network else _DAEMON_TOLERATIONS
    more = tuple(toleration for toleration in borne if toleration not in spec.tolerations)
    return replace(spec, tolerations=(*spec.tolerations, *more))


def _runs_on(spec: PodSpec, node: Node) -> bool:
    """Say whether the controller makes a pod for a node at all: its affinity and hard taints decide."""
    if spec.node_name and spec.node_name != node.metadata.name:
        return False
    affinity = spec.affinity.node_affinity if spec.affinity else None
    if not RequiredAffinity.of(spec.node_selector, affinity).matches(node.metadata.labels, node.metadata.name):
        return False
    return all(
        taint.effect == "PreferNoSchedule"
        or any(tolerates(toleration, taint, compares=False) for toleration in spec.tolerations)
        for taint in node.spec.taints
    )


def _only_on(affinity: Affinity | None, name: str) -> Affinity:
    """Put a node's name in place of all required node selector terms."""
    field = Requirement(key=NODE_NAME_FIELD, operator="In", values=(name,))
    required = NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(field,)),))
    affinity = affinity or Affinity()
    node_affinity = affinity.node_affinity or NodeAffinity()
    return replace(
        affinity,
        node_affinity=replace(node_affinity, required_during_scheduling_ignored_during_execution=required),
    )


# --- claims ----------------------------------------------------------------------------------------------------------


def _with_claims(workload: StatefulSet, volumes: tuple[Volume, ...], pod: str) -> tuple[Volume, ...]:
    """Add a volume for each claim template; it hides one of the same name."""
    names = [template.metadata.name for template in workload.spec.volume_claim_templates]
    own = [Volume(name=name, persistent_volume_claim=ClaimVolume(claim_name=f"{name}-{pod}")) for name in names]
    return (*own, *(volume for volume in volumes if volume.name not in names))


def _claims_of(workload: StatefulSet, pods: Iterable[Pod]) -> Iterator[PersistentVolumeClaim]:
    for pod in pods:
        for template in workload.spec.volume_claim_templates:
            yield PersistentVolumeClaim(
                metadata=replace(
                    template.metadata,
                    name=f"{template.metadata.name}-{pod.metadata.name}",
                    namespace=_namespace(workload.metadata),
                ),
                spec=template.spec,
            )


def _ephemeral_claims(pod: Pod) -> Iterator[PersistentVolumeClaim]:
    """Make the claims of a pod's ephemeral volumes; they belong to it."""
    owner = OwnerReference(api_version="v1", kind="Pod", name=pod.metadata.name, uid=_uid(pod), controller=True)
    for volume in pod.spec.volumes:
        if volume.ephemeral is not None and volume.ephemeral.volume_claim_template is not None:
            template = volume.ephemeral.volume_claim_template
            yield PersistentVolumeClaim(
                metadata=replace(
                    template.metadata,
                    name=f"{pod.metadata.name}-{volume.name}",
                    namespace=_namespace(pod.metadata),
                    owner_references=(owner,),
                ),
                spec=template.spec,
            )
