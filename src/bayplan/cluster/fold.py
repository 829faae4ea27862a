"""Folding in: which object goes where in the table, come, changed or gone.

Invariant: an object of a kind that no rule reads is counted and passed over, never an error.
Not here: how each is taken in (table.py, books).
"""

from __future__ import annotations

from typing import TypeAlias

from bayplan.api import claims
from bayplan.api.objects import Namespace, Node, Object, Pod, uid_of
from bayplan.api.workloads import ReplicaSet, ReplicationController, Service, StatefulSet
from bayplan.cluster.table import Table

VolumeObject: TypeAlias = (
    claims.PersistentVolume
    | claims.PersistentVolumeClaim
    | claims.StorageClass
    | claims.CSINode
    | claims.CSIDriver
    | claims.CSIStorageCapacity
    | claims.VolumeAttachment
)


def put(table: Table, thing: Object) -> bool:
    """Fold in an object, new or changed; say whether the table reads its kind."""
    match thing:
        case Node():
            table.put_node(thing)
        case Pod():
            put_pod(table, thing)
        case Namespace():
            table.namespaces.put(thing.metadata.name, thing)
        case Service():
            table.owners.put_service(thing)
        case ReplicaSet() | ReplicationController() | StatefulSet():
            table.owners.put_controller(thing)
        case claims.DeviceClass():
            table.device_classes.put(thing.metadata.name, thing)
        case _ if isinstance(thing, VolumeObject):
            table.dirty(table.volumes.put(thing))
        case _:
            return False
    return True


def put_pod(table: Table, pod: Pod) -> None:
    """Fold in a pod: bound it lies on its row; waiting it counts where it is nominated."""
    if pod.spec.node_name:
        table.put_pod(pod)
        return
    if table.is_assumed(uid_of(pod)):  # it stays until its binding is seen, or has failed
        return
    table.drop_pod(uid_of(pod))
    table.put_nomination(pod)


def drop(table: Table, thing: Object) -> bool:
    """Fold in that an object is gone; say whether the table reads its kind."""
    match thing:
        case Node():
            table.drop_node(thing.metadata.name)
        case Pod():
            table.drop_pod(uid_of(thing))
            table.drop_nomination(uid_of(thing))
        case Namespace():
            table.namespaces.drop(thing.metadata.name)
        case Service():
            table.owners.drop_service(thing)
        case ReplicaSet() | ReplicationController() | StatefulSet():
            table.owners.drop_controller(thing)
        case claims.DeviceClass():
            table.device_classes.drop(thing.metadata.name)
        case _ if isinstance(thing, VolumeObject):
            table.dirty(table.volumes.drop(thing))
        case _:
            return False
    return True
