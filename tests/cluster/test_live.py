"""bayplan on the real control plane: it binds, waits, is led, ends, and lives through what befalls the API server."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.control_plane import ControlPlane, awaited, control_plane, volume_controller
from tests.cluster.live import (
    BAYPLAN,
    NAME,
    NODES,
    PODS,
    a_node,
    a_pod,
    await_bound,
    bayplan,
    condition_of,
    create,
    events_of,
    install,
    node_of,
    pods_of,
    refereed,
)

pytestmark = pytest.mark.slow

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
ZONE = "topology.kubernetes.io/zone"
LONG = ("--leader-elect-lease-duration=120s", "--leader-elect-renew-deadline=90s")  # longer than a busy machine takes
SOON = (
    "--leader-elect-lease-duration",
    "4s",
    "--leader-elect-renew-deadline",
    "3s",
    "--leader-elect-retry-period",
    "1s",
)


@pytest.fixture(name="plane", scope="module")
def _plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Run one control plane for all tests of this module, with the shipped rights and eight nodes."""
    folder: Path = tmp_path_factory.mktemp("live")
    with control_plane(folder, (BAYPLAN,)) as real:
        install(real)
        for number in range(8):
            create(real, NODES, a_node(f"n{number}", labels={ZONE: "abc"[number % 3]}, room={"pods": "400"}))
        yield real


@pytest.fixture(autouse=True)
def _referee(plane: ControlPlane) -> Iterator[None]:
    """Have the referee watch every test; what a test made goes with it."""
    with refereed(plane):
        yield
    plane.api.ask("DELETE", PODS, {"gracePeriodSeconds": 0})
    awaited(lambda: not pods_of(plane), "the pods are gone")


def many(plane: ControlPlane, prefix: str, count: int, **changes: Any) -> list[str]:  # noqa: ANN401 - JSON
    """Create pods, some at a time."""
    names = [f"{prefix}-{number}" for number in range(count)]
    requests = {"cpu": "1m", "memory": "1Mi"}
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: create(plane, PODS, a_pod(name, requests=requests, **changes)), names))
    return names


def test_pods_are_bound_with_the_shipped_rights(plane: ControlPlane) -> None:
    """Events say so; nobody else's pods are touched; SIGTERM ends it with status 0 and frees the lease."""
    names = many(plane, "web", 40)
    create(plane, PODS, a_pod("theirs", "another"))
    with bayplan(plane) as scheduler:
        await_bound(plane, *names)
        awaited(lambda: len(events_of(plane, "web-7")) == 1, "the event is there")
        status = scheduler.stop()

    assert status == 0
    assert events_of(plane, "web-7") == [
        ("Normal", "Scheduled", f"Successfully assigned default/web-7 to {node_of(plane, 'web-7')}")
    ]
    assert node_of(plane, "theirs") == ""
    lease = plane.api.ask("GET", "/apis/coordination.k8s.io/v1/namespaces/bayplan/leases/bayplan")[1]
    assert not lease["spec"].get("holderIdentity")
    assert not [one for one in scheduler.told() if one["level"] in {"warning", "error"}]


def test_a_gate_is_waited_for(plane: ControlPlane) -> None:
    """The API server says that it is gated; when the gate goes, it is bound."""
    create(plane, PODS, a_pod("gated", schedulingGates=[{"name": "example.com/review"}]))
    with bayplan(plane) as scheduler:
        awaited(lambda: scheduler.has_told("everything is listed"), "it schedules")
        create(plane, PODS, a_pod("free"))
        await_bound(plane, "free")
        assert (node_of(plane, "gated"), condition_of(plane, "gated")[1]) == ("", "SchedulingGated")
        plane.api.ask("PATCH", f"{PODS}/gated", {"spec": {"schedulingGates": []}}, "application/merge-patch+json")
        await_bound(plane, "gated")


def test_a_claim_that_waits_for_its_first_consumer(plane: ControlPlane) -> None:
    """The node is written on the claim; a volume is made; the volume controller binds; then the pod is bound."""
    create(plane, CLASSES, {"metadata": {"name": "late"}, "provisioner": "disks.example.com",
                            "volumeBindingMode": "WaitForFirstConsumer"})  # fmt: skip
    wanted: dict[str, Any] = {"accessModes": ["ReadWriteOnce"], "storageClassName": "late"}
    size = {"resources": {"requests": {"storage": "1Gi"}}}
    create(plane, CLAIMS, {"metadata": {"name": "data"}, "spec": {**wanted, **size}})
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    create(plane, PODS, a_pod("database", volumes=[volume]))
    selected = "volume.kubernetes.io/selected-node"

    def claim() -> Any:  # noqa: ANN401 - JSON
        return plane.api.ask("GET", f"{CLAIMS}/data")[1]

    with volume_controller(plane), bayplan(plane):
        awaited(lambda: selected in claim()["metadata"].get("annotations", {}), "a node is selected")
        node = claim()["metadata"]["annotations"][selected]
        reference = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "data",
                     "uid": claim()["metadata"]["uid"]}  # fmt: skip
        term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}
        made = {**wanted, "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/none"}, "claimRef": reference,
                "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}  # fmt: skip
        note = {"pv.kubernetes.io/provisioned-by": "disks.example.com"}
        create(plane, VOLUMES, {"metadata": {"name": "made", "annotations": note}, "spec": made})
        await_bound(plane, "database")

    assert node_of(plane, "database") == node


def test_the_next_leader_goes_on_at_once_after_a_clean_exit(plane: ControlPlane) -> None:
    """Within 3 s, whatever the lease's duration is."""
    with bayplan(plane, "first") as first:
        awaited(lambda: first.has_told("holds lease"), "the first leads")
        with bayplan(plane, "second") as second:
            awaited(lambda: second.has_told("noted") or second.has_told("everything is listed"), "the second watches")
            create(plane, PODS, a_pod("one"))
            await_bound(plane, "one")
            assert first.stop() == 0
            create(plane, PODS, a_pod("two"))
            began = time.monotonic()
            await_bound(plane, "two", within_s=20)
            took_s = time.monotonic() - began

    assert took_s < 3, took_s


def test_the_next_leader_goes_on_after_kill_9_when_the_lease_has_run_out(plane: ControlPlane) -> None:
    """Within the lease's duration and 3 s; nothing is lost, and nothing is bound twice."""
    with bayplan(plane, "killed", *SOON) as first:
        awaited(lambda: first.has_told("holds lease"), "the first leads")
        with bayplan(plane, "next", *SOON) as second:
            awaited(lambda: second.has_told("started"), "the second stands by")
            names = many(plane, "early", 20)
            await_bound(plane, *names)
            first.kill()
            began = time.monotonic()
            create(plane, PODS, a_pod("late"))
            await_bound(plane, "late", within_s=30)
            took_s = time.monotonic() - began

    assert took_s < 4 + 3, took_s


def test_the_api_server_begins_anew_in_the_middle_of_a_thousand_pods(plane: ControlPlane) -> None:
    """Every pod ends up bound once, without anybody's help."""
    names = many(plane, "crowd", 1000)
    with bayplan(plane, "crowd", *LONG, "--bind-pods-qps", "150", "--bind-pods-burst", "50") as scheduler:
        awaited(lambda: sum("nodeName" in one["spec"] for one in pods_of(plane).values()) > 200, "some are bound")
        plane.server.kill()
        plane.server.begin()
        plane.await_ready()
        await_bound(plane, *names, within_s=120)
        assert scheduler.stop() == 0


def test_etcd_stands_still_for_ten_seconds(plane: ControlPlane) -> None:
    """Without election nothing is lost: what was asked for is found out afterwards."""
    with bayplan(plane, "patient", "--leader-elect=false") as scheduler:
        awaited(lambda: scheduler.has_told("everything is listed"), "it schedules")
        names = many(plane, "before", 50)
        await_bound(plane, *names[:10])
        more = many(plane, "during", 50)
        plane.etcd.pause()
        time.sleep(10)
        plane.etcd.go_on()
        await_bound(plane, *names, *more, within_s=120)
        assert scheduler.stop() == 0


def test_a_leader_that_cannot_renew_writes_nothing_more_and_ends(plane: ControlPlane) -> None:
    """With status 1, while etcd stands still for 30 s; the one that stands by goes on when it is back."""
    with bayplan(plane, "stuck", *SOON) as first:
        awaited(lambda: first.has_told("holds lease"), "the first leads")
        with bayplan(plane, "standby", *SOON) as second:
            awaited(lambda: second.has_told("everything is listed"), "the second stands by")
            plane.etcd.pause()
            began = time.monotonic()
            try:
                assert first.status(within_s=30) == 1
                time.sleep(max(0.0, 30 - (time.monotonic() - began)))
            finally:
                plane.etcd.go_on()
            plane.await_ready()
            create(plane, PODS, a_pod("after"))
            await_bound(plane, "after", within_s=60)
            assert second.stop() == 0

    assert first.has_told("the lease is lost")


# --- rights and credentials ------------------------------------------------------------------------------------------


def test_it_serves_default_scheduler_with_the_rights_shipped_for_that(plane: ControlPlane, tmp_path: Path) -> None:
    """Under kube-scheduler's own lease, with the configuration that is shipped."""
    (shipped,) = (one for one in install(plane, "instead.yaml") if one["kind"] == "ConfigMap")
    file = tmp_path / "scheduler.yaml"
    file.write_text(shipped["data"]["scheduler.yaml"], encoding="utf-8")
    own = ("--leader-elect-resource-namespace", "kube-system")
    create(plane, PODS, a_pod("usual", "default-scheduler"))
    with bayplan(plane, "instead", *own, "--config", str(file), "--without-preemption") as scheduler:
        await_bound(plane, "usual")
        assert scheduler.stop() == 0

    assert not [one for one in scheduler.told() if one["level"] in {"warning", "error"}]


def test_an_account_that_is_made_anew(plane: ControlPlane, tmp_path: Path) -> None:
    """Its old token is nobody's; the new one is taken from the file, without a restart."""
    accounts = f"/api/v1/namespaces/{NAME}/serviceaccounts"
    file = tmp_path / "token"

    def issue() -> None:
        wanted = {"spec": {"expirationSeconds": 3600}}
        file.write_text(create(plane, f"{accounts}/{NAME}/token", wanted)["status"]["token"], encoding="utf-8")

    issue()
    told = json.loads(plane.kubeconfig(BAYPLAN.name).read_text(encoding="utf-8"))
    told["users"][0]["user"] = {"tokenFile": str(file)}
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(json.dumps(told), encoding="utf-8")
    with bayplan(plane, "account", "--leader-elect=false", kubeconfig=kubeconfig) as scheduler:
        create(plane, PODS, a_pod("before"))
        await_bound(plane, "before")
        plane.api.ask("DELETE", f"{accounts}/{NAME}")
        create(plane, accounts, {"metadata": {"name": NAME}})
        time.sleep(1)  # the old token is known for good for a moment
        issue()
        create(plane, PODS, a_pod("after"))
        await_bound(plane, "after", within_s=90)
        assert scheduler.stop() == 0


def test_a_right_that_is_taken_away_is_named_and_costs_nothing_when_it_is_back(plane: ControlPlane) -> None:
    """The pod says what the API server says; once the right is back, it is bound."""
    role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/bayplan"
    whole = plane.api.ask("GET", role)[1]["rules"]
    less = [rule for rule in whole if "pods/binding" not in rule["resources"]]
    with bayplan(plane, "less") as scheduler:
        awaited(lambda: scheduler.has_told("everything is listed"), "it schedules")
        plane.api.ask("PATCH", role, {"rules": less}, "application/merge-patch+json")
        try:
            time.sleep(1)  # the API server takes note of roles a moment later
            create(plane, PODS, a_pod("refused"))
            awaited(lambda: condition_of(plane, "refused")[1] == "SchedulerError", "the pod says so")
            assert 'cannot create resource "pods/binding"' in condition_of(plane, "refused")[2]
        finally:
            plane.api.ask("PATCH", role, {"rules": whole}, "application/merge-patch+json")
        await_bound(plane, "refused", within_s=30)


# --- rules of somebody's own -----------------------------------------------------------------------------------------

RULES = """
from bayplan import Plugin
from bayplan.core.points import Wait


class Slow(Plugin):
    points = frozenset({"permit"})

    def permit(self, pod, node, gatehouse):
        return Wait(2) if pod.metadata.labels.get("app") == "slow" else None


class Broken(Plugin):
    points = frozenset({"filter"})

    def filter(self, state, view):
        raise KeyError("no such thing")
"""


def test_a_permission_that_does_not_come_is_not_waited_for_longer_than_was_said(
    plane: ControlPlane, tmp_path: Path
) -> None:
    """The pod says which rule it waited for, and how long; others are not held up."""
    file = tmp_path / "rules.py"
    file.write_text(RULES.partition("\n\nclass Broken")[0], encoding="utf-8")
    create(plane, PODS, a_pod("slow", labels={"app": "slow"}))
    with bayplan(plane, "permit", "--plugin", str(file)):
        create(plane, PODS, a_pod("quick"))
        await_bound(plane, "quick")
        awaited(lambda: condition_of(plane, "slow")[1] == "Unschedulable", "its time is over")

    assert condition_of(plane, "slow")[2] == (
        "0/1 nodes are available: 1 rejected due to timeout after waiting 2s at plugin Slow."
    )


def test_a_rule_that_raises_is_named_on_the_pod(plane: ControlPlane, tmp_path: Path) -> None:
    """With what it raised; the daemon goes on."""
    file = tmp_path / "rules.py"
    file.write_text(RULES, encoding="utf-8")
    create(plane, PODS, a_pod("unlucky"))
    with bayplan(plane, "broken", "--plugin", str(file)) as scheduler:
        awaited(lambda: condition_of(plane, "unlucky")[1] == "SchedulerError", "the pod says so")
        assert scheduler.stop() == 0

    assert "Broken" in condition_of(plane, "unlucky")[2]
    assert "KeyError: 'no such thing'" in condition_of(plane, "unlucky")[2]
