"""Storage for tests: claims, volumes, classes and what drivers say, each in a line, and pods that mount them.

Words as in tests/kit.py.  A volume's size and a claim's request are quantities; `reach` is a node selector term.
Not here: nodes and pods themselves (tests/kit.py).
"""

from msgspec.structs import replace

from bayplan.api.claims import (
    CSIDriver,
    CSIDriverSpec,
    CSINode,
    CSINodeDriver,
    CSINodeSpec,
    CSIStorageCapacity,
    CSIVolume,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimStatus,
    PersistentVolumeSpec,
    PersistentVolumeStatus,
    StorageClass,
    TopologySelectorRequirement,
    TopologySelectorTerm,
    VolumeAttachment,
    VolumeAttachmentSource,
    VolumeAttachmentSpec,
    VolumeNodeAffinity,
    VolumeNodeResources,
)
from bayplan.api.disks import ISCSI, RBD, AWSElasticBlockStore, GCEPersistentDisk
from bayplan.api.objects import (
    ClaimVolume,
    EphemeralVolume,
    NodeSelector,
    ObjectMeta,
    OwnerReference,
    PersistentVolumeClaimSpec,
    Pod,
    ResourceRequirements,
    Volume,
)
from tests.kit import node_term, pairs, selector

DRIVER = "disk.example.com"
LATER = "WaitForFirstConsumer"
AT_ONCE = "Immediate"


def storage_class(
    name: str = "late", *, mode: str | None = LATER, provisioner: str = DRIVER, only: str = ""
) -> StorageClass:
    """Return a class; `only` names where its volumes can be made: `key=a,b`, terms apart by `|`."""
    terms = tuple(
        TopologySelectorTerm(
            match_label_expressions=tuple(
                TopologySelectorRequirement(key=key, values=tuple(values.split(",")))
                for key, _, values in (word.partition("=") for word in part.split())
            )
        )
        for part in only.split("|")
        if only
    )
    return StorageClass(
        metadata=ObjectMeta(name=name), provisioner=provisioner, volume_binding_mode=mode, allowed_topologies=terms
    )


def claim(  # noqa: PLR0913 - each word is one thing a claim can have
    name: str,
    *,
    within: str = "default",
    of: str = "late",
    asks: str = "10Gi",
    volume: str = "",
    bound: bool | None = None,
    modes: str = "ReadWriteOnce",
    phase: str = "",
    deleting: bool = False,
    selects: str | None = None,
    notes: str = "",
    owner: Pod | None = None,
) -> PersistentVolumeClaim:
    """Return a claim; one that names a volume is bound to it unless told otherwise."""
    is_bound = bool(volume) if bound is None else bound
    controller = () if owner is None else (OwnerReference(kind="Pod", uid=owner.metadata.uid, controller=True),)
    return PersistentVolumeClaim(
        metadata=ObjectMeta(
            name=name,
            namespace=within,
            annotations=({"pv.kubernetes.io/bind-completed": "yes"} if is_bound else {}) | pairs(notes),
            deletion_timestamp="2026-03-01T00:00:00Z" if deleting else None,
            owner_references=controller,
        ),
        spec=PersistentVolumeClaimSpec(
            access_modes=tuple(modes.split()),
            selector=None if selects is None else selector(selects),
            resources=ResourceRequirements(requests={"storage": asks} if asks else None),
            volume_name=volume,
            storage_class_name=of or None,
        ),
        status=PersistentVolumeClaimStatus(phase=phase or ("Bound" if is_bound else "Pending")),
    )


def volume(  # noqa: PLR0913 - each word is one thing a volume can have
    name: str,
    *,
    of: str = "late",
    size: str = "10Gi",
    reach: str = "",
    kept: str = "",
    handle: str = "",
    driver: str = DRIVER,
    labels: str = "",
    modes: str = "ReadWriteOnce",
    phase: str = "Available",
    deleting: bool = False,
    **spec: object,
) -> PersistentVolume:
    """Return a volume; `kept` is the claim (namespace/name) that it refers to, `handle` makes it a CSI volume."""
    namespace, _, claim_name = kept.partition("/")
    affinity = VolumeNodeAffinity(required=NodeSelector(node_selector_terms=tuple(map(node_term, reach.split("|")))))
    return PersistentVolume(
        metadata=ObjectMeta(
            name=name, labels=pairs(labels), deletion_timestamp="2026-03-01T00:00:00Z" if deleting else None
        ),
        spec=PersistentVolumeSpec(
            capacity={"storage": size},
            access_modes=tuple(modes.split()),
            claim_ref=ObjectReference(namespace=namespace, name=claim_name) if kept else None,
            storage_class_name=of,
            node_affinity=affinity if reach else None,
            csi=CSIVolume(driver=driver, volume_handle=handle) if handle else None,
            **spec,  # type: ignore[arg-type]  # whatever source a test is about
        ),
        status=PersistentVolumeStatus(phase=phase),
    )


def csi_node(name: str, *, notes: str = "", **limits: int | None) -> CSINode:
    """Return what drivers say of a node; a limit is named as Python's arguments, `disk` for disk.example.com."""
    drivers = tuple(
        CSINodeDriver(
            name=f"{short}.example.com", allocatable=None if count is None else VolumeNodeResources(count=count)
        )
        for short, count in limits.items()
    )
    return CSINode(metadata=ObjectMeta(name=name, annotations=pairs(notes)), spec=CSINodeSpec(drivers=drivers))


def csi_driver(name: str = DRIVER, *, counts_room: bool = False, must_run: bool = False) -> CSIDriver:
    """Return a driver."""
    return CSIDriver(
        metadata=ObjectMeta(name=name),
        spec=CSIDriverSpec(storage_capacity=counts_room, prevent_pod_scheduling_if_missing=must_run),
    )


def pool(
    name: str, *, of: str = "late", reach: str = "", room: str | None = "100Gi", largest: str | None = None
) -> CSIStorageCapacity:
    """Return the room that a driver reports."""
    return CSIStorageCapacity(
        metadata=ObjectMeta(name=name, namespace="kube-system"),
        node_topology=selector(reach),
        storage_class_name=of,
        capacity=room,
        maximum_volume_size=largest,
    )


def attachment(name: str, *, to: str, of: str | None, driver: str = DRIVER) -> VolumeAttachment:
    """Return an attachment of a volume to a node."""
    source = VolumeAttachmentSource(persistent_volume_name=of)
    return VolumeAttachment(
        metadata=ObjectMeta(name=name), spec=VolumeAttachmentSpec(attacher=driver, node_name=to, source=source)
    )


def mounting(pod: Pod, *mounts: str) -> Pod:
    """Return a pod with volumes: `claim`, `own:` (a claim made for it), `gce:`, `ebs:`, `iscsi:`, `rbd:`, `empty:`.

    `!` at the end makes a disk read-only; an rbd image is `pool/image@monitor,monitor`.
    """
    volumes = tuple(_volume(f"v{number}", text) for number, text in enumerate(mounts))
    return replace(pod, spec=replace(pod.spec, volumes=volumes))


def _volume(name: str, text: str) -> Volume:
    kind, colon, what = text.partition(":")
    if not colon:
        return Volume(name=name, persistent_volume_claim=ClaimVolume(claim_name=text))
    read_only, what = what.endswith("!"), what.rstrip("!")
    if kind == "rbd":
        image, _, monitors = what.partition("@")
        pool_name, _, image = image.partition("/")
        rbd = RBD(image=image, pool=pool_name, monitors=tuple(monitors.split(",")), read_only=read_only)
        return Volume(name=name, rbd=rbd)
    sources = {
        "own": Volume(name=name, ephemeral=EphemeralVolume()),
        "gce": Volume(name=name, gce_persistent_disk=GCEPersistentDisk(pd_name=what, read_only=read_only)),
        "ebs": Volume(name=name, aws_elastic_block_store=AWSElasticBlockStore(volume_id=what, read_only=read_only)),
        "iscsi": Volume(name=name, iscsi=ISCSI(iqn=what, read_only=read_only)),
        "empty": Volume(name=name),
    }
    return sources[kind]
