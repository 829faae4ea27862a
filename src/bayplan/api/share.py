"""Sharing: decoded objects take the parts they have in common from the last one of the same owner.

Pods of one template differ in name and node and in little else, but each is decoded from bytes of its own.  Here an
equal part of a fresh object is replaced by the part that is already known: 150,000 pods take a fifth of the room, and
what is equal is mostly the same object, which is a fast path for whoever interns parts.
Volumes that no rule reads are left out.
Invariant: but for those an object is equal to itself before and after; only objects not yet handed out are touched.
Not here: shapes, which know what rules read (`cluster/shapes.py`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from operator import attrgetter
from typing import Final

import msgspec
from msgspec.structs import force_setattr

from bayplan.api.objects import Node, NodeSpec, NodeStatus, ObjectMeta, Pod, PodMeta, PodSpec, PodStatus, Volume

OWNERS_MAX: Final = 1 << 14  # whose last pod is kept

_OWN: Final = frozenset({"name", "uid", "resource_version", "node_name"})  # not worth comparing


def _fields(struct: type[msgspec.Struct]) -> tuple[tuple[str, ...], Callable[[msgspec.Struct], tuple[object, ...]]]:
    names = tuple(name for name in struct.__struct_fields__ if name not in _OWN)
    return names, attrgetter(*names)


_PARTS: Final[dict[type[msgspec.Struct], tuple[tuple[str, ...], Callable[[msgspec.Struct], tuple[object, ...]]]]] = {
    kind: _fields(kind) for kind in (PodMeta, ObjectMeta, PodSpec, PodStatus, NodeSpec, NodeStatus)
}

_SOURCES: Final = attrgetter(*(name for name in Volume.__struct_fields__ if name != "name"))


class Sharer:
    """Remembers the last object of each owner."""

    def __init__(self) -> None:
        """Start knowing nothing."""
        self._pods: dict[str, Pod] = {}
        self._node: Node | None = None

    def share(self, pod: Pod) -> Pod:
        """Give the pod back with the parts that its owner's last pod has as well."""
        force_setattr(pod.spec, "node_name", sys.intern(pod.spec.node_name))
        if pod.spec.volumes:
            force_setattr(pod.spec, "volumes", tuple(volume for volume in pod.spec.volumes if _has_source(volume)))
        owner = _owner(pod)
        known = self._pods.get(owner)
        if known is None and len(self._pods) >= OWNERS_MAX:
            self._pods.clear()  # costs nothing but some sharing, and bounds what is kept of owners long gone
        self._pods[owner] = pod
        if known is not None:
            _share_parts(pod.metadata, known.metadata)
            _share_parts(pod.spec, known.spec)
            _share_parts(pod.status, known.status)
        return pod

    def share_node(self, node: Node) -> Node:
        """Give the node back with the parts that the last node has as well."""
        known, self._node = self._node, node
        if known is not None:
            _share_parts(node.metadata, known.metadata)
            _share_parts(node.status, known.status)
            if node.spec == known.spec:
                force_setattr(node, "spec", known.spec)
            else:
                _share_parts(node.spec, known.spec)
        return node


def _share_parts(fresh: msgspec.Struct, known: msgspec.Struct) -> None:
    if type(fresh) is not type(known):
        return  # one was made, the other read with fields that a rule declares
    names, parts = _PARTS.get(type(fresh)) or _wider_parts(type(fresh))
    for name, mine, other in zip(names, parts(fresh), parts(known), strict=True):
        if mine is not other and mine == other:
            force_setattr(fresh, name, other)


def _wider_parts(struct: type[msgspec.Struct]) -> tuple[tuple[str, ...], Callable[..., tuple[object, ...]]]:
    found = _PARTS[struct] = _fields(struct)
    return found


def _has_source(volume: Volume) -> bool:
    """Say whether a volume has a source that some rule reads: nearly every pod has one that has none, for its token."""
    return any(source is not None for source in _SOURCES(volume))


def _owner(pod: Pod) -> str:
    """Name what a pod was probably made from: its controller, else its name's stem, else its namespace."""
    meta = pod.metadata
    for owner in meta.owner_references:
        if owner.controller:
            return owner.uid
    return f"{meta.namespace}/{meta.generate_name}"
