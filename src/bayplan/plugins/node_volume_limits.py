"""NodeVolumeLimits: keep a pod off nodes to which no more volumes of its drivers can be attached.

A volume counts once per node, however many pods have it.  Volumes attached to the node for no pod there count, too.  A
claim without a volume counts as one of its class's driver.
Not here: whether the node reaches the volume at all (VolumeBinding).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import Final, NamedTuple

import numpy as np

from bayplan.api.claims import CSINode, VolumeAttachment
from bayplan.cluster.books.identities import Identity, identity_of, identity_of_inline
from bayplan.cluster.claims import Claim, Volumes
from bayplan.cluster.columns import Row
from bayplan.cluster.residents import Resident
from bayplan.cluster.shapes import VOLUMES
from bayplan.cluster.view import View
from bayplan.framework.plugin import (
    NO_ROWS,
    ROW,
    SUCCESS,
    Change,
    Code,
    Outcome,
    Plugin,
    Prepared,
    Rows,
    Ruling,
    error,
    unresolvable,
    unschedulable,
)

TOO_MANY: Final = unschedulable("node(s) exceed max volume count")


class New(NamedTuple):
    """The pod's own volumes as a node counts them, or how it fails to."""

    volumes: frozenset[Identity] = frozenset()
    failure: Outcome | None = None
    drivers_needed: tuple[str, ...] = ()  # that keep pods off nodes where they do not run


class State(NamedTuple):
    """The pod's own volumes, as nodes with and without a CSINode count them."""

    known: New = New()
    unknown: New = New()


class NodeVolumeLimits(Plugin[Volumes | None, State]):
    """Count volumes by driver and row."""

    reads = VOLUMES
    depends = ROW
    searches = True
    wakes = (Change.CSI_NODE, Change.POD_GONE, Change.CLAIM, Change.ATTACHMENT_GONE, Change.VOLUME, Change.CSI_DRIVER)

    def prepare(self, part: Volumes | None, view: View) -> Prepared[State]:
        """Name the pod's volumes; skip pods that have none that could count."""
        if part is None or not part.volumes:
            return Prepared(State(), filters=False)
        return Prepared(State(*(self._new(part, view, migrates=migrates) for migrates in (True, False))))

    def _new(self, part: Volumes, view: View, *, migrates: bool) -> New:
        found: set[Identity] = set()
        for volume in part.volumes:
            if isinstance(volume, Claim):
                failure = _failure_of(volume)
                identity = _own_identity(volume, view, migrates=migrates) if failure is None else None
            else:
                failure = error(volume.error) if volume.error and migrates else None
                identity = identity_of_inline(volume, migrates=migrates)
            if failure is not None:
                return New(failure=failure)
            if identity is not None:
                found.add(identity)
        drivers = sorted({identity.driver for identity in found}) if self.gates.volume_limit_scaling else ()
        return New(frozenset(found), drivers_needed=tuple(name for name in drivers if _keeps_off(name, view)))

    def filter(self, state: State, view: View) -> Ruling:
        """Ask each row."""
        outcomes: list[Outcome] = [SUCCESS]
        codes = np.zeros(len(view), np.int16)  # (rows,)
        book = view.volumes.csi_nodes
        for place, row in enumerate(view.rows.tolist()):
            csi_node = book.get(view.node(Row(row)).metadata.name)
            outcome = self._ask(state.unknown if csi_node is None else state.known, csi_node, view, row)
            if outcome is not None:
                if outcome not in outcomes:
                    outcomes.append(outcome)
                codes[place] = outcomes.index(outcome)
        return Ruling(codes, outcomes)

    def shared(self, state: State, view: View) -> Hashable:
        """Answers read nothing but what the row's pods have and what its node says."""
        return None

    def may_fail_on(self, state: State, view: View) -> Rows:
        """Anywhere if the pod's own volumes cannot be named, else where volumes of pods that run may not be."""
        failures = (state.known.failure, state.unknown.failure)
        if any(failure is not None and failure.code is Code.ERROR for failure in failures):
            return view.every_row()
        doubtful = view.volumes.mounted.doubtful()
        return np.fromiter(doubtful, np.intp, len(doubtful)) if doubtful else NO_ROWS

    def _ask(self, new: New, csi_node: CSINode | None, view: View, row: int) -> Outcome | None:
        if new.failure is not None or not new.volumes:
            return new.failure
        drivers = csi_node.spec.drivers if csi_node is not None else ()
        missing = next((name for name in new.drivers_needed if all(name != driver.name for driver in drivers)), None)
        if missing is not None:
            return unschedulable(f"{missing} CSI driver is not installed on the node")
        limits = {
            driver.name: driver.allocatable.count
            for driver in drivers
            if driver.allocatable is not None and driver.allocatable.count is not None
        }
        return self._count(new, limits, view, row) if limits else None

    def _count(self, new: New, limits: Mapping[str, int], view: View, row: int) -> Outcome | None:
        residents, attachments = view.residents(Row(row)), view.volumes.attached.to(view.node(Row(row)).metadata.name)
        most = sum(len(one.load.mounts.volumes) for one in residents if one.load.mounts is not None)
        most += len(attachments) + len(new.volumes)
        if most <= min(limits.values()) and not view.volumes.mounted.is_doubtful(row):
            return None  # were they all different, and of one driver
        there: set[Identity] = set()
        for resident in residents:
            failure = _collect(resident, view, there)
            if failure is not None:
                return failure
        used = Counter(identity.driver for identity in there | _attached(attachments, view))
        more = Counter(identity.driver for identity in new.volumes - there)
        return (
            TOO_MANY
            if any(used[driver] + number > limits[driver] for driver, number in more.items() if driver in limits)
            else None
        )


def _failure_of(claim: Claim) -> Outcome | None:
    """Say how a node fails to count a claim of the pod's own."""
    if claim.key is not None and not claim.name:
        return error("PersistentVolumeClaim had no name")
    if claim.is_missing:
        return unresolvable(f'looking up PVC {claim.key}: persistentvolumeclaim "{claim.name}" not found')
    return error(claim.foreign) if claim.foreign else None


def _own_identity(claim: Claim, view: View, *, migrates: bool) -> Identity | None:
    """Name a claim's volume; a claim that no other pod names is told apart by its place alone."""
    if claim.held is not None:
        driver = claim.held.driver_migrated if migrates else claim.held.driver
        return Identity(driver, str(claim.place), is_claim=True) if driver else None
    books = view.volumes
    volume = view.looked_up(books.volumes, claim.volume) if claim.volume else None
    storage_class = view.looked_up(books.classes, claim.class_name) if claim.class_name and volume is None else None
    return identity_of(volume, storage_class, claim.key or str(claim.place), migrates=migrates)


def _keeps_off(driver: str, view: View) -> bool:
    found = view.looked_up(view.volumes.csi_drivers, driver)
    return found is not None and bool(found.spec.prevent_pod_scheduling_if_missing)


def _collect(resident: Resident, view: View, into: set[Identity]) -> Outcome | None:
    """Name the volumes of a pod on a row that has a CSINode, or say how that fails."""
    mounts = resident.load.mounts
    for volume in mounts.volumes if mounts is not None else ():
        found = view.volumes.identity_on(resident.pod, volume)
        if isinstance(found, str):
            return error(found)
        if found is not None:
            into.add(found)
    return None


def _attached(attachments: Iterable[VolumeAttachment], view: View) -> set[Identity]:
    """Name the volumes that are attached to a node, whatever for."""
    found = set()
    for attachment in attachments:
        name = attachment.spec.source.persistent_volume_name
        volume = view.volumes.volumes.get(name) if name is not None else None
        if attachment.spec.attacher and volume is not None and volume.spec.csi is not None:
            found.add(Identity(attachment.spec.attacher, volume.spec.csi.volume_handle))
    return found
