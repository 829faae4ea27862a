"""Shapes: pods reduced to what a scheduler can tell apart, interned.

A shape is a tuple of parts, one for each kind of rule; each rule names the one it reads, and answers are remembered per
part.  Of a pod's labels a shape keeps only which known selectors match them, so the pods of a StatefulSet share one.
Invariant: two pods with the same shape get the same answer from every rule that declares what it reads.
Not here: what running pods are (labels.py) and the parts about volumes (claims.py).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Final, Generic, TypeVar

import msgspec

from bayplan.api.objects import Pod, Toleration
from bayplan.api.requests import balance_request, fit_request, host_ports, image_names, score_request
from bayplan.api.selectors import PreferredTerms, RequiredAffinity, Selector
from bayplan.cluster.catalogues import Term
from bayplan.cluster.claims import Volumes

P = TypeVar("P", bound=Hashable)


class Part(Generic[P]):
    """The name of a part; `shape.part(PART)` is a shape's value for it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name.upper()


class Tolerations(msgspec.Struct, frozen=True):
    """What taints a pod bears."""

    all: tuple[Toleration, ...]
    compares: bool = False  # the gate for Gt and Lt is on: part of the profile


class NodeChoice(msgspec.Struct, frozen=True):
    """Which nodes a pod asks for by their labels and names."""

    required: RequiredAffinity
    preferred: PreferredTerms | None  # None: the pod has no such list


class Requests(msgspec.Struct, frozen=True):
    """What a pod asks for, as each of the three arithmetics of upstream counts it."""

    fit: tuple[tuple[str, int], ...]  # the filter's: explicit zeros stay
    scored: tuple[tuple[str, int], ...]  # the allocation score's: with defaults per container
    balanced: tuple[tuple[str, int], ...]  # the balance score's: the real ones


class Constraint(msgspec.Struct, frozen=True):
    """One topology spread constraint of the pod's own."""

    key: str
    skew_max: int
    hard: bool
    selector: Selector
    counts_itself: bool
    domains_min: int
    honours_affinity: bool
    honours_taints: bool


class Spread(msgspec.Struct, frozen=True):
    """How a pod wants to be spread, and which nodes count for it."""

    namespace: str
    constraints: tuple[Constraint, ...]
    own: bool  # the pod names constraints itself: defaults do not apply
    default: Selector | None  # whose pods the defaults would spread; None: nobody's
    default_counts_itself: bool
    affinity: RequiredAffinity
    tolerations: Tolerations
    hard_error: str | None = None  # why the hard ones cannot be read; then none of them is here
    soft_error: str | None = None


class OfService(msgspec.Struct, frozen=True):
    """Whom a pod's first Service, by name, selects, and where the pod itself asks to go."""

    namespace: str  # empty without a Service
    selector: Selector | None  # None: no Service selects the pod
    wanted: tuple[tuple[str, str], ...]  # the pod's nodeSelector


class Weighted(msgspec.Struct, frozen=True):
    """A preferred term and its weight."""

    term: Term
    weight: int


class Neighbours(msgspec.Struct, frozen=True):
    """Which pods a pod wants near or far, and which carried terms mean it."""

    namespace: str
    near: tuple[Term, ...]
    near_itself: tuple[bool, ...]  # per term of `near`: does it match the pod's labels
    far: tuple[Term, ...]
    liked: tuple[Weighted, ...]
    disliked: tuple[Weighted, ...]
    meant_by: tuple[int, ...]  # numbers of the carried terms that match the pod
    prefers: bool = False  # the pod has preferred terms, be they readable or not
    error: str | None = None


NODE_NAME: Final = Part[str]("node_name")
GATES: Final = Part[tuple[str, ...]]("gates")
TOLERATIONS: Final = Part[Tolerations]("tolerations")
NODE_CHOICE: Final = Part[NodeChoice]("node_choice")
PORTS: Final = Part[tuple[tuple[str, str, int], ...]]("ports")
REQUESTS: Final = Part[Requests]("requests")
IMAGES: Final = Part[tuple[str, ...]]("images")
FEATURES: Final = Part[frozenset[str]]("features")
SPREAD: Final = Part[Spread]("spread")
NEIGHBOURS: Final = Part[Neighbours]("neighbours")
VOLUMES: Final = Part[Volumes | None]("volumes")
SERVICE: Final = Part[OfService]("service")
CONTROLLER: Final = Part[tuple[str, str] | None]("controller")  # kind and uid, where some node names it
NOTHING: Final = Part[None]("nothing")  # for rules about nodes alone
DEVICES: Final = Part[tuple[str, ...]]("devices")  # resource claims by name: waits until devices are built
GROUP: Final = Part[str]("group")  # the pod group that the pod is to be placed with: waits until groups are built

PARTS: Final = (
    NODE_NAME,
    GATES,
    TOLERATIONS,
    NODE_CHOICE,
    PORTS,
    REQUESTS,
    IMAGES,
    FEATURES,
    SPREAD,
    NEIGHBOURS,
    VOLUMES,
    SERVICE,
    CONTROLLER,
    NOTHING,
    DEVICES,
    GROUP,
)


class Shape:
    """The interned scheduling-relevant part of a pod."""

    __slots__ = ("_parts", "number")

    def __init__(self, number: int, parts: dict[str, Hashable]) -> None:
        self.number = number
        self._parts = parts

    def part(self, part: Part[P]) -> P:
        """Return this shape's value of a part."""
        return self._parts[part.name]  # type: ignore[return-value]  # written by `Shapes` alone


class Shapes:
    """All shapes known, by their parts; equal parts are one object, so shapes are told apart by identity."""

    def __init__(self) -> None:
        self._shapes: dict[tuple[int, ...], Shape] = {}
        self._parts: dict[tuple[str, Hashable], Hashable] = {}

    def part(self, name: str, part: Hashable) -> Hashable:
        """Return the one object that stands for this value of a part."""
        return self._parts.setdefault((name, part), part)

    def intern(self, parts: Mapping[str, Hashable]) -> Shape:
        """Return the one shape with these parts, each of which `part` returned."""
        name = tuple(map(id, parts.values()))
        shape = self._shapes.get(name)
        if shape is None:
            shape = self._shapes[name] = Shape(len(self._shapes), dict(parts))
        return shape

    def __len__(self) -> int:
        return len(self._shapes)


def tolerations_of(pod: Pod) -> Tolerations:
    """Read which taints a pod bears."""
    return Tolerations(pod.spec.tolerations)


def node_choice_of(pod: Pod) -> NodeChoice:
    """Read which nodes a pod asks for."""
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    wishes = affinity.preferred_during_scheduling_ignored_during_execution if affinity is not None else None
    return NodeChoice(
        required=RequiredAffinity.of(pod.spec.node_selector, affinity),
        preferred=None if wishes is None else PreferredTerms.of(wishes),
    )


def requests_of(pod: Pod) -> Requests:
    """Read what a pod asks for."""
    return Requests(
        fit=tuple(fit_request(pod).items()),
        scored=tuple(score_request(pod).items()),
        balanced=tuple(balance_request(pod).items()),
    )


def of_service(pod: Pod, selector: Mapping[str, str] | None) -> OfService:
    """Read what the pod's first Service selects and where the pod asks to go."""
    return OfService(
        namespace="" if selector is None else pod.metadata.namespace,
        selector=None if selector is None else Selector.of_map(selector),
        wanted=tuple(sorted((pod.spec.node_selector or {}).items())),
    )


def ports_of(pod: Pod) -> tuple[tuple[str, str, int], ...]:
    """Read which host ports a pod takes."""
    return host_ports(pod)


def images_of(pod: Pod) -> tuple[str, ...]:
    """Read which images a pod runs."""
    return tuple(image_names(pod))


def group_of(pod: Pod) -> str:
    """Return the pod group that a pod belongs to; empty without one."""
    group = pod.spec.scheduling_group
    return "" if group is None else group.pod_group_name or "without a name"


def features_of(pod: Pod) -> frozenset[str]:
    """Infer which declared features a node must have for this pod."""
    spec = pod.spec
    features = set()
    rules = (rule for c in (*spec.init_containers, *spec.containers) for rule in c.restart_policy_rules)
    if any(rule.action == "RestartAllContainers" for rule in rules):
        features.add("RestartAllContainersOnContainerExits")
    if spec.host_network and spec.host_users is False:
        features.add("UserNamespacesHostNetworkSupport")
    containers = (*spec.init_containers, *spec.containers, *spec.ephemeral_containers)
    if any(mount.bind_mount_options for c in containers for mount in c.volume_mounts):
        features.add("VolumeBindMountOptions")
    return frozenset(features)
