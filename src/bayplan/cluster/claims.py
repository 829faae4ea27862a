"""Volumes of pods, reduced to what rules look at: `Mounts` of a pod that runs, `Volumes` of one that waits.

A waiting pod's claim is described by its state, not by its name, so that the pods of a StatefulSet, each with a claim
of its own, share a shape; so is its volume, where it has one.  Names are kept where a text prints them or where it
matters which one it is: when somebody else has the same.  A reservation therefore calls claims by their place in the
pod.
Invariant: two pods with equal `Volumes` get the same answer from every volume rule.
Not here: volumes and classes themselves (`books/volumes.py`), in-tree sources as drivers see them (`migration.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from bayplan.api.claims import PersistentVolumeClaim
from bayplan.api.names import go_quoted
from bayplan.api.objects import ObjectMeta, Pod, Quantity, Volume, uid_of
from bayplan.api.quantity import QuantityError, nanos
from bayplan.api.selectors import Selector, SelectorError
from bayplan.cluster.held import Held
from bayplan.cluster.migration import Inline, inline_of

if TYPE_CHECKING:
    from bayplan.cluster.books.volumes import VolumeBooks

BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
CLASS_BETA: Final = "volume.beta.kubernetes.io/storage-class"
ONE_POD: Final = "ReadWriteOncePod"
FILESYSTEM: Final = "Filesystem"
WAIT_FOR_CONSUMER: Final = "WaitForFirstConsumer"


class Disk(msgspec.Struct, frozen=True, gc=False):
    """A disk that a pod names itself and may not share with just any other pod of its node."""

    kind: str  # gce, ebs, iscsi or rbd
    name: str
    read_only: bool
    pool: str = ""
    monitors: tuple[str, ...] = ()

    def clashes(self, other: Disk) -> bool:
        """Say whether two pods of one node cannot both have these."""
        if (self.kind, self.name, self.pool) != (other.kind, other.name, other.pool):
            return False
        if self.kind == "rbd" and not set(self.monitors) & set(other.monitors):
            return False
        return self.kind == "ebs" or not (self.read_only and other.read_only)


class MountedClaim(msgspec.Struct, frozen=True, gc=False):
    """A claim that a pod names, or that was made for it."""

    key: str  # namespace/name
    is_ephemeral: bool


class Mounts(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """The volumes of a pod on a row that some rule looks at."""

    volumes: tuple[MountedClaim | Inline, ...]  # in the pod's order
    disks: tuple[Disk, ...]

    @property
    def claims(self) -> Iterator[str]:
        """The keys of the claims that the pod names itself, as often as it names them."""
        return (volume.key for volume in self.volumes if isinstance(volume, MountedClaim) and not volume.is_ephemeral)


class Claim(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """The state of a claim that a waiting pod names, or that is made for it."""

    place: int  # in the pod's volumes: of the first that names this claim
    is_ephemeral: bool
    key: str | None = None  # namespace/name, where it matters which claim it is
    is_missing: bool = False
    refused: str = ""  # why no volume is looked for: kube-scheduler's text
    foreign: str = ""  # why a claim made for a pod is not this pod's: likewise
    one_pod: bool = False  # ReadWriteOncePod
    held: Held | None = None  # its volume, where it does not matter which
    volume: str = ""  # the volume's name where it does, or there is none
    is_bound: bool = False  # to that volume, for good
    class_name: str = ""
    wish: Wish | None = None  # None unless the claim is without a volume

    @property
    def name(self) -> str:
        """The claim's own name, where it is known."""
        return (self.key or "").partition("/")[2]


class Wish(msgspec.Struct, frozen=True, gc=False):
    """What a claim without a volume asks for."""

    storage: int | None  # nanobytes; None: no such request
    selector: Selector | None
    selector_error: str
    access_modes: tuple[str, ...]
    mode: str
    attributes_class: str
    spec_class: str  # the class that its spec names, whatever an annotation says: by which its score is grouped
    selected_node: str | None  # where its volume is being made
    kept: tuple[str, ...]  # volumes that are kept for this claim


class Volumes(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """The volumes of a waiting pod that some rule looks at."""

    volumes: tuple[Claim | Inline, ...]  # in the pod's order
    disks: tuple[Disk, ...]

    @property
    def claims(self) -> Iterator[Claim]:
        """The claims, in the pod's order, as often as the pod names them."""
        return (volume for volume in self.volumes if isinstance(volume, Claim))


class Taking(NamedTuple):
    """A reservation in names: which claim gets which volume, and which claims get a volume made."""

    bind: Mapping[str, str]
    provision: tuple[str, ...]


class Reservation(msgspec.Struct, frozen=True, gc=False):
    """What placing a pod on a row would take, its claims called by their place in the pod's volumes."""

    bind: tuple[tuple[int, str], ...]  # (place of the claim, name of the volume)
    provision: tuple[int, ...]  # places of the claims for which a volume is made

    def named(self, pod: Pod) -> Taking:
        """Say it in a pod's names."""
        return Taking(
            {claim_name(pod, place): volume for place, volume in self.bind},
            tuple(sorted(claim_name(pod, place) for place in self.provision)),
        )


def claim_name(pod: Pod, place: int) -> str:
    """Return the name of the claim that the volume at a place stands for."""
    volume = pod.spec.volumes[place]
    if volume.persistent_volume_claim is not None:
        return volume.persistent_volume_claim.claim_name
    return f"{pod.metadata.name}-{volume.name}"


def mounts_of(pod: Pod) -> Mounts | None:
    """Return what rules see of a running pod's volumes, or None when there is nothing."""
    if not pod.spec.volumes:
        return None
    found: list[MountedClaim | Inline] = []
    disks: list[Disk] = []
    for place, volume in enumerate(pod.spec.volumes):
        if _has_claim(volume):
            key = f"{pod.metadata.namespace}/{claim_name(pod, place)}"
            found.append(MountedClaim(key, is_ephemeral=volume.persistent_volume_claim is None))
        elif (inline := inline_of(volume)) is not None:
            found.append(inline)
        disks.extend(_disks_of(volume))
    return Mounts(tuple(found), tuple(disks)) if found or disks else None


def volumes_of(pod: Pod, books: VolumeBooks) -> Volumes | None:
    """Return what rules see of a waiting pod's volumes, or None when there is nothing."""
    if not pod.spec.volumes:
        return None
    found: list[Claim | Inline] = []
    disks = tuple(disk for volume in pod.spec.volumes for disk in _disks_of(volume))
    places: dict[str, int] = {}
    for place, volume in enumerate(pod.spec.volumes):
        if _has_claim(volume):
            places.setdefault(claim_name(pod, place), place)
    used = any(books.mounted.is_used(f"{pod.metadata.namespace}/{name}") for name in places)
    by_name = used or bool(disks) or any(inline_of(volume) for volume in pod.spec.volumes)
    for place, volume in enumerate(pod.spec.volumes):
        if _has_claim(volume):
            first = places[claim_name(pod, place)]
            found.append(_claim_of(pod, place, first, books, by_name=by_name))
        elif (inline := inline_of(volume)) is not None:
            found.append(inline)
    return Volumes(tuple(found), disks) if found or disks else None


def class_of(metadata: ObjectMeta, class_name: str | None) -> str:
    """Return the storage class of a claim or volume: an old annotation goes before the field."""
    return metadata.annotations.get(CLASS_BETA, class_name or "")


def storage_in(quantities: Mapping[str, Quantity] | None) -> int | None:
    """Return the nanobytes of storage in a list of quantities, or None where there are none."""
    amount = (quantities or {}).get("storage")
    if amount is None:
        return None
    try:
        return nanos(amount)
    except QuantityError:
        return None  # reported where the object was decoded


def foreign_text(pod: Pod, claim: PersistentVolumeClaim) -> str:
    """Say that a claim was not made for a pod, or nothing if it was."""
    owner = next((owner for owner in claim.metadata.owner_references if owner.controller), None)
    if owner is not None and owner.uid == uid_of(pod):
        return ""
    meta = claim.metadata
    return f"PVC {meta.namespace}/{meta.name} was not created for pod {pod.key} (pod is not owner)"


def _has_claim(volume: Volume) -> bool:
    return volume.persistent_volume_claim is not None or volume.ephemeral is not None


def _disks_of(volume: Volume) -> Iterator[Disk]:
    if (gce := volume.gce_persistent_disk) is not None:
        yield Disk("gce", gce.pd_name, gce.read_only)
    if (ebs := volume.aws_elastic_block_store) is not None:
        yield Disk("ebs", ebs.volume_id, ebs.read_only)
    if (iscsi := volume.iscsi) is not None:
        yield Disk("iscsi", iscsi.iqn, iscsi.read_only)
    if (rbd := volume.rbd) is not None:
        yield Disk("rbd", rbd.image, rbd.read_only, rbd.pool, rbd.monitors)


def _claim_of(pod: Pod, place: int, first: int, books: VolumeBooks, *, by_name: bool) -> Claim:
    """Describe the claim behind a volume by its state, and by its name where that matters, or where it might."""
    is_ephemeral = pod.spec.volumes[place].persistent_volume_claim is None
    name = claim_name(pod, place)
    key = f"{pod.metadata.namespace}/{name}"
    claim = books.claims.get(key)
    if claim is None:
        refused = (
            f"waiting for ephemeral volume controller to create the persistentvolumeclaim {go_quoted(name)}"
            if is_ephemeral
            else f"persistentvolumeclaim {go_quoted(name)} not found"
        )
        return Claim(first, is_ephemeral, key, is_missing=True, refused=refused)
    foreign = foreign_text(pod, claim) if is_ephemeral else ""
    refused = _refusal(claim) or foreign
    one_pod = ONE_POD in claim.spec.access_modes
    wish = None if claim.spec.volume_name else _wish_of(claim, books.kept_for(claim))
    matters = by_name or refused or foreign or books.mounted.is_named(key) or (wish is not None and wish.selector_error)
    volume = claim.spec.volume_name
    alone = books.held_alone(volume) if volume and not matters else None
    return Claim(
        first,
        is_ephemeral,
        key if matters else None,
        refused=refused,
        foreign=foreign,
        one_pod=one_pod,
        held=alone,
        volume=volume if alone is None else "",
        is_bound=bool(volume) and BIND_COMPLETED in claim.metadata.annotations,
        class_name="" if alone is not None else class_of(claim.metadata, claim.spec.storage_class_name),
        wish=wish,
    )


def _refusal(claim: PersistentVolumeClaim) -> str:
    name = go_quoted(claim.metadata.name)
    if claim.status.phase == "Lost":
        volume = go_quoted(claim.spec.volume_name)
        return f"persistentvolumeclaim {name} bound to non-existent persistentvolume {volume}"
    return f"persistentvolumeclaim {name} is being deleted" if claim.metadata.deletion_timestamp is not None else ""


def _wish_of(claim: PersistentVolumeClaim, kept: tuple[str, ...]) -> Wish:
    spec = claim.spec
    selector, error = None, ""
    if spec.selector is not None:
        try:
            selector = Selector.of(spec.selector)
        except SelectorError as problem:
            error = str(problem)
    requests = spec.resources.requests if spec.resources is not None else None
    return Wish(
        storage=storage_in(requests),
        selector=selector,
        selector_error=error,
        access_modes=tuple(sorted(set(spec.access_modes))),
        mode=spec.volume_mode or FILESYSTEM,
        attributes_class=spec.volume_attributes_class_name or "",
        spec_class=class_of(claim.metadata, None) if spec.storage_class_name is None else spec.storage_class_name,
        selected_node=claim.metadata.annotations.get(SELECTED_NODE),
        kept=kept,
    )
