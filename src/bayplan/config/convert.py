"""A Policy as today's KubeSchedulerConfiguration, and what of it cannot be said there.

A profile has one instance of each rule, with one weight; where a Policy asks for more, the first is kept and the others
are listed.  Invariant: what is converted without a remark places pods as the Policy does.
Not here: what the names mean today (policy_names.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, TypeAlias

from bayplan.config import strict
from bayplan.config.kubescheduler import API_VERSION, KIND, Extender
from bayplan.config.plugin_sets import EVERY, MULTI_POINT
from bayplan.config.policy import Policy, Predicate, Priority, counted, in_force
from bayplan.config.policy_names import EQUAL, PREDICATES, PRIORITIES, RATIO
from bayplan.config.policy_profile import order_of
from bayplan.framework.places import PLACES, POINTS
from bayplan.framework.profile import DEFAULT_SCHEDULER

Tree: TypeAlias = dict[str, object]

WEIGHT_MAX: Final = 2**31 - 1
ALWAYS: Final[Mapping[str, tuple[str, ...]]] = {
    "preEnqueue": ("SchedulingGates",),
    "queueSort": ("PrioritySort",),
    "postFilter": ("DefaultPreemption",),
    "bind": ("DefaultBinder",),
}
_SPREADS: Final = ("SelectorSpreadPriority", "ServiceSpreadingPriority", "EvenPodsSpreadPriority")
_RATE: Final = (
    "15 bindings a second, 20 at once, as when Policy files were read: kube-scheduler has no such limit today"
)


class Converted(NamedTuple):
    """A configuration, and what it leaves out."""

    tree: Tree
    unsaid: list[str]


def to_kube_scheduler(policy: Policy) -> Converted:
    """Say a Policy as today's configuration."""
    full = in_force(policy)
    work = _Work()
    filters = work.filters(sorted(full.predicates or (), key=order_of))
    scores = work.scores(full)
    sets: Tree = {MULTI_POINT: {"disabled": [{"name": EVERY}]}}
    for point in POINTS:
        names = [*ALWAYS.get(point, ()), *(name for name in filters if point in _points(name, "filter"))]
        enabled: list[Tree] = [{"name": name} for name in dict.fromkeys(names)]
        if point in {"preScore", "score"}:
            enabled = [
                {"name": name, "weight": weight} if point == "score" else {"name": name}
                for name, weight in scores.items()
                if point in _points(name, "score")
            ]
        if enabled:
            sets[point] = {"enabled": enabled}
    if full.always_check_all_predicates:
        work.unsaid.append("alwaysCheckAllPredicates: messages name the first rule that fails; no placement changes")
    work.unsaid.append(_RATE)
    profile: Tree = {"schedulerName": DEFAULT_SCHEDULER, "plugins": sets}
    if work.arguments:
        profile["pluginConfig"] = [{"name": name, "args": args} for name, args in work.arguments.items()]
    tree: Tree = {"apiVersion": API_VERSION, "kind": KIND, "profiles": [profile]}
    if full.extenders:
        tree["extenders"] = [_extender(extender) for extender in full.extenders]
    return Converted(tree, work.unsaid)


def _points(name: str, point: str) -> frozenset[str]:
    """Return where a rule is enabled for its filter, or for its score."""
    acts = PLACES.get(name, frozenset({point}))
    if point == "score":
        return acts & {"preScore", "score"}
    return acts & {"preFilter", "filter", "reserve", "preBind"}


def _extender(extender: Extender) -> Tree:
    """Return what an extender says beyond the defaults."""
    tree, fresh = strict.plain(extender), strict.plain(Extender())
    if not isinstance(tree, dict) or not isinstance(fresh, dict):
        return {}
    return {key: value for key, value in tree.items() if value != fresh.get(key)}


class _Work:
    """One conversion: arguments gathered so far, and what cannot be said."""

    def __init__(self) -> None:
        self.arguments: dict[str, Tree] = {}
        self.unsaid: list[str] = []

    def filters(self, predicates: Iterable[Predicate]) -> list[str]:
        """Return today's filters, in order."""
        predicates = list(predicates)
        found: dict[str, None] = {}
        for predicate in predicates:
            known = PREDICATES.get(predicate.name) if predicate.argument is None else None
            if known is not None:
                found.update(dict.fromkeys(known.plugins))
            elif predicate.argument is None:
                found[predicate.name] = None
                self._foreign("predicate", predicate.name)
        self._labels([one for one in predicates if one.argument is not None], says="NodeAffinity" in found)
        return list(found)

    def _labels(self, custom: Iterable[Predicate], *, says: bool) -> None:
        """Say which labels must be there as an affinity of every pod's, if node affinity is looked at."""
        lines: list[Tree] = []
        for predicate in custom:
            argument = predicate.argument
            presence = None if argument is None else argument.labels_presence
            if presence is None:
                self.unsaid.append(
                    f"predicate {predicate.name} (serviceAffinity): removed; pod affinity in manifests is near"
                )
            elif not says:
                self.unsaid.append(
                    f"predicate {predicate.name} (labelsPresence): NodeAffinity could, but would ask what pods ask, too"
                )
            else:
                operator = "Exists" if presence.presence else "DoesNotExist"
                lines += [{"key": label, "operator": operator} for label in presence.labels]
        if lines:
            terms = {"nodeSelectorTerms": [{"matchExpressions": lines}]}
            self.arguments["NodeAffinity"] = {
                "addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}
            }

    def scores(self, policy: Policy) -> dict[str, int]:
        """Return today's scores and their weights."""
        found: dict[str, int] = {}
        strategy = ""
        for priority in counted(policy.priorities or ()):
            plugin, arguments = self._today(priority)
            if plugin is None or (priority.name in _SPREADS and priority.argument is None):
                continue
            if plugin == "NodeResourcesFit":
                if strategy:
                    self.unsaid.append(f"priority {priority.name}: NodeResourcesFit scores by one strategy, {strategy}")
                    continue
                strategy = f"here that of {priority.name}"
            if arguments:
                self.arguments[plugin] = arguments
            found[plugin] = self._weight(priority.name, priority.weight)
        if "InterPodAffinity" in found and policy.hard_pod_affinity_symmetric_weight != 1:
            self.arguments["InterPodAffinity"] = {"hardPodAffinityWeight": policy.hard_pod_affinity_symmetric_weight}
        self._spread(policy, found)
        return found

    def _today(self, priority: Priority) -> tuple[str | None, Tree]:
        argument = priority.argument
        if argument is not None and argument.requested_to_capacity_ratio_arguments is not None:
            ratio = strict.plain(argument.requested_to_capacity_ratio_arguments)
            shape = ratio.get("shape", []) if isinstance(ratio, dict) else []
            resources = ratio.get("resources", []) if isinstance(ratio, dict) else []
            strategy: Tree = {"type": RATIO, "requestedToCapacityRatio": {"shape": shape}}
            return "NodeResourcesFit", {
                "scoringStrategy": {**strategy, **({"resources": resources} if resources else {})}
            }
        known = PRIORITIES.get(priority.name) if argument is None else None
        if known is None and argument is None:
            self._foreign("priority", priority.name)
            return priority.name, {}
        if priority.name == EQUAL and argument is None:
            self.unsaid.append("priority EqualPriority: adds the same to every node; left out, no choice changes")
            return None, {}
        if known is None or known.plugin == "NodePreferAvoidPods":
            self.unsaid.append(f"priority {priority.name}: its rule was removed")
            return None, {}
        plain = strict.plain(known.arguments)
        return known.plugin, dict(plain) if isinstance(plain, dict) else {}

    def _weight(self, name: str, weight: int) -> int:
        if weight > WEIGHT_MAX:
            self.unsaid.append(f"priority {name}: weight {weight} is larger than {WEIGHT_MAX}, which stands for it")
        return min(weight, WEIGHT_MAX)

    def _spread(self, policy: Policy, found: dict[str, int]) -> None:
        """Say both spreading priorities as the one rule that does both today."""
        weights = {
            priority.name: priority.weight
            for priority in policy.priorities or ()
            if priority.name in _SPREADS and priority.argument is None
        }
        own = weights.get("EvenPodsSpreadPriority", 0)
        defaults = sum(weight for name, weight in weights.items() if name != "EvenPodsSpreadPriority")
        if not weights:
            return
        found["PodTopologySpread"] = self._weight("EvenPodsSpreadPriority", own or defaults)
        if not defaults:
            self.arguments["PodTopologySpread"] = {"defaultingType": "List"}
        elif not own:
            self.unsaid.append(
                "SelectorSpreadPriority alone: pods with constraints of their own are scored by them, too"
            )
        elif own != defaults:
            self.unsaid.append(
                f"the weight {defaults} of SelectorSpreadPriority beside {own} of EvenPodsSpreadPriority: "
                f"PodTopologySpread has one, {own}"
            )

    def _foreign(self, what: str, name: str) -> None:
        if name not in PLACES:
            self.unsaid.append(f"{what} {name}: no rule of kube-scheduler's; the name is kept, for bayplan")
