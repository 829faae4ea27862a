"""Pod templates, and the bytes of their pods as the API server would send them.

A template is written as JSON once; each pod's own words (name, uid, node) are put into a copy of it, so that 150,000
pods are written faster than they are read.
Not here: which templates a workload has (workloads.py).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from bayplan.api.decode import decode, decode_pod
from bayplan.api.objects import Object, Pod
from bayplan.api.share import Sharer

NAMESPACE: Final = "default"
NUMBER: Final = "@number@"  # these stand for a pod's own words
UID: Final = "@uid@"
NODE: Final = "@node@"
JOB, REPLICA_SET, STATEFUL_SET = "Job", "ReplicaSet", "StatefulSet"
API_VERSIONS: Final = {REPLICA_SET: "apps/v1", STATEFUL_SET: "apps/v1", JOB: "batch/v1"}
WRITTEN_AT: Final = "2026-03-02T08:00:00Z"
PATIENCE: Final = [
    {"key": f"node.kubernetes.io/{word}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for word in ("not-ready", "unreachable")
]

Tree = dict[str, Any]


class Template(msgspec.Struct, frozen=True, kw_only=True):
    """What pods of one owner have in common."""

    owner: str  # the owner's name
    image: str
    kind: str  # the owner's
    cpu_milli: int
    memory_bytes: int
    labels: Mapping[str, str] = {}
    own_labels: Mapping[str, str] = {}  # besides: those that name the pod
    spec: Mapping[str, Any] = {}  # further fields of the pod's spec
    claim: str = ""  # what the claim of each pod is called, before its number
    host_port: int = 0

    @property
    def uid(self) -> str:
        """Return the owner's uid."""
        return f"{zlib.crc32(self.owner.encode()):08x}-0000-4000-9000-000000000000"


class Mould:
    """A template's pods, as bytes; those that run name their node."""

    def __init__(self, template: Template, *, runs: bool = False) -> None:
        """Write what the pods have in common."""
        self._raw = msgspec.json.encode(_pod(template, runs=runs))

    def raw(self, number: int, node: str = "") -> bytes:
        """Return the bytes of one pod."""
        raw = self._raw.replace(b"@uid@", b"%08x-0000-4000-8000-000000000000" % number)
        return raw.replace(b"@number@", b"%d" % number).replace(b"@node@", node.encode())


def waiting(templates: Sequence[Template], number: int, first: int = 0) -> list[Pod]:
    """Read pods that wait, of some templates in turn."""
    share, moulds = Sharer().share, [Mould(template) for template in templates]
    return [share(decode_pod(moulds[place % len(moulds)].raw(first + place))) for place in range(number)]


def owners(templates: Sequence[Template], services: Mapping[str, Mapping[str, str]]) -> Iterator[Object]:
    """Yield the controllers of templates, where the default rules look at them, and services by name and selector."""
    for name, selector in services.items():
        spec = {"clusterIP": "None", "selector": selector, "ports": [{"port": 80, "protocol": "TCP"}]}
        yield read({"apiVersion": "v1", "kind": "Service", "metadata": meta(name), "spec": spec})
    for template in templates:
        if template.kind != JOB:
            pod = {"metadata": {"labels": template.labels}, "spec": {"containers": [{"name": "main"}]}}
            of_owner: Tree = {"replicas": 1, "selector": {"matchLabels": template.labels}, "template": pod}
            about = {**meta(template.owner), "uid": template.uid}
            yield read({"apiVersion": "apps/v1", "kind": template.kind, "metadata": about, "spec": of_owner})


def read(tree: Tree) -> Object:
    """Write an object as JSON and read it, as it would come from the API server."""
    return decode(msgspec.json.encode(tree))


def meta(name: str, namespace: str = NAMESPACE) -> Tree:
    """Return what every object says of itself."""
    uid = f"{zlib.crc32(name.encode()):08x}-0000-4000-b000-000000000000"
    return {"name": name, "namespace": namespace, "uid": uid, "creationTimestamp": WRITTEN_AT}


# --- a pod ------------------------------------------------------------------------------------------------------------


def _pod(template: Template, *, runs: bool) -> Tree:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _meta(template, runs=runs),
        "spec": _spec(template, runs=runs),
        "status": _status() if runs else {"phase": "Pending", "qosClass": "Burstable"},
    }


def _meta(template: Template, *, runs: bool) -> Tree:
    controller = {
        "apiVersion": API_VERSIONS[template.kind],
        "kind": template.kind,
        "name": template.owner,
        "uid": template.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    fields: Tree = {
        "f:metadata": {"f:generateName": {}, "f:labels": {".": {}, "f:app": {}}, "f:ownerReferences": {".": {}}}
    }
    managers = [("kube-controller-manager", fields)]
    if runs:
        phases: Tree = {"f:status": {"f:conditions": {}, "f:containerStatuses": {}, "f:phase": {}, "f:podIP": {}}}
        managers.append(("kubelet", phases))
    return {
        "name": f"{template.owner}-{NUMBER}",
        "generateName": f"{template.owner}-",
        "namespace": NAMESPACE,
        "uid": UID,
        "resourceVersion": f"1{NUMBER}",
        "creationTimestamp": WRITTEN_AT,
        "labels": {**template.labels, **template.own_labels},
        "ownerReferences": [controller],
        "managedFields": [
            {"manager": manager, "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
             "time": WRITTEN_AT, "fieldsV1": written}
            for manager, written in managers
        ],
    }  # fmt: skip


def _spec(template: Template, *, runs: bool) -> Tree:
    access = f"kube-api-access-{NUMBER}"
    mounts: list[Tree] = [{"name": access, "readOnly": True, "mountPath": "/var/run/secrets/kubernetes.io"}]
    volumes: list[Tree] = [{"name": access, "projected": {"defaultMode": 420, "sources": [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}}]}}]  # fmt: skip
    if template.claim:
        mounts.append({"name": "data", "mountPath": "/data"})
        volumes.append({"name": "data", "persistentVolumeClaim": {"claimName": f"{template.claim}-{NUMBER}"}})
    container: Tree = {
        "name": "main",
        "image": f"registry.example.com/{template.image}:1",
        "imagePullPolicy": "IfNotPresent",
        "resources": {"requests": {"cpu": f"{template.cpu_milli}m", "memory": str(template.memory_bytes)}},
        "volumeMounts": mounts,
    }
    if template.host_port:
        container["ports"] = [{"containerPort": template.host_port, "hostPort": template.host_port, "protocol": "TCP"}]
    spec: Tree = {
        "containers": [container],
        "dnsPolicy": "ClusterFirst",
        "preemptionPolicy": "PreemptLowerPriority",
        "priority": 0,
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "serviceAccountName": "default",
        "terminationGracePeriodSeconds": 30,
        "volumes": volumes,
        **template.spec,
    }
    spec["tolerations"] = [*template.spec.get("tolerations", ()), *PATIENCE]
    return spec | ({"nodeName": NODE} if runs else {})


def _status() -> Tree:
    kinds = ("Initialized", "Ready", "ContainersReady", "PodScheduled")
    return {
        "phase": "Running",
        "qosClass": "Burstable",
        "startTime": WRITTEN_AT,
        "conditions": [{"type": kind, "status": "True", "lastTransitionTime": WRITTEN_AT} for kind in kinds],
        "hostIP": "10.0.0.1",
        "podIP": "10.1.0.1",
        "containerStatuses": [
            {"name": "main", "ready": True, "started": True, "restartCount": 0, "image": "registry.example.com/main:1",
             "state": {"running": {"startedAt": WRITTEN_AT}}}
        ],
    }  # fmt: skip
