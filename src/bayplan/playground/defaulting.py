"""Defaulting: what a real API server fills in wherever it reads an object, be it new or changed.

It depends on the object alone; what the rest of the cluster decides is admission's.
Invariant: the tree that is handed over belongs to this module while it works on it, and filling it twice is as once.
Not here: priorities, limits, namespaces, and what only a new object gets (`admission.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from bayplan.playground.kinds import Kind
from bayplan.playground.quantities import straighten
from bayplan.playground.trees import Map, at, copied, items, mapping, maps, opened, pairs, text

_MODES: Final = ("configMap", "secret", "downwardAPI", "projected")
_PROBES: Final = ("readinessProbe", "livenessProbe", "startupProbe")
_PROBE: Final = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}


def fill(kind: Kind, tree: Map) -> None:
    """Fill in what an object of a kind leaves out, and write it as it will be told."""
    meta = opened(tree, "metadata")
    for field in ("labels", "annotations", "finalizers", "ownerReferences"):
        if meta.get(field) in ({}, []):
            del meta[field]
    for field, value in copied(_PLAIN.get(kind.stored_as, {})).items():
        if tree.get(field) is None:
            tree[field] = value
    into = _SPECS.get(kind.stored_as)
    if into is not None:
        spec = opened(tree, "spec")
        for field, value in copied(into).items():
            if spec.get(field) in (None, "", {}):
                spec[field] = value
    complete = _COMPLETE.get(kind.stored_as)
    if complete is not None:
        complete(tree)


# --- pods and what makes them ----------------------------------------------------------------------------------------


def pod_spec(spec: Map) -> None:
    """Fill in what a pod's or a template's spec leaves out."""
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("securityContext", {})
    straighten(spec, "overhead")
    for part in ("requests", "limits"):
        straighten(spec, "resources", part)
    for container in [*maps(spec, "containers"), *maps(spec, "initContainers")]:
        _container(container)
    for constraint in maps(spec, "topologySpreadConstraints"):
        if at(constraint, "labelSelector", "matchLabels") == {}:
            opened(constraint, "labelSelector").pop("matchLabels")
    for volume in maps(spec, "volumes"):
        for source in _MODES:
            if isinstance(volume.get(source), dict):
                opened(volume, source).setdefault("defaultMode", 420)
        if isinstance(volume.get("hostPath"), dict):
            opened(volume, "hostPath").setdefault("type", "")


def _container(container: Map) -> None:
    container.setdefault("resources", {})
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    image = text(container, "image")
    latest = image.endswith(":latest") or ":" not in image.rsplit("/", 1)[-1]
    container.setdefault("imagePullPolicy", "Always" if latest else "IfNotPresent")
    for part in ("requests", "limits"):
        straighten(container, "resources", part)
    for port in maps(container, "ports"):
        port.setdefault("protocol", "TCP")
    for one in maps(container, "env"):
        if isinstance(at(one, "valueFrom", "fieldRef"), dict):
            opened(one, "valueFrom", "fieldRef").setdefault("apiVersion", "v1")
    for name in _PROBES:
        probe = container.get(name)
        if isinstance(probe, dict):
            for field, value in _PROBE.items():
                probe.setdefault(field, value)
            if isinstance(probe.get("httpGet"), dict):
                opened(probe, "httpGet").setdefault("scheme", "HTTP")


def _pod(tree: Map) -> None:
    spec = opened(tree, "spec")
    pod_spec(spec)
    spec.setdefault("enableServiceLinks", True)
    for container in [*maps(spec, "containers"), *maps(spec, "initContainers")]:
        for name, value in mapping(container, "resources", "limits").items():
            opened(container, "resources", "requests").setdefault(name, value)


def _workload(tree: Map) -> None:
    template = at(tree, "spec", "template")
    if isinstance(template, dict) and isinstance(template.get("spec"), dict):
        pod_spec(opened(template, "spec"))


def _controller(tree: Map) -> None:
    labels = pairs(tree, "spec", "template", "metadata", "labels")
    if labels:
        if not mapping(tree, "spec", "selector"):
            opened(tree, "spec")["selector"] = {**labels}
        if not mapping(tree, "metadata", "labels"):
            opened(tree, "metadata")["labels"] = {**labels}
    _workload(tree)


def _stateful_set(tree: Map) -> None:
    spec = opened(tree, "spec")
    if text(spec, "updateStrategy", "type") in {"", "RollingUpdate"}:
        opened(spec, "updateStrategy", "rollingUpdate").setdefault("partition", 0)
        opened(spec, "updateStrategy", "rollingUpdate").setdefault("maxUnavailable", 1)
    _workload(tree)


def _job(tree: Map) -> None:
    spec = opened(tree, "spec")
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    if not mapping(tree, "metadata", "labels") and (labels := pairs(spec, "template", "metadata", "labels")):
        opened(tree, "metadata")["labels"] = {**labels}
    _workload(tree)


def _cron_job(tree: Map) -> None:
    inside = at(tree, "spec", "jobTemplate", "spec", "template", "spec")
    if isinstance(inside, dict):
        pod_spec(inside)


# --- other kinds -----------------------------------------------------------------------------------------------------


def _namespace(tree: Map) -> None:
    opened(tree, "metadata", "labels")["kubernetes.io/metadata.name"] = text(tree, "metadata", "name")


def _node(tree: Map) -> None:
    spec, status = opened(tree, "spec"), opened(tree, "status")
    for part in ("capacity", "allocatable"):
        straighten(status, part)
    if status.get("capacity") and not status.get("allocatable"):
        status["allocatable"] = {**mapping(status, "capacity")}
    if text(spec, "podCIDR") and not items(spec, "podCIDRs"):
        spec["podCIDRs"] = [text(spec, "podCIDR")]
    opened(status, "daemonEndpoints", "kubeletEndpoint").setdefault("Port", 0)
    info = opened(status, "nodeInfo")
    for field in _NODE_INFO:
        info.setdefault(field, "")


def _claim(tree: Map) -> None:
    for part in ("requests", "limits"):
        straighten(tree, "spec", "resources", part)
    straighten(tree, "status", "capacity")


def _volume(tree: Map) -> None:
    straighten(tree, "spec", "capacity")
    if isinstance(at(tree, "spec", "hostPath"), dict):
        opened(tree, "spec", "hostPath").setdefault("type", "")


def _service(tree: Map) -> None:
    for port in maps(tree, "spec", "ports"):
        port.setdefault("protocol", "TCP")
        port.setdefault("targetPort", port.get("port"))


def _limit_range(tree: Map) -> None:
    for limit in maps(tree, "spec", "limits"):
        for part in ("default", "defaultRequest", "max", "min"):
            straighten(limit, part)
        if text(limit, "type") != "Container":
            continue
        for name, value in mapping(limit, "max").items():
            opened(limit, "default").setdefault(name, value)
        for part in ("default", "min"):
            for name, value in mapping(limit, part).items():
                opened(limit, "defaultRequest").setdefault(name, value)


def _quota(tree: Map) -> None:
    straighten(tree, "spec", "hard")


def _device_claim(spec: Map) -> None:
    for request in maps(spec, "devices", "requests"):
        exactly = request.get("exactly")
        if isinstance(exactly, dict) and text(exactly, "allocationMode") in {"", "ExactCount"}:
            exactly["allocationMode"] = "ExactCount"
            exactly.setdefault("count", 1)


_NODE_INFO: Final = (
    *("machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion"),
    *("kubeletVersion", "kubeProxyVersion", "operatingSystem", "architecture"),
)
_PLAIN: Final[dict[tuple[str, str], Map]] = {
    ("storage.k8s.io", "storageclasses"): {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"},
    ("scheduling.k8s.io", "priorityclasses"): {"value": 0, "preemptionPolicy": "PreemptLowerPriority"},
    ("", "secrets"): {"type": "Opaque"},
    ("", "events"): {"source": {}, "reportingComponent": "", "reportingInstance": ""},
}
_SPECS: Final[dict[tuple[str, str], Map]] = {
    ("apps", "deployments"): {
        "replicas": 1,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}},
        "revisionHistoryLimit": 10,
        "progressDeadlineSeconds": 600,
    },
    ("apps", "replicasets"): {"replicas": 1},
    ("", "replicationcontrollers"): {"replicas": 1},
    ("apps", "statefulsets"): {
        "replicas": 1,
        "podManagementPolicy": "OrderedReady",
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0, "maxUnavailable": 1}},
        "revisionHistoryLimit": 10,
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
    },
    ("apps", "daemonsets"): {
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}},
        "revisionHistoryLimit": 10,
    },
    ("batch", "jobs"): {
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "suspend": False,
        "manualSelector": False,
        "podReplacementPolicy": "TerminatingOrFailed",
    },
    ("batch", "cronjobs"): {
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
    },
    ("", "persistentvolumeclaims"): {"volumeMode": "Filesystem"},
    ("", "persistentvolumes"): {"volumeMode": "Filesystem", "persistentVolumeReclaimPolicy": "Retain"},
    ("", "services"): {"type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster"},
    ("storage.k8s.io", "csidrivers"): {
        "attachRequired": True,
        "podInfoOnMount": False,
        "storageCapacity": False,
        "fsGroupPolicy": "ReadWriteOnceWithFSType",
        "volumeLifecycleModes": ["Persistent"],
        "requiresRepublish": False,
        "seLinuxMount": False,
        "preventPodSchedulingIfMissing": False,
    },
}
_COMPLETE: Final[dict[tuple[str, str], Callable[[Map], None]]] = {
    ("", "pods"): _pod,
    ("", "namespaces"): _namespace,
    ("", "nodes"): _node,
    ("", "replicationcontrollers"): _controller,
    ("apps", "replicasets"): _workload,
    ("apps", "deployments"): _workload,
    ("apps", "statefulsets"): _stateful_set,
    ("apps", "daemonsets"): _workload,
    ("batch", "jobs"): _job,
    ("batch", "cronjobs"): _cron_job,
    ("", "persistentvolumeclaims"): _claim,
    ("", "persistentvolumes"): _volume,
    ("", "services"): _service,
    ("", "limitranges"): _limit_range,
    ("", "resourcequotas"): _quota,
    ("resource.k8s.io", "resourceclaims"): lambda tree: _device_claim(opened(tree, "spec")),
    ("resource.k8s.io", "resourceclaimtemplates"): lambda tree: _device_claim(opened(tree, "spec", "spec")),
}
