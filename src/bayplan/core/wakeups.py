"""Wake-ups: which change makes which waiting pods worth another try.

What an object's change is called follows from its old and its new form.  A group of pods that wait for the same rules
is woken when one of these rules waits for such a change and now lets the pod pass: on a row that changed or, where the
rule's answer does not live in the row, on any.  One look answers for a rule and part, so a thousand shapes with twenty
requests cost twenty looks; where rules can be stacked, it answers for all parts.
Invariant: waking too often is allowed, too seldom never (tests/histories compare with who would fit).
Not here: moving who is woken (queue.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

import numpy as np

from bayplan.api import claims
from bayplan.api.objects import Namespace, Node, Object, Pod
from bayplan.api.requests import fit_request
from bayplan.api.workloads import ReplicaSet, ReplicationController, Service, StatefulSet
from bayplan.cluster.columns import Rows
from bayplan.cluster.shapes import VOLUMES
from bayplan.cluster.table import FINISHED, Table
from bayplan.cluster.view import View
from bayplan.core.lookouts import Alike, Lookout, Stack
from bayplan.framework.memo import Duty
from bayplan.framework.plugin import KEYS, Change, Failed, Rejected
from bayplan.framework.profile import Instance, Profile

STACKED_LEAST: Final = 4  # parts; fewer are as quick one by one
CELLS_MOST: Final = 1 << 18  # parts times rows that are asked about at once

ON_ONE_ROW: Final = frozenset(
    {
        Change.NODE_ADDED,
        Change.NODE_ALLOCATABLE,
        Change.NODE_LABELS,
        Change.NODE_TAINTS,
        Change.NODE_FEATURES,
        Change.POD_ADDED,
        Change.POD_LABELS,
        Change.POD_SHRUNK,
        Change.POD_GONE,
    }
)
"""Changes that can help only on the row where they happen, as long as a rule's answer lives in the row."""

_CALLED: Final[Mapping[type[Object], Change]] = {
    claims.PersistentVolumeClaim: Change.CLAIM,
    claims.PersistentVolume: Change.VOLUME,
    claims.StorageClass: Change.STORAGE_CLASS,
    claims.CSINode: Change.CSI_NODE,
    claims.CSIDriver: Change.CSI_DRIVER,
    claims.CSIStorageCapacity: Change.CSI_CAPACITY,
    claims.VolumeAttachment: Change.ATTACHMENT_GONE,
    claims.DeviceClass: Change.DEVICE_CLASS,
    Namespace: Change.NAMESPACE_LABELS,
    Service: Change.SERVICE,
    ReplicaSet: Change.SERVICE,
    ReplicationController: Change.SERVICE,
    StatefulSet: Change.SERVICE,
}


def kinds_of(changes: Iterable[Change]) -> frozenset[str]:
    """Return the kinds of objects, beside pods and nodes, whose changes are called so."""
    wanted = frozenset(changes)
    return frozenset(kind.__name__ for kind, change in _CALLED.items() if change in wanted)


# --- what a change is called -----------------------------------------------------------------------------------------


def changes_of(old: Object | None, new: Object | None) -> frozenset[Change]:
    """Name what changed about an object; None: it was not there, or is not any more."""
    if isinstance(old, Node) or isinstance(new, Node):
        return frozenset(_of_node(old if isinstance(old, Node) else None, new if isinstance(new, Node) else None))
    if isinstance(old, Pod) or isinstance(new, Pod):
        return frozenset(_of_bound(_running(old), _running(new)))
    thing = new if new is not None else old
    called = _CALLED.get(type(thing)) if thing is not None else None
    return frozenset() if called is None or old == new else frozenset({called})


def _of_node(old: Node | None, new: Node | None) -> Iterator[Change]:
    if old is None:
        yield Change.NODE_ADDED
    elif new is None:
        yield Change.NODE_GONE
    else:
        if (old.status.allocatable, old.status.capacity) != (new.status.allocatable, new.status.capacity):
            yield Change.NODE_ALLOCATABLE
        if old.metadata.labels != new.metadata.labels:
            yield Change.NODE_LABELS
        if (old.spec.taints, old.spec.unschedulable) != (new.spec.taints, new.spec.unschedulable):
            yield Change.NODE_TAINTS
        if old.status.declared_features != new.status.declared_features:
            yield Change.NODE_FEATURES


def _running(thing: Object | None) -> Pod | None:
    if isinstance(thing, Pod) and thing.spec.node_name and thing.status.phase not in FINISHED:
        return thing
    return None


def _of_bound(old: Pod | None, new: Pod | None) -> Iterator[Change]:
    if old is None and new is None:
        return
    if old is None:
        yield Change.POD_ADDED
    elif new is None:
        yield Change.POD_GONE
    else:
        if old.spec.node_name != new.spec.node_name:
            yield from (Change.POD_ADDED, Change.POD_GONE)
        is_leaving = (old.metadata.deletion_timestamp is None) != (new.metadata.deletion_timestamp is None)
        if old.metadata.labels != new.metadata.labels or is_leaving:
            yield Change.POD_LABELS
        if _shrank(old, new):
            yield Change.POD_SHRUNK


def own_changes(old: Pod, new: Pod) -> frozenset[Change]:
    """Name what changed about a pod that waits."""
    found = {Change.OWN_OBJECT}
    if old.spec.tolerations != new.spec.tolerations:
        found.add(Change.OWN_TOLERATIONS)
    if old.metadata.labels != new.metadata.labels:
        found.add(Change.OWN_LABELS)
    if old.spec.scheduling_gates != new.spec.scheduling_gates:
        found.add(Change.OWN_GATES)
    if _shrank(old, new):
        found.add(Change.OWN_REQUESTS)
    return frozenset() if old == new else frozenset(found)


def _shrank(old: Pod, new: Pod) -> bool:
    if (old.spec, old.status) == (new.spec, new.status):
        return False
    before, now = fit_request(old), fit_request(new)
    return any(now.get(resource, 0) < amount for resource, amount in before.items())


# --- who is helped ---------------------------------------------------------------------------------------------------


class Since(NamedTuple):
    """What happened since the last look."""

    changes: frozenset[Change]
    rows: Rows | None  # those on which it happened; None: any


class Looks:
    """Looks at those who wait after some changes, on a table that stays as it is meanwhile."""

    def __init__(self, table: Table, since: Since) -> None:
        self._table = table
        self._since = since
        self.taken = 0  # how many questions were put to rules

    def candidates(self, profile: Profile) -> Iterator[Instance]:
        """Return the rules of a profile that wait for what happened; a new node may help whoever waits."""
        changes = self._since.changes
        for instance in profile.named.values():
            wakes = instance.plugin.wakes
            if wakes is None or Change.NODE_ADDED in changes or not changes.isdisjoint(wakes):
                yield instance

    def at(self, lookout: Lookout) -> Iterator[list[Alike]]:
        """Look at all who wait for a rule, some at a time; return whom it may let pass now."""
        if lookout.unasked is not None:
            yield [lookout.unasked]
        rows, plugin = self._rows_of(lookout.instance), lookout.instance.plugin
        alone = lookout.asked()
        if rows is not None and len(alone) >= STACKED_LEAST and plugin.overrides("stacked"):
            try:
                stacks, alone = lookout.stacks(self._table)
            except Exception:  # noqa: BLE001 - a rule of somebody's own: it is named when its pods are tried
                stacks = []
            for stack in stacks:
                yield self._passing(stack, lookout.instance, rows)
        for alike in list(alone):
            yield [alike] if lookout.duty is None or self._passes(alike, lookout.duty, rows) else []

    def _rows_of(self, instance: Instance) -> Rows | None:
        """Return the rows on which a rule's answer may be another; None: any."""
        plugin, since = instance.plugin, self._since
        is_anywhere = plugin.depends is KEYS or plugin.searches or plugin.reads is VOLUMES
        return None if is_anywhere or not since.changes <= ON_ONE_ROW else since.rows

    def _passing(self, stack: Stack, instance: Instance, rows: Rows) -> list[Alike]:
        """Ask about many parts at once, in blocks of rows."""
        helped = np.zeros(len(stack.alikes), np.bool_)  # (parts,)
        block = max(1, CELLS_MOST // len(stack.alikes))
        for start in range(0, len(rows), block):
            self.taken += 1
            view = View(self._table, rows[start : start + block])
            try:
                fits = instance.plugin.fits(stack.state, view) & view.live  # (parts, rows)
            except Exception:  # noqa: BLE001 - as above
                return list(stack.alikes)
            helped |= fits.any(axis=-1)
        return [stack.alikes[place] for place in np.flatnonzero(helped).tolist()]  # some have nobody any more

    def _passes(self, alike: Alike, duty: Duty, rows: Rows | None) -> bool:
        self.taken += 1
        table = self._table
        try:
            prepared = alike.of(duty, table).prepared
            if isinstance(prepared, Rejected):
                return False
            if isinstance(prepared, Failed) or not prepared.filters:
                return True
            if prepared.names is not None and not any(name in table.row_of for name in prepared.names):
                return False
            view = View(table, rows)
            return bool(np.any(view.live & duty.instance.plugin.fits(prepared.state, view)))
        except Exception:  # noqa: BLE001 - to be said of the pod itself, when it is tried
            return True
