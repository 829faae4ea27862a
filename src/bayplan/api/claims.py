"""Volumes, claims and classes: the objects that volume and device rules look up.

A class has the name of its kind, a field the name Kubernetes gives it in snake case, as in `api/objects.py`.
Not here: a pod's own volumes (`api/objects.py`) and who is bound to what (the books of `cluster/`).
"""

from __future__ import annotations

import msgspec

from bayplan.api.disks import (
    AWSElasticBlockStore,
    AzureDisk,
    AzureFile,
    Cinder,
    GCEPersistentDisk,
    Portworx,
    VsphereVolume,
)
from bayplan.api.objects import (
    Int32,
    LabelSelector,
    NodeSelector,
    Object,
    ObjectMeta,
    PersistentVolumeClaimSpec,
    Quantities,
    Quantity,
)


class ObjectReference(Object, frozen=True, kw_only=True):
    """The claim that a volume is bound to or kept for."""

    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class VolumeNodeAffinity(Object, frozen=True, kw_only=True):
    """Which nodes a volume can be reached from."""

    required: NodeSelector | None = None


class CSIVolume(Object, frozen=True, kw_only=True):
    """The driver of a volume and the driver's name for it."""

    driver: str = ""
    volume_handle: str = ""


class PersistentVolumeSpec(Object, frozen=True, kw_only=True):
    """What a volume is; sources that no rule reads (local, hostPath, NFS, ...) leave every source None."""

    capacity: Quantities = {}
    access_modes: tuple[str, ...] = ()
    claim_ref: ObjectReference | None = None
    storage_class_name: str = ""
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None
    node_affinity: VolumeNodeAffinity | None = None
    csi: CSIVolume | None = None
    gce_persistent_disk: GCEPersistentDisk | None = None
    aws_elastic_block_store: AWSElasticBlockStore | None = None
    azure_disk: AzureDisk | None = None
    azure_file: AzureFile | None = None
    cinder: Cinder | None = None
    portworx_volume: Portworx | None = None
    vsphere_volume: VsphereVolume | None = None


class PersistentVolumeStatus(Object, frozen=True, kw_only=True):
    """Whether a volume is free."""

    phase: str = ""


class PersistentVolume(Object, frozen=True, kw_only=True):
    """A piece of storage."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()


class PersistentVolumeClaimStatus(Object, frozen=True, kw_only=True):
    """Whether a claim has its volume."""

    phase: str = ""


class PersistentVolumeClaim(Object, frozen=True, kw_only=True):
    """A request for storage."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()


class TopologySelectorRequirement(Object, frozen=True, kw_only=True):
    """A label and the values it may have."""

    key: str = ""
    values: tuple[str, ...] = ()


class TopologySelectorTerm(Object, frozen=True, kw_only=True):
    """Labels all of which must have one of their values."""

    match_label_expressions: tuple[TopologySelectorRequirement, ...] = ()


class StorageClass(Object, frozen=True, kw_only=True):
    """A kind of storage and when it is bound."""

    metadata: ObjectMeta = ObjectMeta()
    provisioner: str = ""
    parameters: dict[str, str] = {}
    volume_binding_mode: str | None = None
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()


class VolumeNodeResources(Object, frozen=True, kw_only=True):
    """How many volumes of a driver a node can take; None is no limit."""

    count: Int32 | None = None


class CSINodeDriver(Object, frozen=True, kw_only=True):
    """A driver that runs on a node."""

    name: str = ""
    node_id: str = msgspec.field(name="nodeID", default="")
    topology_keys: tuple[str, ...] = ()
    allocatable: VolumeNodeResources | None = None


class CSINodeSpec(Object, frozen=True, kw_only=True):
    """The drivers of a node."""

    drivers: tuple[CSINodeDriver, ...] = ()


class CSINode(Object, frozen=True, kw_only=True):
    """What storage drivers say of a node; it has the node's name."""

    metadata: ObjectMeta = ObjectMeta()
    spec: CSINodeSpec = CSINodeSpec()


class CSIDriverSpec(Object, frozen=True, kw_only=True):
    """What a driver wants the scheduler to look at."""

    attach_required: bool | None = None
    storage_capacity: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None


class CSIDriver(Object, frozen=True, kw_only=True):
    """A storage driver."""

    metadata: ObjectMeta = ObjectMeta()
    spec: CSIDriverSpec = CSIDriverSpec()


class CSIStorageCapacity(Object, frozen=True, kw_only=True):
    """How much of a storage class is left in a part of the cluster."""

    metadata: ObjectMeta = ObjectMeta()
    node_topology: LabelSelector | None = None
    storage_class_name: str = ""
    capacity: Quantity | None = None
    maximum_volume_size: Quantity | None = None


class VolumeAttachmentSource(Object, frozen=True, kw_only=True):
    """The volume that is attached; None when it was given inline."""

    persistent_volume_name: str | None = None


class VolumeAttachmentSpec(Object, frozen=True, kw_only=True):
    """Which volume is or will be attached to which node, by whom."""

    attacher: str = ""
    node_name: str = ""
    source: VolumeAttachmentSource = VolumeAttachmentSource()


class VolumeAttachment(Object, frozen=True, kw_only=True):
    """A volume attached to a node."""

    metadata: ObjectMeta = ObjectMeta()
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()


class ResourceClaim(Object, frozen=True, kw_only=True):
    """A claim for devices, known by name alone until device rules exist."""

    metadata: ObjectMeta = ObjectMeta()


class DeviceClassSpec(Object, frozen=True, kw_only=True):
    """The resource name under which a class's devices can also be asked for."""

    extended_resource_name: str | None = None


class DeviceClass(Object, frozen=True, kw_only=True):
    """A kind of device."""

    metadata: ObjectMeta = ObjectMeta()
    spec: DeviceClassSpec = DeviceClassSpec()
