"""Volumes: claims, volumes, classes and what CSI drivers say, keyed; who mounts what; what is taken but not written.

Two pods never take one volume within one run: reserving writes the claim into the volume (or the node into the claim)
here, as binding would write it to the API server, and releasing takes exactly that back.  An object that comes from the
API server replaces what was assumed of it.
Invariant: after release(reserve(...)) every entry is what it was; versions have risen.
Not here: what of it matters to a waiting pod (`cluster/claims.py`) and which volume fits where (plugins).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from msgspec.structs import replace

from bayplan.api.claims import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from bayplan.api.objects import Pod, uid_of
from bayplan.cluster.books import Book
from bayplan.cluster.books.stock import Pools, Stock
from bayplan.cluster.claims import (
    BOUND_BY_CONTROLLER,
    SELECTED_NODE,
    MountedClaim,
    Mounts,
    Reservation,
    class_of,
    mounts_of,
)

if TYPE_CHECKING:
    from bayplan.cluster.residents import Resident

VolumeObject: TypeAlias = (PersistentVolumeClaim | PersistentVolume | StorageClass | CSINode | CSIDriver
                           | CSIStorageCapacity | VolumeAttachment)


class Reserved(NamedTuple):
    """What a reservation changed: each entry as it was and as it is assumed to be."""

    volumes: tuple[tuple[PersistentVolume, PersistentVolume], ...]
    claims: tuple[tuple[PersistentVolumeClaim, PersistentVolumeClaim], ...]


class VolumeBooks:
    """All that volume rules look up."""

    def __init__(self) -> None:
        self.claims: Book[PersistentVolumeClaim] = Book()              # "namespace/name"
        self.volumes: Book[PersistentVolume] = Book()
        self.classes: Book[StorageClass] = Book()
        self.csi_nodes: Book[CSINode] = Book()
        self.csi_drivers: Book[CSIDriver] = Book()
        self.capacities: Book[CSIStorageCapacity] = Book()             # "namespace/name"
        self.attachments: Book[VolumeAttachment] = Book()
        self.attached: Book[dict[str, VolumeAttachment]] = Book()      # by node: name -> attachment
        self.stock: dict[str, Stock] = {}                              # by class: volumes free to be taken
        self.pools: dict[str, Pools] = {}                              # by class: room for volumes to be made
        self._kept: dict[str, dict[str, str]] = {}                     # claim key -> volume that refers to it -> uid
        self._on_row: dict[int, dict[str, Resident]] = {}              # row -> uid -> resident with mounts
        self._uses: dict[str, dict[int, int]] = {}                     # claim key -> row -> how often pods name it
        self._namings: dict[str, int] = {}                             # claim key -> how often pods name it or own it
        self._own_version = 0

    @property
    def version(self) -> int:
        """Rises whenever what rules see of a waiting pod's volumes may be another."""
        return self._own_version + self.claims.version

    # -- objects

    def put(self, thing: VolumeObject) -> tuple[str, ...]:
        """Take over an object, new or changed; return the names of the nodes to which it alone belongs."""
        match thing:
            case PersistentVolumeClaim():
                self.claims.put(_key(thing), thing)
            case PersistentVolume():
                self._put_volume(thing)
            case StorageClass():
                self.classes.put(thing.metadata.name, thing)
            case CSINode():
                self.csi_nodes.put(thing.metadata.name, thing)
                return (thing.metadata.name,)
            case CSIDriver():
                self.csi_drivers.put(thing.metadata.name, thing)
            case CSIStorageCapacity():
                self._drop_capacity(_key(thing))
                self.capacities.put(_key(thing), thing)
                self.pools_of(thing.storage_class_name).put(_key(thing), thing)
            case VolumeAttachment():
                before = self._drop_attachment(thing.metadata.name)
                self.attachments.put(thing.metadata.name, thing)
                node = thing.spec.node_name
                self.attached.put(node, {**(self.attached.get(node) or {}), thing.metadata.name: thing})
                return tuple({*before, node})
        return ()

    def drop(self, thing: VolumeObject) -> tuple[str, ...]:
        """Forget an object; return the names of the nodes to which it alone belonged."""
        name = thing.metadata.name
        match thing:
            case PersistentVolumeClaim():
                self.claims.drop(_key(thing))
            case PersistentVolume():
                self._drop_volume(name)
            case StorageClass():
                self.classes.drop(name)
            case CSINode():
                self.csi_nodes.drop(name)
                return (name,)
            case CSIDriver():
                self.csi_drivers.drop(name)
            case CSIStorageCapacity():
                self._drop_capacity(_key(thing))
            case VolumeAttachment():
                return self._drop_attachment(name)
        return ()

    def stock_of(self, class_name: str) -> Stock:
        """Return the volumes of a class that are free to be taken."""
        return self.stock.setdefault(class_name, Stock())

    def pools_of(self, class_name: str) -> Pools:
        """Return the room that drivers report for a class."""
        return self.pools.setdefault(class_name, Pools())

    def _put_volume(self, volume: PersistentVolume) -> None:
        name = volume.metadata.name
        old = self.volumes.get(name)
        self._keep(old, volume)
        if old is not None:
            self.stock_of(class_of(old.metadata, old.spec.storage_class_name)).drop(name)
        self.volumes.put(name, volume)
        self.stock_of(class_of(volume.metadata, volume.spec.storage_class_name)).put(volume)

    def _drop_volume(self, name: str) -> None:
        old = self.volumes.drop(name)
        if old is not None:
            self._keep(old, None)
            self.stock_of(class_of(old.metadata, old.spec.storage_class_name)).drop(name)

    def _keep(self, old: PersistentVolume | None, new: PersistentVolume | None) -> None:
        """Note for which claim a volume is kept."""
        was = old.spec.claim_ref if old is not None else None
        now = new.spec.claim_ref if new is not None else None
        if was == now:
            return
        self._own_version += 1
        if old is not None and was is not None:
            kept = self._kept[f"{was.namespace}/{was.name}"]
            del kept[old.metadata.name]
            if not kept:
                del self._kept[f"{was.namespace}/{was.name}"]
        if new is not None and now is not None:
            self._kept.setdefault(f"{now.namespace}/{now.name}", {})[new.metadata.name] = now.uid

    def kept_for(self, claim: PersistentVolumeClaim) -> tuple[str, ...]:
        """Return the volumes that refer to a claim, by name or by name and uid."""
        kept = self._kept.get(_key(claim))
        return tuple(name for name, uid in kept.items() if uid in {"", uid_of(claim)}) if kept else ()

    def _drop_capacity(self, key: str) -> None:
        old = self.capacities.drop(key)
        if old is not None:
            self.pools_of(old.storage_class_name).drop(key)

    def _drop_attachment(self, name: str) -> tuple[str, ...]:
        old = self.attachments.drop(name)
        if old is None:
            return ()
        node = old.spec.node_name
        left = {other: attachment for other, attachment in (self.attached.get(node) or {}).items() if other != name}
        self.attached.put(node, left)
        return (node,)

    # -- pods

    def mount(self, resident: Resident, sign: int) -> None:
        """Count a pod with mounts in on its row (1), or out (-1)."""
        mounts = resident.load.mounts
        if mounts is None:
            return
        row = resident.row
        if sign > 0:
            self._on_row.setdefault(row, {})[resident.uid] = resident
        else:
            there = self._on_row[row]
            del there[resident.uid]
            if not there:
                del self._on_row[row]
        for key in mounts.claims:
            uses = self._uses.setdefault(key, {})
            uses[row] = uses.get(row, 0) + sign
            if not uses[row]:
                del uses[row]
                if not uses:
                    del self._uses[key]
        self._name(mounts, sign)

    def nominate(self, pod: Pod, sign: int) -> None:
        """Note that a pod may be thought of as on a node (1), or no longer (-1)."""
        mounts = mounts_of(pod)
        if mounts is not None:
            self._name(mounts, sign)

    def _name(self, mounts: Mounts, sign: int) -> None:
        for volume in mounts.volumes:
            if isinstance(volume, MountedClaim):
                before = self._namings.get(volume.key, 0)
                if before + sign:
                    self._namings[volume.key] = before + sign
                else:
                    del self._namings[volume.key]
                self._own_version += (before == 0) != (before + sign == 0)

    def mounted_on(self, row: int) -> Iterable[Resident]:
        """Return the pods on a row that have volumes a rule looks at."""
        there = self._on_row.get(row)
        return there.values() if there is not None else ()

    def rows_mounting(self) -> Iterator[int]:
        """Return the rows that have such pods."""
        return iter(self._on_row)

    def is_used(self, key: str) -> bool:
        """Say whether a pod on some row names a claim itself."""
        return key in self._uses

    def is_named(self, key: str) -> bool:
        """Say whether a pod on a row, or one nominated to a node, names a claim or had it made."""
        return key in self._namings

    # -- what is taken but not yet written

    def reserve(self, pod: Pod, reservation: Reservation, node: str) -> Reserved:
        """Write what binding will write: claims into their volumes, the node into the claims to be provided for."""
        taking = reservation.named(pod)
        namespace = pod.metadata.namespace
        volumes, claims = [], []
        for name, volume_name in taking.bind.items():
            volume, claim = self.volumes.entries[volume_name], self.claims.entries[f"{namespace}/{name}"]
            taken = _taken(volume, claim)
            self._put_volume(taken)
            volumes.append((volume, taken))
        for name in taking.provision:
            claim = self.claims.entries[f"{namespace}/{name}"]
            notes = {**claim.metadata.annotations, SELECTED_NODE: node}
            selected = replace(claim, metadata=replace(claim.metadata, annotations=notes))
            self.claims.put(_key(claim), selected)
            claims.append((claim, selected))
        return Reserved(tuple(volumes), tuple(claims))

    def release(self, reserved: Reserved) -> None:
        """Take a reservation back, except where the API server has since said otherwise."""
        for claim, selected in reversed(reserved.claims):
            if self.claims.get(_key(claim)) is selected:
                self.claims.put(_key(claim), claim)
        for volume, taken in reversed(reserved.volumes):
            if self.volumes.get(volume.metadata.name) is taken:
                self._put_volume(volume)


def _taken(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    """Return a volume as bound to a claim by us, or as it is when it already refers to it in full."""
    meta, uid = claim.metadata, uid_of(claim)
    old = volume.spec.claim_ref
    if old is not None and (old.namespace, old.name, old.uid) == (meta.namespace, meta.name, uid):
        return volume
    mine = ObjectReference(kind="PersistentVolumeClaim", namespace=meta.namespace, name=meta.name, uid=uid)
    notes = volume.metadata.annotations
    if old is None:
        notes = {**notes, BOUND_BY_CONTROLLER: "yes"}
    return replace(volume, spec=replace(volume.spec, claim_ref=mine),
                   metadata=replace(volume.metadata, annotations=notes))


def _key(thing: PersistentVolumeClaim | CSIStorageCapacity) -> str:
    return f"{thing.metadata.namespace}/{thing.metadata.name}"
