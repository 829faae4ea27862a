"""KubeSchedulerConfiguration v1: every field, with kube-scheduler's defaults.

Fields that act in a live daemon only are kept like the others.  Each says what it is, in which unit, and why its
default is what it is where that is not plain.  Invariant: a value that kube-scheduler would fill in is never absent
from a completed configuration.
Not here: reading one (decode.py), what is allowed (checks.py), and what a plugin set comes to (plugin_sets.py).
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta, field

from bayplan.api.durations import Duration
from bayplan.framework.profile import DEFAULT_SCHEDULER

API_VERSION: Final = "kubescheduler.config.k8s.io/v1"
KIND: Final = "KubeSchedulerConfiguration"

Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


class Setting(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What all parts of a configuration are: frozen, with Kubernetes' own field names in files."""


class LeaderElection(Setting, frozen=True, kw_only=True):
    """How several copies agree on who schedules; it acts in the daemon."""

    leader_elect: Annotated[bool, Meta(description="whether to hold a lease before scheduling")] = True
    lease_duration: Annotated[Duration, Meta(description="how long others wait before they take a silent lease")] = (
        Duration.seconds(15)
    )
    renew_deadline: Annotated[Duration, Meta(description="how long the leader tries to renew before it gives up")] = (
        Duration.seconds(10)
    )
    retry_period: Annotated[Duration, Meta(description="the time between two tries")] = Duration.seconds(2)
    resource_lock: Annotated[str, Meta(description="the kind of object held; only leases are left")] = "leases"
    resource_name: Annotated[str, Meta(description="the lease's name")] = "kube-scheduler"
    resource_namespace: Annotated[str, Meta(description="the lease's namespace")] = "kube-system"


class ClientConnection(Setting, frozen=True, kw_only=True):
    """How to talk to the API server; it acts in the daemon."""

    kubeconfig: Annotated[str, Meta(description="path of a kubeconfig; in the cluster by default")] = ""
    accept_content_types: Annotated[str, Meta(description="the Accept header; empty: as contentType")] = ""
    content_type: Annotated[str, Meta(description="the content type of requests")] = (
        "application/vnd.kubernetes.protobuf"
    )
    qps: Annotated[float, Meta(description="requests a second; 0 is the default")] = 50.0
    burst: Annotated[Int32, Meta(description="requests at once beyond qps; 0 is the default")] = 100


class PluginEntry(Setting, frozen=True, kw_only=True):
    """One plugin in a list."""

    name: Annotated[str, Meta(description="the plugin's name, module:Class, or * in a list of disabled ones")] = ""
    weight: Annotated[Int32 | None, Meta(description="how much its score counts; absent or 0: 1")] = None


class PluginSet(Setting, frozen=True, kw_only=True):
    """What to change of the default plugins at one extension point."""

    enabled: Annotated[
        tuple[PluginEntry, ...], Meta(description="plugins in addition to the default ones, in order")
    ] = ()
    disabled: Annotated[tuple[PluginEntry, ...], Meta(description="default plugins to leave out; * for all")] = ()


class Plugins(Setting, frozen=True, kw_only=True):
    """The plugin sets of a profile."""

    pre_enqueue: Annotated[PluginSet, Meta(description="hold a pod back before it is queued")] = PluginSet()
    queue_sort: Annotated[PluginSet, Meta(description="order the queue; one, the same in all profiles")] = PluginSet()
    pre_filter: Annotated[PluginSet, Meta(description="prepare the filters, or reject the pod at once")] = PluginSet()
    filter: Annotated[PluginSet, Meta(description="rule nodes out")] = PluginSet()
    post_filter: Annotated[PluginSet, Meta(description="make room when no node is left")] = PluginSet()
    pre_score: Annotated[PluginSet, Meta(description="prepare the scores, or leave one out")] = PluginSet()
    score: Annotated[PluginSet, Meta(description="rank the nodes that are left")] = PluginSet()
    reserve: Annotated[PluginSet, Meta(description="set aside what the pod takes")] = PluginSet()
    permit: Annotated[PluginSet, Meta(description="delay or forbid the binding")] = PluginSet()
    pre_bind: Annotated[PluginSet, Meta(description="what must be done before the binding")] = PluginSet()
    bind: Annotated[PluginSet, Meta(description="bind; at least one")] = PluginSet()
    post_bind: Annotated[PluginSet, Meta(description="told of the binding")] = PluginSet()
    multi_point: Annotated[PluginSet, Meta(description="plugins for every point they act at")] = PluginSet()
    placement_generate: Annotated[PluginSet, Meta(description="propose placements of a group; at most one")] = (
        PluginSet()
    )
    placement_score: Annotated[PluginSet, Meta(description="rank placements of a group")] = PluginSet()
    pod_group_post_filter: Annotated[PluginSet, Meta(description="make room for a group")] = PluginSet()


class PluginConfig(Setting, frozen=True, kw_only=True):
    """A plugin's arguments: its own struct once decoded."""

    name: Annotated[str, Meta(description="the plugin's name")] = ""
    args: Annotated[object, Meta(description="its arguments, see the plugin")] = None


class SchedulerProfile(Setting, frozen=True, kw_only=True):
    """The rules for the pods of one schedulerName."""

    scheduler_name: Annotated[str | None, Meta(description="whose pods; may be left out in the only profile")] = None
    percentage_of_nodes_to_score: Annotated[
        Int32 | None, Meta(description="as the global one, which it goes before")
    ] = None
    plugins: Annotated[Plugins, Meta(description="what to change of the default plugin sets")] = Plugins()
    plugin_config: Annotated[tuple[PluginConfig, ...], Meta(description="arguments of plugins")] = ()


class ExtenderTLS(Setting, frozen=True, kw_only=True):
    """How to reach an extender over TLS; data goes before a file of the same kind."""

    insecure: Annotated[bool, Meta(description="do not verify the extender's certificate")] = False
    server_name: Annotated[str, Meta(description="the name its certificate must have; by default the host's")] = ""
    cert_file: Annotated[str, Meta(description="path of our certificate")] = ""
    key_file: Annotated[str, Meta(description="path of our key")] = ""
    ca_file: Annotated[str, Meta(description="path of the authorities trusted")] = ""
    cert_data: Annotated[bytes, Meta(description="our certificate, base64 of PEM")] = b""
    key_data: Annotated[bytes, Meta(description="our key, base64 of PEM")] = b""
    ca_data: Annotated[bytes, Meta(description="the authorities trusted, base64 of PEM")] = b""


class ManagedResource(Setting, frozen=True, kw_only=True):
    """An extended resource that an extender looks after."""

    name: Annotated[str, Meta(description="the resource's name")] = ""
    ignored_by_scheduler: Annotated[bool, Meta(description="NodeResourcesFit leaves it to the extender")] = False


class Extender(Setting, frozen=True, kw_only=True):
    """A web service asked in addition to the plugins; a verb left empty is not asked."""

    url_prefix: Annotated[str, Meta(description="where it is; a verb is appended")] = ""
    filter_verb: Annotated[str, Meta(description="asked to rule nodes out")] = ""
    preempt_verb: Annotated[str, Meta(description="asked about victims")] = ""
    prioritize_verb: Annotated[str, Meta(description="asked for scores")] = ""
    weight: Annotated[Int64, Meta(description="how much its scores count; above 0 with prioritizeVerb")] = 0
    bind_verb: Annotated[str, Meta(description="asked to bind; one extender at most")] = ""
    enable_https: Annotated[bool, Meta(description="use TLS")] = field(name="enableHTTPS", default=False)
    tls_config: Annotated[ExtenderTLS | None, Meta(description="how to use TLS")] = None
    http_timeout: Annotated[Duration, Meta(description="of a whole request; 0: 5s")] = Duration(0)
    node_cache_capable: Annotated[bool, Meta(description="it knows the nodes: names are enough")] = False
    managed_resources: Annotated[
        tuple[ManagedResource, ...], Meta(description="only pods that ask for one of these")
    ] = ()
    ignorable: Annotated[bool, Meta(description="pods are scheduled even when it does not answer")] = False


class KubeSchedulerConfiguration(Setting, frozen=True, kw_only=True):
    """All of kube-scheduler's configuration file."""

    api_version: Annotated[str, Meta(description="the form of this file")] = API_VERSION
    kind: Annotated[str, Meta(description="the kind of this file")] = KIND
    parallelism: Annotated[Int32, Meta(description="workers of kube-scheduler; kept, columns need none")] = 16
    leader_election: Annotated[LeaderElection, Meta(description="who of several schedules")] = LeaderElection()
    client_connection: Annotated[ClientConnection, Meta(description="how to talk to the API server")] = (
        ClientConnection()
    )
    enable_profiling: Annotated[bool, Meta(description="serve profiles of the process")] = True
    enable_contention_profiling: Annotated[bool | None, Meta(description="and of its locks; as enableProfiling")] = None
    percentage_of_nodes_to_score: Annotated[Int32, Meta(description="how many feasible nodes suffice; 0: by size")] = 0
    pod_initial_backoff_seconds: Annotated[Int64, Meta(description="seconds a pod waits after its first failure")] = 1
    pod_max_backoff_seconds: Annotated[Int64, Meta(description="seconds that this wait grows to")] = 10
    profiles: Annotated[tuple[SchedulerProfile, ...], Meta(description="one for each schedulerName")] = ()
    extenders: Annotated[tuple[Extender, ...], Meta(description="web services asked in addition")] = ()
    delay_cache_until_active: Annotated[bool, Meta(description="a copy that waits keeps no cache")] = False


def completed(given: KubeSchedulerConfiguration) -> KubeSchedulerConfiguration:
    """Fill in what kube-scheduler does: zeros and empty texts that mean a default, the only profile and its name."""
    profiles = given.profiles or (SchedulerProfile(),)
    if len(profiles) == 1 and profiles[0].scheduler_name is None:
        profiles = (msgspec.structs.replace(profiles[0], scheduler_name=DEFAULT_SCHEDULER),)
    contention = given.enable_contention_profiling
    return msgspec.structs.replace(
        given,
        profiles=profiles,
        leader_election=_nonzero(given.leader_election, keep={"leader_elect"}),
        client_connection=_nonzero(given.client_connection, keep=set()),
        enable_contention_profiling=given.enable_profiling if contention is None else contention,
    )


def _nonzero(part: Setting, keep: set[str]) -> Setting:
    """Put a part's defaults where it has zeros or empty texts."""
    fresh = type(part)()
    zeros = {
        name: getattr(fresh, name) for name in part.__struct_fields__ if name not in keep and not getattr(part, name)
    }
    return msgspec.structs.replace(part, **zeros)
