"""Reading a waiting pod: from its object, and what is known of terms, services and claims, to its shape.

A pod is read again when something known changed that its shape may depend on.
Invariant: `shape(pod)` gives the same shape while nothing known changes; pods that no rule tells apart share it.
Not here: what the parts are (shapes.py, terms.py, claims.py).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from bayplan.api.objects import Pod, uid_of
from bayplan.api.requests import fit_request
from bayplan.cluster.claims import volumes_of
from bayplan.cluster.shapes import (
    Shape,
    features_of,
    images_of,
    node_choice_of,
    ports_of,
    requests_of,
    tolerations_of,
)
from bayplan.cluster.terms import neighbours_of, spread_of

if TYPE_CHECKING:
    from bayplan.cluster.table import Table


class Reader:
    """Turns pods into shapes, and remembers whom it has read."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._read: dict[str, tuple[Pod, tuple[int, ...], Shape]] = {}

    def shape(self, pod: Pod) -> Shape:
        """Return a waiting pod's shape."""
        uid, known = uid_of(pod), self._known(pod)
        read = self._read.get(uid)
        if read is not None and read[0] is pod and read[1] == known:
            return read[2]
        shape = self._table.shapes.intern(self._parts(pod))
        self._read[uid] = (pod, known, shape)
        return shape

    def forget(self, uid: str) -> None:
        """Let go of a pod that waits no more."""
        self._read.pop(uid, None)

    def _known(self, pod: Pod) -> tuple[int, ...]:
        table = self._table
        volumes = table.volumes.version if pod.spec.volumes else 0
        return (table.carried.version, table.namespaces.version, table.owners.version, table.device_classes.version,
                volumes)

    def _parts(self, pod: Pod) -> dict[str, Hashable]:
        table, spec = self._table, pod.spec
        return {
            "node_name": spec.node_name,
            "gates": tuple(gate.name for gate in spec.scheduling_gates),
            "tolerations": tolerations_of(pod),
            "node_choice": node_choice_of(pod),
            "ports": ports_of(pod),
            "requests": requests_of(pod),
            "images": images_of(pod),
            "features": features_of(pod),
            "spread": spread_of(pod, table.owners.default_selector(pod)),
            "neighbours": neighbours_of(pod, self._meant_by(pod)),
            "volumes": volumes_of(pod, table.volumes),
            "devices": self._devices(pod),
        }

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
        return tuple(number for number, carried in enumerate(self._table.carried)
                     if carried.term.matches(meta.namespace, meta.labels, of_namespace))
