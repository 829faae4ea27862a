"""Admission: what a real API server fills in, and what it refuses, before an object is stored.

Only what a scheduler or its users depend on is filled in; the constants are those of `api/defaults.py`.
Invariant: the tree that is handed over belongs to this module while it works on it, and is changed in place.
Not here: names, versions and other metadata, which every kind has (`verbs.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from bayplan.api.defaults import AWAY, SYSTEM_PRIORITIES
from bayplan.api.yamltree import Tree
from bayplan.playground.kinds import Kind
from bayplan.playground.refusals import forbidden, invalid, not_found
from bayplan.playground.store import Store
from bayplan.playground.trees import Map, at, copied, items, mapping, maps, opened, pairs, text, whole

NAMESPACES: Final = ("", "namespaces")
_DEFAULT_CLASS: Final = "storageclass.kubernetes.io/is-default-class"


def admit(kind: Kind, tree: Map, store: Store) -> None:
    """Complete a new object as its kind asks; raise Refused where the API server would refuse it."""
    if kind.namespaced:
        _check_namespace(kind, tree, store)
    if kind.has_status and kind.plural != "nodes":
        tree.pop("status", None)
    complete = _COMPLETE.get(kind.stored_as)
    if complete is not None:
        complete(kind, tree, store)


def _check_namespace(kind: Kind, tree: Map, store: Store) -> None:
    name = text(tree, "metadata", "namespace")
    found = store.shelf(NAMESPACES).objects.get(("", name))
    if found is None:
        raise not_found(Kind("", "v1", "Namespace", "namespaces", "namespace"), name)
    if text(found.tree, "metadata", "deletionTimestamp"):
        why = f"unable to create new content in namespace {name} because it is being terminated"
        raise forbidden(kind, text(tree, "metadata", "name"), why)


# --- pods ------------------------------------------------------------------------------------------------------------


def _pod(kind: Kind, tree: Map, store: Store) -> None:
    name = text(tree, "metadata", "name")
    if not maps(tree, "spec", "containers"):
        raise invalid(kind, name, "spec.containers", "Required value", "FieldValueRequired")
    spec = opened(tree, "spec")
    pod_defaults(spec)
    _limits(tree, store)
    _priority(kind, tree, store)
    spec["tolerations"] = [*items(spec, "tolerations"), *_away(spec)]
    status: Map = {"phase": "Pending", "qosClass": _quality(spec)}
    if items(spec, "schedulingGates"):
        if text(spec, "nodeName"):
            fault = "Forbidden: cannot be set until all schedulingGates have been cleared"
            raise invalid(kind, name, "spec.nodeName", fault, "FieldValueForbidden")
        gated: Map = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}
        gated["message"] = "Scheduling is blocked due to non-empty scheduling gates"
        status["conditions"] = [gated]
    tree["status"] = status


def pod_defaults(spec: Map) -> None:
    """Fill in what a pod's or a template's spec leaves out."""
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("securityContext", {})
    for container in [*maps(spec, "containers"), *maps(spec, "initContainers")]:
        container.setdefault("resources", {})
        container.setdefault("terminationMessagePath", "/dev/termination-log")
        container.setdefault("terminationMessagePolicy", "File")
        image = text(container, "image")
        latest = image.endswith(":latest") or ":" not in image.rsplit("/", 1)[-1]
        container.setdefault("imagePullPolicy", "Always" if latest else "IfNotPresent")
        for port in maps(container, "ports"):
            port.setdefault("protocol", "TCP")


def _limits(tree: Map, store: Store) -> None:
    """Fill in requests and limits from the namespace's limit ranges, and requests from limits."""
    spec = mapping(tree, "spec")
    namespace = text(tree, "metadata", "namespace")
    ranges = [
        limit
        for (within, _), stored in store.shelf(("", "limitranges")).objects.items()
        if within == namespace
        for limit in maps(stored.tree, "spec", "limits")
        if text(limit, "type") == "Container"
    ]
    for container in [*maps(spec, "containers"), *maps(spec, "initContainers")]:
        _from_own_limits(container)
        for limit in ranges:
            for name, value in mapping(limit, "defaultRequest").items():
                opened(container, "resources", "requests").setdefault(name, value)
            for name, value in mapping(limit, "default").items():
                opened(container, "resources", "limits").setdefault(name, value)
        _from_own_limits(container)


def _from_own_limits(container: Map) -> None:
    for name, value in mapping(container, "resources", "limits").items():
        opened(container, "resources", "requests").setdefault(name, value)


def _priority(kind: Kind, tree: Map, store: Store) -> None:
    """Look the priority up; among several global defaults the lowest counts."""
    spec = opened(tree, "spec")
    classes = store.shelf(("scheduling.k8s.io", "priorityclasses")).objects
    name = text(spec, "priorityClassName")
    found: Map = {}
    if not name:
        defaults = [stored.tree for stored in classes.values() if stored.tree.get("globalDefault") is True]
        found = min(defaults, key=lambda one: whole(one, "value") or 0, default=found)
        name = text(found, "metadata", "name")
    elif ("", name) in classes:
        found = classes["", name].tree
    elif name in SYSTEM_PRIORITIES:
        found = {"value": SYSTEM_PRIORITIES[name]}
    else:
        raise forbidden(kind, text(tree, "metadata", "name"), f"no PriorityClass with name {name} was found")
    value = whole(found, "value") or 0
    asked = whole(spec, "priority")
    if asked is not None and asked != value:
        why = f"the integer value of priority ({asked}) must not be provided in pod spec; priority admission controller"
        raise forbidden(
            kind, text(tree, "metadata", "name"), f"{why} computed {value} from the given PriorityClass name"
        )
    spec["priority"] = value
    if name:
        spec["priorityClassName"] = name
    spec.setdefault("preemptionPolicy", text(found, "preemptionPolicy") or "PreemptLowerPriority")


def _away(spec: Map) -> list[Tree]:
    """Give the tolerations for nodes that are away, five minutes each, where the pod has no word of its own on them."""
    more: list[Tree] = []
    for away in AWAY:
        borne = (
            text(one, "key") in {"", away.key} and text(one, "effect") in {"", "NoExecute"}
            for one in maps(spec, "tolerations")
        )
        if not any(borne):
            one: Map = {"key": away.key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            more.append(one)
    return more


def _quality(spec: Map) -> str:
    """Give the pod's quality of service class."""
    containers = [*maps(spec, "containers"), *maps(spec, "initContainers")]
    asked = [(mapping(one, "resources", "requests"), mapping(one, "resources", "limits")) for one in containers]
    if not any(requests or limits for requests, limits in asked):
        return "BestEffort"
    names = ("cpu", "memory")
    sure = all(name in limits and requests.get(name) == limits[name] for requests, limits in asked for name in names)
    return "Guaranteed" if sure else "Burstable"


# --- other kinds -----------------------------------------------------------------------------------------------------


def _namespace(kind: Kind, tree: Map, store: Store) -> None:
    opened(tree, "metadata", "labels")["kubernetes.io/metadata.name"] = text(tree, "metadata", "name")
    finalizers = opened(tree, "spec").setdefault("finalizers", [])
    if isinstance(finalizers, list) and "kubernetes" not in finalizers:
        finalizers.append("kubernetes")
    tree["status"] = {"phase": "Active"}


def _node(kind: Kind, tree: Map, store: Store) -> None:
    opened(tree, "spec")
    status = opened(tree, "status")
    if "capacity" in status:
        status.setdefault("allocatable", {**mapping(status, "capacity")})


def _workload(kind: Kind, tree: Map, store: Store) -> None:
    spec = opened(tree, "spec")
    if kind.plural != "daemonsets":
        spec.setdefault("replicas", 1)
    template = mapping(spec, "template")
    labels = pairs(template, "metadata", "labels")
    if kind.plural == "replicationcontrollers":
        spec.setdefault("selector", {**labels})
    else:
        _check_selector(kind, tree, labels)
    if isinstance(template.get("spec"), dict):
        pod_defaults(opened(template, "spec"))
    for key, value in copied(_MORE.get(kind.plural, {})).items():
        if spec.get(key) in (None, {}, ""):
            spec[key] = value
    tree["status"] = {} if kind.plural == "deployments" else {"replicas": 0}
    if kind.plural == "daemonsets":
        numbers = ("currentNumberScheduled", "desiredNumberScheduled", "numberMisscheduled", "numberReady")
        tree["status"] = dict.fromkeys(numbers, 0)


def _check_selector(kind: Kind, tree: Map, labels: dict[str, str]) -> None:
    name = text(tree, "metadata", "name")
    selector = at(tree, "spec", "selector")
    if not isinstance(selector, dict):
        raise invalid(kind, name, "spec.selector", "Required value", "FieldValueRequired")
    if any(labels.get(key) != value for key, value in pairs(selector, "matchLabels").items()):
        fault = "Invalid value: `selector` does not match template `labels`"
        raise invalid(kind, name, "spec.template.metadata.labels", fault)


def _job(kind: Kind, tree: Map, store: Store) -> None:
    spec = opened(tree, "spec")
    uid, name = text(tree, "metadata", "uid"), text(tree, "metadata", "name")
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    for key, value in _MORE["jobs"].items():
        spec.setdefault(key, value)
    if spec.get("manualSelector") is not True:
        labels = opened(spec, "template", "metadata", "labels")
        for prefix in ("", "batch.kubernetes.io/"):
            labels[f"{prefix}controller-uid"] = uid
            labels[f"{prefix}job-name"] = name
        spec.setdefault("selector", {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}})
    pod_defaults(opened(spec, "template", "spec"))
    tree["status"] = {}


def _claim(kind: Kind, tree: Map, store: Store) -> None:
    spec = opened(tree, "spec")
    spec.setdefault("volumeMode", "Filesystem")
    if "storageClassName" not in spec:
        classes = store.shelf(("storage.k8s.io", "storageclasses")).objects.values()
        defaults = [one.tree for one in classes if text(one.tree, "metadata", "annotations", _DEFAULT_CLASS) == "true"]
        newest = max(defaults, key=lambda one: text(one, "metadata", "creationTimestamp"), default=None)
        if newest is not None:
            spec["storageClassName"] = text(newest, "metadata", "name")
    tree["status"] = {"phase": "Pending"}


def _volume(kind: Kind, tree: Map, store: Store) -> None:
    spec = opened(tree, "spec")
    spec.setdefault("volumeMode", "Filesystem")
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    tree["status"] = {"phase": "Available" if not mapping(spec, "claimRef") else "Pending"}


def _storage_class(kind: Kind, tree: Map, store: Store) -> None:
    tree.setdefault("reclaimPolicy", "Delete")
    tree.setdefault("volumeBindingMode", "Immediate")


def _priority_class(kind: Kind, tree: Map, store: Store) -> None:
    tree.setdefault("value", 0)
    tree.setdefault("preemptionPolicy", "PreemptLowerPriority")


def _service(kind: Kind, tree: Map, store: Store) -> None:
    spec = opened(tree, "spec")
    spec.setdefault("type", "ClusterIP")
    spec.setdefault("sessionAffinity", "None")
    for port in maps(spec, "ports"):
        port.setdefault("protocol", "TCP")
        port.setdefault("targetPort", port.get("port"))
    tree["status"] = {"loadBalancer": {}}


def _budget(kind: Kind, tree: Map, store: Store) -> None:
    numbers = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
    tree["status"] = dict.fromkeys(numbers, 0)


def _secret(kind: Kind, tree: Map, store: Store) -> None:
    tree.setdefault("type", "Opaque")


_MORE: Final[dict[str, Map]] = {
    "deployments": {
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}},
        "revisionHistoryLimit": 10,
        "progressDeadlineSeconds": 600,
    },
    "statefulsets": {
        "podManagementPolicy": "OrderedReady",
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
        "revisionHistoryLimit": 10,
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
    },
    "daemonsets": {
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}},
        "revisionHistoryLimit": 10,
    },
    "jobs": {"parallelism": 1, "backoffLimit": 6, "completionMode": "NonIndexed", "suspend": False},
}
_COMPLETE: Final[dict[tuple[str, str], Callable[[Kind, Map, Store], None]]] = {
    ("", "pods"): _pod,
    NAMESPACES: _namespace,
    ("", "nodes"): _node,
    ("", "replicationcontrollers"): _workload,
    ("apps", "replicasets"): _workload,
    ("apps", "deployments"): _workload,
    ("apps", "statefulsets"): _workload,
    ("apps", "daemonsets"): _workload,
    ("batch", "jobs"): _job,
    ("", "persistentvolumeclaims"): _claim,
    ("", "persistentvolumes"): _volume,
    ("storage.k8s.io", "storageclasses"): _storage_class,
    ("scheduling.k8s.io", "priorityclasses"): _priority_class,
    ("", "services"): _service,
    ("policy", "poddisruptionbudgets"): _budget,
    ("", "secrets"): _secret,
}
