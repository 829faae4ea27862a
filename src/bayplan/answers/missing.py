"""What an input lacks that might matter: kinds that its objects refer to and that are not there.

A cluster's answer depends on more kinds than nodes and pods.  Where something in the input points at a kind or an
object that is not in it, the answer may differ from the cluster's, and here is said in what.
Invariant: an input that refers to nothing outside itself has nothing to say here.
Not here: what is wrong with what is there (snapshot.py).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from bayplan.answers.snapshot import called, identity_of, waits
from bayplan.api.claims import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from bayplan.api.objects import Node, Object, Pod, PodAffinityTerm
from bayplan.api.workloads import ReplicaSet, ReplicationController, Service, StatefulSet
from bayplan.cluster.claims import WAIT_FOR_CONSUMER, claim_name, class_of
from bayplan.cluster.table import FINISHED

SHOWN_MAX: Final = 3
SPREADERS: Final = {"ReplicaSet": ReplicaSet, "ReplicationController": ReplicationController,
                    "StatefulSet": StatefulSet}  # fmt: skip


class Kinds:
    """The objects of an input by kind."""

    def __init__(self, objects: Iterable[Object]) -> None:
        self._by_kind: dict[str, list[Object]] = defaultdict(list)
        for thing in objects:
            self._by_kind[type(thing).__name__].append(thing)
        self.names = {identity_of(thing) for things in self._by_kind.values() for thing in things}
        self.pods = [pod for pod in self.of(Pod) if isinstance(pod, Pod) and pod.status.phase not in FINISHED]
        self.claims = [claim for claim in self.of(PersistentVolumeClaim) if isinstance(claim, PersistentVolumeClaim)]
        self.classes = {one.metadata.name: one for one in self.of(StorageClass) if isinstance(one, StorageClass)}

    def of(self, kind: type[Object]) -> Sequence[Object]:
        """Return the objects of a kind."""
        return self._by_kind.get(kind.__name__, ())

    def has(self, kind: str, name: str, namespace: str = "") -> bool:
        """Say whether an object is there."""
        return (kind, namespace or "default", name) in self.names


Question: TypeAlias = Callable[[Kinds], Iterator[str]]


def missing(objects: Iterable[Object]) -> list[str]:
    """Say what is not in an input, and what may be answered otherwise because of it."""
    kinds = Kinds(objects)
    return [note for question in QUESTIONS for note in question(kinds)]


def _nodes(kinds: Kinds) -> Iterator[str]:
    if not kinds.of(Node):
        yield "no Node is in the input, so nothing can be placed: add `kubectl get nodes -o yaml`"


def _claims(kinds: Kinds) -> Iterator[str]:
    lacking: Counter[str] = Counter()
    for pod in kinds.pods:
        for place, volume in enumerate(pod.spec.volumes):
            if volume.persistent_volume_claim is not None:
                name, namespace = claim_name(pod, place), pod.metadata.namespace
                if not kinds.has("PersistentVolumeClaim", name, namespace):
                    lacking[called(("PersistentVolumeClaim", namespace, name))] += 1
    if lacking:
        yield (
            f"{_few('PersistentVolumeClaim', lacking)} named by pods and not in the input: "
            "a pod that waits for one is not placed, one that runs does not count against volume limits; add pvc"
        )


def _volumes(kinds: Kinds) -> Iterator[str]:
    named = (claim.spec.volume_name for claim in kinds.claims)
    lacking = Counter(name for name in named if name and not kinds.has("PersistentVolume", name))
    if lacking:
        yield (
            f"{_few('PersistentVolume', lacking)} bound to claims and not in the input: "
            "where these volumes can be reached from is not known; add pv"
        )


def _classes(kinds: Kinds) -> Iterator[str]:
    named = (
        class_of(claim.metadata, claim.spec.storage_class_name) for claim in kinds.claims if not claim.spec.volume_name
    )
    lacking = Counter(name for name in named if name and name not in kinds.classes)
    if lacking:
        yield (
            f"{_few('StorageClass', lacking)} named by unbound claims and not in the input: "
            "volumes cannot be made for them; add storageclasses"
        )


def _drivers(kinds: Kinds) -> Iterator[str]:
    used = {
        kinds.classes[name].provisioner
        for name in (
            class_of(claim.metadata, claim.spec.storage_class_name)
            for claim in kinds.claims
            if not claim.spec.volume_name
        )
        if name in kinds.classes and kinds.classes[name].volume_binding_mode == WAIT_FOR_CONSUMER
    }
    lacking = Counter(name for name in used if "/" not in name and not kinds.has("CSIDriver", name))
    if lacking:
        yield (
            f"{_few('CSIDriver', lacking)} to make volumes with and not in the input: "
            "whether there is room for new volumes is not asked; add csidrivers, csistoragecapacities"
        )
    tracks = [
        driver.metadata.name
        for driver in kinds.of(CSIDriver)
        if isinstance(driver, CSIDriver) and driver.spec.storage_capacity and driver.metadata.name in used
    ]
    if tracks and not kinds.of(CSIStorageCapacity):
        yield (
            f"no CSIStorageCapacity is in the input, though {_few('CSIDriver', Counter(tracks), 'reports')} them: "
            "no node has room for new volumes; add csistoragecapacities"
        )


def _limits(kinds: Kinds) -> Iterator[str]:
    by_csi = [
        volume
        for volume in kinds.of(PersistentVolume)
        if isinstance(volume, PersistentVolume) and volume.spec.csi is not None
    ]
    made = [claim for claim in kinds.claims if not claim.spec.volume_name]
    if (by_csi or made) and not kinds.of(CSINode):
        yield "no CSINode is in the input, though there are volumes: attach limits are not known; add csinodes"
    elif by_csi and kinds.of(CSINode) and not kinds.of(VolumeAttachment):
        yield (
            "no VolumeAttachment is in the input, though there are CSI volumes: those attached without a pod do not "
            "count against limits; add volumeattachments"
        )


def _namespaces(kinds: Kinds) -> Iterator[str]:
    selecting = sum(any(term.namespace_selector is not None for term in _terms(pod)) for pod in kinds.pods)
    if not selecting:
        return
    lacking = Counter(
        pod.metadata.namespace for pod in kinds.pods if not kinds.has("Namespace", pod.metadata.namespace)
    )
    if lacking:
        yield (
            f"{_few('Namespace', lacking)} not in the input, though {_pods(selecting)} select others by the labels of "
            "their namespace: it counts as one without labels; add namespaces"
        )


def _owners(kinds: Kinds) -> Iterator[str]:
    lacking: Counter[str] = Counter()
    for pod in kinds.pods:
        if not waits(pod) or pod.spec.topology_spread_constraints:
            continue
        for owner in pod.metadata.owner_references:
            if owner.controller and owner.kind in SPREADERS:
                there = kinds.has(owner.kind, owner.name, pod.metadata.namespace)
                lacking[f"{owner.kind} {pod.metadata.namespace}/{owner.name}"] += not there
    lacking = +lacking
    if lacking:
        also = "" if kinds.of(Service) else ", services"
        yield (
            f"{_few('', lacking)} owning waiting pods and not in the input: these pods are not spread by default; "
            f"add replicasets, statefulsets, replicationcontrollers{also}"
        )


QUESTIONS: Final[tuple[Question, ...]] = (
    _nodes,
    _claims,
    _volumes,
    _classes,
    _drivers,
    _limits,
    _namespaces,
    _owners,
)


def _terms(pod: Pod) -> Iterator[PodAffinityTerm]:
    affinity = pod.spec.affinity
    for part in (affinity.pod_affinity, affinity.pod_anti_affinity) if affinity is not None else ():
        if part is not None:
            yield from part.required_during_scheduling_ignored_during_execution
            yield from (one.pod_affinity_term for one in part.preferred_during_scheduling_ignored_during_execution)


def _few(kind: str, names: Counter[str], verb: str = "") -> str:
    """Name some of what is lacking: the most wanted first."""
    wanted = sorted(names, key=lambda name: (-names[name], name))
    shown = ", ".join(wanted[:SHOWN_MAX])
    more = f" and {len(wanted) - SHOWN_MAX} more" if len(wanted) > SHOWN_MAX else ""
    be = verb or ("is" if len(wanted) == 1 else "are")
    return f"{kind} {shown}{more} {be}".lstrip()


def _pods(number: int) -> str:
    return "1 pod" if number == 1 else f"{number:,} pods"
