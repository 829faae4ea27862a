"""What an input points at and lacks is said, with what that may change; a whole input has nothing to say."""

import pytest

from bayplan.answers.missing import missing
from tests.kit import case
from tests.unit.answers.reading import node, pod, read

CLAIMED = pod("a", "volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]")
CLAIM = (
    "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: data, namespace: shop}}\n"
    "spec: {{{}resources: {{requests: {{storage: 1Gi}}}}, accessModes: [ReadWriteOnce]}}"
)
WAITS = CLAIM.format("storageClassName: fast, ")
BOUND = CLAIM.format("storageClassName: fast, volumeName: disk, ")
STORAGE = "apiVersion: storage.k8s.io/v1\nkind: {}\nmetadata: {{name: {}}}\n{}"
CLASS = STORAGE.format(
    "StorageClass", "fast", "provisioner: disks.example.com\nvolumeBindingMode: WaitForFirstConsumer"
)
DISK = (
    "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: disk}\n"
    "spec: {storageClassName: fast, capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], "
    "csi: {driver: disks.example.com, volumeHandle: '1'}}"
)
DRIVER = STORAGE.format("CSIDriver", "disks.example.com", "spec: {}")
TRACKS = STORAGE.format("CSIDriver", "disks.example.com", "spec: {storageCapacity: true}")
CSI_NODE = STORAGE.format("CSINode", "one", "spec: {drivers: [{name: disks.example.com, nodeID: one}]}")
ATTACHMENT = STORAGE.format(
    "VolumeAttachment", "x", "spec: {attacher: disks.example.com, nodeName: one, source: {persistentVolumeName: disk}}"
)
SELECTS = pod(
    "a",
    "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
    "[{topologyKey: zone, labelSelector: {}, namespaceSelector: {matchLabels: {team: a}}}]}}",
)
NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}"
OWNED = pod(
    "a", meta="ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: '7', controller: true}]"
)
OWNER = (
    "apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: web-1, namespace: shop, uid: '7'}\n"
    "spec: {replicas: 1, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, "
    "spec: {containers: [{name: main}]}}}"
)


@pytest.mark.parametrize(("things", "said"), [
    case("nodes", (pod(),), ["no Node is in the input"]),
    case("a claim", (node(), CLAIMED), ["PersistentVolumeClaim shop/data is named by pods"]),
    case("a class", (node(), CSI_NODE, CLAIMED, WAITS), ["StorageClass fast is named by unbound claims"]),
    case("a volume", (node(), CLAIMED, BOUND), ["PersistentVolume disk is bound to claims"]),
    case("a driver", (node(), CSI_NODE, CLAIMED, WAITS, CLASS), ["CSIDriver disks.example.com is to make volumes"]),
    case("capacities", (node(), CSI_NODE, CLAIMED, WAITS, CLASS, TRACKS), ["no CSIStorageCapacity is in the input"]),
    case("what drivers say of nodes", (node(), CLAIMED, WAITS, CLASS, DRIVER), ["no CSINode is in the input"]),
    case("attachments", (node(), CLAIMED, BOUND, CLASS, DISK, CSI_NODE), ["no VolumeAttachment is in the input"]),
    case("namespaces", (node(), SELECTS), ["Namespace shop is not in the input, though 1 pod select"]),
    case("owners", (node(), OWNED), ["ReplicaSet shop/web-1 is owning waiting pods"]),
    case("nothing of a class", (node(), CSI_NODE, CLAIMED, WAITS, CLASS, DRIVER), []),
    case("nothing of a volume", (node(), CLAIMED, BOUND, CLASS, DISK, CSI_NODE, ATTACHMENT), []),
    case("nothing of a namespace", (node(), SELECTS, NAMESPACE), []),
    case("nothing of an owner", (node(), OWNED, OWNER), []),
    case("nothing at all", (node(), pod()), []),
])  # fmt: skip
def test_what_is_missing_is_said(things: tuple[str, ...], said: list[str]) -> None:
    """One line for each kind that is pointed at."""
    snapshot, cluster = read(*things)
    notes = missing(cluster.objects)

    assert snapshot.refused == []
    assert [note[: len(start)] for note, start in zip(notes, said, strict=True)] == said


def test_many_are_named_by_their_number() -> None:
    """The first few are named."""
    pods = [
        pod(f"a-{n}", f"volumes: [{{name: data, persistentVolumeClaim: {{claimName: data-{n}}}}}]") for n in range(5)
    ]
    (note,) = missing(read(node(), *pods)[1].objects)

    assert note.startswith("PersistentVolumeClaim shop/data-0, shop/data-1, shop/data-2 and 2 more are named by pods")
