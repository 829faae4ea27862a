"""Setup: what a daemon runs with, from the configuration and the command line: profiles, names, the lease, limits.

Without a configuration, profile and lease are called `bayplan`, so that nobody's pods are taken over by accident.
`default-scheduler` is served only under kube-scheduler's own lease, since two that bind the same pods overcommit nodes.
Invariant: whoever serves `default-scheduler` holds kube-system/kube-scheduler, or was told twice to do without.
Not here: reading configurations (`config/`) and holding the lease (`kube/lease.py`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from bayplan.api.durations import Duration
from bayplan.config.files import Loaded, load, refuse_batches, refuse_extenders
from bayplan.config.gates import gates, settings_of
from bayplan.config.kubescheduler import KubeSchedulerConfiguration, LeaderElection, SchedulerProfile, completed
from bayplan.config.ours import BayplanConfiguration, BindPods, Scheduling, bind_limits
from bayplan.config.policy import from_provider
from bayplan.config.profiles import profiles
from bayplan.config.shown import Flags, shown
from bayplan.config.yamltext import bare
from bayplan.core.queue import Settings as QueueSettings
from bayplan.core.settings import CoreSettings
from bayplan.core.waiting import Backoff
from bayplan.framework.plugin import Gates
from bayplan.framework.profile import DEFAULT_SCHEDULER, Profile
from bayplan.framework.registry import Registry
from bayplan.serve.unbuilt import guarded

OURS: Final = "bayplan"
KUBE_SYSTEM: Final = "kube-system"
KUBE_SCHEDULER: Final = "kube-scheduler"
PREEMPTION: Final = "DefaultPreemption"
MILLISECOND: Final = 1_000_000  # in nanoseconds


class SetupError(Exception):
    """What was asked for is not served."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What was said on the command line; None: nothing."""

    config: str | None = None
    algorithm_provider: str | None = None
    feature_gates: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    leader_elect: bool | None = None
    leader_elect_lease_duration: str | None = None
    leader_elect_renew_deadline: str | None = None
    leader_elect_retry_period: str | None = None
    leader_elect_resource_name: str | None = None
    leader_elect_resource_namespace: str | None = None
    bind_pods_qps: float | None = None
    bind_pods_burst: int | None = None
    pod_max_in_unschedulable_pods_duration: str = "5m"
    without_preemption: bool = False
    force_default_scheduler: bool = False


class Lease(NamedTuple):
    """What a leader holds, and how."""

    namespace: str
    name: str
    duration_s: float
    renew_s: float
    retry_s: float

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class Setup(NamedTuple):
    """What a daemon runs with."""

    profiles: Mapping[str, Profile]
    lease: Lease | None  # None: nobody is asked
    limits: BindPods
    core: CoreSettings
    kubeconfig: str  # as the configuration has it
    document: bytes  # what is in force, as JSON
    warnings: tuple[str, ...]


def setup(asked: Asked, namespace: str | None) -> Setup:
    """Work out what a daemon runs with; `namespace` is the pod's own, where it is one."""
    registry = Registry.installed()
    for given in asked.plugins:
        registry.use(given)
    chosen = gates(settings_of(",".join(asked.feature_gates)))
    loaded = None if asked.config is None else load(Path(asked.config), registry, chosen)
    if loaded is not None:
        refuse_extenders(loaded)
        refuse_batches(loaded)
    scheduling = _scheduling(asked, loaded)
    served = _served(scheduling, registry, chosen)
    configuration = completed(scheduling) if isinstance(scheduling, KubeSchedulerConfiguration) else None
    lease = _lease(asked, loaded, configuration, served, namespace or KUBE_SYSTEM)
    _check_default(asked, served, lease, has_preemption=registry.knows(PREEMPTION) and _has_rule(registry))
    return Setup(
        profiles=served,
        lease=lease,
        limits=_limits(asked, loaded, scheduling),
        core=_core(asked, configuration),
        document=_document(asked, loaded, registry, chosen),
        kubeconfig=configuration.client_connection.kubeconfig if configuration is not None else "",
        warnings=tuple(str(one) for one in loaded.warnings) if loaded is not None else (),
    )


def _scheduling(asked: Asked, loaded: Loaded | None) -> Scheduling:
    """Return kube-scheduler's part; without one, the defaults under our own name."""
    if asked.algorithm_provider is not None:
        if loaded is not None:
            raise SetupError("give --config or --algorithm-provider, not both")
        return from_provider(asked.algorithm_provider)
    found = loaded.configuration if loaded is not None else None
    if isinstance(found, BayplanConfiguration):
        found = found.scheduling
    return found or KubeSchedulerConfiguration(profiles=(SchedulerProfile(scheduler_name=OURS),))


def _served(scheduling: Scheduling, registry: Registry, chosen: Gates) -> dict[str, Profile]:
    return {name: guarded(profile, registry) for name, profile in profiles(scheduling, registry, chosen).items()}


def _has_rule(registry: Registry) -> bool:
    return registry.rule(PREEMPTION) is not None


# --- the lease -------------------------------------------------------------------------------------------------------


def _lease(
    asked: Asked,
    loaded: Loaded | None,
    configuration: KubeSchedulerConfiguration | None,
    served: Mapping[str, Profile],
    namespace: str,
) -> Lease | None:
    """Return what is to be held: as flags say, else as the file says, else by whose pods are served."""
    given = configuration.leader_election if configuration is not None else LeaderElection()
    elects = given.leader_elect if asked.leader_elect is None else asked.leader_elect
    if not elects:
        return None
    said = _said_of_lease(loaded)
    is_default = DEFAULT_SCHEDULER in served
    usual_name, usual_namespace = (KUBE_SCHEDULER, KUBE_SYSTEM) if is_default else (OURS, namespace)
    name = given.resource_name if "resourceName" in said else usual_name
    place = given.resource_namespace if "resourceNamespace" in said else usual_namespace
    lease = Lease(
        asked.leader_elect_resource_namespace or place,
        asked.leader_elect_resource_name or name,
        _seconds("--leader-elect-lease-duration", asked.leader_elect_lease_duration, given.lease_duration),
        _seconds("--leader-elect-renew-deadline", asked.leader_elect_renew_deadline, given.renew_deadline),
        _seconds("--leader-elect-retry-period", asked.leader_elect_retry_period, given.retry_period),
    )
    if not lease.duration_s > lease.renew_s > 1.2 * lease.retry_s > 0:
        raise SetupError(
            f"leader election: a lease of {lease.duration_s:g} s, renewed within {lease.renew_s:g} s, tried every "
            f"{lease.retry_s:g} s: each must be longer than the next, and the second more than 1.2 times the third"
        )
    return lease


def _said_of_lease(loaded: Loaded | None) -> Mapping[str, object]:
    """Return what a file says of the lease, as it was written."""
    inner = loaded.scheduling if loaded is not None else None
    found = inner.tree.get("leaderElection") if inner is not None else None
    return found if isinstance(found, Mapping) else {}


def _seconds(flag: str, written: str | None, otherwise: Duration) -> float:
    try:
        return (otherwise if written is None else Duration.parse(written)) / 1e9
    except ValueError as error:
        raise SetupError(f"{flag} {error}") from None


def _check_default(asked: Asked, served: Mapping[str, Profile], lease: Lease | None, *, has_preemption: bool) -> None:
    """Refuse to serve default-scheduler where another may serve it too, or with less than it promises."""
    if DEFAULT_SCHEDULER not in served:
        return
    problems = list(_problems(asked, lease, has_preemption=has_preemption))
    if problems:
        raise SetupError("\n".join(problems))


def _problems(asked: Asked, lease: Lease | None, *, has_preemption: bool) -> Iterator[str]:
    held = None if lease is None else (lease.namespace, lease.name)
    if held != (KUBE_SYSTEM, KUBE_SCHEDULER) and not asked.force_default_scheduler:
        now = "without leader election" if lease is None else f"under the lease {lease}"
        yield (
            f"the profile {DEFAULT_SCHEDULER} is served only under kube-scheduler's own lease, "
            f"{KUBE_SYSTEM}/{KUBE_SCHEDULER}, and this would be {now}: two that bind the same pods overcommit nodes; "
            "name the profile otherwise, leave the lease as it is, or say --force-default-scheduler "
            "where no kube-scheduler runs"
        )
    if not has_preemption and not asked.without_preemption:
        yield (
            f"the profile {DEFAULT_SCHEDULER} promises preemption, which is not built yet: pods of high priority wait "
            "for room like all others; say --without-preemption if that will do"
        )


# --- the rest --------------------------------------------------------------------------------------------------------


def _limits(asked: Asked, loaded: Loaded | None, scheduling: Scheduling) -> BindPods:
    found = loaded.configuration if loaded is not None else None
    given = found.bind_pods if isinstance(found, BayplanConfiguration) else BindPods()
    qps = given.qps if asked.bind_pods_qps is None else asked.bind_pods_qps
    burst = given.burst if asked.bind_pods_burst is None else asked.bind_pods_burst
    return bind_limits(BindPods(qps=qps, burst=burst), scheduling)


def _document(asked: Asked, loaded: Loaded | None, registry: Registry, chosen: Gates) -> bytes:
    """Write down what is in force: kube-scheduler's part where its own tools look for it, and ours beside."""
    name = asked.algorithm_provider
    provider = None if name is None else (name, from_provider(name))
    tree = bare(shown(loaded, registry, chosen, Flags(asked.plugins, provider)))
    ours = dict(tree) if isinstance(tree, Mapping) else {}
    inner = ours.pop("kubeScheduler", {})
    if loaded is None and name is None and isinstance(inner, dict):
        inner["profiles"][0]["schedulerName"] = OURS
    return json.dumps({"componentconfig": inner, "bayplan": ours}).encode()


def _core(asked: Asked, configuration: KubeSchedulerConfiguration | None) -> CoreSettings:
    flag, written = "--pod-max-in-unschedulable-pods-duration", asked.pod_max_in_unschedulable_pods_duration
    left_over_ms = int(_seconds(flag, written, Duration(0)) * 1000)
    backoff = Backoff()
    if configuration is not None:
        initial_s, longest_s = configuration.pod_initial_backoff_seconds, configuration.pod_max_backoff_seconds
        backoff = Backoff(initial_s * 1000, longest_s * 1000)
    return CoreSettings(QueueSettings(backoff, left_over_ms))
