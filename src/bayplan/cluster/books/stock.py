"""Stock: a class's volumes that are free to be taken, and the pools in which more can be made, found by node labels.

Invariant: a stock holds exactly the class's volumes that refer to no claim, are available and are not being deleted.
Not here: volumes kept for one claim (they are looked up by name) and whether a volume suits a claim (plugins).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from bayplan.api.claims import CSIStorageCapacity, PersistentVolume
from bayplan.api.objects import Quantity
from bayplan.api.quantity import QuantityError, ceil_whole, nanos
from bayplan.api.selectors import NodeTerms, Selector, SelectorError
from bayplan.cluster.books.near import Near, Spot, Where
from bayplan.cluster.claims import FILESYSTEM, storage_in
from bayplan.cluster.reach import reach_terms


class Free(msgspec.Struct, frozen=True, gc=False):
    """A volume that is free to be taken."""

    volume: PersistentVolume
    storage: int  # nanobytes
    reach: NodeTerms | None  # None: from everywhere
    access_modes: frozenset[str]
    mode: str
    attributes_class: str

    @property
    def keys(self) -> frozenset[str]:
        """The label keys by which it is reached."""
        terms = self.reach.terms if self.reach is not None else ()
        return frozenset(clause.key for term in terms for clause in term.labels.clauses)


class Pool(msgspec.Struct, frozen=True, gc=False):
    """Room that a driver reports for a class in a part of the cluster."""

    reach: Selector
    limit: int | None  # the largest volume in bytes; None: unknown, so none
    room: int | None  # bytes; None: unknown


class Stock:
    """The free volumes of a class."""

    def __init__(self) -> None:
        self.near: Near[Free] = Near()

    def put(self, volume: PersistentVolume) -> None:
        """Take in a volume if it is free."""
        spec = volume.spec
        if spec.claim_ref is None and volume.status.phase == "Available" and volume.metadata.deletion_timestamp is None:
            free = free_of(volume)
            self.near.put(volume.metadata.name, free.storage, Where(tuple(_spots_of(free.reach)), free.keys), free)

    def drop(self, name: str) -> None:
        """Forget a volume."""
        self.near.drop(name)

    def of(self, labels: Mapping[str, str], storage: int) -> Iterator[tuple[str, Free]]:
        """Give the volumes that a node might reach and that are large enough, the smallest first."""
        return self.near.of(labels, storage)


class Pools:
    """The room for a class."""

    def __init__(self) -> None:
        self.near: Near[Pool] = Near()

    def put(self, key: str, capacity: CSIStorageCapacity) -> None:
        """Take in what a driver reports; what is for no node is left out."""
        if capacity.node_topology is None:
            return
        try:
            reach = Selector.of(capacity.node_topology)
        except SelectorError:  # upstream finds it reachable from nowhere, too
            return
        room = _bytes(capacity.capacity)
        limit = room if capacity.maximum_volume_size is None else _bytes(capacity.maximum_volume_size)
        where = Where(tuple(_ties(reach)), frozenset(clause.key for clause in reach.clauses))
        self.near.put(key, 0, where, Pool(reach, limit, room))

    def drop(self, key: str) -> None:
        """Forget what a driver reported."""
        self.near.drop(key)

    def of(self, labels: Mapping[str, str]) -> Iterator[Pool]:
        """Give the pools that a node might reach."""
        return (pool for _, pool in self.near.of(labels))


def free_of(volume: PersistentVolume) -> Free:
    """Read what a search asks of a volume."""
    spec = volume.spec
    return Free(
        volume,
        storage_in(spec.capacity) or 0,
        reach_terms(volume),
        frozenset(spec.access_modes),
        spec.volume_mode or FILESYSTEM,
        spec.volume_attributes_class_name or "",
    )


def _spots_of(reach: NodeTerms | None) -> Iterable[Spot]:
    """Name the label values one of which a node must have; none where it cannot be said so simply."""
    if reach is None or len(reach.terms) != 1 or reach.terms[0].faults:
        return ()
    return _ties(reach.terms[0].labels)


def _ties(selector: Selector) -> Iterable[Spot]:
    chosen = min(
        (clause for clause in selector.clauses if clause.operator == "In" and clause.values),
        key=lambda clause: len(clause.values),
        default=None,
    )
    return () if chosen is None else ((chosen.key, value) for value in chosen.values)


def _bytes(quantity: Quantity | None) -> int | None:
    if quantity is None:
        return None
    try:
        return ceil_whole(nanos(quantity))
    except QuantityError:
        return None  # reported where the object was decoded
