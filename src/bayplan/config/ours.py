"""Our own settings: BayplanConfiguration, which holds a kube-scheduler's configuration and what only bayplan has.

Every field is optional; foreign forms are held as they are and never extended.
Invariant: a configuration that was read holds kube-scheduler's part decoded, wherever that stood.
Not here: reading one (ours_decode.py), and what batch profiles name (the batch lane's).
"""

from __future__ import annotations

import math
from typing import Annotated, Final, TypeAlias

from msgspec import Meta

from bayplan.api.durations import Duration
from bayplan.config.kubescheduler import KubeSchedulerConfiguration, Setting
from bayplan.config.policy import Policy
from bayplan.framework.settings import USUAL, Settings
from bayplan.framework.tiers import DEFAULT_QUEUE, PERIOD, Behaviour

API_VERSION: Final = "bayplan.dev/v1alpha1"
GROUP: Final = "bayplan.dev/"
KIND: Final = "BayplanConfiguration"

POLICY_QPS: Final = 15.0  # what Kubernetes bound pods by when it read Policy files
POLICY_BURST: Final = 20

Scheduling: TypeAlias = KubeSchedulerConfiguration | Policy


class BatchProfile(Setting, frozen=True, kw_only=True):
    """A scheduler name whose pods are scheduled in sessions, by queues and gangs."""

    scheduler_name: Annotated[str, Meta(description="whose pods; required")] = ""
    conf: Annotated[
        object,
        Meta(description="kube-batch's actions and plugins: inline, or a path as seen from this file; empty: its own"),
    ] = ""
    behaviour: Annotated[Behaviour, Meta(description="whether kube-batch's oddities are kept")] = "bayplan"
    period: Annotated[Duration, Meta(description="the pause between two sessions")] = PERIOD
    default_queue: Annotated[str, Meta(description="the queue of groups that name none")] = DEFAULT_QUEUE
    namespace_as_queue: Annotated[
        bool | None, Meta(description="a queue for each namespace; absent: as the form of `conf` has it")
    ] = None


class BindPods(Setting, frozen=True, kw_only=True):
    """How fast pods are bound; it acts in the daemon."""

    qps: Annotated[
        Annotated[float, Meta(ge=0)] | None,
        Meta(description="bindings a second; 0: any number; absent: 0, or 15 under a Policy"),
    ] = None
    burst: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(description="bindings at once; absent: a second's worth, or 20 under a Policy"),
    ] = None


class Budgets(Setting, frozen=True, kw_only=True):
    """How much may be remembered, and how much is done in one step; no answer depends on it."""

    plan_bytes: Annotated[int, Meta(ge=0, description="what plans may take in memory")] = USUAL.bytes_base
    plan_bytes_per_node: Annotated[int, Meta(ge=0, description="and more for each node")] = USUAL.bytes_per_row
    rows_per_step: Annotated[int, Meta(ge=1, description="nodes that one rule judges in one step")] = USUAL.block


class BayplanConfiguration(Setting, frozen=True, kw_only=True):
    """All of our settings."""

    api_version: Annotated[str, Meta(description="the form of this file")] = API_VERSION
    kind: Annotated[str, Meta(description="the kind of this file")] = KIND
    kube_scheduler: Annotated[
        object,
        Meta(description="a KubeSchedulerConfiguration or a Policy: inline, or a path as seen from this file"),
    ] = None
    batch: Annotated[tuple[BatchProfile, ...], Meta(description="profiles of the batch lane")] = ()
    bind_pods: Annotated[BindPods, Meta(description="how fast pods are bound")] = BindPods()
    budgets: Annotated[Budgets, Meta(description="bounds of memory and steps")] = Budgets()
    plugins: Annotated[
        tuple[str, ...],
        Meta(description="rules of your own, on in every profile: module:Class, or a path as seen from this file"),
    ] = ()

    @property
    def scheduling(self) -> Scheduling | None:
        """Return kube-scheduler's part, once it is decoded."""
        found = self.kube_scheduler
        return found if isinstance(found, KubeSchedulerConfiguration | Policy) else None

    @property
    def settings(self) -> Settings:
        """Return the budgets as the framework takes them."""
        budgets = self.budgets
        return Settings(
            bytes_base=budgets.plan_bytes, bytes_per_row=budgets.plan_bytes_per_node, block=budgets.rows_per_step
        )


def bind_limits(given: BindPods, scheduling: Scheduling | None) -> BindPods:
    """Return how fast pods are bound, with what is meant where nothing is said."""
    is_policy = isinstance(scheduling, Policy)
    qps = given.qps if given.qps is not None else POLICY_QPS if is_policy else 0.0
    burst = given.burst if given.burst is not None else POLICY_BURST if is_policy else math.ceil(qps)
    return BindPods(qps=qps, burst=burst)
