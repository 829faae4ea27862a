"""VolumeZone: keep a pod in the zones and regions of the volumes that its claims are bound to.

It reads labels of volumes; a volume's node affinity is VolumeBinding's.  A node that says neither its zone nor its
region passes: the cluster may have just one.
Not here: claims made for a pod itself, which upstream does not look at in this rule.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from bayplan.api.names import go_quoted
from bayplan.api.selectors import Clause, Selector
from bayplan.cluster.claims import WAIT_FOR_CONSUMER, Claim, Volumes
from bayplan.cluster.held import PLACE_LABELS, Held, Place, held
from bayplan.cluster.migration import REGION, REGION_BETA, ZONE, ZONE_BETA
from bayplan.cluster.shapes import VOLUMES
from bayplan.cluster.view import View
from bayplan.framework.plugin import NODE, SUCCESS, Change, Code, Mask, Plugin, Prepared, Rejected, Ruling, unresolvable

OUTCOMES = (SUCCESS, unresolvable("node(s) had no available volume zone"))
NOW_CALLED: Final = {ZONE_BETA: ZONE, REGION_BETA: REGION}


class VolumeZone(Plugin[Volumes | None, tuple[Place, ...]]):
    """Compare the labels of nodes with those of bound volumes."""

    reads = VOLUMES
    depends = NODE
    wakes = (Change.STORAGE_CLASS, Change.NODE_ADDED, Change.NODE_LABELS, Change.CLAIM, Change.VOLUME)

    def prepare(self, part: Volumes | None, view: View) -> Prepared[tuple[Place, ...]] | Rejected:
        """Collect where the pod's bound volumes are; skip pods whose volumes do not say."""
        places: list[Place] = []
        for claim in part.claims if part is not None else ():
            if claim.is_ephemeral:
                continue
            found = claim.held or self._volume_of(claim, view)
            if isinstance(found, str):
                return Rejected(Code.UNRESOLVABLE, (found,))
            if found is not None:
                places.extend(found.places)
        return Prepared(tuple(places), filters=bool(places))

    def _volume_of(self, claim: Claim, view: View) -> Held | str | None:
        """Return a claim's volume, None if it is to be bound later, or kube-scheduler's text if it has none."""
        if claim.is_missing:
            return f"persistentvolumeclaim {go_quoted(claim.name)} not found" if claim.name else NAMELESS
        if claim.volume:
            volume = view.looked_up(view.volumes.volumes, claim.volume)
            return f"persistentvolume {go_quoted(claim.volume)} not found" if volume is None else held(volume)
        if not claim.class_name:
            return "PersistentVolumeClaim had no pv name and storageClass name"
        storage_class = view.looked_up(view.volumes.classes, claim.class_name)
        if storage_class is None:
            return f"storageclass.storage.k8s.io {go_quoted(claim.class_name)} not found"
        if storage_class.volume_binding_mode is None:
            return f"VolumeBindingMode not set for StorageClass {go_quoted(claim.class_name)}"
        return None if storage_class.volume_binding_mode == WAIT_FOR_CONSUMER else "PersistentVolume had no name"

    def filter(self, state: tuple[Place, ...], view: View) -> Ruling:
        """Rule out nodes elsewhere."""
        return Ruling((~self.fits(state, view)).astype(np.int16), OUTCOMES)

    def fits(self, state: tuple[Place, ...], view: View) -> Mask:
        """Ask each label of each volume; a node may have it under its present name only."""
        fits = np.ones(len(view), np.bool_)  # (rows,)
        for place in state:
            key, values = place.key, place.values
            there = view.judged(_one_of(key, values))
            now = NOW_CALLED.get(key)
            fits &= there if now is None else there | (~view.has(key) & view.judged(_one_of(now, values)))
        says = np.zeros(len(view), np.bool_)
        for key in PLACE_LABELS:
            says |= view.has(key)
        return fits | ~says


NAMELESS: Final = "PersistentVolumeClaim had no name"


def _one_of(key: str, values: tuple[str, ...]) -> Selector:
    return Selector((Clause(key, "In", values),))
