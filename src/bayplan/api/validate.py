"""What the API server would not have let pass: an object looked over field by field.

Only what rules read is checked, and only as strictly as the API server is with objects that exist already: odd values
in selectors pass, since kube-scheduler refuses those itself and its refusal is the answer.
Not here: types (`api/decode.py`), and whether objects fit together (the table).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

from bayplan.api import claims, groups, objects, policies, workloads
from bayplan.api.names import LABEL_MAX, SUBDOMAIN_MAX, key_faults, value_faults
from bayplan.api.objects import (
    Affinity,
    Container,
    LabelSelector,
    Meta,
    NodeSelector,
    NodeSelectorTerm,
    Object,
    PersistentVolumeClaimSpec,
    PodAffinityTerm,
    PodSpec,
    Quantities,
    Quantity,
    Requirement,
    ResourceRequirements,
)
from bayplan.api.quantity import QuantityError, nanos
from bayplan.api.yamltree import Path

TEXT_MAX: Final = 1024  # of a selector's key or value: more than the API server allows anywhere

LABEL_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")
NODE_OPERATORS: Final = (*LABEL_OPERATORS, "Gt", "Lt")


class Fault(NamedTuple):
    """One field that is wrong, and what was expected there."""

    path: Path
    message: str


Faults: TypeAlias = Iterator[Fault]


def faults_of(thing: Object) -> list[Fault]:
    """List all that is wrong with an object."""
    check = next((_CHECKS[kind] for kind in type(thing).__mro__ if kind in _CHECKS), None)
    meta = getattr(thing, "metadata", None)
    found = list(_meta(meta, ("metadata",))) if isinstance(meta, Meta) else []
    if check is not None:
        found.extend(check(thing))
    return found


# --- metadata, texts, quantities -------------------------------------------------------------------------------------


def _meta(meta: Meta, path: Path, *, named: bool = True) -> Faults:
    if named and not meta.name:
        yield Fault((*path, "name"), "expected a name, got nothing")
    for field, text in (("name", meta.name), ("namespace", meta.namespace)):
        if len(text) > SUBDOMAIN_MAX:
            yield Fault((*path, field), f"expected at most {SUBDOMAIN_MAX} characters, got {len(text):,}")
        elif "/" in text or not text.isprintable():
            yield Fault(
                (*path, field), f"expected a name without slashes and unprintable characters, got {_shown(text)}"
            )
    yield from _labels(meta.labels, (*path, "labels"))


def _labels(labels: Mapping[str, str], path: Path) -> Faults:
    for key, value in labels.items():
        if key_faults(key):
            yield Fault((*path, key), f"expected a label key such as example.com/name, got {_shown(key)}")
        if len(value) > LABEL_MAX:
            yield Fault((*path, key), f"expected a label value of at most {LABEL_MAX} characters, got {len(value):,}")
        elif value_faults(value):
            yield Fault(
                (*path, key), f"expected a label value of letters, digits, '-', '_' and '.', got {_shown(value)}"
            )


def _quantity(value: Quantity, path: Path) -> Faults:
    try:
        size = nanos(value)
    except QuantityError as error:
        yield Fault(path, str(error))
        return
    if size < 0:
        yield Fault(path, f"expected a quantity of nought or more, got {_shown(str(value))}")


def _quantities(quantities: Quantities | None, path: Path) -> Faults:
    for name, value in (quantities or {}).items():
        if not name or len(name) > TEXT_MAX:
            yield Fault((*path, name), "expected the name of a resource")
        yield from _quantity(value, (*path, name))


def _resources(resources: ResourceRequirements | None, path: Path) -> Faults:
    if resources is not None:
        yield from _quantities(resources.requests, (*path, "requests"))
        yield from _quantities(resources.limits, (*path, "limits"))


def _one_of(value: str | None, allowed: Iterable[str], path: Path) -> Faults:
    """Check an enumeration; an absent value is left to defaults."""
    if value and value not in allowed:
        yield Fault(path, f"expected {' or '.join(name for name in allowed if name)}, got {_shown(value)}")


def _within(value: int | None, least: int, most: int, path: Path) -> Faults:
    if value is not None and not least <= value <= most:
        yield Fault(path, f"expected a number from {least} to {most}, got {value}")


def _given(text: str, what: str, path: Path) -> Faults:
    if not text:
        yield Fault(path, f"expected {what}, got nothing")
    elif len(text) > TEXT_MAX:
        yield Fault(path, f"expected {what} of at most {TEXT_MAX} characters, got {len(text):,}")


def _shown(text: str) -> str:
    return f'"{text}"' if len(text) <= 80 else f'"{text[:60]}..." ({len(text):,} characters)'


# --- selectors -------------------------------------------------------------------------------------------------------


def _requirements(lines: tuple[Requirement, ...], operators: tuple[str, ...], path: Path) -> Faults:
    for place, line in enumerate(lines):
        at = (*path, place)
        yield from _given(line.key, "a key", (*at, "key"))
        if line.operator not in operators:
            yield Fault((*at, "operator"), f"expected {' or '.join(operators)}, got {_shown(line.operator)}")
        values = line.values or ()
        count = len(values)
        if line.operator in {"In", "NotIn"} and not count:
            yield Fault((*at, "values"), f"expected values for {line.operator}, got none")
        if line.operator in {"Exists", "DoesNotExist"} and count:
            yield Fault((*at, "values"), f"expected no values for {line.operator}, got {count}")
        if line.operator in {"Gt", "Lt"} and count != 1:
            yield Fault((*at, "values"), f"expected one value for {line.operator}, got {count}")
        for number, value in enumerate(values):
            if len(value) > TEXT_MAX:
                problem = f"expected at most {TEXT_MAX} characters, got {len(value):,}"
                yield Fault((*at, "values", number), problem)


def _selector(selector: LabelSelector | None, path: Path) -> Faults:
    if selector is not None:
        yield from _pairs(selector.match_labels, (*path, "matchLabels"))
        yield from _requirements(selector.match_expressions, LABEL_OPERATORS, (*path, "matchExpressions"))


def _pairs(pairs: Mapping[str, str] | None, path: Path) -> Faults:
    for key, value in (pairs or {}).items():
        yield from _given(key, "a key", (*path, key))
        if len(value) > TEXT_MAX:
            yield Fault((*path, key), f"expected at most {TEXT_MAX} characters, got {len(value):,}")


def _node_term(term: NodeSelectorTerm, path: Path) -> Faults:
    yield from _requirements(term.match_expressions, NODE_OPERATORS, (*path, "matchExpressions"))
    yield from _requirements(term.match_fields, ("In", "NotIn"), (*path, "matchFields"))


def _node_selector(selector: NodeSelector | None, path: Path) -> Faults:
    if selector is None:
        return
    if not selector.node_selector_terms:
        yield Fault((*path, "nodeSelectorTerms"), "expected at least one term, got none")
    for place, term in enumerate(selector.node_selector_terms):
        yield from _node_term(term, (*path, "nodeSelectorTerms", place))


# --- pods ------------------------------------------------------------------------------------------------------------

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def _pod(pod: Object) -> Faults:
    if not isinstance(pod, objects.Pod):
        return
    yield from _pod_spec(pod.spec, ("spec",))
    status = ("status",)
    yield from _resources(pod.status.resources, (*status, "resources"))
    yield from _quantities(pod.status.allocated_resources, (*status, "allocatedResources"))
    for field, statuses in (
        ("containerStatuses", pod.status.container_statuses),
        ("initContainerStatuses", pod.status.init_container_statuses),
    ):
        for place, state in enumerate(statuses):
            yield from _resources(state.resources, (*status, field, place, "resources"))
            yield from _quantities(state.allocated_resources, (*status, field, place, "allocatedResources"))


def _pod_spec(spec: PodSpec, path: Path) -> Faults:
    if not spec.containers:
        yield Fault((*path, "containers"), "expected at least one container, got none")
    for field, containers in (("containers", spec.containers), ("initContainers", spec.init_containers)):
        for place, container in enumerate(containers):
            yield from _container(container, (*path, field, place))
    yield from _quantities(spec.overhead, (*path, "overhead"))
    yield from _resources(spec.resources, (*path, "resources"))
    yield from _pairs(spec.node_selector, (*path, "nodeSelector"))
    yield from _one_of(spec.preemption_policy, ("Never", "PreemptLowerPriority"), (*path, "preemptionPolicy"))
    for place, toleration in enumerate(spec.tolerations):
        at = (*path, "tolerations", place)
        yield from _one_of(toleration.operator, ("Exists", "Equal", "Lt", "Gt"), (*at, "operator"))
        yield from _one_of(toleration.effect, _EFFECTS, (*at, "effect"))
        if not toleration.key and toleration.operator != "Exists":
            yield Fault((*at, "operator"), f"expected Exists without a key, got {_shown(toleration.operator)}")
    yield from _spread(spec, path)
    if spec.affinity is not None:
        yield from _affinity(spec.affinity, (*path, "affinity"))
    for place, volume in enumerate(spec.volumes):
        at = (*path, "volumes", place)
        yield from _given(volume.name, "a name", (*at, "name"))
        if volume.persistent_volume_claim is not None:
            claim = (*at, "persistentVolumeClaim", "claimName")
            yield from _given(volume.persistent_volume_claim.claim_name, "the name of a claim", claim)
    for place, gate in enumerate(spec.scheduling_gates):
        yield from _given(gate.name, "a name", (*path, "schedulingGates", place, "name"))


def _container(container: Container, path: Path) -> Faults:
    yield from _given(container.name, "a name", (*path, "name"))
    yield from _resources(container.resources, (*path, "resources"))
    for place, port in enumerate(container.ports):
        at = (*path, "ports", place)
        yield from _within(port.container_port, 1, 65535, (*at, "containerPort"))
        yield from _within(port.host_port, 0, 65535, (*at, "hostPort"))
        yield from _one_of(port.protocol, ("TCP", "UDP", "SCTP"), (*at, "protocol"))


def _spread(spec: PodSpec, path: Path) -> Faults:
    for place, constraint in enumerate(spec.topology_spread_constraints):
        at = (*path, "topologySpreadConstraints", place)
        yield from _within(constraint.max_skew, 1, 2**31 - 1, (*at, "maxSkew"))
        yield from _given(constraint.topology_key, "a label key", (*at, "topologyKey"))
        yield from _given(constraint.when_unsatisfiable, "DoNotSchedule or ScheduleAnyway", (*at, "whenUnsatisfiable"))
        yield from _one_of(
            constraint.when_unsatisfiable, ("DoNotSchedule", "ScheduleAnyway"), (*at, "whenUnsatisfiable")
        )
        yield from _within(constraint.min_domains, 1, 2**31 - 1, (*at, "minDomains"))
        yield from _one_of(constraint.node_affinity_policy, ("Honor", "Ignore"), (*at, "nodeAffinityPolicy"))
        yield from _one_of(constraint.node_taints_policy, ("Honor", "Ignore"), (*at, "nodeTaintsPolicy"))
        yield from _selector(constraint.label_selector, (*at, "labelSelector"))


def _affinity(affinity: Affinity, path: Path) -> Faults:
    if affinity.node_affinity is not None:
        at = (*path, "nodeAffinity")
        required = affinity.node_affinity.required_during_scheduling_ignored_during_execution
        yield from _node_selector(required, (*at, _REQUIRED))
        preferred = affinity.node_affinity.preferred_during_scheduling_ignored_during_execution
        for place, wish in enumerate(preferred or ()):
            yield from _within(wish.weight, 1, 100, (*at, _PREFERRED, place, "weight"))
            yield from _node_term(wish.preference, (*at, _PREFERRED, place, "preference"))
    for field, pods in (("podAffinity", affinity.pod_affinity), ("podAntiAffinity", affinity.pod_anti_affinity)):
        if pods is None:
            continue
        for place, term in enumerate(pods.required_during_scheduling_ignored_during_execution):
            yield from _pod_term(term, (*path, field, _REQUIRED, place))
        for place, weighted in enumerate(pods.preferred_during_scheduling_ignored_during_execution):
            at = (*path, field, _PREFERRED, place)
            yield from _within(weighted.weight, 1, 100, (*at, "weight"))
            yield from _pod_term(weighted.pod_affinity_term, (*at, "podAffinityTerm"))


def _pod_term(term: PodAffinityTerm, path: Path) -> Faults:
    yield from _given(term.topology_key, "a label key", (*path, "topologyKey"))
    yield from _selector(term.label_selector, (*path, "labelSelector"))
    yield from _selector(term.namespace_selector, (*path, "namespaceSelector"))


# --- other kinds -----------------------------------------------------------------------------------------------------

_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def _node(node: Object) -> Faults:
    if not isinstance(node, objects.Node):
        return
    yield from _quantities(node.status.allocatable, ("status", "allocatable"))
    for place, taint in enumerate(node.spec.taints):
        at = ("spec", "taints", place)
        yield from _given(taint.key, "a key", (*at, "key"))
        yield from _given(taint.effect, "an effect", (*at, "effect"))
        yield from _one_of(taint.effect, _EFFECTS, (*at, "effect"))
    for place, image in enumerate(node.status.images):
        yield from _within(image.size_bytes, 0, 2**63 - 1, ("status", "images", place, "sizeBytes"))


def _template(thing: Object) -> Faults:
    """Check the mould of a workload's pods, and how many there are to be."""
    if isinstance(thing, workloads.Job):
        counts = {"parallelism": thing.spec.parallelism, "completions": thing.spec.completions}
    elif isinstance(thing, workloads.DaemonSet):
        counts = {}
    elif isinstance(thing, _REPLICATED):
        counts = {"replicas": thing.spec.replicas}
    else:
        return
    for field, count in counts.items():
        yield from _within(count, 0, 2**31 - 1, ("spec", field))
    if thing.spec.template is None:
        return
    path = ("spec", "template")
    yield from _meta(thing.spec.template.metadata, (*path, "metadata"), named=False)
    yield from _pod_spec(thing.spec.template.spec, (*path, "spec"))


def _service(service: Object) -> Faults:
    if isinstance(service, workloads.Service):
        yield from _pairs(service.spec.selector, ("spec", "selector"))


def _budget(budget: Object) -> Faults:
    if isinstance(budget, policies.PodDisruptionBudget):
        yield from _selector(budget.spec.selector, ("spec", "selector"))
        for field, value in (
            ("minAvailable", budget.spec.min_available),
            ("maxUnavailable", budget.spec.max_unavailable),
        ):
            yield from _count_or_percentage(value, ("spec", field))


def _count_or_percentage(value: int | str | None, path: Path) -> Faults:
    if isinstance(value, str) and not _PERCENTAGE.fullmatch(value):
        yield Fault(path, f'expected a number or a percentage such as "50%", got {_shown(value)}')
    elif isinstance(value, int):
        yield from _within(value, 0, 2**31 - 1, path)


def _queue(queue: Object) -> Faults:
    if isinstance(queue, groups.Queue):
        yield from _quantities(queue.spec.capability, ("spec", "capability"))


def _runtime(runtime: Object) -> Faults:
    if isinstance(runtime, policies.RuntimeClass) and runtime.overhead is not None:
        yield from _quantities(runtime.overhead.pod_fixed, ("overhead", "podFixed"))


def _priority(named: Object) -> Faults:
    if isinstance(named, policies.PriorityClass):
        yield from _one_of(named.preemption_policy, ("Never", "PreemptLowerPriority"), ("preemptionPolicy",))


def _volume(volume: Object) -> Faults:
    if not isinstance(volume, claims.PersistentVolume):
        return
    yield from _quantities(volume.spec.capacity, ("spec", "capacity"))
    if volume.spec.node_affinity is not None:
        yield from _node_selector(volume.spec.node_affinity.required, ("spec", "nodeAffinity", "required"))


def _claim(claim: Object) -> Faults:
    if isinstance(claim, claims.PersistentVolumeClaim):
        yield from _claim_spec(claim.spec, ("spec",))


def _claim_spec(spec: PersistentVolumeClaimSpec, path: Path) -> Faults:
    yield from _resources(spec.resources, (*path, "resources"))
    yield from _selector(spec.selector, (*path, "selector"))


def _storage_class(storage: Object) -> Faults:
    if isinstance(storage, claims.StorageClass):
        allowed = ("Immediate", "WaitForFirstConsumer")
        yield from _one_of(storage.volume_binding_mode, allowed, ("volumeBindingMode",))


def _capacity(capacity: Object) -> Faults:
    if not isinstance(capacity, claims.CSIStorageCapacity):
        return
    for field, value in (("capacity", capacity.capacity), ("maximumVolumeSize", capacity.maximum_volume_size)):
        if value is not None:
            yield from _quantity(value, (field,))
    yield from _selector(capacity.node_topology, ("nodeTopology",))


def _csi_node(node: Object) -> Faults:
    if not isinstance(node, claims.CSINode):
        return
    for place, driver in enumerate(node.spec.drivers):
        at = ("spec", "drivers", place)
        yield from _given(driver.name, "a name", (*at, "name"))
        if driver.allocatable is not None:
            yield from _within(driver.allocatable.count, 0, 2**31 - 1, (*at, "allocatable", "count"))


_PERCENTAGE: Final = re.compile(r"[0-9]{1,9}%", re.ASCII)
_REPLICATED: Final = (
    workloads.Deployment,
    workloads.ReplicaSet,
    workloads.StatefulSet,
    workloads.ReplicationController,
)
_CHECKS: Final[dict[type[Object], Callable[[Object], Faults]]] = {
    objects.Pod: _pod,
    objects.Node: _node,
    **dict.fromkeys((*_REPLICATED, workloads.DaemonSet, workloads.Job), _template),
    workloads.Service: _service,
    policies.PodDisruptionBudget: _budget,
    groups.Queue: _queue,
    policies.RuntimeClass: _runtime,
    policies.PriorityClass: _priority,
    claims.PersistentVolume: _volume,
    claims.PersistentVolumeClaim: _claim,
    claims.StorageClass: _storage_class,
    claims.CSIStorageCapacity: _capacity,
    claims.CSINode: _csi_node,
}
