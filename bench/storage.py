"""Storage for workloads: a driver on every node, a class, the room in each zone, claims, volumes.

Not here: the pods that mount them (templates.py names their claims).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from bayplan.api.objects import Object, Pod
from bench.nodes import ZONE, Machine
from bench.templates import NAMESPACE, meta, read

DRIVER: Final = "disk.csi.example.com"
CLASS: Final = "late"
ATTACHED_MAX: Final = 24  # volumes of the driver on one node


def storage_of(drawn: Sequence[Machine]) -> Iterator[Object]:
    """Yield the driver, its class, its room in each zone, and what each node can attach."""
    yield read(_named("storage.k8s.io/v1", "CSIDriver", DRIVER, spec={"attachRequired": True, "storageCapacity": True}))
    late = {"provisioner": DRIVER, "volumeBindingMode": "WaitForFirstConsumer", "reclaimPolicy": "Delete"}
    yield read(_named("storage.k8s.io/v1", "StorageClass", CLASS, **late))
    for zone in sorted({machine.zone for machine in drawn}):
        reach = {"matchLabels": {ZONE: zone}}
        room = {"capacity": "1Pi", "maximumVolumeSize": "16Ti", "nodeTopology": reach, "storageClassName": CLASS}
        yield read(_named("storage.k8s.io/v1", "CSIStorageCapacity", f"csisc-{zone}", namespace="kube-system", **room))
    for machine in drawn:
        driver = {
            "name": DRIVER,
            "nodeID": machine.name,
            "topologyKeys": [ZONE],
            "allocatable": {"count": ATTACHED_MAX},
        }
        yield read(_named("storage.k8s.io/v1", "CSINode", machine.name, spec={"drivers": [driver]}))


def claims_for(pods: Sequence[Pod]) -> Iterator[Object]:
    """Yield the claims that pods mount, each waiting for its pod."""
    for pod in pods:
        for volume in pod.spec.volumes:
            if volume.persistent_volume_claim is not None:
                yield claim(volume.persistent_volume_claim.claim_name)


def claim(name: str, volume: str = "") -> Object:
    """Return a claim, bound to a volume if one is named."""
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}},
            "storageClassName": CLASS, "volumeMode": "Filesystem"}  # fmt: skip
    tree = _named("v1", "PersistentVolumeClaim", name, namespace=NAMESPACE, spec=spec, status={"phase": "Pending"})
    if volume:
        tree["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
        tree["spec"]["volumeName"] = volume
        tree["status"] = {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "10Gi"}}
    return read(tree)


def volume(name: str, claim_name: str, zone: str) -> Object:
    """Return a volume that is bound to a claim, and reached from a zone."""
    reach = [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}]
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "10Gi"},
        "claimRef": {"kind": "PersistentVolumeClaim", "namespace": NAMESPACE, "name": claim_name,
                     "uid": meta(claim_name)["uid"]},
        "csi": {"driver": DRIVER, "volumeHandle": f"handle-{name}"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": reach}},
        "storageClassName": CLASS,
    }  # fmt: skip
    return read(_named("v1", "PersistentVolume", name, spec=spec, status={"phase": "Bound"}))


def _named(api_version: str, kind: str, name: str, *, namespace: str = "", **fields: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"apiVersion": api_version, "kind": kind, "metadata": meta(name, namespace), **fields}
