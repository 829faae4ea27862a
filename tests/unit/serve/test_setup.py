"""What a daemon runs with: profiles, the lease, limits; and what is refused."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from bayplan.config.complaints import ConfigError
from bayplan.serve.setup import Asked, Lease, SetupError, setup
from tests.kit import case

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
POLICY = '{"kind": "Policy", "apiVersion": "v1", "predicates": [{"name": "PodFitsResources"}]}'
ALONE = Asked(without_preemption=True, leader_elect=False, force_default_scheduler=True)


def file(folder: Path, text: str) -> str:
    """Save a configuration."""
    path = folder / "scheduler.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_without_a_configuration_nobody_s_pods_are_taken_over() -> None:
    """Profile and lease are called bayplan; the lease is in the pod's namespace, else in kube-system."""
    plain, in_a_pod = setup(Asked(), None), setup(Asked(), "batch")

    assert list(plain.profiles) == ["bayplan"]
    assert plain.lease == Lease("kube-system", "bayplan", 15.0, 10.0, 2.0)
    assert in_a_pod.lease is not None
    assert str(in_a_pod.lease) == "batch/bayplan"


def test_default_scheduler_is_served_under_kube_scheduler_s_own_lease(tmp_path: Path) -> None:
    """So that the two never bind the same pods at the same time."""
    made = setup(Asked(config=file(tmp_path, HEAD), without_preemption=True), "batch")

    assert list(made.profiles) == ["default-scheduler"]
    assert str(made.lease) == "kube-system/kube-scheduler"


@pytest.mark.parametrize(("text", "said", "problem"), [
    case("without election", HEAD, {"leader_elect": False}, "this would be without leader election"),
    case("without election, by the file", HEAD + "leaderElection: {leaderElect: false}\n", {},
         "this would be without leader election"),
    case("under another lease", HEAD, {"leader_elect_resource_name": "mine"},
         "this would be under the lease kube-system/mine"),
    case("under another lease, by the file", HEAD + "leaderElection: {resourceNamespace: mine}\n", {},
         "this would be under the lease mine/kube-scheduler"),
    case("a lease that is shorter than its renewal", HEAD, {"leader_elect_lease_duration": "5s"},
         "a lease of 5 s, renewed within 10 s"),
    case("a length of time that is none", HEAD, {"leader_elect_retry_period": "soon"},
         "--leader-elect-retry-period must be a length of time"),
    case("two sources", HEAD, {"algorithm_provider": "DefaultProvider"}, "not both"),
])  # fmt: skip
def test_what_would_be_unsafe_is_refused(tmp_path: Path, text: str, said: dict[str, object], problem: str) -> None:
    """With what it would have been, and what to do."""
    asked = replace(Asked(without_preemption=True), config=file(tmp_path, text), **said)

    with pytest.raises(SetupError) as found:
        setup(asked, None)

    assert problem in str(found.value)


def test_preemption_is_promised_by_nobody_who_cannot_keep_it(tmp_path: Path) -> None:
    """Whoever serves default-scheduler says that waiting will do."""
    with pytest.raises(SetupError, match=r"promises preemption.*--without-preemption"):
        setup(Asked(config=file(tmp_path, HEAD)), None)


def test_a_lone_scheduler_may_do_without_a_lease(tmp_path: Path) -> None:
    """When told so twice."""
    made = setup(replace(ALONE, config=file(tmp_path, HEAD)), None)

    assert (made.lease, list(made.profiles)) == (None, ["default-scheduler"])


def test_a_profile_of_another_name_keeps_clear_of_kube_scheduler_s_lease(tmp_path: Path) -> None:
    """A file that says nothing of the lease is not taken at kube-scheduler's default, unless it names it."""
    other = file(tmp_path, HEAD + "profiles: [{schedulerName: other}]\n")
    made = setup(Asked(config=other), None)
    named = file(tmp_path, HEAD + "profiles: [{schedulerName: other}]\nleaderElection: {resourceName: theirs}\n")

    assert str(made.lease) == "kube-system/bayplan"
    assert str(setup(Asked(config=named), None).lease) == "kube-system/theirs"


@pytest.mark.parametrize(("text", "said", "limits"), [
    case("no limit by default", HEAD, {}, (0.0, 0)),
    case("15 and 20 under a Policy", POLICY, {}, (15.0, 20)),
    case("as flags say", POLICY, {"bind_pods_qps": 50.0, "bind_pods_burst": 70}, (50.0, 70)),
    case("as our file says",
         "apiVersion: bayplan.dev/v1alpha1\nkind: BayplanConfiguration\nbindPods: {qps: 7, burst: 9}\n", {}, (7.0, 9)),
    case("the flag goes before the file",
         "apiVersion: bayplan.dev/v1alpha1\nkind: BayplanConfiguration\nbindPods: {qps: 7, burst: 9}\n",
         {"bind_pods_qps": 8.0}, (8.0, 9)),
])  # fmt: skip
def test_how_fast_pods_are_bound(tmp_path: Path, text: str, said: dict[str, object], limits: tuple[float, int]) -> None:
    """The rate of the day a configuration is from."""
    made = setup(replace(ALONE, config=file(tmp_path, text), **said), None)

    assert (made.limits.qps, made.limits.burst) == limits


def test_backoff_is_what_the_file_says(tmp_path: Path) -> None:
    """And how long a pod waits without a reason to be tried, what the flag says."""
    text = HEAD + "podInitialBackoffSeconds: 2\npodMaxBackoffSeconds: 30\nprofiles: [{schedulerName: other}]\n"
    made = setup(Asked(config=file(tmp_path, text), pod_max_in_unschedulable_pods_duration="90s"), None)

    assert made.core.queue.backoff == (2000, 30_000)
    assert made.core.queue.left_over_ms == 90_000


@pytest.mark.parametrize(("text", "problem"), [
    case("a typo", HEAD + "profile: []\n", 'did you mean "profiles"'),
    case("an extender", HEAD + "extenders: [{urlPrefix: 'http://here', filterVerb: filter}]\n", "not built yet"),
])  # fmt: skip
def test_a_file_that_cannot_be_served_is_refused_with_its_line(tmp_path: Path, text: str, problem: str) -> None:
    """Nothing starts with half of what was asked for."""
    with pytest.raises(ConfigError) as found:
        setup(replace(ALONE, config=file(tmp_path, text)), None)

    assert problem in "\n".join(map(str, found.value.complaints))
