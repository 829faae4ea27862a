"""bayplan on the real control plane: a process with exactly the shipped rights, and a referee that watches the objects.

Invariant: a test in which a node ever held more than it has fails, whatever it was about.
Not here: the control plane (`control_plane.py`), and what is claimed of it (`test_live*.py`).
"""

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from bayplan.api.decode import decode_tree
from bayplan.api.objects import Node, Pod
from bayplan.sim.audit import overcommitted
from tests.architecture.files import ROOT
from tests.cluster.control_plane import ControlPlane, Process, User, awaited

NAME = "bayplan"
BAYPLAN = User(f"system:serviceaccount:{NAME}:{NAME}", "of-bayplan", ("system:serviceaccounts", "system:authenticated"))
PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
COMMAND = (sys.executable, "-c", "from bayplan.cli import main; main()")
LOOKS_EVERY_S = 1.0

_PATHS = {
    "Namespace": "/api/v1/namespaces",
    "ServiceAccount": "/api/v1/namespaces/{}/serviceaccounts",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings",
    "ConfigMap": "/api/v1/namespaces/{}/configmaps",
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
}


def install(plane: ControlPlane, manifest: str = "beside.yaml") -> list[dict[str, Any]]:
    """Create everything of a shipped manifest, as `kubectl apply` would; return it."""
    things = list(yaml.safe_load_all((ROOT / "deploy" / manifest).read_text(encoding="utf-8")))
    for thing in things:
        path = _PATHS[thing["kind"]].format(thing["metadata"].get("namespace", ""))
        code, told = plane.api.ask("POST", path, thing)
        assert code in {201, 409}, told
    return things


class Scheduler(Process):
    """A bayplan that runs."""

    def told(self) -> list[dict[str, Any]]:
        """Give what it has logged."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        found = []
        for line in lines:
            with suppress(ValueError):
                found.append(json.loads(line))
        return found

    def has_told(self, message: str) -> bool:
        """Say whether it has logged an event."""
        return any(message in one.get("msg", "") for one in self.told())

    def status(self, within_s: float = 60) -> int:
        """Wait for its end and give its exit status."""
        return self._process.wait(within_s)


@contextmanager
def bayplan(
    plane: ControlPlane, name: str = NAME, *arguments: str, kubeconfig: Path | None = None
) -> Iterator[Scheduler]:
    """Run bayplan with the shipped rights; what it says goes to a log in the plane's folder."""
    given = ["--secure-port", "0", "--logging-format", "json", "--leader-elect-resource-namespace", NAME, *arguments]
    command = [*COMMAND, "run", "--kubeconfig", str(kubeconfig or plane.kubeconfig(BAYPLAN.name)), *given]
    process = Scheduler(command, plane.folder / f"{name}.log")
    try:
        yield process
    finally:
        process.kill()


# --- objects ---------------------------------------------------------------------------------------------------------


def a_node(name: str, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """Give a node: labels, taints, unschedulable and room may be others."""
    room = {"cpu": "4", "memory": "8Gi", "pods": "110", **changes.pop("room", {})}
    labels = {"kubernetes.io/hostname": name, **changes.pop("labels", {})}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""}
    status = {"capacity": room, "allocatable": room, "conditions": [ready], **changes.pop("status", {})}
    return {"metadata": {"name": name, "labels": labels}, "spec": changes, "status": status}


def a_pod(name: str, scheduler: str = NAME, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """Give a pod of one container."""
    container: dict[str, Any] = {"name": "c", "image": "registry.example.com/app:1"}
    requests = changes.pop("requests", {"cpu": "100m", "memory": "64Mi"})
    container["resources"] = {"requests": requests, "limits": {k: v for k, v in requests.items() if "/" in k}}
    container |= changes.pop("container", {})
    meta = {"name": name, "labels": changes.pop("labels", {})}
    return {"metadata": meta, "spec": {"schedulerName": scheduler, "containers": [container], **changes}}


def create(plane: ControlPlane, path: str, thing: dict[str, Any]) -> Any:  # noqa: ANN401 - JSON
    """Create an object; a node's and a volume's status is written too."""
    code, told = plane.api.ask("POST", path, thing)
    assert code == 201, told
    return told


def pods_of(plane: ControlPlane) -> dict[str, Any]:
    """Give every pod by its name."""
    return {one["metadata"]["name"]: one for one in plane.api.ask("GET", PODS)[1]["items"]}


def node_of(plane: ControlPlane, name: str) -> str:
    """Say where a pod is; nowhere is empty."""
    return str(plane.api.ask("GET", f"{PODS}/{name}")[1].get("spec", {}).get("nodeName", ""))


def await_bound(plane: ControlPlane, *names: str, within_s: float = 60) -> None:
    """Wait until pods have nodes."""

    def are_bound() -> bool:
        there = pods_of(plane)
        return all(there[name]["spec"].get("nodeName") for name in names)

    awaited(are_bound, f"{len(names)} pods are bound, such as {names[0]}", within_s)


def condition_of(plane: ControlPlane, name: str) -> tuple[str, str, str]:
    """Give a pod's PodScheduled condition: status, reason, message."""
    pod = plane.api.ask("GET", f"{PODS}/{name}")[1]
    for one in pod.get("status", {}).get("conditions", ()):
        if one["type"] == "PodScheduled":
            return one["status"], one.get("reason", ""), one.get("message", "")
    return "", "", ""


def events_of(plane: ControlPlane, name: str) -> list[tuple[str, str, str]]:
    """Give the events about a pod: type, reason, text."""
    query = f"{EVENTS}?fieldSelector=regarding.name%3D{name}"
    code, told = plane.api.ask("GET", query)
    items = told["items"] if code == 200 else plane.api.ask("GET", EVENTS)[1]["items"]
    found = [one for one in items if one["regarding"]["name"] == name]
    return [(one["type"], one["reason"], one["note"]) for one in found]


# --- the referee -----------------------------------------------------------------------------------------------------


class Look(NamedTuple):
    """What the referee found."""

    wrong: list[str]
    looks: list[int]  # how many pods each look saw


@contextmanager
def refereed(plane: ControlPlane) -> Iterator[Look]:
    """Look at nodes and pods every second and at the end; nothing may ever be wrong."""
    found, ended = Look([], []), threading.Event()

    def look() -> None:
        nodes = [decode_tree({**one, "apiVersion": "v1", "kind": "Node"}) for one in _items(plane, NODES)]
        pods = [decode_tree({**one, "apiVersion": "v1", "kind": "Pod"}) for one in _items(plane, "/api/v1/pods")]
        found.wrong.extend(
            overcommitted(
                [one for one in nodes if isinstance(one, Node)], [one for one in pods if isinstance(one, Pod)]
            )
        )
        found.looks.append(len(pods))

    def watch() -> None:
        while not ended.wait(LOOKS_EVERY_S):
            with suppress(OSError, KeyError, TypeError):  # the API server is away for a moment
                look()

    thread = threading.Thread(target=watch, name="referee", daemon=True)
    thread.start()
    try:
        yield found
    finally:
        ended.set()
        thread.join()
    look()
    assert found.wrong == []


def _items(plane: ControlPlane, path: str) -> list[dict[str, Any]]:
    return list(plane.api.ask("GET", path)[1]["items"])


def log_of(path: Path) -> str:
    """Give the end of a log, for a failure's message."""
    return path.read_text(encoding="utf-8", errors="replace")[-3000:]
