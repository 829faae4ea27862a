"""The kit: clusters and pods built in a line, and a rule put to them.

Words stand for objects: `node("gpu", taints="gpu=yes:NoSchedule")`, `a_pod(tolerates="gpu=yes")`.  A list of things is
a text with spaces; `key=value` pairs are labels.  Every node has its name as hostname, and room unless told otherwise.
Not here: random clusters (tests/parity/topics) and what a table holds (tests/dump.py).
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

from bayplan.api.objects import (
    Affinity,
    Container,
    ContainerImage,
    ContainerPort,
    LabelSelector,
    Namespace,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    NodeSpec,
    NodeStatus,
    Object,
    ObjectMeta,
    OwnerReference,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    PodMeta,
    PodSchedulingGate,
    PodSpec,
    PodStatus,
    PreferredSchedulingTerm,
    Quantities,
    Requirement,
    ResourceRequirements,
    Taint,
    Toleration,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)
from bayplan.api.workloads import Service, ServiceSpec
from bayplan.cluster.fold import put
from bayplan.cluster.reading import Reader
from bayplan.cluster.table import Table
from bayplan.cluster.view import View
from bayplan.framework.plugin import SKIP, AnyPlugin, Failed, Prepared, Rejected

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"


def case(sentence: str, *values: object) -> Any:  # noqa: ANN401 - pytest does not name the type
    """Return one row of a test's table, called by its sentence."""
    return pytest.param(*values, id=sentence)


# --- nodes -----------------------------------------------------------------------------------------------------------


def node(  # noqa: PLR0913 - each word is one thing a node can have
    name: str,
    *,
    zone: str = "",
    labels: str = "",
    taints: str = "",
    images: Mapping[str, int] | None = None,
    features: str = "",
    cordoned: bool = False,
    **room: object,
) -> Node:
    """Return a node; `room` is what it has, 32 CPUs, 64Gi and 110 pods unless said otherwise."""
    own = {HOSTNAME: name, **pairs(labels)}
    if zone:
        own[ZONE] = zone
    amounts: Quantities = {"cpu": "32", "memory": "64Gi", "pods": "110", **quantities(room)}
    found = tuple(ContainerImage(names=(image,), size_bytes=size) for image, size in (images or {}).items())
    return Node(
        metadata=ObjectMeta(name=name, labels={key: value for key, value in own.items() if value != "-"}),
        spec=NodeSpec(unschedulable=cordoned, taints=tuple(map(taint, taints.split()))),
        status=NodeStatus(allocatable=amounts, images=found, declared_features=tuple(features.split())),
    )


def taint(text: str) -> Taint:
    """Read `key=value:Effect`."""
    pair, _, effect = text.partition(":")
    key, _, value = pair.partition("=")
    return Taint(key=key, value=value, effect=effect)


def a_cluster(*things: Object) -> Table:
    """Return a table of nodes, pods and whatever else, in their order."""
    table = Table()
    for thing in things:
        assert put(table, thing), f"no rule reads a {type(thing).__name__}"
    return table


def namespace(name: str, labels: str = "") -> Namespace:
    """Return a namespace."""
    return Namespace(metadata=ObjectMeta(name=name, labels=pairs(labels)))


def service(name: str, selects: str, *, within: str = "default") -> Service:
    """Return a service."""
    return Service(metadata=ObjectMeta(name=name, namespace=within), spec=ServiceSpec(selector=pairs(selects)))


# --- pods ------------------------------------------------------------------------------------------------------------


def a_pod(  # noqa: PLR0913 - each word is one thing a pod can ask for
    name: str = "pod",
    *,
    within: str = "default",
    on: str = "",
    nominated: str = "",
    labels: str = "",
    tolerates: str = "",
    selects: str = "",
    affinity: Affinity | None = None,
    spread: Sequence[TopologySpreadConstraint] = (),
    ports: str = "",
    images: str = "",
    gates: str = "",
    priority: int | None = None,
    terminating: bool = False,
    phase: str = "",
    owner: OwnerReference | None = None,
    **requests: object,
) -> Pod:
    """Return a pod of one container (more where several images are named); `requests` is what it asks for."""
    amounts = quantities(requests)
    asked = ResourceRequirements(requests=amounts or None)
    first, *more = images.split() or [""]
    taken = tuple(map(port, ports.split()))
    containers = (
        Container(name="main", image=first, resources=asked, ports=taken),
        *(Container(name=f"more-{number}", image=image) for number, image in enumerate(more)),
    )
    return Pod(
        metadata=PodMeta(
            name=name,
            namespace=within,
            uid=f"uid-{within}-{name}",
            labels=pairs(labels),
            owner_references=() if owner is None else (owner,),
            deletion_timestamp="2026-03-01T00:00:00Z" if terminating else None,
        ),
        spec=PodSpec(
            node_name=on,
            containers=containers,
            node_selector=pairs(selects) or None,
            affinity=affinity,
            priority=priority,
            tolerations=tuple(map(toleration, tolerates.split())),
            topology_spread_constraints=tuple(spread),
            scheduling_gates=tuple(PodSchedulingGate(name=gate) for gate in gates.split()),
        ),
        status=PodStatus(phase=phase, nominated_node_name=nominated),
    )


def toleration(text: str) -> Toleration:
    """Read `key=value:Effect`, `key` (any value) or `*` (everything)."""
    pair, _, effect = text.partition(":")
    key, equals, value = pair.partition("=")
    if key == "*":
        return Toleration(operator="Exists", effect=effect)
    return Toleration(key=key, operator="Equal" if equals else "Exists", value=value, effect=effect)


def port(text: str) -> ContainerPort:
    """Read `80`, `udp:53` or `tcp:80@10.0.0.1`: a host port, its protocol and the address it is taken on."""
    number, _, address = text.partition("@")
    protocol, _, taken = number.rpartition(":")
    return ContainerPort(host_port=int(taken), protocol=protocol.upper() or "TCP", host_ip=address)


# --- what pods ask of nodes and of each other ------------------------------------------------------------------------


def needs(*terms: str, likes: Mapping[str, int] | None = None) -> Affinity:
    """Return a node affinity: one of the terms must hold, and each of `likes` counts its weight."""
    required = NodeSelector(node_selector_terms=tuple(map(node_term, terms))) if terms else None
    preferred = tuple(
        PreferredSchedulingTerm(weight=weight, preference=node_term(text)) for text, weight in (likes or {}).items()
    )
    return Affinity(
        node_affinity=NodeAffinity(
            required_during_scheduling_ignored_during_execution=required,
            preferred_during_scheduling_ignored_during_execution=preferred or None,
        )
    )


def node_term(text: str) -> NodeSelectorTerm:
    """Read requirements: `key=a,b`, `key!=a`, `key`, `!key`, `key>3`, `key<3`; `name=a` asks for the node's name."""
    found = tuple(map(requirement, text.split()))
    return NodeSelectorTerm(
        match_expressions=tuple(one for one in found if one.key != "metadata.name"),
        match_fields=tuple(one for one in found if one.key == "metadata.name"),
    )


def requirement(text: str) -> Requirement:
    """Read one requirement."""
    for sign, operator in (("!=", "NotIn"), ("=", "In"), (">", "Gt"), ("<", "Lt")):
        key, found, values = text.partition(sign)
        if found:
            own = "metadata.name" if key == "name" else key
            return Requirement(key=own, operator=operator, values=tuple(values.split(",")))
    if text.startswith("!"):
        return Requirement(key=text[1:], operator="DoesNotExist")
    return Requirement(key=text, operator="Exists")


def selector(text: str) -> LabelSelector:
    """Read a label selector: `key=value` pairs, and requirements as `node_term` has them; "" selects everything."""
    words = text.split()
    plain = [word for word in words if "=" in word and "," not in word and "!" not in word]
    return LabelSelector(
        match_labels=pairs(" ".join(plain)),
        match_expressions=tuple(requirement(word) for word in words if word not in plain),
    )


def term(of: str, *, key: str = ZONE, within: str = "", among: str | None = None) -> PodAffinityTerm:
    """Return a term: which pods, in which topology, in which namespaces (by name, or by label)."""
    return PodAffinityTerm(
        label_selector=selector(of),
        topology_key=key,
        namespaces=tuple(within.split()),
        namespace_selector=None if among is None else selector(among),
    )


def neighbours(
    *,
    near: Sequence[PodAffinityTerm] = (),
    far: Sequence[PodAffinityTerm] = (),
    likes: Sequence[tuple[int, PodAffinityTerm]] = (),
    dislikes: Sequence[tuple[int, PodAffinityTerm]] = (),
) -> Affinity:
    """Return an affinity to and from other pods."""
    return Affinity(
        pod_affinity=PodAffinity(
            required_during_scheduling_ignored_during_execution=tuple(near),
            preferred_during_scheduling_ignored_during_execution=tuple(map(_weighted, likes)),
        ),
        pod_anti_affinity=PodAntiAffinity(
            required_during_scheduling_ignored_during_execution=tuple(far),
            preferred_during_scheduling_ignored_during_execution=tuple(map(_weighted, dislikes)),
        ),
    )


def _weighted(wish: tuple[int, PodAffinityTerm]) -> WeightedPodAffinityTerm:
    return WeightedPodAffinityTerm(weight=wish[0], pod_affinity_term=wish[1])


def spread(of: str, *, key: str = ZONE, skew: int = 1, hard: bool = True, **rest: Any) -> TopologySpreadConstraint:  # noqa: ANN401 - any other field of it
    """Return a spread constraint over zones, or over what `key` says."""
    return TopologySpreadConstraint(
        max_skew=skew,
        topology_key=key,
        when_unsatisfiable="DoNotSchedule" if hard else "ScheduleAnyway",
        label_selector=selector(of),
        **rest,
    )


# --- a rule put to them ----------------------------------------------------------------------------------------------


class Judged(NamedTuple):
    """What one rule alone says of a pod: of every node, or of the pod before any node is looked at."""

    fits: Mapping[str, bool]
    why: Mapping[str, tuple[str, ...]]
    code: Mapping[str, str]
    rejected: Rejected | None = None
    failed: str | None = None
    skipped: bool = False

    @property
    def names_that_fit(self) -> list[str]:
        """The nodes that fit, in their order of arrival."""
        return [name for name, fits in self.fits.items() if fits]


def judged(rule: AnyPlugin, pod: Pod, cluster: Table) -> Judged:
    """Ask a rule's filter."""
    view, found = _prepared(rule, pod, cluster)
    if isinstance(found, Rejected):
        return Judged({}, {}, {}, rejected=found)
    if isinstance(found, Failed):
        return Judged({}, {}, {}, failed=found.text)
    rows = _rows(cluster)
    if not found.filters:
        fits = dict.fromkeys(rows, True)
        return Judged(fits, {}, {}, skipped=True)
    ruling = rule.filter(found.state, view)
    assert np.array_equal(rule.fits(found.state, view), ruling.codes == 0), "fits and filter must agree"
    said = {name: ruling.outcomes[int(ruling.codes[row])] for name, row in rows.items() if ruling.codes[row]}
    return Judged(
        fits={name: name not in said and (found.names is None or name in found.names) for name in rows},
        why={name: outcome.texts for name, outcome in said.items()},
        code={name: outcome.code for name, outcome in said.items()},
    )


class Scored(NamedTuple):
    """A rule's scores by node: as it gave them, and normalised."""

    raw: Mapping[str, int]
    normal: Mapping[str, int]


def scored(rule: AnyPlugin, pod: Pod, cluster: Table, among: str = "") -> Scored | None:
    """Ask a rule's score with the nodes `among` feasible (all, unless named); None when it does not score the pod."""
    view, found = _prepared(rule, pod, cluster)
    assert isinstance(found, Prepared), f"nothing is scored: {found}"
    rows = _rows(cluster)
    names = among.split() or list(rows)
    feasible = np.zeros(len(view), np.bool_)
    feasible[[rows[name] for name in names]] = True
    state = rule.prepare_score(found.state, view, feasible)
    assert not isinstance(state, Failed), state
    if state is SKIP:
        return None
    raw = rule.score(state, view, feasible)
    normal = rule.normalize(state, view, raw.copy(), feasible) if rule.overrides("normalize") else raw
    return Scored({name: int(raw[rows[name]]) for name in names}, {name: int(normal[rows[name]]) for name in names})


def _prepared(rule: AnyPlugin, pod: Pod, cluster: Table) -> tuple[View, Prepared[Any] | Rejected | Failed]:
    view = View(cluster)
    shape = Reader(cluster).shape(pod)
    return view, rule.prepare(pod if rule.reads is None else shape.part(rule.reads), view)


def _rows(cluster: Table) -> dict[str, int]:
    arrival = cluster.columns.arrival
    return dict(sorted(cluster.row_of.items(), key=lambda item: int(arrival[item[1]])))


# --- reading words ---------------------------------------------------------------------------------------------------


def pairs(text: str) -> dict[str, str]:
    """Read `key=value` pairs; a bare key has an empty value."""
    return {key: value for key, _, value in (word.partition("=") for word in text.split())}


def quantities(words: Mapping[str, object]) -> Quantities:
    """Read resources named as Python's arguments: `ephemeral_storage`, `example_com__gpu` for `example.com/gpu`."""
    found: Quantities = {}
    for name, amount in words.items():
        group, slash, rest = name.partition("__")
        full = f"{group.replace('_', '.')}/{rest}" if slash else name.replace("_", "-")
        found[full] = str(amount)
    return found
