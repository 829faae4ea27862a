"""A cluster as manifests describe it: a table of what runs, who waits, and what was not understood.

Everything is read first and folded in afterwards, because the order of files says nothing.  What cannot be used is
refused by name, with its place, and the rest is used; kinds that do not matter are counted.
Invariant: an object is in the table, waits, is counted as passed over, or is refused with a message.
Not here: opening files (cli) and placing pods (`core/pod_lane.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple, TypeAlias

from bayplan.api.decode import KINDS, Passed, Place, Refused, in_words, read_placed
from bayplan.api.defaults import DEFAULT_NAMESPACE, AdmissionError
from bayplan.api.intake import as_stored
from bayplan.api.objects import Meta, Node, Object, Pod
from bayplan.api.policies import PriorityClass, RuntimeClass
from bayplan.api.wider import Kinds, as_wide
from bayplan.api.workloads import DaemonSet, Deployment, Job
from bayplan.cluster.fold import put
from bayplan.cluster.table import FINISHED, Table

Identity: TypeAlias = tuple[str, str, str]  # kind, namespace, name


READ_BEFORE: Final = (Deployment, DaemonSet, Job, PriorityClass, RuntimeClass)  # they made or changed pods
OWNERS_DEPTH_MAX: Final = 4
UNNAMESPACED: Final = frozenset({
    "Node", "Namespace", "PersistentVolume", "StorageClass", "CSINode", "CSIDriver", "VolumeAttachment",
    "PriorityClass", "RuntimeClass", "DeviceClass", "Queue",
})  # fmt: skip


class Cluster(NamedTuple):
    """What was read, ready to be asked about."""

    table: Table
    waiting: list[Pod]  # in the order read
    objects: list[Object]  # all of them, as a cluster would hold them


class Snapshot:
    """Reads manifests, then makes a cluster of them."""

    def __init__(self, kinds: Kinds = KINDS) -> None:
        self._kinds = kinds  # wider ones carry fields that rules of somebody's own declare
        self.refused: list[str] = []
        self.passed: Counter[str] = Counter()  # kinds that do not matter, and how many of each
        self._things: list[Object] = []
        self._places: dict[Identity, Place] = {}
        self._first: dict[Identity | tuple[str, str], str] = {}  # identity, or kind and uid -> where it was read
        self._said: set[str] = set()

    # 1 reading

    def read(self, file: str, raw: bytes) -> int:
        """Read a file's bytes; return how many objects there were."""
        number = 0
        for found, place in read_placed(file, raw, self._kinds):
            number += 1
            if isinstance(found, Refused):
                self._refuse(str(found))
            elif isinstance(found, Passed):
                self.passed[found.kind] += 1
            else:
                self._take(found, place)
        return number

    def _take(self, thing: Object, place: Place | None) -> None:
        """Keep an object, unless there is one of that name or uid already."""
        meta, identity = meta_of(thing), identity_of(thing)
        kind, by_uid = identity[0], (identity[0], meta.uid)
        if place is not None:
            if identity in self._first:
                problem = f"expected each {kind} once, got a second {called(identity)}"
                self._refuse(
                    str(place.refused(("metadata", "name"), f"{problem} (the first: {self._first[identity]})"))
                )
                return
            if meta.uid and by_uid in self._first:
                problem = f"expected a uid of its own for each {kind}, got that of another"
                self._refuse(str(place.refused(("metadata", "uid"), f"{problem} ({self._first[by_uid]})")))
                return
            self._first[identity] = self._first[by_uid] = f"{place.file}, document {place.document}"
            if not meta.uid or isinstance(thing, Pod):
                self._places[identity] = place
        self._things.append(thing)

    # 2 what a cluster would hold

    def cluster(self) -> Cluster:
        """Complete and expand what was read, fold it into a table, and say who waits."""
        stored = as_stored(self._things)
        owners = {identity_of(thing): _owner(thing) for thing in stored.objects if _owner(thing) is not None}
        nodes = {thing.metadata.name for thing in stored.objects if isinstance(thing, Node)}
        for thing, error in stored.refused:
            self._refuse(self._placed(thing, error, owners))
        objects: list[Object] = []
        for thing in stored.objects if self._kinds is KINDS else (as_wide(one, self._kinds) for one in stored.objects):
            lost = _lost(thing, nodes)
            if lost is None:
                objects.append(thing)
            else:
                self._refuse(self._placed(thing, lost, owners))
        self._places.clear()
        return Cluster(self._folded(objects), [one for one in objects if isinstance(one, Pod) and waits(one)], objects)

    def _folded(self, objects: Iterable[Object]) -> Table:
        """Fold objects in: pods after everything else, because they name nodes that may be read later."""
        table, pods = Table(), list[Pod]()
        for thing in objects:
            if isinstance(thing, Pod):
                pods.append(thing)
            elif not put(table, thing) and not isinstance(thing, READ_BEFORE):
                self.passed[type(thing).__name__] += 1
        for pod in pods:
            put(table, pod)
            if pod.status.phase in FINISHED:
                self.passed["Pod that has finished"] += 1
            elif not pod.spec.node_name and not waits(pod):
                self.passed["Pod on its way out"] += 1
        return table

    def _placed(self, thing: Object, error: AdmissionError, owners: Mapping[Identity, Identity | None]) -> str:
        """Put a refusal where its object stands or, of a pod that was made, where its workload does."""
        first, above = identity_of(thing), _owner(thing)
        if first in self._places:
            return str(self._places[first].refused(error.path, error.problem))
        for _ in range(OWNERS_DEPTH_MAX):
            if above in self._places:
                inside = ("spec", "template") if isinstance(thing, Pod) else ()
                return str(self._places[above].refused((*inside, *error.path), error.problem))
            above = owners.get(above) if above is not None else None
        return f"{first[0]} {called(first)}: {in_words(error.path)}: {error.problem}"

    def _refuse(self, message: str) -> None:
        if message not in self._said:
            self._said.add(message)
            self.refused.append(message)


def waits(pod: Pod) -> bool:
    """Say whether a pod is to be placed: bound to nothing, not finished, not on its way out."""
    return not pod.spec.node_name and pod.status.phase not in FINISHED and pod.metadata.deletion_timestamp is None


def meta_of(thing: Object) -> Meta:
    """Return an object's metadata."""
    meta = getattr(thing, "metadata", None)
    return meta if isinstance(meta, Meta) else Meta()


def identity_of(thing: Object) -> Identity:
    """Return what is once in a cluster: a kind, a namespace and a name."""
    meta = meta_of(thing)
    return type(thing).__name__, meta.namespace or DEFAULT_NAMESPACE, meta.name


def called(identity: Identity) -> str:
    """Write an identity the way people do: namespace/name, or the name alone where there is no namespace."""
    kind, namespace, name = identity
    return name if kind in UNNAMESPACED else f"{namespace}/{name}"


def _lost(thing: Object, nodes: AbstractSet[str]) -> AdmissionError | None:
    """Say that a pod is bound to a node that is not there; a finished one takes no room anywhere."""
    if not isinstance(thing, Pod) or not thing.spec.node_name or thing.spec.node_name in nodes:
        return None
    if thing.status.phase in FINISHED:
        return None
    wanted = f'expected the name of a Node in the input, got "{thing.spec.node_name}"'
    return AdmissionError(("spec", "nodeName"), f"{wanted}; add the node, or leave the pod out")


def _owner(thing: Object) -> Identity | None:
    meta = meta_of(thing)
    owner = next((owner for owner in meta.owner_references if owner.controller), None)
    return None if owner is None else (owner.kind, meta.namespace or DEFAULT_NAMESPACE, owner.name)
