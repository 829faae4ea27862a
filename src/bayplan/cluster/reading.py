"""Reading a waiting pod: from its object, and what is known of terms, services and claims, to its shape.

A pod is read again when something known changed that its shape may depend on.
Invariant: `shape(pod)` gives the same shape while nothing known changes; pods that no rule tells apart share it.
Not here: what the parts are (shapes.py, terms.py, claims.py).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, NamedTuple

from bayplan.api.objects import Pod, uid_of
from bayplan.api.requests import fit_request
from bayplan.api.share import OWNERS_MAX
from bayplan.cluster.claims import volumes_of
from bayplan.cluster.shapes import (
    Shape,
    features_of,
    group_of,
    images_of,
    node_choice_of,
    of_service,
    ports_of,
    requests_of,
    tolerations_of,
)
from bayplan.cluster.templates import is_alike, owner_key
from bayplan.cluster.terms import neighbours_of, spread_of

if TYPE_CHECKING:
    from bayplan.cluster.table import Table


def _is_placed_alike(one: Pod, other: Pod) -> bool:
    """Say whether terms, services and owners see two pods alike."""
    return (
        one.metadata.labels == other.metadata.labels
        and one.metadata.owner_references == other.metadata.owner_references
        and one.spec.node_name == other.spec.node_name
    )


class Known(NamedTuple):
    """Versions of what a pod's shape may depend on besides the pod."""

    cluster: int  # terms, namespaces, services, owners, device classes
    volumes: int  # nought for pods without volumes


class Taken(NamedTuple):
    """A pod that was read, and what was made of it."""

    pod: Pod
    known: Known
    parts: dict[str, Hashable]
    shape: Shape


class Reader:
    """Turns pods into shapes, and remembers whom it has read; an owner's next pod takes over what is the same."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._read: dict[str, Taken] = {}  # by uid: pods that wait
        self._last: dict[str, Taken] = {}  # by owner: the last pod read

    def shape(self, pod: Pod) -> Shape:
        """Return a waiting pod's shape."""
        uid = pod.metadata.uid or uid_of(pod)
        read = self._read.get(uid)
        if read is not None and read.pod is pod and self._stands(read.known, pod):
            return read.shape
        key = owner_key(pod)
        before = read if read is not None and read.pod is pod else self._last.get(key)
        if key not in self._last and len(self._last) >= OWNERS_MAX:
            self._last.clear()  # as in residents.py
        read = self._read[uid] = self._last[key] = self._taken(pod, before)
        return read.shape

    def _stands(self, known: Known, pod: Pod) -> bool:
        table = self._table
        return known.cluster == table.meanings.value + table.avoided.version and (
            not pod.spec.volumes or known.volumes == table.volumes.version_for(pod)
        )

    def forget(self, uid: str) -> None:
        """Let go of a pod that waits no more."""
        self._read.pop(uid, None)

    def _known(self, pod: Pod) -> Known:
        table = self._table
        return Known(
            table.meanings.value + table.avoided.version, table.volumes.version_for(pod) if pod.spec.volumes else 0
        )

    def _taken(self, pod: Pod, last: Taken | None) -> Taken:
        if last is None or last.pod is not pod:
            self._table.residents.read(pod)  # its load, and terms that it would carry: nobody is read again for these
        known = self._known(pod)
        if last is None or (last.pod is not pod and not is_alike(pod, last.pod)):
            fresh = {**self._of_template(pod), **self._of_cluster(pod), **self._of_volumes(pod)}
            parts = {name: self._table.shapes.part(name, fresh[name]) for name in sorted(fresh)}
            return Taken(pod, known, parts, self._table.shapes.intern(parts))
        fresh = {}
        if known.cluster != last.known.cluster or (last.pod is not pod and not _is_placed_alike(pod, last.pod)):
            fresh |= self._of_cluster(pod)
        if pod.spec.volumes or last.pod.spec.volumes:
            fresh |= self._of_volumes(pod)
        changed = {
            name: canonical
            for name, part in fresh.items()
            if (canonical := self._table.shapes.part(name, part)) is not last.parts[name]
        }
        if not changed:
            return Taken(pod, known, last.parts, last.shape)
        parts = {**last.parts, **changed}
        return Taken(pod, known, parts, self._table.shapes.intern(parts))

    @staticmethod
    def _of_template(pod: Pod) -> dict[str, Hashable]:
        """Read what pods of one template have in common."""
        return {
            "gates": tuple(gate.name for gate in pod.spec.scheduling_gates),
            "tolerations": tolerations_of(pod),
            "node_choice": node_choice_of(pod),
            "ports": ports_of(pod),
            "requests": requests_of(pod),
            "features": features_of(pod),
            "group": group_of(pod),
            "nothing": None,
        }

    def _of_cluster(self, pod: Pod) -> dict[str, Hashable]:
        """Read what depends on the pod's name, labels and owner, and on what is known of the cluster."""
        return {
            "node_name": pod.spec.node_name,
            "spread": spread_of(pod, self._table.owners.default_selector(pod)),
            "neighbours": neighbours_of(pod, self._meant_by(pod)),
            "service": of_service(pod, self._table.owners.first_service(pod)),
            "controller": self._table.avoided.controller_of(pod),
            "devices": self._devices(pod),
        }

    def _of_volumes(self, pod: Pod) -> dict[str, Hashable]:
        """Read what depends on the pod's volumes."""
        return {"images": images_of(pod), "volumes": volumes_of(pod, self._table.volumes)}

    def _devices(self, pod: Pod) -> tuple[str, ...]:
        """Return what the pod needs devices for: its claims, and resources that a device class stands for."""
        names = [claim.name for claim in pod.spec.resource_claims]
        mapped = {device.spec.extended_resource_name for device in self._table.device_classes} - {None, ""}
        if mapped:
            names += [name for name, amount in fit_request(pod).items() if amount and name in mapped]
        return tuple(names)

    def _meant_by(self, pod: Pod) -> tuple[int, ...]:
        """Return the numbers of the carried terms that match the pod."""
        meta = pod.metadata
        namespace = self._table.namespaces.get(meta.namespace)
        of_namespace = namespace.metadata.labels if namespace is not None else {}
        return tuple(
            number
            for number, carried in enumerate(self._table.carried)
            if carried.term.matches(meta.namespace, meta.labels, of_namespace)
        )
