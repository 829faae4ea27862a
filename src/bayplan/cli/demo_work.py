"""The demo's work: a mixed workload that keeps arriving, and goes again, so that there is always something to decide.

Services spread over zones, jobs that end by themselves, databases with volumes and one member to a machine, and now and
then a pod that fits nowhere, or waits for somebody's word.
Invariant: a seed gives the same objects in the same order, and what is there at a time is bounded.
Not here: when they are made (demo.py), and what becomes of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from random import Random
from typing import Final, NamedTuple

from bayplan.playground.kubelets import RUNS_FOR
from bayplan.playground.refusals import Refused
from bayplan.playground.server import Server
from bayplan.playground.trees import Map
from bayplan.playground.verbs import Deletion

NAMESPACE: Final = "demo"
KEPT_MAX: Final = 40  # applications at a time
ZONE: Final = "topology.kubernetes.io/zone"
HOSTNAME: Final = "kubernetes.io/hostname"
CLASS: Final = "disks"
KINDS: Final = ("service", "service", "job", "job", "job", "database", "whale", "gated")


class Made(NamedTuple):
    """An object that is to be created."""

    group: str
    version: str
    plural: str
    tree: Map


class Work:
    """Creates applications in a playground, and deletes the oldest when there are many."""

    def __init__(self, seed: int) -> None:
        self._luck = Random(seed)  # noqa: S311 - a demo needs a seed, not secrecy
        self._count = 0
        self._there: deque[Made] = deque()

    def begin(self, server: Server) -> None:
        """Create what everything else stands on."""
        for made in foundations():
            _create(server, made)

    def more(self, server: Server) -> None:
        """Create the next application; delete the oldest, if there are too many."""
        self._count += 1
        kind = KINDS[self._count % len(KINDS)] if self._count <= len(KINDS) else self._luck.choice(KINDS)
        made = _application(kind, f"{kind}-{self._count}", self._luck)
        _create(server, made)
        self._there.append(made)
        if len(self._there) > KEPT_MAX:
            _delete(server, self._there.popleft())


def foundations() -> Iterator[Made]:
    """Give the namespace and the class of disks."""
    yield Made("", "v1", "namespaces", {"metadata": {"name": NAMESPACE}})
    yield Made(
        "storage.k8s.io",
        "v1",
        "storageclasses",
        {
            "metadata": {"name": CLASS},
            "provisioner": "disks.example.com",
            "volumeBindingMode": "WaitForFirstConsumer",
        },
    )


def _application(kind: str, name: str, luck: Random) -> Made:
    labels: Map = {"app": name}
    match kind:
        case "service":
            spread: Map = {"topologySpreadConstraints": [_spread(labels)]}
            spec = {**_pods(f"{luck.choice((250, 500, 1000))}m", "1Gi"), **spread}
            return _of_template("deployments", name, luck.randint(6, 24), spec)
        case "job":
            tree = _template(name, _pods(f"{luck.choice((1, 2, 4))}", "4Gi"), f"{luck.randint(5, 30)}s")
            workers = luck.randint(5, 40)
            spec = {"parallelism": workers, "completions": workers, "template": tree}
            return Made("batch", "v1", "jobs", {"metadata": {"name": name}, "spec": spec})
        case "database":
            return _of_template("statefulsets", name, 3, {**_pods("2", "8Gi"), "affinity": _apart(labels)})
        case "whale":
            return _pod(name, _pods("64", "16Gi"))
        case _:
            return _pod(name, {**_pods("1", "1Gi"), "schedulingGates": [{"name": "example.com/quota-review"}]})


def _pods(cpu: str, memory: str) -> Map:
    requests: Map = {"cpu": cpu, "memory": memory}
    container: Map = {"name": "main", "image": "registry.example.com/app:1", "resources": {"requests": requests}}
    return {"containers": [container]}


def _template(name: str, spec: Map, runs_for: str = "") -> Map:
    meta: Map = {"labels": {"app": name}}
    if runs_for:
        meta["annotations"] = {RUNS_FOR: runs_for}
        spec = {**spec, "restartPolicy": "Never"}
    return {"metadata": meta, "spec": spec}


def _of_template(plural: str, name: str, replicas: int, pods: Map) -> Made:
    spec: Map = {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": name}},
        "template": _template(name, pods),
    }
    if plural == "statefulsets":
        claim: Map = {"accessModes": ["ReadWriteOnce"], "storageClassName": CLASS}
        claim["resources"] = {"requests": {"storage": "20Gi"}}
        spec["serviceName"] = name
        spec["podManagementPolicy"] = "Parallel"
        spec["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": claim}]
    return Made("apps", "v1", plural, {"metadata": {"name": name}, "spec": spec})


def _pod(name: str, spec: Map) -> Made:
    return Made("", "v1", "pods", {"metadata": {"name": name, "labels": {"app": name}}, "spec": spec})


def _spread(labels: Map) -> Map:
    return {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": labels},
    }


def _apart(labels: Map) -> Map:
    term: Map = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": labels}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _create(server: Server, made: Made) -> None:
    kind = server.kinds.find(made.group, made.version, made.plural)
    if kind is None:
        raise LookupError(f"the playground serves no {made.plural}")
    server.verbs.create(kind, NAMESPACE if kind.namespaced else "", made.tree)


def _delete(server: Server, made: Made) -> None:
    kind = server.kinds.find(made.group, made.version, made.plural)
    meta = made.tree["metadata"]
    name = str(meta["name"]) if isinstance(meta, dict) else ""
    if kind is not None:
        try:
            server.verbs.delete(kind, (NAMESPACE, name), Deletion(propagation="Background"))
        except Refused:  # somebody was quicker
            return
