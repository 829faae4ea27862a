"""Nodes that fall ill: what befalls them on command, their heartbeats, and what follows for taints and pods."""

import pytest

from bayplan.playground.controllers.lifecycle import CORDONED
from bayplan.playground.kubelets import RUNS_FOR, Pace
from bayplan.playground.running import running
from tests.unit.playground.asking import PODS, Body, Client, awaited, gone, pod

FATES = "/bayplan/fates"
NODES = "/api/v1/nodes"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"


def befall(client: Client, fate: str, seconds: float = 0.0) -> None:
    """Let something happen to the node."""
    done = client.ask("POST", FATES, {"node": "n", "fate": fate, "seconds": seconds})
    assert done.code == 200, done.body


def readiness(node: Body) -> str:
    """Give what a node's readiness is said to be."""
    return str(next(one["status"] for one in node["status"]["conditions"] if one["type"] == "Ready"))


def taints(node: Body) -> set[tuple[str, str]]:
    """Give a node's taints, by their last word and effect."""
    return {(one["key"].rpartition("/")[2], one["effect"]) for one in node["spec"].get("taints", [])}


def ready(one: Body) -> bool:
    """Say whether a pod is ready."""
    conditions = one["status"].get("conditions", [])
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def test_a_node_beats_and_says_that_it_is_ready(live: Client) -> None:
    """It has a lease, and the condition that schedulers look for."""
    awaited(live, NODES, lambda node: node["status"].get("conditions") is not None and readiness(node) == "True")
    lease = awaited(live, LEASES, lambda one: one["metadata"]["name"] == "n")

    assert lease["spec"]["holderIdentity"] == "n"


def test_a_node_that_is_not_ready_is_tainted_and_its_pods_are_not_ready(live: Client) -> None:
    """When it is well again, the taints go."""
    live.make(PODS, pod(nodeName="n"))
    awaited(live, PODS, ready)
    befall(live, "not-ready")

    node = awaited(live, NODES, lambda one: len(taints(one)) == 2)
    assert readiness(node) == "False"
    assert taints(node) == {("not-ready", "NoSchedule"), ("not-ready", "NoExecute")}
    awaited(live, PODS, lambda one: not ready(one))
    befall(live, "ready")
    awaited(live, NODES, lambda one: not taints(one) and readiness(one) == "True")


def test_nothing_happens_on_a_node_that_is_not_ready_and_what_was_due_is_done_after(live: Client) -> None:
    """A pod that comes meanwhile waits; one that was to end ends late."""
    ending = pod("ends", nodeName="n")
    ending["metadata"]["annotations"] = {RUNS_FOR: "1ms"}
    befall(live, "not-ready")
    live.make(PODS, pod("comes", nodeName="n", tolerations=[{"operator": "Exists"}]))
    live.make(PODS, {**ending, "spec": {**ending["spec"], "tolerations": [{"operator": "Exists"}]}})
    assert {one["status"]["phase"] for one in live.get(PODS).body["items"]} == {"Pending"}

    befall(live, "ready")
    awaited(live, PODS, lambda one: one["metadata"]["name"] == "comes" and one["status"]["phase"] == "Running")
    awaited(live, PODS, lambda one: one["metadata"]["name"] == "ends" and one["status"]["phase"] == "Succeeded")


def test_a_reboot_starts_the_containers_anew(live: Client) -> None:
    """Those that may not start again have failed."""
    live.make(PODS, pod("again", nodeName="n"))
    live.make(PODS, pod("once", nodeName="n", restartPolicy="Never"))
    for name in ("again", "once"):
        awaited(live, PODS, lambda one, name=name: one["metadata"]["name"] == name and ready(one))  # type: ignore[misc]
    befall(live, "reboot")

    awaited(live, PODS, lambda one: one["metadata"]["name"] == "once" and one["status"]["phase"] == "Failed")
    again = awaited(live, PODS, lambda one: ready(one) and one["status"]["containerStatuses"][0]["restartCount"] == 1)
    assert again["metadata"]["name"] == "again"
    assert live.get(f"{NODES}/n").body["status"]["nodeInfo"]["bootID"]


def test_a_node_that_vanishes_is_given_up_when_its_lease_runs_out() -> None:
    """Nobody is left there to end a deleted pod; when the node object goes, its pods go too."""
    with running(pace=Pace(start_s=0.0, end_s=0.0, heartbeat_s=0.01)) as server:
        client = Client(server.server.port)
        client.make(NODES, {"metadata": {"name": "n"}, "status": {"capacity": {"cpu": "2", "pods": "10"}}})
        client.make(PODS, pod(nodeName="n"))
        awaited(client, PODS, ready)
        befall(client, "vanish")

        node = awaited(client, NODES, lambda one: readiness(one) == "Unknown" and len(taints(one)) == 2)
        assert ("unreachable", "NoExecute") in taints(node)
        client.ask("DELETE", f"{PODS}/a")
        assert client.get(f"{PODS}/a").body["metadata"]["deletionTimestamp"]
        client.ask("DELETE", f"{NODES}/n")
        assert gone(client, PODS, "a")


def test_a_cordoned_node_is_tainted_and_others_taints_are_left_alone(live: Client) -> None:
    """The scheduler reads the taint, people read the field."""
    live.patch(f"{NODES}/n", {"spec": {"unschedulable": True, "taints": [{"key": "mine", "effect": "NoSchedule"}]}})
    awaited(live, NODES, lambda one: taints(one) == {("mine", "NoSchedule"), ("unschedulable", "NoSchedule")})
    live.patch(f"{NODES}/n", {"spec": {"unschedulable": None}})

    awaited(live, NODES, lambda one: taints(one) == {("mine", "NoSchedule")})
    assert CORDONED == "node.kubernetes.io/unschedulable"


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ({"node": "n", "fate": "explode"}, 400),
        ({"node": "n", "fate": "reboot", "seconds": -1}, 400),
        ({"node": "none", "fate": "vanish"}, 404),
        ([], 400),
    ],
)
def test_what_cannot_befall_a_node_is_refused(live: Client, command: object, code: int) -> None:
    """The fates are a closed set, and the node must be there."""
    assert live.ask("POST", FATES, command).code == code


def test_a_server_without_kubelets_has_nobody_to_command(client: Client) -> None:
    """It serves the API alone."""
    assert client.ask("POST", FATES, {"node": "n", "fate": "vanish"}).code == 400
