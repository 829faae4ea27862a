"""bayplan on the real control plane: it binds, waits, is led, ends, and lives through what befalls the API server."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.control_plane import ControlPlane, awaited, control_plane, volume_controller
from tests.cluster.live import (
    BAYPLAN,
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
    with bayplan(plane, "crowd", "--bind-pods-qps", "150", "--bind-pods-burst", "50") as scheduler:
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
    """With status 1; the one that stands by goes on when etcd does."""
    with bayplan(plane, "stuck", *SOON) as first:
        awaited(lambda: first.has_told("holds lease"), "the first leads")
        plane.etcd.pause()
        try:
            assert first.status(within_s=30) == 1
        finally:
            plane.etcd.go_on()
        assert first.has_told("the lease is lost")
        plane.await_ready()
        with bayplan(plane, "after", *SOON):
            create(plane, PODS, a_pod("after"))
            await_bound(plane, "after", within_s=30)
