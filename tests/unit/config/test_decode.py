"""A KubeSchedulerConfiguration decodes strictly: everything that is wrong is named at its place."""

import msgspec
import pytest

from bayplan.api.durations import Duration
from bayplan.config import strict
from bayplan.config.complaints import ConfigError
from bayplan.config.decode import decode
from bayplan.config.kubescheduler import KubeSchedulerConfiguration
from bayplan.framework.plugin import Plugin
from bayplan.framework.registry import Registry
from tests.unit.config.conftest import HEADER, GammaArguments

EVERY_FIELD = """\
parallelism: 4
leaderElection:
  {leaderElect: false, leaseDuration: 30s, renewDeadline: 20s, retryPeriod: 3s, resourceLock: leases,
   resourceName: mine, resourceNamespace: there}
clientConnection: {kubeconfig: /k, acceptContentTypes: a, contentType: application/json, qps: 1.5, burst: 7}
enableProfiling: false
enableContentionProfiling: true
percentageOfNodesToScore: 50
podInitialBackoffSeconds: 2
podMaxBackoffSeconds: 20
delayCacheUntilActive: true
profiles:
- schedulerName: one
  percentageOfNodesToScore: 30
  plugins:
    preEnqueue: {disabled: [{name: SchedulingGates}]}
    queueSort: {disabled: []}
    preFilter: {enabled: [{name: Alpha}]}
    filter: {enabled: [{name: Alpha, weight: 3}]}
    postFilter: {}
    preScore: {}
    score: {enabled: [{name: Beta, weight: 4}]}
    reserve: {}
    permit: {}
    preBind: {}
    bind: {enabled: [{name: DefaultBinder}]}
    postBind: {}
    multiPoint: {enabled: [{name: Gamma}]}
    placementGenerate: {}
    placementScore: {}
    podGroupPostFilter: {}
  pluginConfig:
  - name: Gamma
    args: {apiVersion: kubescheduler.config.k8s.io/v1, kind: GammaArgs, level: 3, keyNames: [a, b], note: 5}
  - name: DefaultPreemption
    args: {minCandidateNodesPercentage: 20}
- schedulerName: two
extenders:
- urlPrefix: https://there/
  filterVerb: f
  preemptVerb: p
  prioritizeVerb: s
  weight: 3
  bindVerb: b
  enableHTTPS: true
  tlsConfig:
    {insecure: false, serverName: s, certFile: c, keyFile: k, caFile: a, certData: YQ==, keyData: Yg==, caData: Yw==}
  httpTimeout: 1.5s
  nodeCacheCapable: true
  managedResources: [{name: example.com/gpu, ignoredByScheduler: true}]
  ignorable: true
"""


def complaints_of(text: str | dict[str, object], registry: Registry) -> list[str]:
    """Return what is wrong with a file."""
    with pytest.raises(ConfigError) as caught:
        decode(text, registry, file="s.yaml")
    return [str(complaint) for complaint in caught.value.complaints]


def decoded(text: str, registry: Registry) -> KubeSchedulerConfiguration:
    """Decode what must be right."""
    return decode(HEADER + text, registry).configuration


def test_an_empty_configuration_has_the_defaults(registry: Registry) -> None:
    """What is not given is what kube-scheduler would fill in."""
    found = decoded("", registry)

    assert found.parallelism == 16
    assert found.leader_election.lease_duration == Duration.seconds(15)
    assert found.client_connection.content_type == "application/vnd.kubernetes.protobuf"
    assert found.enable_contention_profiling is True
    assert [profile.scheduler_name for profile in found.profiles] == ["default-scheduler"]


def test_zeros_that_mean_a_default(registry: Registry) -> None:
    """Zeros, empty texts and nulls are what kube-scheduler takes for not given."""
    found = decoded(
        "clientConnection: {qps: 0, burst: 0}\nleaderElection: {leaseDuration: 0s, resourceName: ''}\n"
        "parallelism: null\nenableProfiling: false\n", registry,
    )  # fmt: skip

    assert (found.client_connection.qps, found.client_connection.burst) == (50.0, 100)
    assert found.leader_election.lease_duration == Duration.seconds(15)
    assert found.leader_election.resource_name == "kube-scheduler"
    assert found.parallelism == 16
    assert found.enable_contention_profiling is False


def test_every_field_is_kept(registry: Registry) -> None:
    """No field is lost, and what was decoded decodes again to the same."""
    found = decoded(EVERY_FIELD, registry)

    assert found.leader_election.resource_namespace == "there"
    assert found.extenders[0].http_timeout == Duration.parse("1.5s")
    assert found.extenders[0].tls_config is not None
    assert found.extenders[0].tls_config.key_data == b"b"
    assert found.profiles[0].plugin_config[0].args == GammaArguments(level=3, key_names=("a", "b"), note=5)
    assert found.profiles[0].plugins.score.enabled[0].weight == 4
    again = strict.plain(found)
    assert isinstance(again, dict)
    assert decode(again, registry).configuration == found


def test_json_is_read_as_well(registry: Registry) -> None:
    """A JSON file is as good as a YAML file."""
    tree = strict.plain(decoded(EVERY_FIELD, registry))

    assert decode(msgspec.json.encode(tree), registry).configuration == decoded(EVERY_FIELD, registry)


@pytest.mark.parametrize(("text", "complaint"), [
    ("paralellism: 3", '3:1: paralellism: unknown field "paralellism"; did you mean "parallelism"?'),
    ("leaderElect: true",
     '3:1: leaderElect: unknown field "leaderElect"; it stands one level deeper, in leaderElection'),
    ("profiles:\n- plugins: {enabled: [{name: Alpha}]}",
     ('4:13: profiles[0].plugins.enabled: unknown field "enabled"; '
      "it stands one level deeper, in bind or filter or multiPoint or 13 more")),
    ("parallelism: '4'",
     '3:1: parallelism: expected an integer, got the text "4"; without quotes it may be one'),
    ("parallelism: 4.5", "3:1: parallelism: expected an integer, got the number 4.5"),
    ("parallelism: 0", "3:1: parallelism: must be greater than 0, not 0"),
    ("parallelism: 3000000000",
     "3:1: parallelism: expected a number of at least -2147483648 and at most 2147483647, got 3000000000"),
    ("parallelism: 1\nparallelism: 2", '4:1: parallelism: expected each key once, got "parallelism" again'),
    ("enableProfiling: 1", "3:1: enableProfiling: expected true or false, got the number 1"),
    ("leaderElection: []", "3:1: leaderElection: expected a map, got a list"),
    ("leaderElection: {leaseDuration: 5}",
     '3:18: leaderElection.leaseDuration: expected a length of time such as "15s", got the number 5'),
    ("leaderElection: {leaseDuration: 5}\nprofiles: 3",
     "4:1: profiles: expected a list, got the number 3"),
    ("leaderElection: {leaseDuration: 9s}",
     "3:18: leaderElection.leaseDuration: must be longer than renewDeadline (10s)"),
    ("leaderElection: {retryPeriod: 9s}",
     "3:1: leaderElection.renewDeadline: must be longer than 1.2 times retryPeriod (9s)"),
    ("leaderElection: {resourceLock: lease}",
     '3:18: leaderElection.resourceLock: unknown lock "lease"; did you mean "leases"?'),
    ("leaderElection: {retryPeriod: -2s}", "3:18: leaderElection.retryPeriod: must be longer than 0, not -2s"),
    ("clientConnection: {burst: -1}", "3:20: clientConnection.burst: must not be negative"),
    ("clientConnection: {qps: fast}", '3:20: clientConnection.qps: expected a number, got the text "fast"'),
    ("percentageOfNodesToScore: 101", "3:1: percentageOfNodesToScore: is not in the range 0..100: 101"),
    ("podInitialBackoffSeconds: 0", "3:1: podInitialBackoffSeconds: must be greater than 0, not 0"),
    ("podMaxBackoffSeconds: 0",
     "3:1: podMaxBackoffSeconds: must be at least podInitialBackoffSeconds (1), not 0"),
    ("profiles:\n- {}\n- {schedulerName: a}",
     "4:3: profiles[0].schedulerName: is required where there are several profiles, and may not be empty"),
    ("profiles:\n- {schedulerName: a}\n- {schedulerName: a}",
     '5:4: profiles[1].schedulerName: "a" is taken by profiles[0]; each needs its own'),
    ("profiles:\n- schedulerName: a\n- schedulerName: b\n  plugins:\n    queueSort: {enabled: [{name: PrioritySort}]}",
     "7:5: profiles[1].plugins.queueSort: must be the same in all profiles: they share one queue"),
    ("profiles:\n- pluginConfig:\n  - name: Gama",
     '5:5: profiles[0].pluginConfig[0].name: unknown plugin "Gama"; did you mean "Gamma"?'),
    ("profiles:\n- pluginConfig:\n  - {name: Gamma}\n  - {name: Gamma}",
     "6:6: profiles[0].pluginConfig[1].name: arguments of Gamma are given twice; the others are in pluginConfig[0]"),
    ("profiles:\n- pluginConfig:\n  - {name: Alpha, args: {a: 1}}",
     "5:19: profiles[0].pluginConfig[0].args: Alpha takes no arguments; leave `args` out"),
    ("profiles:\n- pluginConfig:\n  - {name: Gamma, args: {levl: 1}}",
     '5:26: profiles[0].pluginConfig[0].args.levl: unknown field "levl"; did you mean "level"?'),
    ("profiles:\n- pluginConfig:\n  - {name: Gamma, args: {level: 10}}",
     "5:26: profiles[0].pluginConfig[0].args.level: 10 is too high"),
    ("profiles:\n- pluginConfig:\n  - {name: Gamma, args: {kind: GamaArgs}}",
     '5:26: profiles[0].pluginConfig[0].args.kind: expected "GammaArgs", got "GamaArgs"'),
    ("profiles:\n- pluginConfig:\n  - {name: Gamma, args: 7}",
     "5:19: profiles[0].pluginConfig[0].args: expected a map, got 7"),
    ("profiles:\n- pluginConfig:\n  - {name: DefaultPreemption, args: {minCandidateNodesAbsolute: -1}}",
     "5:38: profiles[0].pluginConfig[0].args.minCandidateNodesAbsolute: -1 must not be negative"),
    ("extenders:\n- {prioritizeVerb: p}",
     "4:3: extenders[0].weight: must be greater than 0 with a prioritizeVerb, not 0"),
    ("extenders:\n- {bindVerb: b}\n- {bindVerb: b}",
     "5:4: extenders[1].bindVerb: only one extender may bind, and extenders[0] does"),
    ("extenders:\n- {managedResources: [{name: cpu}]}",
     ('4:24: extenders[0].managedResources[0].name: "cpu" is no extended resource;'
     ' expected a name like example.com/gpu')),
    ("extenders:\n- {managedResources: [{name: a.b/c}, {name: a.b/c}]}",
     '4:39: extenders[0].managedResources[1].name: "a.b/c" is managed by extenders[0] already'),
    ("extenders:\n- {tlsConfig: {keyData: '%%'}}", "4:16: extenders[0].tlsConfig.keyData: expected base64, got a text"),
])  # fmt: skip
def test_what_is_wrong_is_named(registry: Registry, text: str, complaint: str) -> None:
    """Each complaint has file, line, column, field path, and what was expected."""
    assert f"s.yaml:{complaint}" in complaints_of(HEADER + text, registry)


def test_all_complaints_come_at_once(registry: Registry) -> None:
    """Nobody has to run it once per mistake."""
    found = complaints_of(
        HEADER + "a: 1\nparallelism: x\nprofiles: [{plugins: {score: {enabled: [{name: B}]}}}]\n", registry
    )

    assert [complaint.split(":")[1] for complaint in found] == ["3", "4", "5"]


def test_a_value_that_was_not_read_is_complained_of_once(registry: Registry) -> None:
    """A mistyped backoff does not also come out as too short."""
    assert len(complaints_of(HEADER + "podInitialBackoffSeconds: soon\n", registry)) == 1


def test_an_unknown_sort_is_not_also_missing(registry: Registry) -> None:
    """What orders the queue is not counted while a name is not known."""
    text = "profiles: [{plugins: {multiPoint: {enabled: [{name: Coscheduling}], disabled: [{name: PrioritySort}]}}}]"

    assert [one.split(": ")[1] for one in complaints_of(HEADER + text, registry)] == [
        "profiles[0].plugins.multiPoint.enabled[0].name"
    ]


def test_profiles_that_order_the_queue_differently(registry: Registry) -> None:
    """Wherever it was said."""

    class Fifo(Plugin[None, None]):
        points = frozenset({"queueSort"})

    registry.add(Fifo)
    text = (
        "profiles:\n- {schedulerName: a}\n- schedulerName: b\n  plugins:\n"
        "    multiPoint: {enabled: [{name: Fifo}], disabled: [{name: PrioritySort}]}\n"
    )

    (complaint,) = complaints_of(HEADER + text, registry)
    assert complaint.startswith("s.yaml:6:3: profiles[1].plugins: orders the queue by Fifo, and profiles[0] by Prio")


def test_too_many_complaints_are_cut(registry: Registry) -> None:
    """A file of another kind does not flood the terminal."""
    assert len(complaints_of(HEADER + "".join(f"f{n}: 1\n" for n in range(500)), registry)) == 100


@pytest.mark.parametrize(("header", "complaint"), [
    ("kind: KubeSchedulerConfiguration", "apiVersion"),
    ("apiVersion: kubescheduler.config.k8s.io/v1", "kind"),
    ("apiVersion: kubescheduler.config.k8s.io/v2\nkind: KubeSchedulerConfiguration", "did you mean"),
    ("apiVersion: v1\nkind: Policy", 'kind: expected "KubeSchedulerConfiguration", got "Policy"'),
    ("apiVersion: 1\nkind: KubeSchedulerConfiguration", "apiVersion"),
])  # fmt: skip
def test_another_kind_or_version(registry: Registry, header: str, complaint: str) -> None:
    """What the file says it is must be what is wanted."""
    assert any(complaint in one for one in complaints_of(header, registry))


def test_a_registered_class_is_named_by_its_spelling(registry: Registry) -> None:
    """A configuration may spell a rule as module:Class."""
    spelled = f"{GammaArguments.__module__}:Beta"
    found = decode(f"{HEADER}profiles: [{{plugins: {{score: {{enabled: [{{name: '{spelled}'}}]}}}}}}]", Registry())

    assert found.configuration.profiles[0].plugins.score.enabled[0].name == spelled
