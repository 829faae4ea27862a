"""A manifest becomes the object that the API server would have stored."""

import pytest

from bayplan.api.claims import PersistentVolume, PersistentVolumeClaim, StorageClass
from bayplan.api.decode import decode_tree
from bayplan.api.defaults import AdmissionError, admitted, completed, with_default_class
from bayplan.api.objects import LabelSelector, Namespace, Node, Object, ObjectMeta, Pod
from bayplan.api.policies import PriorityClass, RuntimeClass
from bayplan.api.requests import fit_request

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def a_pod(*, uid: str = "", labels: dict[str, str] | None = None, **spec: object) -> Pod:
    """Decode a pod with a container unless given others."""
    metadata = {"name": "p", "uid": uid, "labels": labels or {}}
    tree = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [{"name": "c"}], **spec}}
    pod = decode_tree(tree)
    assert isinstance(pod, Pod)
    return pod


def box(**resources: dict[str, object]) -> dict[str, object]:
    """Write a container with resources."""
    return {"name": "c", "resources": resources}


def test_an_object_with_a_uid_is_left_alone() -> None:
    """It has been through an API server."""
    pod = a_pod(uid="u", containers=[box(limits={"cpu": "1"})])
    namespace = Namespace(metadata=ObjectMeta(name="n", uid="u"))

    assert admitted(pod) is pod
    assert completed(namespace) is namespace


def test_admission_is_done_once() -> None:
    """A second time changes nothing that matters: the pod is as it was."""
    pod = admitted(a_pod(containers=[box(limits={"cpu": "1"})], hostNetwork=True))

    assert admitted(pod) == pod


def test_names_have_defaults() -> None:
    """Namespace and scheduler."""
    pod = admitted(a_pod())

    assert (pod.metadata.namespace, pod.spec.scheduler_name) == ("default", "default-scheduler")
    assert admitted(a_pod(schedulerName="mine")).spec.scheduler_name == "mine"


# --- resources -------------------------------------------------------------------------------------------------------


def test_limits_stand_in_for_requests() -> None:
    """By resource, in containers and init containers."""
    pod = admitted(
        a_pod(
            containers=[box(limits={"cpu": "2", "memory": "2Gi"}, requests={"cpu": "1"})],
            initContainers=[box(limits={"cpu": "3"})],
        )
    )

    assert fit_request(pod) == {"cpu": 3000, "memory": 2 << 30}


def test_quantities_are_stored_in_thousandths() -> None:
    """Each is rounded up by itself, before anything is summed."""
    pod = admitted(a_pod(containers=[box(requests={"cpu": "0.5m"}), box(requests={"cpu": "0.5m", "memory": 1})]))

    assert fit_request(pod) == {"cpu": 2, "memory": 1}


@pytest.mark.parametrize(
    ("whole", "container", "total"),
    [
        ({"limits": {"cpu": "4"}}, box(requests={"cpu": "1"}), {"cpu": 1000}),
        ({"limits": {"cpu": "4"}}, box(), {"cpu": 4000}),
        ({"limits": {"cpu": "4"}, "requests": {"cpu": "2"}}, box(requests={"cpu": "1"}), {"cpu": 2000}),
        ({"limits": {"cpu": "4"}}, box(requests={"memory": "1Gi"}), {"cpu": 4000, "memory": 1 << 30}),
        ({"requests": {"cpu": "2"}}, box(requests={"memory": "1Gi"}), {"cpu": 2000, "memory": 1 << 30}),
        (
            {"requests": {"cpu": "2"}},
            box(limits={"hugepages-2Mi": "4Mi"}),
            {"cpu": 2000, "hugepages-2Mi": 4 << 20},
        ),
        (
            {"limits": {"cpu": "2"}},
            box(requests={"ephemeral-storage": 7}),
            {"cpu": 2000, "ephemeral-storage": 7},
        ),
    ],
)
def test_pod_level_requests_are_filled_in(
    whole: dict[str, object], container: dict[str, object], total: dict[str, int]
) -> None:
    """Where there are pod-level limits: from the containers, else from those limits."""
    assert fit_request(admitted(a_pod(containers=[container], resources=whole))) == total


def test_ports_on_the_hosts_network_are_host_ports() -> None:
    """Unless they say otherwise."""
    ports = [{"containerPort": 80}, {"containerPort": 81, "hostPort": 82}]
    boxes = [{"name": "c", "ports": ports}]

    def taken(pod: Pod) -> list[int]:
        return [port.host_port for box in pod.spec.containers for port in box.ports]

    assert taken(admitted(a_pod(containers=boxes, hostNetwork=True))) == [80, 82]
    assert taken(admitted(a_pod(containers=boxes))) == [0, 82]


# --- label keys ------------------------------------------------------------------------------------------------------


def test_label_keys_are_merged_into_selectors() -> None:
    """The pod's own values; absent labels and absent selectors are passed over."""
    term = {
        "topologyKey": "z",
        "labelSelector": {"matchLabels": {"app": "web"}},
        "matchLabelKeys": ["version", "none"],
        "mismatchLabelKeys": ["tenant"],
    }
    bare = {"topologyKey": "z", "matchLabelKeys": ["version"]}
    spread = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **bare}
    pod = admitted(
        a_pod(
            labels={"version": "2", "tenant": "a"},
            affinity={
                "podAffinity": {REQUIRED: [term, bare]},
                "podAntiAffinity": {PREFERRED: [{"weight": 1, "podAffinityTerm": term}]},
            },
            topologySpreadConstraints=[{**spread, "labelSelector": {}}, spread],
        )
    )

    def added(selector: LabelSelector | None) -> list[str] | None:
        if selector is None:
            return None
        return [f"{line.key} {line.operator} {(line.values or ())[0]}" for line in selector.match_expressions]

    assert pod.spec.affinity is not None
    assert pod.spec.affinity.pod_affinity is not None
    assert pod.spec.affinity.pod_anti_affinity is not None
    near = pod.spec.affinity.pod_affinity.required_during_scheduling_ignored_during_execution
    (far,) = pod.spec.affinity.pod_anti_affinity.preferred_during_scheduling_ignored_during_execution
    both = ["version In 2", "tenant NotIn a"]
    assert [added(each.label_selector) for each in near] == [both, None]
    assert added(far.pod_affinity_term.label_selector) == both
    assert [added(each.label_selector) for each in pod.spec.topology_spread_constraints] == [["version In 2"], None]


# --- priority, tolerations, runtime ----------------------------------------------------------------------------------


def named(name: str, value: int, **more: object) -> PriorityClass:
    """Make a priority class."""
    return PriorityClass(metadata=ObjectMeta(name=name), value=value, **more)  # type: ignore[arg-type]  # by name


CLASSES = {
    each.metadata.name: each
    for each in (
        named("high", 9, preemption_policy="Never"),
        named("usual", 5, global_default=True),
        named("modest", 3, global_default=True),
    )
}


@pytest.mark.parametrize(
    ("spec", "priority", "policy"),
    [
        ({"priorityClassName": "high"}, 9, "Never"),
        ({"priorityClassName": "high", "preemptionPolicy": "PreemptLowerPriority"}, 9, "PreemptLowerPriority"),
        ({"priorityClassName": "system-node-critical"}, 2_000_001_000, "PreemptLowerPriority"),
        ({"priorityClassName": "system-cluster-critical"}, 2_000_000_000, "PreemptLowerPriority"),
        ({}, 3, "PreemptLowerPriority"),
        ({"priority": 7}, 7, "PreemptLowerPriority"),
        ({"priorityClassName": "gone", "priority": 7}, 7, "PreemptLowerPriority"),
    ],
)
def test_priority_comes_from_its_class(spec: dict[str, object], priority: int, policy: str) -> None:
    """By name, else the lowest global default; what the pod says itself goes first."""
    pod = admitted(a_pod(**spec), priority_classes=CLASSES)  # type: ignore[arg-type]  # fields by name

    assert (pod.spec.priority, pod.spec.preemption_policy) == (priority, policy)


def test_without_classes_priority_is_nought() -> None:
    """And an unknown class is refused with what to do."""
    assert admitted(a_pod()).spec.priority == 0
    with pytest.raises(AdmissionError, match='add it to the input, or give the pod a priority, got "high"') as error:
        admitted(a_pod(priorityClassName="high"))
    assert error.value.path == ("spec", "priorityClassName")


@pytest.mark.parametrize(
    ("own", "added"),
    [
        ([], ["not-ready", "unreachable"]),
        ([{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}], ["unreachable"]),
        ([{"operator": "Exists"}], []),
        ([{"operator": "Exists", "effect": "NoSchedule"}], ["not-ready", "unreachable"]),
    ],
)
def test_pods_bear_that_their_node_is_away(own: list[dict[str, str]], added: list[str]) -> None:
    """Unless they have their own word on it."""
    borne = admitted(a_pod(tolerations=own)).spec.tolerations

    assert [each.key.removeprefix("node.kubernetes.io/") for each in borne[len(own) :]] == added


def test_a_runtime_class_costs_something_and_chooses_nodes() -> None:
    """What contradicts it is refused; one that is not known is passed over."""
    tree: dict[str, object] = {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "vm"},
        "overhead": {"podFixed": {"cpu": "250m"}},
        "scheduling": {"nodeSelector": {"vm": "yes"}, "tolerations": [{"key": "vm", "operator": "Exists"}]},
    }
    runtime = decode_tree(tree)
    assert isinstance(runtime, RuntimeClass)
    classes = {"vm": runtime}

    spec = admitted(a_pod(runtimeClassName="vm", nodeSelector={"a": "b"}), runtime_classes=classes).spec
    assert (spec.overhead, spec.node_selector) == ({"cpu": "250m"}, {"a": "b", "vm": "yes"})
    assert spec.tolerations[0].key == "vm"
    assert admitted(a_pod(runtimeClassName="other"), runtime_classes=classes).spec.overhead == {}
    with pytest.raises(AdmissionError, match='expected "yes" as RuntimeClass "vm" wants it, got "no"'):
        admitted(a_pod(runtimeClassName="vm", nodeSelector={"vm": "no"}), runtime_classes=classes)


# --- other kinds -----------------------------------------------------------------------------------------------------


def made(kind: str, version: str = "v1", **fields: object) -> Object:
    """Decode an object of another kind and complete it."""
    return completed(decode_tree({"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, **fields}))


def test_other_kinds_are_completed() -> None:
    """Each by its own rule."""
    namespace, node, storage, volume, service = (
        made("Namespace"),
        made("Node", status={"capacity": {"cpu": "4"}}),
        made("StorageClass", "storage.k8s.io/v1"),
        made("PersistentVolume"),
        made("Service"),
    )

    assert isinstance(namespace, Namespace)
    assert namespace.metadata.labels == {"kubernetes.io/metadata.name": "x"}
    assert isinstance(node, Node)
    assert node.status.allocatable == {"cpu": "4"}
    assert isinstance(storage, StorageClass)
    assert storage.volume_binding_mode == "Immediate"
    assert isinstance(volume, PersistentVolume)
    assert volume.status.phase == "Available"
    assert getattr(service, "metadata").namespace == "default"  # noqa: B009  # any object with metadata


def test_a_claim_without_a_class_gets_the_default_one() -> None:
    """The newest of those marked; an empty class is a class."""
    mark = {"storageclass.kubernetes.io/is-default-class": "true"}
    classes = [
        StorageClass(metadata=ObjectMeta(name=name, annotations=marks, creation_timestamp=made_at))
        for name, marks, made_at in (("a", mark, "2026-01-01"), ("b", mark, "2026-02-01"), ("c", {}, "2026-03-01"))
    ]
    claim = PersistentVolumeClaim()
    classless = PersistentVolumeClaim(spec=type(claim.spec)(storage_class_name=""))

    assert with_default_class(claim, classes).spec.storage_class_name == "b"
    assert with_default_class(claim, classes[2:]) is claim
    assert with_default_class(classless, classes) is classless
