"""Binding, eviction and scale."""

import pytest

from tests.unit.playground.asking import PODS, Body, Client, labelled, pod

BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
SETS = "/apis/apps/v1/namespaces/default/replicasets"


def binding(node: str = "n", **meta: str) -> Body:
    """Give a Binding as schedulers post it."""
    return {"metadata": {"name": "a", **meta}, "target": {"kind": "Node", "name": node}}


def test_a_pod_is_bound_once(client: Client) -> None:
    """The first binding gives the pod its node; the second is a Conflict."""
    client.make(PODS, pod())
    first = client.ask("POST", f"{PODS}/a/binding", binding())
    second = client.ask("POST", f"{PODS}/a/binding", binding("other"))
    bound = client.get(f"{PODS}/a").body

    assert (first.code, first.body["status"]) == (201, "Success")
    assert (second.code, second.reason) == (409, "Conflict")
    assert 'already assigned to node "n"' in second.body["message"]
    assert bound["spec"]["nodeName"] == "n"
    assert [(one["type"], one["status"]) for one in bound["status"]["conditions"]] == [("PodScheduled", "True")]


def test_a_binding_may_be_posted_to_its_namespace(client: Client) -> None:
    """The older way of binding works too."""
    client.make(PODS, pod())

    assert client.ask("POST", "/api/v1/namespaces/default/bindings", binding()).code == 201
    assert client.get(f"{PODS}/a").body["spec"]["nodeName"] == "n"


@pytest.mark.parametrize(
    ("made", "bound", "code"),
    [
        (pod(), binding(uid="other"), 409),
        (pod(), binding(resourceVersion="1"), 409),
        (pod(schedulingGates=[{"name": "g"}]), binding(), 409),
        (pod(), {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": ""}}, 422),
        (pod(), {"metadata": {"name": "a"}, "target": {"kind": "Pod", "name": "n"}}, 422),
        (pod("b"), binding(), 404),
    ],
)
def test_a_binding_that_may_not_be_changes_nothing(client: Client, made: Body, bound: Body, code: int) -> None:
    """Preconditions, gates and targets are looked at first."""
    name = client.make(PODS, made)["metadata"]["name"]

    assert client.ask("POST", f"{PODS}/a/binding", bound).code == code
    assert "nodeName" not in client.get(f"{PODS}/{name}").body["spec"]


def running_pod(client: Client) -> None:
    """Store a pod that runs and is covered by a budget."""
    client.make(BUDGETS, {"metadata": {"name": "b"}, "spec": {"selector": {"matchLabels": {"app": "x"}}}})
    made = pod("a", nodeName="n")
    made["metadata"]["labels"] = {"app": "x"}
    client.make(PODS, made)
    client.patch(f"{PODS}/a/status", {"status": {"phase": "Running"}})


def test_a_budget_without_room_keeps_a_pod(client: Client) -> None:
    """An eviction that would break a budget is TooManyRequests, and the pod stays."""
    running_pod(client)
    client.patch(f"{BUDGETS}/b/status", {"status": {"observedGeneration": 1, "desiredHealthy": 1, "currentHealthy": 1}})
    refused = client.ask("POST", f"{PODS}/a/eviction", {"metadata": {"name": "a"}})

    assert (refused.code, refused.reason) == (429, "TooManyRequests")
    assert "needs 1 healthy pods and has 1 currently" in refused.body["details"]["causes"][0]["message"]
    assert "deletionTimestamp" not in client.get(f"{PODS}/a").body["metadata"]


def test_an_eviction_takes_from_the_budget(client: Client) -> None:
    """One disruption is used up, and the pod is being deleted."""
    running_pod(client)
    client.patch(f"{BUDGETS}/b/status", {"status": {"observedGeneration": 1, "disruptionsAllowed": 1}})

    assert client.ask("POST", f"{PODS}/a/eviction", {"metadata": {"name": "a"}}).code == 201
    assert "deletionTimestamp" in client.get(f"{PODS}/a").body["metadata"]
    assert client.get(f"{BUDGETS}/b").body["status"]["disruptionsAllowed"] == 0


def test_what_has_replicas_is_scaled(client: Client) -> None:
    """A Scale is read, patched, and replaced."""
    template = {"metadata": {"labels": {"app": "x"}}, "spec": pod()["spec"]}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "x"}}, "template": template}
    client.make(SETS, {**labelled("s"), "spec": spec})
    scale = client.get(f"{SETS}/s/scale").body
    assert (scale["kind"], scale["spec"]["replicas"], scale["status"]["selector"]) == ("Scale", 2, "app=x")

    client.patch(f"{SETS}/s/scale", {"spec": {"replicas": 5}})
    assert client.get(f"{SETS}/s").body["spec"]["replicas"] == 5
    assert client.ask("PUT", f"{SETS}/s/scale", scale).reason == "Conflict"
    assert client.patch(f"{SETS}/s/scale", {"spec": {"replicas": -1}}).reason == "Invalid"
