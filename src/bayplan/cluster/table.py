"""The node table: objects folded in, pods placed, assumed, confirmed and forgotten.

It is the one writer of columns, tallies, scopes, catalogues and books.  What it is given are decoded objects, which it
keeps beside the columns, so that it can be rebuilt from them at any time.
Invariant: a table to which the same objects were given, in the same order of arrival, has equal columns, tallies,
scopes, catalogues and books, whatever happened in between (the engine check rebuilds and compares).
Not here: what rules may see (view.py), undoing (trial.py) and choosing rows (framework).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import NamedTuple, TypeVar

from bayplan.api import requests
from bayplan.api.claims import DeviceClass
from bayplan.api.objects import Namespace, Node, Pod, Taint, uid_of
from bayplan.api.selectors import RequiredAffinity
from bayplan.cluster.books import Book
from bayplan.cluster.books.avoided import Avoided
from bayplan.cluster.books.owners import Owners
from bayplan.cluster.books.ports import Ports
from bayplan.cluster.books.volumes import Touched, VolumeBooks
from bayplan.cluster.catalogues import CarriedTerms, Catalogue, Images
from bayplan.cluster.columns import PODS, SMALL, Columns, Row, RowLog, Rows
from bayplan.cluster.keys import Key, Keys
from bayplan.cluster.residents import Resident, Residents
from bayplan.cluster.rows import tolerated
from bayplan.cluster.shapes import Shapes, Tolerations
from bayplan.cluster.tallies import Scope, Tally
from bayplan.cluster.ticks import Ticks

FINISHED = frozenset({"Succeeded", "Failed"})
W = TypeVar("W")


class Stray(NamedTuple):
    """A pod whose node is not there."""

    pod: Pod
    is_assumed: bool


class Nomination:
    """A pod that is to be thought of as on a node where it does not run yet."""

    __slots__ = ("pod", "row", "uid")

    def __init__(self, pod: Pod, row: Row) -> None:
        self.pod = pod
        self.uid = uid_of(pod)
        self.row = row


class Table:
    """A cluster as columns, and what is keyed beside them."""

    def __init__(self) -> None:
        self.ticks = Ticks()  # anything but who runs where
        self.meanings = Ticks(self.ticks)  # what a waiting pod's shape depends on besides the pod
        self.columns = Columns()
        self.row_log = RowLog()  # rows whose pod-dependent facts (or node) changed
        self.node_log = RowLog()  # rows whose node changed
        self.keys = Keys()
        self.taint_sets: Catalogue[tuple[Taint, ...]] = Catalogue(())
        self.feature_sets: Catalogue[frozenset[str]] = Catalogue(frozenset())
        self.images = Images()
        self.carried = CarriedTerms(self.meanings)
        self.residents = Residents(self.columns, self.carried)
        self.shapes = Shapes()
        self.every = Tally()  # one on each row: how many rows a domain has
        self.weighted: dict[tuple[tuple[int, int], ...], Tally] = {}
        self.scopes: dict[tuple[object, ...], Scope] = {}
        self.namespaces: Book[Namespace] = Book(self.meanings)
        self.owners = Owners(self.meanings)
        self.avoided = Avoided()
        self.ports = Ports()
        self.volumes = VolumeBooks()
        self.device_classes: Book[DeviceClass] = Book(self.meanings)
        self.nodes: list[Node | None] = []  # by row
        self.row_of: dict[str, Row] = {}
        self.count = 0  # nodes now
        self.nodes_version = 0  # raised when nodes come or go
        self.pods: dict[str, Resident] = {}  # by uid
        self.on_row: list[dict[str, Resident]] = []  # by row: uid -> resident
        self.strays: dict[str, dict[str, Stray]] = {}  # by name of a node that is not there: uid -> pod
        self.has_trial = False  # one at a time; see trial.py
        self.nominations: dict[str, Nomination] = {}  # by uid
        self.nominated_on: dict[int, dict[str, Nomination]] = {}
        self.nominated_away: dict[str, dict[str, Pod]] = {}  # as strays, but nominated there
        self._complete: dict[tuple[int, int] | bytes, bool] = {}  # see all_have
        self._complete_at = -1
        self._free: list[Row] = []
        self._arrivals = 0

    # -- nodes

    def put_node(self, node: Node) -> Row:
        """Take over a node, new or changed, and the pods that were bound or nominated to it before it came."""
        name = node.metadata.name
        row = self.row_of.get(name)
        if row is None:
            row = self._new_row(name)
        self._write_node(row, node)
        for pod, is_assumed in self.strays.pop(name, {}).values():
            self.place(pod, row, is_assumed=is_assumed)
        for pod in list(self.nominated_away.get(name, {}).values()):
            self.nominate(pod, row)
        return row

    def drop_node(self, name: str) -> None:
        """Forget a node; pods bound or nominated to it wait for it to come back."""
        row = self.row_of.pop(name, None)
        if row is None:
            return
        for resident in list(self.on_row[row].values()):
            self.remove(resident.uid)
            self.strays.setdefault(name, {})[resident.uid] = Stray(resident.pod, resident.is_assumed)
        for nomination in list(self.nominated_on.get(row, {}).values()):
            self.drop_nomination(nomination.uid)
            self.nominate_away(nomination.pod, name)
        node = self.nodes[row]
        if node is not None:
            self.images.drop(row, _image_sizes(node))
        self._lift(row)
        self.keys.write(row, {})
        for scope in self.scopes.values():
            scope.put(row, inside=False)
        self.every.add(row, -1)
        self.nodes[row] = None
        self.avoided.put(row, {})
        self.columns.clear(row)
        self.columns.allocatable[:, row] = 1  # nothing is ever divided by nought for the sake of a row that is free,
        self.columns.allocatable[PODS, row] = 0  # and no pod fits there
        self.columns.whole[:, row] = self.columns.allocatable[:, row]
        self._free.append(row)
        self._log_node(row)
        self.count -= 1
        self.nodes_version += 1

    def _new_row(self, name: str) -> Row:
        row = self._free.pop() if self._free else self.columns.add_row()
        while len(self.nodes) <= row:
            self.nodes.append(None)
            self.on_row.append({})
        self.row_of[name] = row
        self.columns.live[row] = True
        self.columns.arrival[row] = self._arrivals
        self._arrivals += 1
        self.keys.write(row, {})  # every key knows the row before a tally asks it
        self.every.add(row, 1)
        self.count += 1
        self.nodes_version += 1
        return row

    def _write_node(self, row: Row, node: Node) -> None:
        old, columns = self.nodes[row], self.columns
        self.nodes[row] = node
        allocatable = dict(requests.allocatable(node))
        for resource in allocatable.keys() - columns.resources.keys() - {"pods"}:
            columns.resource(resource)
        columns.allocatable[:, row] = 0
        columns.is_small &= max(allocatable.values(), default=0) < SMALL
        for resource, amount in allocatable.items():
            columns.allocatable[columns.resources[resource], row] = amount
        columns.whole[:, row] = columns.allocatable[:, row]
        self.avoided.put(row, node.metadata.annotations)
        columns.unschedulable[row] = node.spec.unschedulable
        columns.taint_set[row] = self.taint_sets.number(node.spec.taints)
        columns.feature_set[row] = self.feature_sets.number(frozenset(node.status.declared_features))
        if old is None or old.status.images != node.status.images:
            if old is not None:
                self.images.drop(row, _image_sizes(old))
            self.images.put(row, int(columns.arrival[row]), _image_sizes(node))
        if old is None or old.metadata.labels != node.metadata.labels or old.spec.taints != node.spec.taints:
            self._move(row, node)
        self._log_node(row)

    def _move(self, row: Row, node: Node) -> None:
        """Give a row its place in domains and scopes anew."""
        self._lift(row)
        self.keys.write(row, node.metadata.labels)
        for scope in self.scopes.values():
            scope.put(row, inside=self._belongs(node, scope))
        for tally in self.all_tallies():
            tally.settle(row)

    def _lift(self, row: Row) -> None:
        for tally in self.all_tallies():
            tally.lift(row)

    def _belongs(self, node: Node, scope: Scope) -> bool:
        labels = node.metadata.labels
        return (
            all(key.name in labels for key in scope.keys)
            and (scope.affinity is None or scope.affinity.matches(labels, node.metadata.name))
            and (scope.tolerations is None or tolerated(scope.tolerations, node.spec.taints))
        )

    def dirty(self, touched: Touched) -> None:
        """Note that a book's entry changed that is part of what some rows are."""
        for row in {*touched.rows, *(self.row_of[name] for name in touched.nodes if name in self.row_of)}:
            self._log_node(Row(row))

    def _log_node(self, row: Row) -> None:
        self.node_log.append(row)
        self.row_log.append(row)
        self.ticks.tick()

    # -- pods

    def put_pod(self, pod: Pod) -> Resident | None:
        """Take over a pod that is bound, new or changed; a finished one is forgotten."""
        uid = uid_of(pod)
        name = pod.spec.node_name
        self.drop_nomination(uid)
        if pod.status.phase in FINISHED:
            self.drop_pod(uid)
            return None
        known = self.pods.get(uid)
        row = self.row_of.get(name)
        if known is not None and row == known.row and self._same_load(known, pod):
            known.pod = pod
            known.is_assumed = False
            return known
        self.drop_pod(uid)
        if row is None:
            self.strays.setdefault(name, {})[uid] = Stray(pod, is_assumed=False)
            return None
        return self.place(pod, row)

    def _same_load(self, known: Resident, pod: Pod) -> bool:
        if known.pod is pod:
            return True
        load, label_set = self.residents.read(pod)
        return known.load == load and known.label_set is label_set

    def drop_pod(self, uid: str) -> None:
        """Forget a pod wherever it is."""
        if uid in self.pods:
            self.remove(uid)
        elif self.strays:
            _drop_from(self.strays, uid)

    def is_assumed(self, uid: str) -> bool:
        """Say whether a pod was placed here and nobody has confirmed it yet."""
        known = self.pods.get(uid) or next((there[uid] for there in self.strays.values() if uid in there), None)
        return known is not None and known.is_assumed

    def place(self, pod: Pod, row: Row, *, is_assumed: bool = False) -> Resident:
        """Lay a pod on a row: every column, tally and book takes it in."""
        load, label_set = self.residents.read(pod)
        resident = Resident(pod, row, load, label_set, is_assumed=is_assumed)
        self.seat(resident)
        return resident

    def seat(self, resident: Resident) -> None:
        """Lay a resident on its row."""
        self.pods[resident.uid] = resident
        self.on_row[resident.row][resident.uid] = resident
        self._account(resident, 1)

    def remove(self, uid: str) -> Resident:
        """Take a pod off its row."""
        resident = self.pods.pop(uid)
        del self.on_row[resident.row][uid]
        self._account(resident, -1)
        return resident

    def _account(self, resident: Resident, sign: int) -> None:
        row, load = resident.row, resident.load
        self.columns.account(row, load.requested, load.nonzero, sign)
        resident.label_set.add(row, sign)
        for number in load.carries:
            self.carried.tallies[number].add(row, sign)
        for port in load.ports:
            self.ports.add(row, port, sign)
        if load.mounts is not None:
            self.volumes.mount(resident, sign)
        self.row_log.append(row)

    # -- nominations

    def put_nomination(self, pod: Pod) -> None:
        """Take over where a waiting pod is nominated, if anywhere; its node may come later."""
        uid, name = uid_of(pod), pod.status.nominated_node_name
        self.drop_nomination(uid)
        if name and pod.status.phase not in FINISHED:
            if name in self.row_of:
                self.nominate(pod, self.row_of[name])
            else:
                self.nominate_away(pod, name)

    def nominate_away(self, pod: Pod, name: str) -> None:
        """Keep in mind that a waiting pod is nominated to a node that is not there."""
        self.nominated_away.setdefault(name, {})[uid_of(pod)] = pod

    def nominate(self, pod: Pod, row: Row) -> None:
        """Think of a waiting pod as on a row when others of no higher priority are judged there."""
        self.drop_nomination(uid_of(pod))
        self.residents.read(pod)  # its terms are known before they are asked about
        nomination = Nomination(pod, row)
        self.nominations[nomination.uid] = nomination
        self.nominated_on.setdefault(row, {})[nomination.uid] = nomination
        self.volumes.nominate(pod, 1)

    def drop_nomination(self, uid: str) -> Nomination | None:
        """Forget where a waiting pod was nominated."""
        nomination = self.nominations.pop(uid, None)
        if nomination is None:
            if self.nominated_away:
                _drop_from(self.nominated_away, uid)
        else:
            there = self.nominated_on[nomination.row]
            del there[uid]
            if not there:
                del self.nominated_on[nomination.row]
            self.volumes.nominate(nomination.pod, -1)
        return nomination

    # -- what rules ask for the first time

    def all_have(self, places: slice | Rows) -> bool:
        """Say whether every row has some of each of some resources; worked out when a node has changed."""
        if self._complete_at != self.node_log.position:
            self._complete_at = self.node_log.position
            self._complete.clear()
        key = (places.start, places.stop) if isinstance(places, slice) else places.tobytes()
        found = self._complete.get(key)
        if found is None:
            found = self._complete[key] = bool(self.columns.allocatable[places, : self.columns.rows].all())
        return found

    def key(self, name: str) -> Key:
        """Return a label key's column."""
        return self.keys.known.get(name) or self.keys.make(name, self._labels(), self.columns.capacity)

    def _labels(self) -> Iterator[tuple[int, Mapping[str, str]]]:
        return ((row, node.metadata.labels) for row, node in enumerate(self.nodes) if node is not None)

    def scope(self, affinity: RequiredAffinity | None, tolerations: Tolerations | None, keys: tuple[str, ...]) -> Scope:
        """Return the set of rows that pass an affinity and tolerations and have all of some keys."""
        if affinity is not None and not affinity.is_given:
            affinity = None
        name = (affinity, tolerations, keys)
        found = self.scopes.get(name)
        if found is None:
            found = self.scopes[name] = Scope(affinity, tolerations, tuple(self.key(key) for key in keys))
            for row, node in enumerate(self.nodes):
                if node is not None and self._belongs(node, found):
                    found.put(row, inside=True)
        return found

    def sum_of(self, parts: tuple[tuple[Tally, int], ...]) -> Tally:
        """Return the tally that is the weighted sum of others."""
        name = tuple((id(tally), weight) for tally, weight in parts)
        found = self.weighted.get(name)
        if found is None:
            found = self.weighted[name] = Tally()
            found.follow(parts)
        return found

    def all_tallies(self) -> Iterator[Tally]:
        """Return every tally there is."""
        yield self.every
        yield from self.residents.all_tallies()
        yield from self.carried.tallies
        yield from self.weighted.values()


def _image_sizes(node: Node) -> dict[str, int]:
    """Return an image's size by name; of two entries of one name the first counts."""
    return {name: image.size_bytes for image in reversed(node.status.images) for name in image.names}


def _drop_from(away: MutableMapping[str, dict[str, W]], uid: str) -> None:
    """Forget a pod among those that wait for some node."""
    for name in [name for name, waiting in away.items() if uid in waiting]:
        del away[name][uid]
        if not away[name]:
            del away[name]
