"""Pretend kubelets and controllers: what becomes of pods and workloads, watched as a client would."""

from collections.abc import Callable

import pytest

from bayplan.playground.kubelets import ENDS, RUNS_FOR
from tests.unit.playground.asking import PODS, Body, Client, awaited, gone, labelled, pod

APPS = "/apis/apps/v1/namespaces/default"
JOBS = "/apis/batch/v1/namespaces/default/jobs"


def phase(name: str) -> Callable[[Body], bool]:
    """Ask for a phase."""
    return lambda one: one["status"].get("phase") == name


def asking(cpu: str, name: str = "a") -> Body:
    """Give a pod on the node that asks for CPU."""
    container = {"name": "c", "image": "i:1", "resources": {"requests": {"cpu": cpu}}}
    return pod(name, nodeName="n", containers=[container])


def test_a_bound_pod_runs(live: Client) -> None:
    """A pod that gets a node becomes Running and ready."""
    live.make(PODS, pod())
    live.ask("POST", f"{PODS}/a/binding", {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n"}})
    runs = awaited(live, PODS, phase("Running"))

    assert runs["status"]["containerStatuses"][0]["ready"] is True
    assert {one["type"] for one in runs["status"]["conditions"]} >= {"PodScheduled", "Ready"}


def test_a_node_that_is_full_refuses(live: Client) -> None:
    """What is too much fails as a kubelet would let it fail; what ended gives its room back."""
    live.make(PODS, asking("1500m", "first"))
    awaited(live, PODS, phase("Running"))
    live.make(PODS, asking("1", "second"))

    assert awaited(live, PODS, phase("Failed"))["status"]["reason"] == "OutOfcpu"
    live.ask("DELETE", f"{PODS}/first", {"gracePeriodSeconds": 1})
    assert gone(live, PODS, "first")
    live.make(PODS, asking("1", "third"))
    awaited(live, PODS, lambda one: one["metadata"]["name"] == "third" and phase("Running")(one))


@pytest.mark.parametrize("ending", ["Succeeded", "Failed"])
def test_a_pod_runs_for_as_long_as_it_says(live: Client, ending: str) -> None:
    """An annotation says how long, another how it ends."""
    made = pod(nodeName="n")
    made["metadata"]["annotations"] = {RUNS_FOR: "10ms", ENDS: ending}
    live.make(PODS, made)

    awaited(live, PODS, phase(ending))


def test_a_taint_drives_away_who_does_not_bear_it(live: Client) -> None:
    """NoExecute ends the pods of a node, but for those that tolerate it."""
    live.make(PODS, pod("meek", nodeName="n"))
    live.make(PODS, pod("bold", nodeName="n", tolerations=[{"operator": "Exists"}]))
    for name in ("meek", "bold"):
        awaited(live, PODS, lambda one, name=name: one["metadata"]["name"] == name and phase("Running")(one))  # type: ignore[misc]
    live.patch("/api/v1/nodes/n", {"spec": {"taints": [{"key": "out", "effect": "NoExecute"}]}})

    assert gone(live, PODS, "meek")
    assert live.get(PODS).names == ["bold"]


# --- controllers -----------------------------------------------------------------------------------------------------


def template(**annotations: str) -> Body:
    """Give a pod template whose pods land on the node."""
    meta = {"labels": {"app": "x"}, "annotations": annotations}
    return {"metadata": meta, "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i:1"}]}}


def workload(replicas: int) -> Body:
    """Give a workload of so many."""
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "x"}}, "template": template()}
    return {**labelled("w"), "spec": spec}


def test_a_deployment_makes_its_pods_and_takes_them_with_it(live: Client) -> None:
    """Pods come by a replica set, follow the scale, and go with the deployment."""
    live.make(f"{APPS}/deployments", workload(2))
    awaited(live, f"{APPS}/deployments", lambda one: one["status"].get("availableReplicas") == 2)
    assert len(live.get(f"{APPS}/replicasets").names) == 1

    live.patch(f"{APPS}/deployments/w/scale", {"spec": {"replicas": 1}})
    awaited(live, f"{APPS}/deployments", lambda one: one["status"].get("replicas") == 1)
    left = live.get(PODS).names
    live.ask("DELETE", f"{APPS}/deployments/w")
    assert gone(live, PODS, left[0])
    assert live.get(f"{APPS}/replicasets").names == []


def test_a_stateful_set_numbers_its_pods(live: Client) -> None:
    """Each pod waits for the one before it."""
    live.make(f"{APPS}/statefulsets", workload(3))
    awaited(live, f"{APPS}/statefulsets", lambda one: one["status"].get("readyReplicas") == 3)

    assert live.get(PODS).names == ["w-0", "w-1", "w-2"]


@pytest.mark.parametrize("mode", ["NonIndexed", "Indexed"])
def test_a_job_is_complete_when_enough_pods_were(live: Client, mode: str) -> None:
    """So many at once, so many in all."""
    spec = {"completions": 3, "parallelism": 2, "completionMode": mode, "template": template(**{RUNS_FOR: "1ms"})}
    spec["template"]["spec"]["restartPolicy"] = "Never"  # type: ignore[index]
    live.make(JOBS, {**labelled("j"), "spec": spec})
    done = awaited(live, JOBS, lambda one: bool(one["status"].get("conditions")))

    assert (done["status"]["conditions"][0]["type"], done["status"]["succeeded"]) == ("Complete", 3)


def test_a_job_fails_when_too_many_pods_did(live: Client) -> None:
    """The backoff limit is kept."""
    spec = {"backoffLimit": 1, "template": template(**{RUNS_FOR: "1ms", ENDS: "Failed"})}
    live.make(JOBS, {**labelled("j"), "spec": spec})

    assert awaited(live, JOBS, lambda one: bool(one["status"].get("conditions")))["status"]["failed"] == 2


def test_a_namespace_goes_with_what_is_in_it(live: Client) -> None:
    """First its objects, then the namespace."""
    live.make("/api/v1/namespaces", {"metadata": {"name": "other"}})
    live.make("/api/v1/namespaces/other/pods", pod(nodeName="n"))
    live.make("/api/v1/namespaces/other/configmaps", labelled("c"))
    live.ask("DELETE", "/api/v1/namespaces/other")

    assert gone(live, "/api/v1/namespaces", "other")
    assert live.get("/api/v1/configmaps").names == []
    assert live.get("/api/v1/pods").names == []


@pytest.mark.parametrize(("policy", "is_left"), [("Background", False), ("Foreground", False), ("Orphan", True)])
def test_dependents_follow_their_owner_as_asked(live: Client, policy: str, *, is_left: bool) -> None:
    """Each propagation policy does what it says."""
    live.make(f"{APPS}/replicasets", workload(1))
    name = awaited(live, PODS, phase("Running"))["metadata"]["name"]
    live.ask("DELETE", f"{APPS}/replicasets/w", {"propagationPolicy": policy})
    assert gone(live, f"{APPS}/replicasets", "w")

    if is_left:
        assert live.get(f"{PODS}/{name}").body["metadata"]["ownerReferences"] == []
    else:
        assert gone(live, PODS, name)


def test_a_budget_counts_its_pods(live: Client) -> None:
    """What may be disrupted follows from who is healthy."""
    live.make(f"{APPS}/replicasets", workload(3))
    budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    spec = {"minAvailable": "50%", "selector": {"matchLabels": {"app": "x"}}}
    live.make(budgets, {**labelled("b"), "spec": spec})
    counted = awaited(live, budgets, lambda one: one["status"]["currentHealthy"] == 3)["status"]
    assert (counted["desiredHealthy"], counted["disruptionsAllowed"]) == (2, 1)

    live.patch(f"{budgets}/b", {"spec": {"minAvailable": 3}})
    awaited(live, budgets, lambda one: one["status"]["disruptionsAllowed"] == 0)
    name = live.get(PODS).names[0]
    assert live.ask("POST", f"{PODS}/{name}/eviction", {"metadata": {"name": name}}).code == 429
