"""Decoding a Policy file: all of it or nothing, with every complaint at once.

Invariant: what comes out can be made a profile of; every rule that it names exists and takes the arguments given.
Not here: making the profile (policy_profile.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from bayplan.api.durations import Duration
from bayplan.config import strict
from bayplan.config.checks import check_extenders
from bayplan.config.complaints import Complaints, Path, meant, shown
from bayplan.config.kubescheduler import API_VERSION as KUBE_SCHEDULER
from bayplan.config.policy import API_VERSION, HARD_WEIGHT_MAX, KIND, Policy, Predicate, Priority
from bayplan.config.policy_names import GONE, NEED_ARGUMENT, PREDICATES, PRIORITIES
from bayplan.config.policy_profile import arguments_of, points_problem
from bayplan.config.spellings import respelled
from bayplan.framework.registry import PluginNotLoaded, Registry

SCORE_MAX: Final = 100
TOTAL_MAX: Final = 2**63 - 1
ARGUMENT_SHOWN: Final = "argument"


def decode_policy(tree: Mapping[str, object], registry: Registry, complaints: Complaints) -> Policy:
    """Read a Policy; complaints say what is wrong with it."""
    tree = _as_today(respelled(tree, Policy, complaints), complaints)
    for field, wanted in (("kind", (KIND,)), ("apiVersion", (API_VERSION, KUBE_SCHEDULER))):
        given = tree.get(field)
        if given is not None and given not in wanted:
            complaints.unreadable((field,), f"expected {shown(wanted[0])}, got {shown(given)}")
    policy = strict.decoded(tree, Policy, complaints) or Policy()
    _check_named("predicates", policy.predicates or (), complaints)
    _check_named("priorities", policy.priorities or (), complaints)
    for place, predicate in enumerate(policy.predicates or ()):
        _check_predicate(predicate, registry, complaints, ("predicates", place))
    for place, priority in enumerate(policy.priorities or ()):
        _check_priority(priority, registry, complaints, ("priorities", place))
    if sum(max(0, priority.weight) for priority in policy.priorities or ()) * SCORE_MAX > TOTAL_MAX:
        complaints.add(("priorities",), f"the weights are so large that {SCORE_MAX} times their sum overflows")
    weight = policy.hard_pod_affinity_symmetric_weight
    if not 0 <= weight <= HARD_WEIGHT_MAX:
        complaints.add(("hardPodAffinitySymmetricWeight",), f"is not in the range 1..{HARD_WEIGHT_MAX}: {weight}")
    if policy.always_check_all_predicates:
        complaints.warn(
            ("alwaysCheckAllPredicates",),
            "changes no placement; a message names the first rule that fails, and `place --why` all of them",
        )
    check_extenders(policy.extenders, complaints)
    return msgspec.structs.replace(policy, kind=KIND, api_version=API_VERSION)


def _as_today(tree: dict[str, object], complaints: Complaints) -> dict[str, object]:
    """Return the tree without what means nothing, and with extenders' times as texts: here they are nanoseconds."""
    if tree.pop("metadata", None) is not None:
        complaints.warn(("metadata",), "is ignored: a Policy is no object of the API")
    extenders = tree.get("extenders")
    if isinstance(extenders, list):
        timed = [_with_time(extender) for extender in extenders]
        tree["extenders"] = timed
        for place, extender in enumerate(timed):
            if isinstance(extender, dict) and extender.pop("apiVersion", None) is not None:
                complaints.warn(("extenders", place, "apiVersion"), "is ignored: extenders are asked in one way only")
    return tree


def _with_time(extender: object) -> object:
    if not isinstance(extender, Mapping):
        return extender
    time = extender.get("httpTimeout")
    if isinstance(time, bool) or not isinstance(time, int):
        return dict(extender)
    return {**extender, "httpTimeout": str(Duration(time))}


def _check_named(field: str, rules: Sequence[Predicate | Priority], complaints: Complaints) -> None:
    """Check that every rule has a name; Kubernetes let one be named twice, and rules of one's own all count."""
    first: dict[str, int] = {}
    what = "it counts once" if field == "predicates" else "the last weight counts"
    for place, rule in enumerate(rules):
        path: Path = (field, place, "name")
        if not rule.name:
            complaints.add(path, "is required")
        elif rule.argument is None and rule.name in first:
            complaints.warn(path, f"{shown(rule.name)} is named by {field}[{first[rule.name]}] too; {what}")
        elif rule.argument is None:
            first[rule.name] = place


def _check_predicate(predicate: Predicate, registry: Registry, complaints: Complaints, path: Path) -> None:
    if predicate.argument is not None:
        _check_argument(predicate.argument, registry, complaints, (*path, ARGUMENT_SHOWN))
    elif predicate.name in NEED_ARGUMENT:
        complaints.add(path, f"{predicate.name} needs the argument {NEED_ARGUMENT[predicate.name]}")
    elif predicate.name and predicate.name not in PREDICATES:
        _check_registered(predicate.name, "filter", registry, complaints, (*path, "name"))


def _check_priority(priority: Priority, registry: Registry, complaints: Complaints, path: Path) -> None:
    if priority.weight <= 0:
        complaints.add((*path, "weight"), f"must be greater than 0, not {priority.weight}")
    if priority.argument is not None:
        _check_argument(priority.argument, registry, complaints, (*path, ARGUMENT_SHOWN))
    elif priority.name and priority.name not in PRIORITIES:
        _check_registered(priority.name, "score", registry, complaints, (*path, "name"))


def _check_argument(argument: msgspec.Struct, registry: Registry, complaints: Complaints, path: Path) -> None:
    """Check that a rule of one's own is of one kind, and what that kind is given."""
    given = [name for name in argument.__struct_fields__ if getattr(argument, name) is not None]
    if len(given) != 1:
        known = ", ".join(strict.fields_of(type(argument)))
        got = f"{len(given)} of them" if given else "none"
        complaints.add(path, f"expected exactly one of {known}, got {got}")
        return
    arguments_of(argument, registry, complaints, path)


def _check_registered(name: str, point: str, registry: Registry, complaints: Complaints, path: Path) -> None:
    """Check that a name is at least that of a plugin that acts where it is wanted."""
    table = PREDICATES if point == "filter" else PRIORITIES
    what = "predicate" if point == "filter" else "priority"
    try:
        canonical = registry.canonical(name)
        if registry.knows(canonical):
            problem = points_problem(canonical, point, registry)
            if problem is not None:
                complaints.add(path, problem)
            return
    except PluginNotLoaded as error:
        complaints.add(path, str(error))
        return
    other = PRIORITIES if point == "filter" else PREDICATES
    if name in other:
        complaints.add(path, f"{name} is no {what}: it belongs in the other list")
        return
    acting = (known for known in registry.names() if points_problem(known, point, registry) is None)
    complaints.add(path, f"unknown {what} {shown(name)}; {GONE.get(name) or meant(name, {*table, *acting})}")
