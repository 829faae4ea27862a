"""The real control plane itself: its users and their rights, its scheduler, its volume controller, its failures."""

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bayplan.playground.kubelets import Pace
from bayplan.playground.running import Where, lending
from tests.cluster.control_plane import (
    ADMIN,
    ControlPlane,
    User,
    awaited,
    control_plane,
    kube_scheduler,
    volume_controller,
)

pytestmark = pytest.mark.slow

PODS = "/api/v1/namespaces/default/pods"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
READER = User("reader", "of-a-reader", ("readers",))


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Run one control plane for all tests of this module."""
    folder: Path = tmp_path_factory.mktemp("plane")
    with control_plane(folder, (READER,)) as real:
        capacity = {"cpu": "4", "memory": "8Gi", "pods": "110"}
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""}
        status = {"capacity": capacity, "allocatable": capacity, "conditions": [ready]}
        node = {"metadata": {"name": "n"}, "status": status}
        assert real.api.ask("POST", "/api/v1/nodes", node)[0] == 201
        yield real


def pod(name: str, **spec: object) -> dict[str, Any]:
    """Give a pod."""
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i:1"}], **spec}}


def test_a_user_may_do_what_rbac_says_and_nothing_else(plane: ControlPlane) -> None:
    """A role that is bound to a user's group lets its users read; a wrong token is nobody's."""
    reader = plane.api_as(READER.token)
    assert reader.ask("GET", PODS)[0] == 403

    rbac = "/apis/rbac.authorization.k8s.io/v1"
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
    subject = {"kind": "Group", "name": "readers", "apiGroup": "rbac.authorization.k8s.io"}
    role = {"kind": "ClusterRole", "name": "read", "apiGroup": "rbac.authorization.k8s.io"}
    plane.api.ask("POST", f"{rbac}/clusterroles", {"metadata": {"name": "read"}, "rules": rules})
    bound = {"metadata": {"name": "read"}, "subjects": [subject], "roleRef": role}
    plane.api.ask("POST", f"{rbac}/clusterrolebindings", bound)

    awaited(lambda: reader.ask("GET", PODS)[0] == 200, "the reader may list")
    assert reader.ask("POST", PODS, pod("p"))[0] == 403
    assert plane.api_as("of-nobody").ask("GET", PODS)[0] == 401


def test_kube_scheduler_binds_the_pods_that_name_it_and_no_others(plane: ControlPlane) -> None:
    """It stands beside another scheduler under its own name."""
    with kube_scheduler(plane, "theirs"):
        for name, scheduler in (("ours", "ours"), ("theirs", "theirs")):
            assert plane.api.ask("POST", PODS, pod(name, schedulerName=scheduler))[0] == 201
        awaited(lambda: "nodeName" in plane.api.ask("GET", f"{PODS}/theirs")[1]["spec"], "kube-scheduler binds")

    assert "nodeName" not in plane.api.ask("GET", f"{PODS}/ours")[1]["spec"]


def test_the_volume_controller_binds_a_claim(plane: ControlPlane) -> None:
    """Nothing but the binder of volumes runs."""
    spec: dict[str, Any] = {"accessModes": ["ReadWriteOnce"], "storageClassName": "s"}
    volume = {**spec, "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/none"}}
    claim = {**spec, "resources": {"requests": {"storage": "1Gi"}}}
    with volume_controller(plane):
        plane.api.ask("POST", "/api/v1/persistentvolumes", {"metadata": {"name": "v"}, "spec": volume})
        plane.api.ask("POST", CLAIMS, {"metadata": {"name": "c"}, "spec": claim})
        awaited(lambda: plane.api.ask("GET", f"{CLAIMS}/c")[1]["status"]["phase"] == "Bound", "the claim is bound")


def test_the_api_server_comes_back_with_what_it_had(plane: ControlPlane) -> None:
    """It is killed and begun anew; etcd stands still for a moment and goes on."""
    plane.api.ask("POST", PODS, pod("kept"))
    plane.server.kill()
    with pytest.raises(OSError):  # noqa: PT011  # whichever way a connection fails
        plane.api.ask("GET", f"{PODS}/kept")
    plane.server.begin()
    plane.await_ready()
    plane.etcd.pause()
    plane.etcd.go_on()

    assert plane.api.ask("GET", f"{PODS}/kept")[0] == 200


def test_lent_kubelets_run_its_pods(plane: ControlPlane) -> None:
    """The real control plane has none of its own: nodes beat, bound pods run, deleted ones go."""
    where = Where(plane.url, ADMIN.token)
    with lending(where, Pace(start_s=0.0, end_s=0.0, heartbeat_s=1.0)):
        assert plane.api.ask("POST", PODS, pod("lent", nodeName="n"))[0] == 201
        awaited(lambda: plane.api.ask("GET", f"{PODS}/lent")[1]["status"]["phase"] == "Running", "the pod runs")
        leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
        awaited(lambda: plane.api.ask("GET", f"{leases}/n")[0] == 200, "the node has a lease")
        plane.api.ask("DELETE", f"{PODS}/lent")
        awaited(lambda: plane.api.ask("GET", f"{PODS}/lent")[0] == 404, "the deleted pod goes")


def test_kubelets_that_were_lent_leave_no_connection_open(plane: ControlPlane) -> None:
    """However often: what was left open would be told here, and not in somebody else's test."""
    for _ in range(8):
        with lending(Where(plane.url, ADMIN.token), Pace(heartbeat_s=0.1)) as machines:
            awaited(lambda: machines.call(lambda them: them is not None), "they live")
        gc.collect()
