"""Profiles from a configuration: the rules made, once a profile, and put at their points.

Invariant: a profile has one object per plugin, at every point where the plugin acts.
Not here: which plugins a configuration comes to (plugin_sets.py), and asking them (framework/run.py).
"""

from __future__ import annotations

import msgspec

from bayplan.config.arguments import arguments_of
from bayplan.config.complaints import Complaints, Path
from bayplan.config.kubescheduler import KubeSchedulerConfiguration, SchedulerProfile, completed
from bayplan.config.making import made
from bayplan.config.ours import BayplanConfiguration, Scheduling
from bayplan.config.plugin_sets import Order, ordered
from bayplan.config.policy import Policy
from bayplan.config.policy_profile import profile_of
from bayplan.framework.plugin import NO_GATES, Gates
from bayplan.framework.profile import DEFAULT_SCHEDULER, Instance, Profile
from bayplan.framework.registry import PluginNotLoaded, Registry


def profiles(
    configuration: Scheduling | BayplanConfiguration | None, registry: Registry, gates: Gates = NO_GATES
) -> dict[str, Profile]:
    """Return the profiles by schedulerName, in the configuration's order; None is the default configuration.

    Whose pods are scheduled in sessions are not served by what is only a default.
    """
    if isinstance(configuration, BayplanConfiguration):
        if configuration.scheduling is None:
            names = {profile.scheduler_name for profile in configuration.batch}
            return {name: one for name, one in profiles(None, registry, gates).items() if name not in names}
        configuration = configuration.scheduling
    if isinstance(configuration, Policy):
        return {DEFAULT_SCHEDULER: _of_policy(configuration, registry, gates)}
    configuration = completed(configuration or KubeSchedulerConfiguration())
    ignored = _left_to_extenders(configuration)
    complaints = Complaints()
    found = {}
    for place, one in enumerate(configuration.profiles):
        name = one.scheduler_name or DEFAULT_SCHEDULER
        found[name] = _made(one, registry, gates, _Making(complaints, ("profiles", place), ignored))
    complaints.settle()
    return found


def _of_policy(policy: Policy, registry: Registry, gates: Gates) -> Profile:
    complaints = Complaints()
    try:
        profile = profile_of(policy, registry, gates, complaints)
    except PluginNotLoaded as error:
        complaints.add((), str(error))
        complaints.settle()
        raise
    complaints.settle()
    return profile


class _Making(msgspec.Struct, frozen=True):
    """What making a profile needs besides the profile."""

    complaints: Complaints
    path: Path
    ignored: tuple[str, ...]


def _made(given: SchedulerProfile, registry: Registry, gates: Gates, making: _Making) -> Profile:
    """Make a profile's rules, one object each, and list them at their points."""
    order = ordered(given, registry, making.complaints, making.path)
    instances: dict[str, Instance] = {}
    for name in dict.fromkeys(name for names in order.points.values() for name in names):
        try:
            plugin = registry.rule(name)
            if plugin is not None:
                arguments = _arguments(given, name, registry, gates, making.ignored)
                instances[name] = Instance(name, made(plugin, arguments, gates), order.weights.get(name, 1))
        except PluginNotLoaded as error:
            making.complaints.add(_place(order, name, making.path), str(error))
    points = {point: [instances[name] for name in names if name in instances] for point, names in order.points.items()}
    return Profile(given.scheduler_name or DEFAULT_SCHEDULER, points, gates)


def _arguments(
    given: SchedulerProfile, name: str, registry: Registry, gates: Gates, ignored: tuple[str, ...]
) -> msgspec.Struct | None:
    plugin = registry.rule(name)
    if plugin is None or plugin.Arguments is None:
        return None
    arguments = arguments_of(given, name, registry, gates)
    if ignored and arguments is not None and name == "NodeResourcesFit":
        return msgspec.structs.replace(arguments, ignored_resources=ignored)
    return arguments


def _place(order: Order, name: str, path: Path) -> Path:
    return order.paths.get(name, (*path, "plugins"))


def _left_to_extenders(configuration: KubeSchedulerConfiguration) -> tuple[str, ...]:
    """Name the resources that extenders look after alone; they replace NodeResourcesFit's own list of ignored ones."""
    managed = (resource for extender in configuration.extenders for resource in extender.managed_resources)
    return tuple(resource.name for resource in managed if resource.ignored_by_scheduler)
