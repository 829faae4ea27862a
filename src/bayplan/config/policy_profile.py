"""A profile from a Policy: each predicate and priority becomes an instance of the rule that does it today.

A rule may be there several times, with other arguments and weights; as a filter it has today's name, as a score the
Policy's.  Invariant: filters are asked in the order in which Kubernetes came to ask predicates, whatever the file's.
Not here: the table of names (policy_names.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from bayplan.config import strict
from bayplan.config.arguments import read_arguments
from bayplan.config.complaints import Complaints, Path, path_of
from bayplan.config.making import made
from bayplan.config.policy import Policy, Predicate, Priority, counted, in_force
from bayplan.config.policy_names import ARGUMENTS, PREDICATES, PRIORITIES, RATIO, Tree
from bayplan.framework.places import POINTS
from bayplan.framework.plugin import AnyPlugin, Gates
from bayplan.framework.profile import DEFAULT_SCHEDULER, Instance, Profile
from bayplan.framework.registry import Registry

ALWAYS: Final[Mapping[str, tuple[str, ...]]] = {
    "preEnqueue": ("SchedulingGates",),
    "queueSort": ("PrioritySort",),
}  # what a Policy never named, and every profile has
ALONG: Final = ("reserve", "preBind")  # where a filter goes on when its pod has a node
_ORDER: Final = tuple(PREDICATES)
_LABELS: Final = "CheckNodeLabelPresence"
_SERVICE: Final = "CheckServiceAffinity"
_INNER: Final = ("scoringStrategy", "requestedToCapacityRatio")


def profile_of(policy: Policy, registry: Registry, gates: Gates, complaints: Complaints) -> Profile:
    """Make a Policy's rules and list them at their points."""
    policy = in_force(policy)
    making = _Making(policy, registry, gates, complaints)
    filters, scores = making.filters(), making.scores()
    points: dict[str, list[Instance]] = {point: [] for point in POINTS}
    for point, names in ALWAYS.items():
        points[point] += [making.instance(name, name, {}) for name in names if registry.rule(name) is not None]
    for point in ("preFilter", "filter", *ALONG):
        points[point] += [one for one in filters if point in one.plugin.points]
    for point in ("preScore", "score"):
        points[point] += [one for one in scores if point in one.plugin.points]
    return Profile(DEFAULT_SCHEDULER, points, gates)


def arguments_of(
    argument: msgspec.Struct, registry: Registry, complaints: Complaints, path: Path
) -> tuple[str, msgspec.Struct | None]:
    """Return the rule that an argument makes, and its arguments as that rule takes them."""
    field, given = next(
        (name, value) for name in argument.__struct_fields__ if (value := getattr(argument, name)) is not None
    )
    plugin = ARGUMENTS[field]
    written = dict(zip(argument.__struct_fields__, strict.fields_of(type(argument)), strict=True))[field]
    trial = Complaints()
    found = read_arguments(plugin, _tree(field, given), registry, trial, ())
    for complaint in trial.found:
        inner = complaint.path
        for step in _INNER:
            inner = inner.removeprefix(f"{step}.")
        complaints.add((*path, written, *path_of(inner)), complaint.message)
    return plugin, found


def points_problem(name: str, point: str, registry: Registry) -> str | None:
    """Say why a plugin cannot stand where it is named, or nothing."""
    points = registry.points(name)
    if point in points:
        return None
    acts = ", ".join(one for one in POINTS if one in points)
    return f"{name} does not act at {point}; it acts at {acts}"


def _tree(field: str, given: object) -> Tree:
    """Return what a Policy gives as the tree that today's rule reads."""
    tree = strict.plain(given)
    if not isinstance(tree, Mapping):
        return {}
    if field != "requested_to_capacity_ratio_arguments":
        return tree
    strategy = {"type": RATIO, "requestedToCapacityRatio": {"shape": tree["shape"]}}
    resources = {"resources": tree["resources"]} if tree["resources"] else {}
    return {"scoringStrategy": {**strategy, **resources}}


class _Making:
    """One Policy on its way to a profile."""

    def __init__(self, policy: Policy, registry: Registry, gates: Gates, complaints: Complaints) -> None:
        self.policy = policy
        self.registry = registry
        self.gates = gates
        self.complaints = complaints
        self.names = {name for names in ALWAYS.values() for name in names}
        self.names |= {plugin for known in PREDICATES.values() for plugin in known.plugins}
        self.by_hand = self._made_by_hand()
        managed = (resource for extender in policy.extenders for resource in extender.managed_resources)
        self.ignored = tuple(resource.name for resource in managed if resource.ignored_by_scheduler)

    def filters(self) -> list[Instance]:
        """Return what predicates are today, in the order in which they are asked."""
        found: dict[str, Instance] = {}
        for predicate in sorted(self.policy.predicates or (), key=order_of):
            if predicate.argument is not None:
                plugin, arguments = arguments_of(predicate.argument, self.registry, self.complaints, ())
                name = self._own_name(predicate.name)
                found[name] = Instance(name, self._rule(plugin, arguments))
                continue
            known = PREDICATES.get(predicate.name)
            for plugin in (self.registry.canonical(predicate.name),) if known is None else known.plugins:
                if plugin not in found and self.registry.rule(plugin) is not None:
                    found[plugin] = self.instance(plugin, plugin, self._filter_arguments(plugin))
                    self.names.add(plugin)
        return [*found.values(), *self._by_hand("filter")]

    def scores(self) -> list[Instance]:
        """Return what priorities are today; the weights of two names for one rule add up."""
        found: dict[object, Instance] = {}
        for priority in counted(self.policy.priorities or ()):
            key, instance = self._score(priority)
            if key in found:
                other = found[key]
                found[key] = msgspec.structs.replace(other, weight=other.weight + instance.weight)
            else:
                found[key] = instance
        return [*found.values(), *self._by_hand("score")]

    def _score(self, priority: Priority) -> tuple[object, Instance]:
        if priority.argument is not None:
            plugin, arguments = arguments_of(priority.argument, self.registry, self.complaints, ())
            name = self._own_name(priority.name)
            return name, Instance(name, self._rule(plugin, arguments), priority.weight)
        known = PRIORITIES.get(priority.name)
        plugin = self.registry.canonical(priority.name) if known is None else known.plugin
        tree = {} if known is None else known.arguments
        if plugin == "InterPodAffinity":
            tree = {"hardPodAffinityWeight": self.policy.hard_pod_affinity_symmetric_weight}
        key = plugin if plugin == "SelectorSpread" else priority.name
        name = self._own_name(priority.name)
        return key, self.instance(name, plugin, tree, priority.weight)

    def _filter_arguments(self, plugin: str) -> Tree:
        if plugin == "PodTopologySpread":
            return {"defaultingType": "List"}
        return {"ignoredResources": self.ignored} if self.ignored and plugin == "NodeResourcesFit" else {}

    def instance(self, name: str, plugin: str, tree: Tree, weight: int = 1) -> Instance:
        """Return a rule with a name and arguments."""
        arguments = read_arguments(plugin, tree, self.registry, self.complaints, ()) if tree else None
        return Instance(name, self._rule(plugin, arguments), weight)

    def _rule(self, plugin: str, arguments: msgspec.Struct | None) -> AnyPlugin:
        rule = self.registry.rule(plugin)
        if rule is None:
            raise LookupError(plugin)
        return made(rule, arguments, self.gates)

    def _own_name(self, name: str) -> str:
        """Return a name that no other instance has: framework and messages tell instances apart by it."""
        found, number = name, 1
        while found in self.names:
            number += 1
            found = f"{name} ({number})"
        self.names.add(found)
        return found

    def _by_hand(self, point: str) -> list[Instance]:
        """Return the rules given by hand that act at a point: each is one instance, wherever it acts."""
        return [one for name, one in self.by_hand.items() if point in self.registry.points(name)]

    def _made_by_hand(self) -> dict[str, Instance]:
        named = {predicate.name for predicate in self.policy.predicates or ()}
        named |= {priority.name for priority in self.policy.priorities or ()}
        return {
            name: self.instance(self._own_name(name), name, {}, self.registry.weight(name))
            for name in self.registry.by_hand
            if name not in named
        }


def order_of(predicate: Predicate) -> int:
    """Return when a predicate is asked: rules that the table does not have come last."""
    name = predicate.name
    if predicate.argument is not None:
        name = _LABELS if predicate.argument.labels_presence is not None else _SERVICE
    return _ORDER.index(name) if name in PREDICATES else len(_ORDER)
