"""What a KubeSchedulerConfiguration's values may be, as kube-scheduler validates them at its start.

Not here: types and names of fields (strict.py), plugin sets (plugin_sets.py) and arguments (arguments.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bayplan.api.names import key_faults
from bayplan.config.complaints import Complaints, Path, meant, shown
from bayplan.config.kubescheduler import Extender, KubeSchedulerConfiguration, LeaderElection, SchedulerProfile

_NATIVE: Final = "kubernetes.io/"
_QUOTA: Final = "requests."
_RETRIES: Final = 1.2  # the lease's library refuses to renew within fewer retries than this


def check(configuration: KubeSchedulerConfiguration, complaints: Complaints) -> None:
    """Complain of every value that kube-scheduler would not start with."""
    if configuration.client_connection.burst < 0:
        complaints.add(("clientConnection", "burst"), "must not be negative")
    if configuration.leader_election.leader_elect:
        _check_election(configuration.leader_election, complaints)
    if configuration.parallelism <= 0:
        complaints.add(("parallelism",), f"must be greater than 0, not {configuration.parallelism}")
    _check_percentage(configuration.percentage_of_nodes_to_score, complaints, ("percentageOfNodesToScore",))
    first, longest = configuration.pod_initial_backoff_seconds, configuration.pod_max_backoff_seconds
    if first <= 0:
        complaints.add(("podInitialBackoffSeconds",), f"must be greater than 0, not {first}")
    if longest < first:
        complaints.add(("podMaxBackoffSeconds",), f"must be at least podInitialBackoffSeconds ({first}), not {longest}")
    _check_profiles(configuration.profiles, complaints)
    check_extenders(configuration.extenders, complaints)


def _check_election(election: LeaderElection, complaints: Complaints) -> None:
    path: Path = ("leaderElection",)
    for field in ("lease_duration", "renew_deadline", "retry_period"):
        name = field.split("_")[0] + field.split("_")[1].capitalize()
        if getattr(election, field) <= 0:
            complaints.add((*path, name), f"must be longer than 0, not {getattr(election, field)}")
    if election.lease_duration <= election.renew_deadline:
        complaints.add((*path, "leaseDuration"), f"must be longer than renewDeadline ({election.renew_deadline})")
    if election.renew_deadline <= _RETRIES * election.retry_period:
        complaints.add(
            (*path, "renewDeadline"), f"must be longer than {_RETRIES} times retryPeriod ({election.retry_period})"
        )
    if election.resource_lock != "leases":
        guess = meant(election.resource_lock, ["leases"])
        complaints.add((*path, "resourceLock"), f"unknown lock {shown(election.resource_lock)}; {guess}")


def _check_percentage(percentage: int | None, complaints: Complaints, path: Path) -> None:
    if percentage is not None and not 0 <= percentage <= 100:
        complaints.add(path, f"is not in the range 0..100: {percentage}")


def _check_profiles(profiles: tuple[SchedulerProfile, ...], complaints: Complaints) -> None:
    """Check names, and that all profiles order the one queue alike."""
    places: dict[str, int] = {}
    for place, profile in enumerate(profiles):
        path: Path = ("profiles", place)
        name = profile.scheduler_name
        if not name:
            complaints.add(
                (*path, "schedulerName"), "is required where there are several profiles, and may not be empty"
            )
        elif name in places:
            complaints.add(
                (*path, "schedulerName"), f"{shown(name)} is taken by profiles[{places[name]}]; each needs its own"
            )
        else:
            places[name] = place
        _check_percentage(profile.percentage_of_nodes_to_score, complaints, (*path, "percentageOfNodesToScore"))
    for place, profile in enumerate(profiles[1:], start=1):
        if profile.plugins.queue_sort != profiles[0].plugins.queue_sort:
            complaints.add(
                ("profiles", place, "plugins", "queueSort"), "must be the same in all profiles: they share one queue"
            )
        _check_sort_arguments(profiles[0], profile, complaints, ("profiles", place, "pluginConfig"))


def check_sorts(sorts: Sequence[tuple[str, ...]], complaints: Complaints) -> None:
    """Check that what orders the queue, wherever it was enabled, is the same in all profiles."""
    for place, sort in enumerate(sorts):
        if sort and sorts[0] and sort != sorts[0]:
            complaints.add(
                ("profiles", place, "plugins"),
                f"orders the queue by {sort[0]}, and profiles[0] by {sorts[0][0]}: they share one queue",
            )


def _check_sort_arguments(first: SchedulerProfile, other: SchedulerProfile, complaints: Complaints, path: Path) -> None:
    sorts = [entry.name for entry in first.plugins.queue_sort.enabled]
    wanted = {entry.name: entry.args for entry in first.plugin_config if entry.name in sorts}
    for place, entry in enumerate(other.plugin_config):
        if entry.name in sorts and entry.args != wanted.get(entry.name):
            complaints.add(
                (*path, place, "args"), f"{entry.name} orders the queue: its arguments must be the same in all profiles"
            )


def check_extenders(extenders: tuple[Extender, ...], complaints: Complaints) -> None:
    """Complain of every value of an extender that kube-scheduler would not start with."""
    managed: dict[str, int] = {}
    binders = [place for place, extender in enumerate(extenders) if extender.bind_verb]
    if len(binders) > 1:
        complaints.add(
            ("extenders", binders[1], "bindVerb"), f"only one extender may bind, and extenders[{binders[0]}] does"
        )
    for place, extender in enumerate(extenders):
        path: Path = ("extenders", place)
        if extender.prioritize_verb and extender.weight <= 0:
            complaints.add((*path, "weight"), f"must be greater than 0 with a prioritizeVerb, not {extender.weight}")
        for nth, resource in enumerate(extender.managed_resources):
            where = (*path, "managedResources", nth, "name")
            for fault in _resource_faults(resource.name):
                complaints.add(where, fault)
            if resource.name in managed:
                complaints.add(
                    where, f"{shown(resource.name)} is managed by extenders[{managed[resource.name]}] already"
                )
            managed[resource.name] = place


def _resource_faults(name: str) -> list[str]:
    """List why a name is not one of an extended resource."""
    faults = key_faults(name)
    if faults:
        return faults
    is_native = "/" not in name or _NATIVE in name
    if is_native or name.startswith(_QUOTA) or key_faults(_QUOTA + name):
        return [f"{shown(name)} is no extended resource; expected a name like example.com/gpu"]
    return []
