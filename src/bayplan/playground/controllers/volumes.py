"""Volumes: claims are bound to volumes that fit them, or to new ones of a provisioner that pretends.

A class that waits for its first consumer waits here too: until a scheduler has named a node on the claim
(`volume.kubernetes.io/selected-node`), or has itself named the claim on a volume.
Invariant: a volume is bound to one claim, and a claim to one volume; neither changes afterwards.
Not here: which node suits a volume, which is the scheduler's to know.
"""

from __future__ import annotations

from typing import Final

from bayplan.api.quantity import QuantityError, nanos
from bayplan.api.yamltree import Tree
from bayplan.playground.agenda import Agenda
from bayplan.playground.matching import selection
from bayplan.playground.store import Change, Key
from bayplan.playground.trees import Map, at, items, mapping, opened, pairs, stamp, text
from bayplan.playground.verbs import Deletion, Verbs

SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
_CLAIMS: Final = ("", "persistentvolumeclaims")
_VOLUMES: Final = ("", "persistentvolumes")
_CLASSES: Final = ("storage.k8s.io", "storageclasses")


class Volumes:
    """The binder of claims and volumes, and their pretend provisioner."""

    def __init__(self, verbs: Verbs, agenda: Agenda) -> None:
        """Look at each claim now, and whenever it, a volume or a class changes."""
        self._verbs = verbs
        self._agenda = agenda
        self._claim_kind = verbs.kinds.core("persistentvolumeclaims")
        self._volume_kind = verbs.kinds.core("persistentvolumes")
        agenda.listen(self._changed)

    def _changed(self, of: tuple[str, str], change: Change) -> None:
        key = change.key
        if of == _CLAIMS and change.type == "DELETED":
            name = text(change.now.tree, "spec", "volumeName")
            self._agenda.soon(("release", name), lambda: self._release(name))
        elif of == _CLAIMS:
            self._agenda.soon(("claim", key), lambda: self._look(key))
        elif of in {_VOLUMES, _CLASSES} and change.type != "DELETED":
            if of == _VOLUMES:
                self._agenda.soon(("offer", key), lambda: self._offer(key))
            self._agenda.soon("claims", self._look_at_all)

    def _offer(self, key: Key) -> None:
        """Tell of a volume that nobody has that it may be had."""
        stored = self._verbs.store.shelf(_VOLUMES).objects.get(key)
        if stored is None or mapping(stored.tree, "spec", "claimRef"):
            return
        if text(stored.tree, "status", "phase") == "Pending":
            now = stamp(self._verbs.clock())
            self._verbs.amend(self._volume_kind, key, lambda new: _phased(new, "Available", now))

    def _look_at_all(self) -> None:
        for key in self._verbs.store.shelf(_CLAIMS).ordered():
            self._agenda.soon(("claim", key), lambda key=key: self._look(key))  # type: ignore[misc]

    def _look(self, key: Key) -> None:
        """Do the next thing that a claim lacks."""
        stored = self._verbs.store.shelf(_CLAIMS).objects.get(key)
        if stored is None or text(stored.tree, "status", "phase") == "Bound":
            return
        claim = stored.tree
        volume = self._volume_for(claim)
        if volume is not None:
            self._bind(key, claim, volume)
        elif not text(claim, "spec", "volumeName"):
            self._provision(claim)

    # --- which volume ------------------------------------------------------------------------------------------------

    def _volume_for(self, claim: Map) -> Map | None:
        """Give the volume that is meant for a claim, else the smallest that fits it and may be bound now."""
        volumes = [one.tree for one in self._verbs.store.shelf(_VOLUMES).objects.values()]
        uid, named = text(claim, "metadata", "uid"), text(claim, "spec", "volumeName")
        for volume in volumes:
            meant = mapping(volume, "spec", "claimRef")
            is_ours = all(text(meant, field) == text(claim, "metadata", field) for field in ("namespace", "name"))
            if meant and is_ours and text(meant, "uid") in {"", uid}:
                return volume
            if named and text(volume, "metadata", "name") == named and not meant:
                return volume
        if named or self._waits(claim):
            return None
        fitting = [volume for volume in volumes if _fits(volume, claim)]
        return min(fitting, key=lambda one: _size(at(one, "spec", "capacity", "storage")), default=None)

    def _class_of(self, claim: Map) -> Map:
        found = self._verbs.store.shelf(_CLASSES).objects.get(("", text(claim, "spec", "storageClassName")))
        return found.tree if found is not None else {}

    def _waits(self, claim: Map) -> bool:
        """Say whether a claim still waits for a scheduler to choose a node."""
        is_late = text(self._class_of(claim), "volumeBindingMode") == "WaitForFirstConsumer"
        return is_late and not text(claim, "metadata", "annotations", SELECTED_NODE)

    # --- binding -----------------------------------------------------------------------------------------------------

    def _bind(self, key: Key, claim: Map, volume: Map) -> None:
        """Let volume and claim name each other."""
        name, size = text(volume, "metadata", "name"), at(volume, "spec", "capacity", "storage")
        meta = mapping(claim, "metadata")
        reference: Map = {"kind": "PersistentVolumeClaim", "apiVersion": "v1"}
        reference.update({field: meta[field] for field in ("namespace", "name", "uid")})

        now = stamp(self._verbs.clock())

        def held(new: Map) -> None:
            opened(new, "spec")["claimRef"] = reference
            _phased(new, "Bound", now)

        def bound(new: Map) -> None:
            opened(new, "spec")["volumeName"] = name
            status = opened(new, "status")
            status.update({"phase": "Bound", "accessModes": items(volume, "spec", "accessModes")})
            status["capacity"] = {"storage": size}
            opened(new, "metadata", "annotations")["pv.kubernetes.io/bind-completed"] = "yes"

        self._verbs.amend(self._volume_kind, ("", name), held)
        self._verbs.amend(self._claim_kind, key, bound)

    def _provision(self, claim: Map) -> None:
        """Create a volume for a claim whose class has a provisioner."""
        storage = self._class_of(claim)
        provisioner = text(storage, "provisioner")
        if not provisioner or provisioner == NO_PROVISIONER or self._waits(claim):
            return
        meta = mapping(claim, "metadata")
        spec: Map = {
            "capacity": {"storage": at(claim, "spec", "resources", "requests", "storage")},
            "accessModes": items(claim, "spec", "accessModes"),
            "storageClassName": text(claim, "spec", "storageClassName"),
            "persistentVolumeReclaimPolicy": text(storage, "reclaimPolicy") or "Delete",
            "claimRef": {field: meta[field] for field in ("namespace", "name", "uid")},
            "csi": {"driver": provisioner, "volumeHandle": f"pretend-{meta['uid']}"},
        }
        self._verbs.create(self._volume_kind, "", {"metadata": {"name": f"pvc-{meta['uid']}"}, "spec": spec})

    def _release(self, name: str) -> None:
        """Delete the volume of a claim that is gone, or keep it as released, as its policy says."""
        stored = self._verbs.store.shelf(_VOLUMES).objects.get(("", name))
        if stored is None:
            return
        now = stamp(self._verbs.clock())
        self._verbs.amend(self._volume_kind, ("", name), lambda new: _phased(new, "Released", now))
        if text(stored.tree, "spec", "persistentVolumeReclaimPolicy") == "Delete":
            self._verbs.delete(self._volume_kind, ("", name), Deletion())


def _phased(volume: Map, phase: str, now: str) -> None:
    opened(volume, "status").update({"phase": phase, "lastPhaseTransitionTime": now})


def _fits(volume: Map, claim: Map) -> bool:
    """Say whether a volume that nobody has is of the claim's class, size, modes and labels."""
    if mapping(volume, "spec", "claimRef") or text(volume, "metadata", "deletionTimestamp"):
        return False
    if text(volume, "spec", "storageClassName") != text(claim, "spec", "storageClassName"):
        return False
    if text(volume, "spec", "volumeMode") != text(claim, "spec", "volumeMode"):
        return False
    offered = items(volume, "spec", "accessModes")
    if any(mode not in offered for mode in items(claim, "spec", "accessModes")):
        return False
    selector = at(claim, "spec", "selector")
    chosen = selection(selector)
    if selector is not None and (chosen is None or not chosen(pairs(volume, "metadata", "labels"))):
        return False
    wanted = at(claim, "spec", "resources", "requests", "storage")
    return _size(at(volume, "spec", "capacity", "storage")) >= _size(wanted)


def _size(written: Tree) -> int:
    """Read a quantity; one that cannot be read is nothing."""
    try:
        return nanos(written) if isinstance(written, str | int | float) else 0
    except QuantityError:
        return 0
