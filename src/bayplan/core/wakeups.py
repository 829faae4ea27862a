"""Wake-ups: which change makes which waiting pods worth another try.

What an object's change is called follows from its old and its new form.  A group of pods that wait for the same rules
is woken when one of these rules waits for such a change and now lets the pod pass: on a row that changed or, where the
rule's answer does not live in the row, on any.  A look is remembered by rule and part while nothing changes, so a
thousand shapes with twenty requests cost twenty looks.
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
from bayplan.cluster.shapes import VOLUMES, Shape
from bayplan.cluster.table import FINISHED, Table
from bayplan.cluster.view import View
from bayplan.core.waiting import Group
from bayplan.framework.guard import Guard, PluginFault
from bayplan.framework.plugin import EVERYTHING, FITS, KEYS, Change, Failed, Rejected
from bayplan.framework.profile import Instance, Profile

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
    """Looks at groups after some changes, on a table that stays as it is meanwhile."""

    def __init__(self, table: Table, since: Since) -> None:
        self._table = table
        self._since = since
        self._known: dict[tuple[int, int, bool], bool] = {}  # by rule, part, and whether only some rows are asked
        self.taken = 0  # how many were not answered by an earlier one

    def candidates(self, profile: Profile) -> Iterator[Instance]:
        """Return the rules of a profile that wait for what happened; a new node may help whoever waits."""
        seen: set[str] = set()
        changes = self._since.changes
        for instances in profile.points.values():
            for instance in instances:
                wakes = instance.plugin.wakes
                waits = wakes is None or Change.NODE_ADDED in changes or not changes.isdisjoint(wakes)
                if waits and instance.name not in seen:
                    seen.add(instance.name)
                    yield instance

    def helps(self, group: Group, instance: Instance, shape: Shape, pod: Pod) -> bool:
        """Say whether a rule that turned a group down may let it pass now."""
        if group.is_late:
            return True
        plugin = instance.plugin
        if plugin.reads is None or plugin.depends is EVERYTHING or not plugin.overrides("filter"):
            return True  # it says nothing of where its answer comes from
        part = shape.part(plugin.reads)
        everywhere = (
            plugin.depends is KEYS
            or plugin.searches
            or plugin.reads is VOLUMES
            or self._since.rows is None
            or not self._since.changes <= ON_ONE_ROW
        )
        key = (id(instance), id(part), everywhere)
        found = self._known.get(key)
        if found is None:
            self.taken += 1
            found = self._known[key] = self._passes(instance, part, pod, None if everywhere else self._since.rows)
        return found

    def _passes(self, instance: Instance, part: object, pod: Pod, rows: Rows | None) -> bool:
        guard = Guard(pod)
        try:
            prepared = guard.prepare(instance, part, View(self._table))
            if isinstance(prepared, Rejected):
                return False
            if isinstance(prepared, Failed) or not prepared.filters:
                return True
            if prepared.names is not None and not any(name in self._table.row_of for name in prepared.names):
                return False
            view = View(self._table, rows)
            ruling = guard.filter(instance, prepared.state, view)
        except PluginFault:
            return True  # to be said of the pod itself, when it is tried
        return bool(np.any(view.live & (ruling.codes == FITS)))
