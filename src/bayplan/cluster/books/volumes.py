"""Volumes: claims, volumes, classes and what CSI drivers say, keyed; who mounts what; what is taken but not written.

Two pods never take one volume within one run: reserving writes the claim into the volume (or the node into the claim)
here, as binding would write it to the API server, and releasing takes exactly that back.  An object that comes from the
API server replaces what was assumed of it.
Invariant: after release(reserve(...)) every entry is what it was; versions have risen.
Not here: what of it matters to a waiting pod (`cluster/claims.py`) and which volume fits where (`cluster/matching.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
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
from bayplan.cluster.books.attached import Attached
from bayplan.cluster.books.identities import Identity, identity_of, identity_of_inline
from bayplan.cluster.books.mounted import Mounted
from bayplan.cluster.books.stock import Pools, Stock
from bayplan.cluster.claims import (
    BOUND_BY_CONTROLLER,
    SELECTED_NODE,
    MountedClaim,
    Reservation,
    class_of,
    foreign_text,
    mounts_of,
)
from bayplan.cluster.held import Held, held, identities
from bayplan.cluster.migration import Inline

if TYPE_CHECKING:
    from bayplan.cluster.residents import Resident

VolumeObject: TypeAlias = (
    PersistentVolumeClaim
    | PersistentVolume
    | StorageClass
    | CSINode
    | CSIDriver
    | CSIStorageCapacity
    | VolumeAttachment
)


class Touched(NamedTuple):
    """Where an object that changed is part of what one node is: nodes by name, rows by number."""

    nodes: Iterable[str] = ()
    rows: Iterable[int] = ()


class Reserved(NamedTuple):
    """What a reservation changed: each entry as it was and as it is assumed to be."""

    volumes: tuple[tuple[PersistentVolume, PersistentVolume], ...]
    claims: tuple[tuple[PersistentVolumeClaim, PersistentVolumeClaim], ...]


class VolumeBooks:
    """All that volume rules look up."""

    def __init__(self) -> None:
        self.claims: Book[PersistentVolumeClaim] = Book()  # "namespace/name"
        self.volumes: Book[PersistentVolume] = Book()
        self.classes: Book[StorageClass] = Book()
        self.csi_nodes: Book[CSINode] = Book()
        self.csi_drivers: Book[CSIDriver] = Book()
        self.capacities: Book[CSIStorageCapacity] = Book()  # "namespace/name"
        self.attached = Attached()
        self.mounted = Mounted()
        self._stock: dict[str, Stock] = {}  # by class: volumes free to be taken
        self._pools: dict[str, Pools] = {}  # by class: room for volumes to be made
        self._kept: dict[str, dict[str, str]] = {}  # claim key -> volume that refers to it -> uid
        self._claims_of: dict[str, set[str]] = {}  # volume -> keys of the claims that name it
        self._identities: dict[str, Identity | None] = {}  # of mounted claims, as asked for
        self._held: dict[str, Held] = {}  # by volume, as asked for
        self._counted_as: Counter[Identity | None] = Counter()  # how many volumes count as the same
        self._own_version = 0

    @property
    def version(self) -> int:
        """Rises whenever what rules see of a waiting pod's volumes may be another."""
        return self._own_version + self.claims.version + self.mounted.version

    def version_for(self, pod: Pod) -> int:
        """Rise whenever what rules see of this pod's volumes may be another, whoever else's changes."""
        version = self._own_version + self.mounted.inline
        for volume in pod.spec.volumes:
            claim = volume.persistent_volume_claim
            if claim is not None or volume.ephemeral is not None:
                name = claim.claim_name if claim is not None else f"{pod.metadata.name}-{volume.name}"
                key = f"{pod.metadata.namespace}/{name}"
                version += self.claims.version_of(key) + self.mounted.versions.get(key, 0)
        return version

    @property
    def changes(self) -> int:
        """Rises whenever anything here changes but what belongs to one row: who mounts what there, what is attached."""
        books = (self.claims, self.volumes, self.classes, self.csi_nodes, self.csi_drivers, self.capacities)
        return self._own_version + self.mounted.answers + sum(book.version for book in books)

    # -- objects

    def put(self, thing: VolumeObject) -> Touched:
        """Take over an object, new or changed; say which nodes alone it concerns."""
        name = thing.metadata.name
        match thing:
            case PersistentVolumeClaim():
                return self._put_claim(thing)
            case PersistentVolume():
                return self._put_volume(thing)
            case StorageClass():
                self.classes.put(name, thing)
                return self._forget_identities()
            case CSINode():
                self.csi_nodes.put(name, thing)
                return Touched(nodes=(name,))
            case CSIDriver():
                self.csi_drivers.put(name, thing)
            case CSIStorageCapacity():
                self._drop_capacity(_key(thing))
                self.capacities.put(_key(thing), thing)
                self.pools_of(thing.storage_class_name).put(_key(thing), thing)
            case VolumeAttachment():
                return Touched(nodes=self.attached.put(thing))
        return Touched()

    def drop(self, thing: VolumeObject) -> Touched:
        """Forget an object; say which nodes alone it concerned."""
        name = thing.metadata.name
        match thing:
            case PersistentVolumeClaim():
                return self._drop_claim(_key(thing))
            case PersistentVolume():
                return self._drop_volume(name)
            case StorageClass():
                self.classes.drop(name)
                return self._forget_identities()
            case CSINode():
                self.csi_nodes.drop(name)
                return Touched(nodes=(name,))
            case CSIDriver():
                self.csi_drivers.drop(name)
            case CSIStorageCapacity():
                self._drop_capacity(_key(thing))
            case VolumeAttachment():
                return Touched(nodes=self.attached.drop(name))
        return Touched()

    def stock_of(self, class_name: str) -> Stock:
        """Return the volumes of a class that are free to be taken."""
        return self._stock.setdefault(class_name, Stock())

    def pools_of(self, class_name: str) -> Pools:
        """Return the room that drivers report for a class."""
        return self._pools.setdefault(class_name, Pools())

    def kept_for(self, claim: PersistentVolumeClaim) -> tuple[str, ...]:
        """Return the volumes that refer to a claim, by name or by name and uid."""
        kept = self._kept.get(_key(claim))
        return tuple(sorted(name for name, uid in kept.items() if uid in {"", uid_of(claim)})) if kept else ()

    def held_alone(self, name: str) -> Held | None:
        """Return what rules see of a claim's volume, or None where it matters which it is, or there is none."""
        volume = self.volumes.get(name)
        if volume is None or len(self._claims_of[name]) > 1:
            return None
        known = self._held.get(name)
        if known is None:
            known = self._held[name] = held(volume)
        is_same = any(
            self._counted_as[identity] > 1 or self.mounted.has_inline(identity)
            for identity in identities(volume)
            if identity is not None
        )
        return None if is_same else known

    def _put_claim(self, claim: PersistentVolumeClaim) -> Touched:
        key = _key(claim)
        old = self.claims.put(key, claim)
        self._link(key, old, claim)
        return self._recount(key)

    def _drop_claim(self, key: str) -> Touched:
        self._link(key, self.claims.drop(key), None)
        return self._recount(key)

    def _link(self, key: str, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim | None) -> None:
        """Note which volume a claim names."""
        was = old.spec.volume_name if old is not None else ""
        now = new.spec.volume_name if new is not None else ""
        if was == now:
            return
        self._own_version += 1
        if was:
            self._claims_of[was].discard(key)
            if not self._claims_of[was]:
                del self._claims_of[was]
        if now:
            self._claims_of.setdefault(now, set()).add(key)

    def _recount(self, *keys: str) -> Touched:
        """Forget what claims count as; say on which rows they did."""
        for key in keys:
            self._identities.pop(key, None)
        return Touched(rows=[row for key in keys for row in self.mounted.rows_of(key)])

    def _forget_identities(self) -> Touched:
        self._identities.clear()
        return Touched(rows=list(self.mounted.rows()))

    def _put_volume(self, volume: PersistentVolume) -> Touched:
        name = volume.metadata.name
        old = self.volumes.put(name, volume)
        self._keep(old, volume)
        if old is not None:
            self.stock_of(class_of_volume(old)).drop(name)
        self.stock_of(class_of_volume(volume)).put(volume)
        if old is not None and _seen(old) == _seen(volume):
            return Touched()  # to those who have it, it is what it was
        self._see(old, volume)
        return self._recount(*self._claims_of.get(name, ()))._replace(nodes=self.attached.nodes_of(name))

    def _drop_volume(self, name: str) -> Touched:
        old = self.volumes.drop(name)
        if old is None:
            return Touched()
        self._keep(old, None)
        self._see(old, None)
        self.stock_of(class_of_volume(old)).drop(name)
        return self._recount(*self._claims_of.get(name, ()))._replace(nodes=self.attached.nodes_of(name))

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

    def _see(self, old: PersistentVolume | None, new: PersistentVolume | None) -> None:
        """Forget what was seen of a volume, and count what volumes count as."""
        self._own_version += 1
        for volume, change in ((old, -1), (new, 1)):
            if volume is not None:
                self._held.pop(volume.metadata.name, None)
                for identity in {*identities(volume)} - {None}:
                    self._counted_as[identity] += change
                    if not self._counted_as[identity]:
                        del self._counted_as[identity]

    def _drop_capacity(self, key: str) -> None:
        old = self.capacities.drop(key)
        if old is not None:
            self.pools_of(old.storage_class_name).drop(key)

    # -- pods

    def mount(self, resident: Resident, sign: int) -> None:
        """Count a pod with mounts in on its row (1), or out (-1)."""
        if resident.load.mounts is not None:
            self.mounted.add(resident, resident.load.mounts, sign)

    def nominate(self, pod: Pod, sign: int) -> None:
        """Note that a pod may be thought of as on a node (1), or no longer (-1)."""
        mounts = mounts_of(pod)
        if mounts is not None:
            self.mounted.name(mounts, sign)

    def mounted_on(self, row: int) -> Iterable[Resident]:
        """Return the pods on a row that have volumes a rule looks at."""
        return self.mounted.on(row)

    def identity_on(self, pod: Pod, volume: MountedClaim | Inline) -> Identity | str | None:
        """Return what a node with a CSINode counts a running pod's volume as; None: nothing, a text: it fails to."""
        if isinstance(volume, Inline):
            return volume.error or identity_of_inline(volume, migrates=True)
        if volume.key.endswith("/"):
            return "PersistentVolumeClaim had no name"
        claim = self.claims.get(volume.key)
        if claim is None:
            return None
        if volume.is_ephemeral and (text := foreign_text(pod, claim)):
            return text
        if volume.key not in self._identities:
            bound = self.volumes.get(claim.spec.volume_name) if claim.spec.volume_name else None
            of_class = self.classes.get(class_of(claim.metadata, claim.spec.storage_class_name))
            self._identities[volume.key] = identity_of(bound, of_class, volume.key, migrates=True)
        return self._identities[volume.key]

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


def class_of_volume(volume: PersistentVolume) -> str:
    """Return the storage class of a volume."""
    return class_of(volume.metadata, volume.spec.storage_class_name)


def _seen(volume: PersistentVolume) -> tuple[object, ...]:
    """Return all of a volume that those who have it, or look at who has it, can see."""
    return replace(volume.spec, claim_ref=None), volume.metadata.labels


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
    return replace(
        volume, spec=replace(volume.spec, claim_ref=mine), metadata=replace(volume.metadata, annotations=notes)
    )


def _key(thing: PersistentVolumeClaim | CSIStorageCapacity) -> str:
    return f"{thing.metadata.namespace}/{thing.metadata.name}"
