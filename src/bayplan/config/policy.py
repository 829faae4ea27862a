"""The old Policy file, as Kubernetes 1.0 to 1.22 read it: predicates and priorities by name, with arguments.

Lists keep the difference that the file makes: absent or null means the last defaults, empty means none.
Invariant: what is in force of a Policy (`in_force`) names every rule, mandatory ones too, and is a Policy itself.
Not here: reading one (policy_decode.py), what its names mean today (policy_names.py) and making its rules
(policy_profile.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from bayplan.config.complaints import Complaint, ConfigError, meant, shown
from bayplan.config.kubescheduler import Extender, Int32, Int64, Setting
from bayplan.config.policy_names import (
    DEFAULT_PREDICATES,
    DEFAULT_PRIORITIES,
    EQUAL,
    MANDATORY,
    PREDICATES,
    PRIORITIES,
)

API_VERSION: Final = "v1"
KIND: Final = "Policy"
HARD_WEIGHT_MAX: Final = 100

DEFAULT_PROVIDER: Final = "DefaultProvider"
PROVIDERS: Final[Mapping[str, Mapping[str, str]]] = {
    DEFAULT_PROVIDER: {},
    "ClusterAutoscalerProvider": {"LeastRequestedPriority": "MostRequestedPriority"},
}  # algorithm provider -> what it has in place of which default priority


class ServiceAffinity(Setting, frozen=True, kw_only=True):
    """A predicate of one's own: a Service's pods stay where some labels have the same values."""

    labels: Annotated[tuple[str, ...], Meta(description="the labels whose values are shared")] = ()


class LabelsPresence(Setting, frozen=True, kw_only=True):
    """A predicate of one's own: all of some labels are there, or none of them."""

    labels: Annotated[tuple[str, ...], Meta(description="the labels that are looked for")] = ()
    presence: Annotated[bool, Meta(description="whether they must be there, or must not")] = False


class PredicateArgument(Setting, frozen=True, kw_only=True):
    """What makes a predicate one's own: exactly one of these."""

    service_affinity: Annotated[ServiceAffinity | None, Meta(description="keep a Service's pods together")] = None
    labels_presence: Annotated[LabelsPresence | None, Meta(description="look for labels, whatever their values")] = None


class Predicate(Setting, frozen=True, kw_only=True):
    """A rule that nodes must pass."""

    name: Annotated[str, Meta(description="its name; any name with an argument; or a registered plugin's")] = ""
    argument: Annotated[PredicateArgument | None, Meta(description="what makes it one's own")] = None


class ServiceAntiAffinity(Setting, frozen=True, kw_only=True):
    """A priority of one's own: a Service's pods are spread over the values of a label."""

    label: Annotated[str, Meta(description="the label")] = ""


class LabelPreference(Setting, frozen=True, kw_only=True):
    """A priority of one's own: nodes that have a label, or that do not."""

    label: Annotated[str, Meta(description="the label")] = ""
    presence: Annotated[bool, Meta(description="whether it is better to have it")] = False


class UtilizationPoint(Setting, frozen=True, kw_only=True):
    """A point of the function from utilization to score."""

    utilization: Annotated[Int32, Meta(description="how full, of 100")] = 0
    score: Annotated[Int32, Meta(description="what that earns, of 10")] = 0


class ResourceWeight(Setting, frozen=True, kw_only=True):
    """A resource and how much it counts."""

    name: Annotated[str, Meta(description="the resource")] = ""
    weight: Annotated[Int64, Meta(description="how much it counts; 0: 1")] = 1


class RequestedToCapacityRatio(Setting, frozen=True, kw_only=True):
    """A priority of one's own: score by how full a node would be."""

    shape: Annotated[tuple[UtilizationPoint, ...], Meta(description="the points of the function")] = ()
    resources: Annotated[tuple[ResourceWeight, ...], Meta(description="what is looked at; cpu and memory")] = ()


class PriorityArgument(Setting, frozen=True, kw_only=True):
    """What makes a priority one's own: exactly one of these."""

    service_anti_affinity: Annotated[ServiceAntiAffinity | None, Meta(description="spread a Service's pods")] = None
    label_preference: Annotated[LabelPreference | None, Meta(description="look for a label")] = None
    requested_to_capacity_ratio_arguments: Annotated[
        RequestedToCapacityRatio | None, Meta(description="score by how full a node would be")
    ] = None


class Priority(Setting, frozen=True, kw_only=True):
    """A rule by which nodes are ranked."""

    name: Annotated[str, Meta(description="its name; any name with an argument; or a registered plugin's")] = ""
    weight: Annotated[Int64, Meta(description="how much its score counts; above 0")] = 0
    argument: Annotated[PriorityArgument | None, Meta(description="what makes it one's own")] = None


class Policy(Setting, frozen=True, kw_only=True):
    """All of the Policy file."""

    kind: Annotated[str, Meta(description="the kind of this file")] = KIND
    api_version: Annotated[str, Meta(description="the form of this file")] = API_VERSION
    predicates: Annotated[
        tuple[Predicate, ...] | None, Meta(description="what nodes must pass; null: the last defaults; empty: none")
    ] = None
    priorities: Annotated[
        tuple[Priority, ...] | None, Meta(description="what ranks them; null: the last defaults; empty: all are equal")
    ] = None
    extenders: Annotated[tuple[Extender, ...], Meta(description="web services asked in addition")] = ()
    hard_pod_affinity_symmetric_weight: Annotated[
        Int32, Meta(description="what a required pod affinity is worth to the pods that it means, 1 to 100; 0: 1")
    ] = 0
    always_check_all_predicates: Annotated[
        bool, Meta(description="kept: every rule's answer is shown when it is asked for, whatever this says")
    ] = False


def in_force(policy: Policy) -> Policy:
    """Return a Policy that says in full what another one means."""
    given = DEFAULT_PREDICATES if policy.predicates is None else ()
    predicates = [*(policy.predicates or ()), *(Predicate(name=name) for name in given)]
    named = {predicate.name for predicate in predicates if predicate.argument is None}
    predicates += [Predicate(name=name) for name in MANDATORY if name not in named]
    priorities = policy.priorities
    if priorities is None:
        priorities = tuple(Priority(name=name, weight=weight) for name, weight in DEFAULT_PRIORITIES.items())
    return msgspec.structs.replace(
        policy,
        predicates=tuple(predicates),
        priorities=priorities or (Priority(name=EQUAL, weight=1),),
        hard_pod_affinity_symmetric_weight=policy.hard_pod_affinity_symmetric_weight or 1,
    )


def counted(priorities: Iterable[Priority]) -> tuple[Priority, ...]:
    """Leave out all but the last of several priorities of one name; rules of one's own all count."""
    given = tuple(priorities)
    last = {priority.name: place for place, priority in enumerate(given) if priority.argument is None}
    return tuple(
        priority
        for place, priority in enumerate(given)
        if priority.argument is not None or last[priority.name] == place
    )


def from_provider(name: str) -> Policy:
    """Return what an algorithm provider asks for; a ConfigError says which there are."""
    if name not in PROVIDERS:
        message = f"unknown algorithm provider {shown(name)}; {meant(name, PROVIDERS)}"
        raise ConfigError([Complaint("--algorithm-provider", 0, 0, "", message)])
    instead = PROVIDERS[name]
    weights = {instead.get(priority, priority): weight for priority, weight in DEFAULT_PRIORITIES.items()}
    return _of_names(DEFAULT_PREDICATES, weights)


def from_keys(predicates: Iterable[str], priorities: Iterable[str]) -> Policy:
    """Return a Policy of rules by name, each with its default weight; a ConfigError names those that are not known."""
    predicates, priorities = tuple(predicates), tuple(priorities)
    unknown = [("predicate", name, PREDICATES) for name in predicates if name not in PREDICATES]
    unknown_priorities = [("priority", name, PRIORITIES) for name in priorities if name not in PRIORITIES]
    if unknown or unknown_priorities:
        raise ConfigError(
            Complaint("", 0, 0, "", f"unknown {what} {shown(name)}; {meant(name, known)}")
            for what, name, known in (*unknown, *unknown_priorities)
        )
    return _of_names(predicates, {name: DEFAULT_PRIORITIES.get(name, 1) for name in priorities})


def _of_names(predicates: Iterable[str], weights: Mapping[str, int]) -> Policy:
    return Policy(
        predicates=tuple(Predicate(name=name) for name in predicates),
        priorities=tuple(Priority(name=name, weight=weight) for name, weight in weights.items()),
    )
