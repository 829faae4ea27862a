"""What the API server does to an object before anybody sees it: defaulting, and the admission that scheduling feels.

A manifest says less than the object that comes of it.  Here the difference is made up, for pods in `admitted`, for
other kinds in `completed`; what has a uid has been through an API server and is left as it is.
Not here: making the pods of workloads (`api/expand.py`) and refusing what is malformed (`api/validate.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, TypeVar

from msgspec.structs import replace

from bayplan.api.claims import CSIStorageCapacity, PersistentVolume, PersistentVolumeClaim, ResourceClaim, StorageClass
from bayplan.api.groups import PodGroup
from bayplan.api.objects import (
    Affinity,
    Container,
    LabelSelector,
    Namespace,
    Node,
    Object,
    ObjectMeta,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    PodSpec,
    Quantities,
    Requirement,
    ResourceRequirements,
    Toleration,
    TopologySpreadConstraint,
    Volume,
)
from bayplan.api.policies import PodDisruptionBudget, PriorityClass, RuntimeClass
from bayplan.api.quantity import NANO, nanos
from bayplan.api.requests import CPU, MEMORY, container_sum, is_pod_level
from bayplan.api.workloads import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)
from bayplan.api.yamltree import Path

DEFAULT_NAMESPACE: Final = "default"
DEFAULT_SCHEDULER: Final = "default-scheduler"
SYSTEM_PRIORITIES: Final = MappingProxyType(
    {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
)
AWAY: Final = tuple(
    Toleration(key=f"node.kubernetes.io/{state}", operator="Exists", effect="NoExecute")
    for state in ("not-ready", "unreachable")
)
DEFAULT_CLASS_ANNOTATIONS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
NO_PRIORITIES: Final[Mapping[str, PriorityClass]] = MappingProxyType({})
NO_RUNTIMES: Final[Mapping[str, RuntimeClass]] = MappingProxyType({})

_NAMESPACED: Final = (
    PersistentVolumeClaim,
    CSIStorageCapacity,
    ResourceClaim,
    PodDisruptionBudget,
    PodGroup,
    Service,
    ReplicationController,
    ReplicaSet,
    Deployment,
    StatefulSet,
    DaemonSet,
    Job,
    CronJob,
)
PodTerms = TypeVar("PodTerms", PodAffinity, PodAntiAffinity)


class AdmissionError(ValueError):
    """An object that the API server would have turned away."""

    def __init__(self, path: Path, problem: str) -> None:
        """Say for which field, and what was expected there."""
        super().__init__(problem)
        self.path = path
        self.problem = problem


# --- pods ------------------------------------------------------------------------------------------------------------


def admitted(
    pod: Pod,
    *,
    priority_classes: Mapping[str, PriorityClass] = NO_PRIORITIES,
    runtime_classes: Mapping[str, RuntimeClass] = NO_RUNTIMES,
) -> Pod:
    """Give the pod that the API server would have stored; raise AdmissionError where it would have refused."""
    if pod.metadata.uid:
        return pod
    spec = _with_runtime(pod.spec, runtime_classes)
    spec = _with_priority(spec, priority_classes)
    containers = tuple(_defaulted(container, host=spec.host_network) for container in spec.containers)
    sidecars = tuple(_defaulted(container, host=spec.host_network) for container in spec.init_containers)
    labels = pod.metadata.labels
    spec = replace(
        spec,
        scheduler_name=spec.scheduler_name or DEFAULT_SCHEDULER,
        containers=containers,
        init_containers=sidecars,
        volumes=tuple(map(_with_pool, spec.volumes)),
        tolerations=(*spec.tolerations, *(away for away in AWAY if not _bears(spec, away))),
        affinity=spec.affinity and _merged_affinity(spec.affinity, labels),
        topology_spread_constraints=tuple(
            _merged_constraint(constraint, labels) for constraint in spec.topology_spread_constraints
        ),
    )
    meta = replace(pod.metadata, namespace=pod.metadata.namespace or DEFAULT_NAMESPACE)
    return _in_milli(_with_pod_level(replace(pod, metadata=meta, spec=spec)))


def _with_priority(spec: PodSpec, classes: Mapping[str, PriorityClass]) -> PodSpec:
    """Look up the priority; among several global defaults the lowest counts."""
    name = spec.priority_class_name
    if not name:
        defaults = [named for named in classes.values() if named.global_default]
        found = min(defaults, key=lambda named: named.value, default=None)
    elif name in classes:
        found = classes[name]
    elif name in SYSTEM_PRIORITIES:
        found = PriorityClass(value=SYSTEM_PRIORITIES[name])
    elif spec.priority is not None:
        found = None
    else:
        known = "a PriorityClass that exists; add it to the input, or give the pod a priority"
        raise AdmissionError(("spec", "priorityClassName"), f'expected {known}, got "{name}"')
    return replace(
        spec,
        priority=spec.priority if spec.priority is not None else (found.value if found else 0),
        priority_class_name=name or (found.metadata.name if found else ""),
        preemption_policy=spec.preemption_policy or (found and found.preemption_policy) or "PreemptLowerPriority",
    )


def _with_runtime(spec: PodSpec, classes: Mapping[str, RuntimeClass]) -> PodSpec:
    """Copy what running under a runtime class costs, and where it may run."""
    runtime = classes.get(spec.runtime_class_name or "")
    if runtime is None:
        return spec
    if runtime.overhead is not None and not spec.overhead:
        spec = replace(spec, overhead=runtime.overhead.pod_fixed)
    if runtime.scheduling is not None:
        chosen = dict(spec.node_selector or {})
        for key, value in runtime.scheduling.node_selector.items():
            if chosen.setdefault(key, value) != value:
                wanted = f'expected "{value}" as RuntimeClass "{runtime.metadata.name}" wants it, got "{chosen[key]}"'
                raise AdmissionError(("spec", "nodeSelector", key), wanted)
        more = tuple(borne for borne in runtime.scheduling.tolerations if borne not in spec.tolerations)
        spec = replace(spec, node_selector=chosen or spec.node_selector, tolerations=(*spec.tolerations, *more))
    return spec


def _defaulted(container: Container, *, host: bool) -> Container:
    """Take requests from limits and, on the host's network, host ports from container ports."""
    resources = container.resources
    if resources.limits:
        resources = replace(resources, requests={**resources.limits, **(resources.requests or {})})
    ports = container.ports
    if host:
        ports = tuple(port if port.host_port else replace(port, host_port=port.container_port) for port in ports)
    if resources is container.resources and ports == container.ports:
        return container
    return replace(container, resources=resources, ports=ports)


def _with_pool(volume: Volume) -> Volume:
    if volume.rbd is None or volume.rbd.pool:
        return volume
    return replace(volume, rbd=replace(volume.rbd, pool="rbd"))


def _bears(spec: PodSpec, away: Toleration) -> bool:
    """Say whether a pod has its own word on what happens to it when its node is away."""
    return any(borne.key in {"", away.key} and borne.effect in {"", "NoExecute"} for borne in spec.tolerations)


def _with_pod_level(pod: Pod) -> Pod:
    """Fill in pod-level requests where pod-level limits are set: from the containers, else from those limits."""
    wanted = pod.spec.resources
    if wanted is None or not (wanted.limits or wanted.requests):
        return pod
    limits = dict(wanted.limits or {})
    for name, value in container_sum(pod, lambda container: _nanos(container.resources.limits)).items():
        if name.startswith("hugepages-") and name not in (wanted.requests or {}):
            limits.setdefault(name, f"{value}n")
    if not limits:
        return pod
    requests = dict(wanted.requests or {})
    for name, value in container_sum(pod, lambda container: _nanos(container.resources.requests)).items():
        if name in {CPU, MEMORY}:
            requests.setdefault(name, f"{value}n")
    for name, limit in limits.items():
        if is_pod_level(name):
            requests.setdefault(name, limit)
    resources = ResourceRequirements(requests=requests or wanted.requests, limits=limits)
    return replace(pod, spec=replace(pod.spec, resources=resources))


def _nanos(quantities: Quantities | None) -> dict[str, int]:
    return {name: nanos(value) for name, value in (quantities or {}).items()}


# --- label keys merged into selectors --------------------------------------------------------------------------------


def _merged_constraint(constraint: TopologySpreadConstraint, labels: Mapping[str, str]) -> TopologySpreadConstraint:
    if constraint.label_selector is None or not constraint.match_label_keys:
        return constraint
    return replace(
        constraint, label_selector=_merged(constraint.label_selector, constraint.match_label_keys, (), labels)
    )


def _merged_affinity(affinity: Affinity, labels: Mapping[str, str]) -> Affinity:
    near, far = affinity.pod_affinity, affinity.pod_anti_affinity
    return replace(
        affinity,
        pod_affinity=near and _merged_terms(near, labels),
        pod_anti_affinity=far and _merged_terms(far, labels),
    )


def _merged_terms(part: PodTerms, labels: Mapping[str, str]) -> PodTerms:
    """Merge label keys into every term of a pod affinity or anti-affinity."""
    required = part.required_during_scheduling_ignored_during_execution
    return replace(
        part,
        required_during_scheduling_ignored_during_execution=tuple(_merged_term(term, labels) for term in required),
        preferred_during_scheduling_ignored_during_execution=tuple(
            replace(wish, pod_affinity_term=_merged_term(wish.pod_affinity_term, labels))
            for wish in part.preferred_during_scheduling_ignored_during_execution
        ),
    )


def _merged_term(term: PodAffinityTerm, labels: Mapping[str, str]) -> PodAffinityTerm:
    if term.label_selector is None or not (term.match_label_keys or term.mismatch_label_keys):
        return term
    selector = _merged(term.label_selector, term.match_label_keys, term.mismatch_label_keys, labels)
    return replace(term, label_selector=selector)


def _merged(
    selector: LabelSelector, same: Iterable[str], other: Iterable[str], labels: Mapping[str, str]
) -> LabelSelector:
    """Require the pod's own values of some labels, and other values of others; absent labels are passed over."""
    more = [Requirement(key=key, operator="In", values=(labels[key],)) for key in same if key in labels]
    more += [Requirement(key=key, operator="NotIn", values=(labels[key],)) for key in other if key in labels]
    return replace(selector, match_expressions=(*selector.match_expressions, *more))


# --- quantities, rounded up to thousandths as the API server stores them ---------------------------------------------


def _in_milli(pod: Pod) -> Pod:
    spec = pod.spec
    containers = tuple(_container_in_milli(container) for container in spec.containers)
    sidecars = tuple(_container_in_milli(container) for container in spec.init_containers)
    resources = spec.resources and _resources_in_milli(spec.resources)
    overhead = _rounded(spec.overhead)
    return replace(
        pod,
        spec=replace(spec, containers=containers, init_containers=sidecars, resources=resources, overhead=overhead),
    )


def _container_in_milli(container: Container) -> Container:
    resources = _resources_in_milli(container.resources)
    return container if resources is container.resources else replace(container, resources=resources)


def _resources_in_milli(resources: ResourceRequirements) -> ResourceRequirements:
    requests = resources.requests and _rounded(resources.requests)
    limits = resources.limits and _rounded(resources.limits)
    if requests is resources.requests and limits is resources.limits:
        return resources
    return ResourceRequirements(requests=requests, limits=limits)


def _rounded(quantities: Quantities) -> Quantities:
    """Round up what is finer than thousandths; give back the same map when nothing is."""
    step = NANO // 1000
    fine = {name: nanos(value) for name, value in quantities.items() if nanos(value) % step}
    return {**quantities, **{name: f"{-(-value // step)}m" for name, value in fine.items()}} if fine else quantities


# --- other kinds -----------------------------------------------------------------------------------------------------


def completed(thing: Object) -> Object:
    """Give the object of another kind that the API server and its controllers would have made of a manifest."""
    meta = getattr(thing, "metadata", None)
    if not isinstance(meta, ObjectMeta) or meta.uid:
        return thing
    done = thing
    match thing:
        case Namespace():
            labels = {**meta.labels, "kubernetes.io/metadata.name": meta.name}
            done = replace(thing, metadata=replace(meta, labels=labels))
        case Node():
            offered = _rounded(thing.status.allocatable or thing.status.capacity)
            done = replace(thing, status=replace(thing.status, allocatable=offered))
        case StorageClass() if thing.volume_binding_mode is None:
            done = replace(thing, volume_binding_mode="Immediate")
        case PersistentVolume() if not thing.status.phase:
            done = replace(thing, status=replace(thing.status, phase="Available"))
        case _ if isinstance(thing, _NAMESPACED) and not meta.namespace:
            done = replace(thing, metadata=replace(meta, namespace=DEFAULT_NAMESPACE))
    return done


def with_default_class(claim: PersistentVolumeClaim, classes: Iterable[StorageClass]) -> PersistentVolumeClaim:
    """Give a claim that names no storage class the default one: the newest, then the first by name."""
    if claim.spec.storage_class_name is not None or claim.metadata.uid:
        return claim
    defaults = [
        storage
        for storage in classes
        if any(storage.metadata.annotations.get(key) == "true" for key in DEFAULT_CLASS_ANNOTATIONS)
    ]
    if not defaults:
        return claim
    defaults.sort(key=lambda storage: storage.metadata.name)
    newest = max(defaults, key=lambda storage: storage.metadata.creation_timestamp or "")
    return replace(claim, spec=replace(claim.spec, storage_class_name=newest.metadata.name))
