"""Every text that a rule can give is one of a closed set of reasons, with its numbers."""

import pytest

from bayplan.cluster.reading import Reader
from bayplan.config.profiles import profiles
from bayplan.framework.plugin import Code
from bayplan.framework.reasons import FORMS, Kind, Reason, Short, amount, named, reasons_of
from bayplan.framework.registry import Registry
from bayplan.framework.run import Rules
from tests.kit import a_cluster, a_pod, case, node

N = "node(s) "

# kube-scheduler's filter reasons, by rule
TEXTS = [
    ("NodeName", N + "didn't match the requested node name", Kind.WRONG_NODE),
    ("NodeUnschedulable", N + "were unschedulable", Kind.CORDONED),
    ("TaintToleration", N + "had untolerated taint(s)", Kind.UNTOLERATED_TAINT),
    ("NodeAffinity", N + "didn't match scheduler-enforced node affinity", Kind.ADDED_AFFINITY),
    ("NodeAffinity", N + "didn't match Pod's node affinity/selector", Kind.NODE_AFFINITY),
    ("NodePorts", N + "didn't have free ports for the requested pod ports", Kind.PORT_TAKEN),
    ("NodeResourcesFit", "Too many pods", Kind.TOO_MANY_PODS),
    ("NodeResourcesFit", "Insufficient example.com/gpu", Kind.INSUFFICIENT),
    ("VolumeRestrictions", N + "had no available disk", Kind.DISK_TAKEN),
    (
        "VolumeRestrictions",
        N + "unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
        Kind.CLAIM_TAKEN,
    ),
    ("NodeVolumeLimits", "disks.example.com CSI driver is not installed on the node", Kind.DRIVER_MISSING),
    ("NodeVolumeLimits", N + "exceed max volume count", Kind.VOLUME_LIMIT),
    ("VolumeBinding", N + "didn't match PersistentVolume's node affinity", Kind.VOLUME_ELSEWHERE),
    ("VolumeBinding", N + "didn't find available persistent volumes to bind", Kind.NO_VOLUME),
    ("VolumeBinding", N + "did not have enough free storage", Kind.NO_STORAGE),
    (
        "VolumeBinding",
        N + "unavailable due to one or more pvc(s) bound to non-existent pv(s)",
        Kind.VOLUME_GONE,
    ),
    ("VolumeZone", N + "had no available volume zone", Kind.VOLUME_ZONE),
    (
        "PodTopologySpread",
        N + "didn't match pod topology spread constraints (missing required label)",
        Kind.SPREAD_LABEL,
    ),
    ("PodTopologySpread", N + "didn't match pod topology spread constraints", Kind.SPREAD_SKEW),
    ("InterPodAffinity", N + "didn't match pod affinity rules", Kind.POD_AFFINITY),
    ("InterPodAffinity", N + "didn't match pod anti-affinity rules", Kind.POD_ANTI_AFFINITY),
    ("InterPodAffinity", N + "didn't satisfy existing pods anti-affinity rules", Kind.EXISTING_ANTI_AFFINITY),
    ("DynamicResources", "cannot allocate all claims", Kind.DEVICES),
    ("DynamicResources", "resourceclaim not available on the node", Kind.DEVICES),
    ("DynamicResources", "invalid resource pools were encountered", Kind.DEVICES),
    ("DynamicResources", "cannot fit resource", Kind.DEVICES),
    ("DynamicResources", "cannot schedule extended resource claim", Kind.DEVICES),
    (
        "DynamicResources",
        "device allocation is not available here yet: the pod has resource claims (gpu)",
        Kind.DEVICES,
    ),
    ("NodeDeclaredFeatures", N + "didn't match Pod's required features", Kind.FEATURE_MISSING),
    ("DeferredPodScheduling", "node had resize preemption disabled", Kind.DEFERRED),
    ("DeferredPodScheduling", "pod assigned to different node", Kind.DEFERRED),
    ("", N + "didn't satisfy plugin(s) [NodeAffinity VolumeBinding]", Kind.NODES_NARROWED),
    ("", N + "didn't satisfy plugin NodeAffinity", Kind.NODES_NARROWED),
    # said of the pod before any node is looked at
    ("NodeAffinity", "pod affinity terms conflict", Kind.NODE_AFFINITY_CONFLICT),
    ("InterPodAffinity", 'parsing pod: "x" is not a valid label selector operator', Kind.UNREADABLE_TERM),
    ("VolumeBinding", "pod has unbound immediate PersistentVolumeClaims", Kind.CLAIM_UNBOUND),
    ("VolumeBinding", 'persistentvolumeclaim "data" not found', Kind.STORAGE_OBJECT),
    ("VolumeBinding", 'persistentvolumeclaim "data" is being deleted', Kind.STORAGE_OBJECT),
    ("VolumeBinding", 'persistentvolumeclaim "a" bound to non-existent persistentvolume "b"', Kind.STORAGE_OBJECT),
    (
        "VolumeBinding",
        'waiting for ephemeral volume controller to create the persistentvolumeclaim "data"',
        Kind.STORAGE_OBJECT,
    ),
    ("NodeVolumeLimits", 'looking up PVC a/b: persistentvolumeclaim "b" not found', Kind.STORAGE_OBJECT),
    ("VolumeZone", "PersistentVolumeClaim had no pv name and storageClass name", Kind.STORAGE_OBJECT),
    ("VolumeZone", "PersistentVolume had no name", Kind.STORAGE_OBJECT),
    ("VolumeZone", 'storageclass.storage.k8s.io "fast" not found', Kind.STORAGE_OBJECT),
    ("VolumeZone", 'VolumeBindingMode not set for StorageClass "fast"', Kind.STORAGE_OBJECT),
    ("SchedulingGates", "waiting for scheduling gates: [a b]", Kind.GATED),
    ("", "no nodes available to schedule pods", Kind.NO_NODES),
]


@pytest.mark.parametrize(("plugin", "text", "kind"), TEXTS, ids=[text for _, text, _ in TEXTS])
def test_every_text_has_its_reason(plugin: str, text: str, kind: Kind) -> None:
    """A text of kube-scheduler's is the reason that it stands for, and no other."""
    assert named(text, plugin)[0] is kind
    assert [form.kind for form in FORMS if form.plugin in {"", plugin} and form.pattern.fullmatch(text)] == [kind]


def test_every_reason_can_be_given() -> None:
    """No reason is there for nothing."""
    assert {kind for _, _, kind in TEXTS} == {form.kind for form in FORMS}


@pytest.mark.parametrize(("plugin", "text", "subject"), [
    case("the resource", "NodeResourcesFit", "Insufficient example.com/gpu", "example.com/gpu"),
    case("the driver", "NodeVolumeLimits", "a.b CSI driver is not installed on the node", "a.b"),
    case("the gates", "SchedulingGates", "waiting for scheduling gates: [a b]", "a b"),
    case("the claim", "VolumeBinding", 'persistentvolumeclaim "data" not found', "data"),
    case("the rules", "", "node(s) didn't satisfy plugin(s) [A B]", "A B"),
])  # fmt: skip
def test_a_reason_says_what_it_is_about(plugin: str, text: str, subject: str) -> None:
    """The text's variable part is a field of its own."""
    assert named(text, plugin)[1] == subject


def test_a_rule_of_somebodys_own_speaks_for_itself() -> None:
    """What no default rule says is that rule's own; its failing is a failure."""
    assert named("node(s) cost too much", "affordable") == (Kind.OWN_RULE, "")
    assert named("Too many pods", "affordable") == (Kind.OWN_RULE, "")
    assert named("raised KeyError", "affordable", Code.ERROR) == (Kind.FAILED, "")


@pytest.mark.parametrize(("text", "number", "written"), [
    case("cpu in thousandths", "Insufficient cpu", 350, "350m"),
    case("whole cpus", "Insufficient cpu", 4000, "4"),
    case("memory", "Insufficient memory", 3 << 29, "1536Mi"),
    case("huge pages", "Insufficient hugepages-2Mi", 2 << 20, "2Mi"),
    case("pieces", "Insufficient example.com/gpu", 1024, "1024"),
    case("pods", "Too many pods", 1, "1"),
])  # fmt: skip
def test_amounts_are_written_as_people_do(text: str, number: int, written: str) -> None:
    """How much is missing is in the unit of the resource."""
    assert amount(text, number) == written


def test_reasons_come_with_their_numbers() -> None:
    """Each has its rule, its nodes, and how much is missing: at least, at most, and where least."""
    table = a_cluster(
        node("small", cpu=1, memory="1Gi"),
        node("large", cpu=2, memory="16Gi"),
        node("full", cpu=1, pods=1),
        node("taken", cpu=8, taints="gpu=yes:NoSchedule"),
        a_pod("there", on="full", cpu="900m"),
    )
    profile = profiles(None, Registry.installed())["default-scheduler"]

    verdict = Rules(table, Reader(table)).ask(a_pod("web", cpu="2500m", memory="4Gi"), profile)

    assert reasons_of(verdict.evaluation) == [
        Reason(Kind.INSUFFICIENT, "NodeResourcesFit", "Insufficient cpu", "cpu", 3, Short("500m", "2400m", "large")),
        Reason(Kind.INSUFFICIENT, "NodeResourcesFit", "Insufficient memory", "memory", 1, Short("3Gi", "3Gi", "small")),
        Reason(Kind.TOO_MANY_PODS, "NodeResourcesFit", "Too many pods", "", 1, Short("1", "1", "full")),
        Reason(Kind.UNTOLERATED_TAINT, "TaintToleration", N + "had untolerated taint(s)", "", 1),
    ]
