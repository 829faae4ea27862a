"""Plugin sets: what a profile's lists come to, point by point, as kube-scheduler merges and expands them.

Two steps: the user's sets are merged into the default ones, each set by itself; then every point takes its own list and
what multiPoint offers it.  Invariant: the order at a point is the order in which kube-scheduler would ask.
Not here: making the rules (profiles.py) and their arguments (arguments.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from bayplan.config.complaints import Complaints, Path, meant, shown
from bayplan.config.kubescheduler import PluginEntry, Plugins, PluginSet, SchedulerProfile
from bayplan.framework.places import POINTS
from bayplan.framework.registry import PluginNotLoaded, Registry

MULTI_POINT: Final = "multiPoint"
EVERY: Final = "*"
SCORES: Final = ("score", "placementScore")
SCORE_MAX: Final = 100
TOTAL_MAX: Final = 2**63 - 1

DEFAULTS: Final[Mapping[str, int | None]] = {
    "SchedulingGates": None,
    "PrioritySort": None,
    "NodeName": None,
    "NodeUnschedulable": None,
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "NodePorts": None,
    "NodeResourcesFit": 1,
    "VolumeRestrictions": None,
    "NodeVolumeLimits": None,
    "VolumeBinding": None,
    "VolumeZone": None,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "DynamicResources": 2,
    "DefaultPreemption": None,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
    "DefaultBinder": None,
    "NodeDeclaredFeatures": None,
}  # name -> weight, enabled at multiPoint in this order

REMOVED: Final[Mapping[str, str]] = {
    "AzureDiskLimits": "NodeVolumeLimits counts what it counted",
    "CinderLimits": "NodeVolumeLimits counts what it counted",
    "EBSLimits": "NodeVolumeLimits counts what it counted",
    "GCEPDLimits": "NodeVolumeLimits counts what it counted",
    "NodeLabel": "NodeAffinity's addedAffinity asks for labels",
    "NodePreferAvoidPods": "taints keep pods away",
    "NodeResourcesLeastAllocated": "NodeResourcesFit has it as scoringStrategy LeastAllocated",
    "NodeResourcesMostAllocated": "NodeResourcesFit has it as scoringStrategy MostAllocated",
    "RequestedToCapacityRatio": "NodeResourcesFit has it as a scoringStrategy",
    "SelectorSpread": "PodTopologySpread does it by its system defaults",
    "ServiceAffinity": "pod affinity in the pods' own manifests does it",
}  # from Kubernetes -> what to do instead


class Listed(NamedTuple):
    """A plugin in a list, and where it was written; the defaults are written nowhere."""

    name: str
    weight: int | None
    path: Path


class Lists(NamedTuple):
    """A plugin set after merging."""

    enabled: tuple[Listed, ...]
    disabled: frozenset[str]


class Order(NamedTuple):
    """What a profile's sets come to."""

    points: Mapping[str, tuple[str, ...]]  # names in the order in which they are asked
    weights: Mapping[str, int]  # of the plugins at score
    paths: Mapping[str, Path]  # where each name was written


class _Sets:
    """One profile's sets on their way to an order."""

    def __init__(self, registry: Registry, complaints: Complaints, path: Path) -> None:
        self.registry = registry
        self.complaints = complaints
        self.path = (*path, "plugins")

    def lists(self, plugins: Plugins) -> dict[str, Lists]:
        """Merge every set with its defaults."""
        given = {point: self._given(plugins, point) for point in (*POINTS, MULTI_POINT)}
        named = {one.name for lists in given.values() for one in lists.enabled}
        named |= {name for lists in given.values() for name in lists.disabled}
        merged = dict(given)
        defaults = tuple(Listed(name, weight, ()) for name, weight in DEFAULTS.items())
        multi = _merged(defaults, given[MULTI_POINT])
        by_hand = (Listed(name, self.registry.weight(name), ()) for name in self.registry.by_hand if name not in named)
        merged[MULTI_POINT] = Lists((*multi.enabled, *by_hand), multi.disabled)
        return merged

    def _given(self, plugins: Plugins, point: str) -> Lists:
        """Return what a file lists at a point, as far as its names are known."""
        found = _set_of(plugins, point)
        enabled = []
        for place, entry in enumerate(found.enabled):
            path = (*self.path, point, "enabled", place)
            name = self._known(entry, path, point)
            if name is not None:
                enabled.append(Listed(name, entry.weight, path))
        disabled = [
            self._disabled(entry.name, (*self.path, point, "disabled", place, "name"))
            for place, entry in enumerate(found.disabled)
        ]
        return Lists(tuple(enabled), frozenset(disabled))

    def _known(self, entry: PluginEntry, path: Path, point: str) -> str | None:
        """Return an enabled plugin's name, or complain of it."""
        if entry.weight is not None and entry.weight < 0 and point in {*SCORES, MULTI_POINT}:
            self.complaints.add((*path, "weight"), f"expected a weight of 1 or more, got {entry.weight}")
        where = (*path, "name")
        if not entry.name:
            self.complaints.add(where, "is required")
            return None
        try:
            name = self.registry.canonical(entry.name)
        except PluginNotLoaded as error:
            self.complaints.add(where, str(error))
            return None
        if self.registry.knows(name):
            return name
        self.complaints.add(where, unknown(name, self.registry))
        return None

    def _disabled(self, name: str, path: Path) -> str:
        """Return a disabled name; what does not exist is disabled already, but may be a slip."""
        try:
            name = self.registry.canonical(name)
        except PluginNotLoaded as error:
            self.complaints.warn(path, f"disables nothing: {error}")
            return name
        if name != EVERY and not self.registry.knows(name):
            said = "it was removed from Kubernetes" if name in REMOVED else unknown(name, self.registry)
            self.complaints.warn(path, f"disables nothing: {said}")
        return name

    def points_of(self, listed: Listed) -> frozenset[str]:
        """Return where a plugin acts; one that cannot be loaded acts nowhere, and was complained of."""
        try:
            return self.registry.points(listed.name)
        except PluginNotLoaded as error:
            self.complaints.add(listed.path or self.path, str(error))
            return frozenset()

    def expanded(self, point: str, lists: Mapping[str, Lists]) -> tuple[str, ...]:
        """Return the names at a point: overriding ones, those from multiPoint, and the others of the point's own."""
        own = list(self._own(point, lists[point].enabled))
        disabled = lists[point].disabled
        if EVERY in disabled:
            return tuple(own)
        overriding, offered = set(), []
        for listed in lists[MULTI_POINT].enabled:
            if point not in self.points_of(listed) or listed.name in disabled:
                continue
            if listed.name in own:
                overriding.add(listed.name)
            elif listed.name in offered:
                self.complaints.add(listed.path, f"{listed.name} is enabled twice at {MULTI_POINT}")
            else:
                offered.append(listed.name)
        return (
            *(name for name in own if name in overriding),
            *offered,
            *(name for name in own if name not in overriding),
        )

    def _own(self, point: str, enabled: tuple[Listed, ...]) -> Iterator[str]:
        seen = set()
        for listed in enabled:
            points = self.points_of(listed)
            if point not in points:
                if points:
                    acts = ", ".join(one for one in POINTS if one in points)
                    self.complaints.add(listed.path, f"{listed.name} does not act at {point}; it acts at {acts}")
            elif listed.name in seen:
                self.complaints.add(listed.path, f"{listed.name} is enabled twice at {point}")
            else:
                seen.add(listed.name)
                yield listed.name

    def weights(self, point: str, lists: Mapping[str, Lists]) -> dict[str, int]:
        """Return each scoring plugin's weight: the point's own before multiPoint's, 1 for none."""
        weights: dict[str, int] = {}
        total = 0
        for listed in (*lists[point].enabled, *lists[MULTI_POINT].enabled):
            if listed.name in weights or point not in self.points_of(listed):
                continue
            weights[listed.name] = listed.weight or 1
            total += weights[listed.name] * SCORE_MAX
        if total > TOTAL_MAX:
            self.complaints.add(
                (*self.path, point), f"the weights are so large that {SCORE_MAX} times their sum overflows"
            )
        return weights


def ordered(profile: SchedulerProfile, registry: Registry, complaints: Complaints, path: Path = ()) -> Order:
    """Work out a profile's plugins at every point, and say what kube-scheduler would not start with."""
    sets = _Sets(registry, complaints, path)
    before = len(complaints.found)
    lists = sets.lists(profile.plugins)
    points = {point: sets.expanded(point, lists) for point in POINTS}
    weights = {point: sets.weights(point, lists) for point in SCORES}
    if len(complaints.found) == before:
        _counted(points, complaints, sets.path)
    paths = {one.name: one.path for point in (*POINTS, MULTI_POINT) for one in lists[point].enabled if one.path}
    return Order(points, weights["score"], paths)


def unknown(name: str, registry: Registry) -> str:
    """Say that a plugin is not known, and which one was probably meant."""
    if name in REMOVED:
        return f"the plugin {name} was removed from Kubernetes; {REMOVED[name]}"
    return f"unknown plugin {shown(name)}; {meant(name, registry.names())}"


def _counted(points: Mapping[str, tuple[str, ...]], complaints: Complaints, path: Path) -> None:
    """Complain where a point has too few plugins or too many."""
    sorts = points["queueSort"]
    if len(sorts) != 1:
        listed = f"there are {', '.join(sorts)}" if sorts else "there is none; PrioritySort is the default one"
        complaints.add((*path, "queueSort"), f"expected exactly one queueSort plugin, {listed}")
    if not points["bind"]:
        complaints.add((*path, "bind"), "expected at least one bind plugin; DefaultBinder is the default one")
    if len(points["placementGenerate"]) > 1:
        complaints.add((*path, "placementGenerate"), "expected at most one placementGenerate plugin")


def _merged(defaults: tuple[Listed, ...], given: Lists) -> Lists:
    """Merge a user's set into the default one: disabled ones go, re-enabled ones keep their place, others follow."""
    replacing = {listed.name: place for place, listed in enumerate(given.enabled)}
    used, enabled = set(), []
    for default in defaults if EVERY not in given.disabled else ():
        if default.name in given.disabled:
            continue
        place = replacing.get(default.name)
        if place is not None:
            used.add(place)
        enabled.append(default if place is None else given.enabled[place])
    enabled += [listed for place, listed in enumerate(given.enabled) if place not in used]
    return Lists(tuple(enabled), given.disabled)


def _set_of(plugins: Plugins, point: str) -> PluginSet:
    name = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in point)
    found = getattr(plugins, name)
    return found if isinstance(found, PluginSet) else PluginSet()
