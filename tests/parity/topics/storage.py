"""Storage of a cluster: classes, drivers, what nodes say of their drivers, capacities, attachments.

Not here: claims, volumes and the pods that use them (volumes.py).
"""

from tests.parity.case import Manifest
from tests.parity.topics.draw import Draw
from tests.parity.topics.quantities import GI, size
from tests.parity.topics.words import HOSTNAME, ZONE, ZONES
from tests.parity.topics.world import World

CSI = "csi.example.com"
TRACKED = "cap.example.com"
OTHER = "other.example.com"
DRIVERS = (CSI, TRACKED, OTHER)
MIGRATED = {
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "kubernetes.io/portworx-volume": "pxd.portworx.com",
}
MIGRATED_ZONES = ("topology.gke.io/zone", "topology.ebs.csi.aws.com/zone")
ON_NODE = "storage.alpha.kubernetes.io/migrated-plugins"
LATE, SOON = "WaitForFirstConsumer", "Immediate"
CLASSES: dict[str, tuple[str, str | None]] = {
    "late": (CSI, LATE),
    "soon": (CSI, SOON),
    "local": ("kubernetes.io/no-provisioner", LATE),
    "tracked": (TRACKED, LATE),
    "placed": (CSI, LATE),
    "nobody": ("", LATE),
    "modeless": (CSI, None),
    "in-tree": ("kubernetes.io/gce-pd", LATE),
    "in-tree-ebs": ("kubernetes.io/aws-ebs", LATE),
}
"""A class's provisioner and when it binds."""


def furnish(world: World) -> None:
    """Add classes, drivers, nodes' drivers, capacities and gates."""
    draw = world.draw
    world.others += [_class(draw, name) for name in CLASSES]
    world.others += [_driver(draw, name) for name in DRIVERS if draw.chance(0.85)]
    limits = draw.choice([(1, 2), (1, 2, 3), (2, 39, None), (None,), (0, 1, 39)])
    migrates = draw.chance(0.35)
    for node in world.nodes:
        if draw.chance(0.88):
            world.others.append(_csi_node(draw, node, limits, migrates=migrates))
    if draw.chance(0.12):
        world.gates["VolumeLimitScaling"] = draw.chance(0.2)
    if draw.chance(0.1):
        world.gates["StorageCapacityScoring"] = draw.chance(0.2)
    scores = world.gates.get("StorageCapacityScoring", True)
    for class_name in ("tracked", "late"):
        for zone in draw.some(ZONES, 4):  # where several have room, kube-scheduler takes any of them
            reach: Manifest = {"matchLabels": {ZONE: zone}}
            if draw.chance(0.1):
                reach = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}
            found = _capacity(draw, f"{class_name}-{zone}", scores=scores)
            world.others.append(found | {"storageClassName": class_name, "nodeTopology": reach})
    if draw.chance(0.1):
        found = _capacity(draw, "further", scores=scores) | {"storageClassName": "tracked"}
        if draw.chance(0.7):
            found["nodeTopology"] = draw.choice([{}, {"matchLabels": {HOSTNAME: "n01"}}])
        world.others.append(found)


def attach(draw: Draw, number: int, node: str, volume: str) -> Manifest:
    """Return a VolumeAttachment: the volume is, or is being, attached to the node."""
    source = {"persistentVolumeName": volume} if draw.chance(0.95) else {}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttachment",
        "metadata": {"name": f"attachment-{number}"},
        "spec": {"attacher": draw.choice([CSI, CSI, TRACKED, ""]), "nodeName": node, "source": source},
        "status": {"attached": draw.chance(0.8)},
    }


def zone_capacity(draw: Draw, zone: str) -> Manifest:
    """Return what is left of the tracked class in a zone: enough for most claims."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {"name": f"left-in-{zone}", "namespace": "kube-system"},
        "storageClassName": "tracked",
        "nodeTopology": {"matchLabels": {ZONE: zone}},
        "capacity": size(draw, draw.randint(2, 40) * GI, 0.2),
    }


def _class(draw: Draw, name: str) -> Manifest:
    provisioner, mode = CLASSES[name]
    found: Manifest = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
    }
    if mode is not None:
        found["volumeBindingMode"] = mode
    if name == "placed" or draw.chance(0.05):
        found["allowedTopologies"] = [_topology(draw) for _ in range(draw.randint(0 if draw.chance(0.1) else 1, 2))]
    return found


def _topology(draw: Draw) -> Manifest:
    found = [{"key": ZONE, "values": draw.some(ZONES, 2, least=1)}]
    if draw.chance(0.2):
        found.append({"key": "pool", "values": ["a", "b"]})
    return {"matchLabelExpressions": [] if draw.chance(0.04) else found}


def _driver(draw: Draw, name: str) -> Manifest:
    spec: Manifest = {"attachRequired": True}
    if name == TRACKED:
        spec["storageCapacity"] = draw.chance(0.9)
    if draw.chance(0.4):
        spec["preventPodSchedulingIfMissing"] = draw.chance(0.8)
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": name}, "spec": spec}


def _csi_node(draw: Draw, node: Manifest, limits: tuple[int | None, ...], *, migrates: bool) -> Manifest:
    name = node["metadata"]["name"]
    metadata: Manifest = {"name": name}
    names = [driver for driver in DRIVERS if draw.chance(0.85)]
    if migrates:
        listed = draw.some(list(MIGRATED), 5, least=3)
        metadata["annotations"] = {ON_NODE: ",".join(listed)}
        names += [MIGRATED[plugin] for plugin in listed if draw.chance(0.9)]
        for key in MIGRATED_ZONES:
            if draw.chance(0.6):
                node["metadata"]["labels"][key] = node["metadata"]["labels"].get(ZONE, "z0")
    drivers: list[Manifest] = []
    for driver in names:
        found: Manifest = {"name": driver, "nodeID": name}
        limit = draw.choice(limits)
        if limit is not None:
            found["allocatable"] = {"count": limit}
        elif draw.chance(0.1):
            found["allocatable"] = {}
        drivers.append(found)
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": metadata, "spec": {"drivers": drivers}}


def _capacity(draw: Draw, name: str, *, scores: bool) -> Manifest:
    found: Manifest = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {"name": name, "namespace": "kube-system"},
    }
    bounded = draw.chance(0.25)
    # A scorer that meets a maximum without a capacity takes kube-scheduler down.
    if draw.chance(0.93) or (bounded and scores):
        found["capacity"] = size(draw, draw.choice([0, GI, 5 * GI, 10 * GI, 50 * GI, 100 * GI]), 0.2)
    if bounded:
        found["maximumVolumeSize"] = size(draw, draw.choice([GI, 5 * GI, 20 * GI]), 0.2)
    return found
