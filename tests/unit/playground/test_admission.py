"""Admission: what is filled in and what is refused."""

from tests.unit.playground.asking import PODS, Client, labelled, pod

CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


def test_a_pod_is_completed_as_an_api_server_would(client: Client) -> None:
    """Defaults, tolerations for nodes that are away, priority and quality of service are there."""
    made = client.make(PODS, pod())
    spec = made["spec"]

    assert (spec["schedulerName"], spec["restartPolicy"], spec["priority"]) == ("default-scheduler", "Always", 0)
    assert [one["key"].rsplit("/", 1)[1] for one in spec["tolerations"]] == ["not-ready", "unreachable"]
    assert {one["tolerationSeconds"] for one in spec["tolerations"]} == {300}
    assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


def test_priority_comes_from_the_class(client: Client) -> None:
    """A named class, the default class, the system's classes; an unknown one is refused."""
    client.make(CLASSES, {**labelled("high"), "value": 1000})
    client.make(CLASSES, {**labelled("usual"), "value": 7, "globalDefault": True, "preemptionPolicy": "Never"})
    high = client.make(PODS, pod("a", priorityClassName="high"))["spec"]
    usual = client.make(PODS, pod("b"))["spec"]
    system = client.make(PODS, pod("c", priorityClassName="system-node-critical"))["spec"]

    assert (high["priority"], usual["priority"], system["priority"]) == (1000, 7, 2_000_001_000)
    assert (usual["priorityClassName"], usual["preemptionPolicy"]) == ("usual", "Never")
    assert client.ask("POST", PODS, pod("d", priorityClassName="no")).reason == "Forbidden"
    assert client.ask("POST", PODS, pod("d", priority=3)).reason == "Forbidden"


def test_a_gated_pod_says_that_it_is(client: Client) -> None:
    """The condition is there from the beginning; gates can be taken off, not put on."""
    made = client.make(PODS, pod(schedulingGates=[{"name": "g"}]))
    assert made["status"]["conditions"][0]["reason"] == "SchedulingGated"

    assert client.patch(f"{PODS}/a", {"spec": {"schedulingGates": [{"name": "h"}]}}).reason == "Invalid"
    assert client.patch(f"{PODS}/a", {"spec": {"schedulingGates": []}}).code == 200


def test_requests_come_from_limits_and_limit_ranges(client: Client) -> None:
    """A container's own limits first, then its namespace's defaults."""
    limits = {"type": "Container", "default": {"memory": "1Gi"}, "defaultRequest": {"cpu": "100m"}}
    client.make("/api/v1/namespaces/default/limitranges", {**labelled("l"), "spec": {"limits": [limits]}})
    container = {"name": "c", "image": "i", "resources": {"limits": {"cpu": "2"}}}
    made = client.make(PODS, pod(containers=[container]))["spec"]["containers"][0]["resources"]

    assert made == {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "2", "memory": "1Gi"}}


def test_nothing_is_created_in_a_namespace_that_ends(client: Client) -> None:
    """A terminating namespace takes no new objects."""
    client.make("/api/v1/namespaces", {"metadata": {"name": "n", "finalizers": ["keep.it/here"]}})
    ended = client.ask("DELETE", "/api/v1/namespaces/n").body

    assert ended["status"]["phase"] == "Terminating"
    assert client.ask("POST", "/api/v1/namespaces/n/pods", pod()).reason == "Forbidden"


def test_a_selector_must_select_its_own_pods(client: Client) -> None:
    """A workload whose selector misses its template is refused."""
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "c"}}}}

    assert (
        client.ask("POST", "/apis/apps/v1/namespaces/default/deployments", {**labelled("d"), "spec": spec}).code == 422
    )
