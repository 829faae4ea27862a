"""Kubelets that are lent to another API server: here to a playground that has none of its own."""

import logging
from collections.abc import Iterator

import pytest

from bayplan.playground.kubelets import RUNS_FOR, Pace
from bayplan.playground.machines import Command
from bayplan.playground.running import Running, Where, lending
from tests.unit.playground.asking import PODS, Body, Client, awaited, gone, pod

FAULTS = "/bayplan/faults"
NODE = {"metadata": {"name": "n"}, "status": {"capacity": {"cpu": "2", "memory": "4Gi", "pods": "10"}}}
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
PACE = Pace(start_s=0.0, end_s=0.0, heartbeat_s=1.0)


@pytest.fixture
def lent(up: Running) -> Iterator[Client]:
    """Lend kubelets to a server with one node."""
    client = Client(up.server.port)
    client.make("/api/v1/nodes", NODE)
    with lending(Where(up.url), PACE):
        yield client


def came(client: Client, name: str, phase: str) -> Body:
    """Wait until a pod is in a phase."""
    return awaited(client, PODS, lambda one: (one["metadata"]["name"], one["status"].get("phase")) == (name, phase))


def test_a_bound_pod_runs_ends_and_goes(lent: Client) -> None:
    """All that a kubelet does is done over the wire."""
    short = pod("short")
    short["metadata"]["annotations"] = {RUNS_FOR: "1ms"}
    for made in (pod("long"), short):
        name = made["metadata"]["name"]
        lent.make(PODS, made)
        lent.ask("POST", f"{PODS}/{name}/binding", {"target": {"kind": "Node", "name": "n"}})
    came(lent, "long", "Running")
    came(lent, "short", "Succeeded")
    lent.ask("DELETE", f"{PODS}/long")

    assert gone(lent, PODS, "long")
    awaited(lent, LEASES, lambda one: one["metadata"]["name"] == "n")


def test_what_was_there_before_is_taken_over(up: Running) -> None:
    """Kubelets that come late find the pods that wait for them."""
    client = Client(up.server.port)
    client.make("/api/v1/nodes", NODE)
    client.make(PODS, pod(nodeName="n"))
    with lending(Where(up.url), PACE):
        came(client, "a", "Running")


@pytest.mark.parametrize(
    "fault",
    [
        {"action": "answer", "code": 500, "verb": "update"},
        {"action": "answer", "code": 409, "verb": "update"},
        {"action": "lose", "verb": "update"},
        {"action": "drop", "verb": "update"},
        {"action": "cut"},
    ],
)
def test_a_write_that_fails_is_made_again(lent: Client, fault: Body) -> None:
    """Whatever goes wrong on the way, the pod runs."""
    lent.ask("POST", FAULTS, {"resource": "pods/status", **fault})
    lent.make(PODS, pod(nodeName="n"))

    came(lent, "a", "Running")


def test_a_change_by_somebody_else_is_not_undone(lent: Client) -> None:
    """A kubelet that was too late writes on top of what the other wrote."""
    lent.ask("POST", FAULTS, {"action": "delay", "seconds": 0.2, "verb": "update", "resource": "pods/status"})
    lent.make(PODS, pod(nodeName="n"))
    lent.patch(f"{PODS}/a", {"metadata": {"labels": {"mine": "1"}}})
    came(lent, "a", "Running")

    assert lent.get(f"{PODS}/a").body["metadata"]["labels"] == {"mine": "1"}


def test_what_cannot_be_written_is_given_up(lent: Client, caplog: pytest.LogCaptureFixture) -> None:
    """A refusal that would come again ends the attempt, and is told."""
    with caplog.at_level(logging.WARNING):
        lent.ask("POST", FAULTS, {"action": "answer", "code": 410, "verb": "update", "resource": "pods/status"})
        lent.make(PODS, pod(nodeName="n"))
        while lent.get(FAULTS).body["faults"]:
            pass  # until it was met
        lent.make(PODS, pod("b", nodeName="n"))
        came(lent, "b", "Running")

    assert "given up" in caplog.text


def test_a_node_is_commanded_from_another_thread(up: Running) -> None:
    """The fates are those of a playground's own nodes."""
    client = Client(up.server.port)
    client.make("/api/v1/nodes", NODE)
    with lending(Where(up.url), PACE) as machines:
        machines.call(lambda living: living.decree(Command("n", "not-ready")))

        def is_ready(node: Body) -> bool:
            return [one["status"] for one in node["status"].get("conditions", [])] == ["False"]

        awaited(client, "/api/v1/nodes", is_ready)


def test_a_server_that_is_not_there_is_told_at_once() -> None:
    """Nobody waits for kubelets that cannot even look."""
    with pytest.raises(OSError), lending(Where("http://127.0.0.1:9"), PACE):  # noqa: PT011  # whichever way it fails
        pass
