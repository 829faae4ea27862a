"""Admission: what a real API server fills in, and what it refuses, before an object is stored.

Only what a scheduler or its users depend on is filled in; the constants are those of `api/defaults.py`.
Invariant: the tree that is handed over belongs to this module while it works on it, and is changed in place.
Not here: names, versions and other metadata, which every kind has (`verbs.py`), and what an object lacks whatever the
rest of the cluster is like (`defaulting.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from bayplan.api.defaults import AWAY, SYSTEM_PRIORITIES
from bayplan.api.yamltree import Tree
from bayplan.playground.kinds import Kind
from bayplan.playground.refusals import forbidden, invalid, not_found
from bayplan.playground.store import Store
from bayplan.playground.trees import Map, at, items, mapping, maps, opened, pairs, text, whole

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
    _limits(tree, store)
    _priority(kind, tree, store)
    bear_away(spec)
    status: Map = {"phase": "Pending", "qosClass": _quality(spec)}
    if items(spec, "schedulingGates"):
        if text(spec, "nodeName"):
            fault = "Forbidden: cannot be set until all schedulingGates have been cleared"
            raise invalid(kind, name, "spec.nodeName", fault, "FieldValueForbidden")
        gated: Map = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}
        gated["message"] = "Scheduling is blocked due to non-empty scheduling gates"
        gated["lastTransitionTime"] = text(tree, "metadata", "creationTimestamp")
        status["conditions"] = [gated]
    tree["status"] = status


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
    for container in [*maps(spec, "containers"), *maps(spec, "initContainers")] if ranges else ():
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


def bear_away(spec: Map) -> None:
    """Let a pod bear nodes that are away for five minutes, where it has no word of its own on them."""
    more: list[Tree] = []
    for away in AWAY:
        borne = (
            text(one, "key") in {"", away.key} and text(one, "effect") in {"", "NoExecute"}
            for one in maps(spec, "tolerations")
        )
        if not any(borne):
            one: Map = {"key": away.key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            more.append(one)
    if more:
        spec["tolerations"] = [*items(spec, "tolerations"), *more]


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
    finalizers = opened(tree, "spec").setdefault("finalizers", [])
    if isinstance(finalizers, list) and "kubernetes" not in finalizers:
        finalizers.append("kubernetes")
    tree["status"] = {"phase": "Active"}


def _workload(kind: Kind, tree: Map, store: Store) -> None:
    if kind.plural != "replicationcontrollers":
        _check_selector(kind, tree, pairs(tree, "spec", "template", "metadata", "labels"))
    tree["status"] = {} if kind.plural == "deployments" else {"replicas": 0}
    if kind.plural == "statefulsets":
        opened(tree, "status")["availableReplicas"] = 0
    elif kind.plural == "daemonsets":
        numbers = ("currentNumberScheduled", "desiredNumberScheduled", "numberMisscheduled", "numberReady")
        tree["status"] = dict.fromkeys(numbers, 0)
        opened(tree, "metadata", "annotations")["deprecated.daemonset.template.generation"] = "1"


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
    if spec.get("manualSelector") is not True:
        labels = opened(spec, "template", "metadata", "labels")
        for prefix in ("", "batch.kubernetes.io/"):
            labels[f"{prefix}controller-uid"] = uid
            labels[f"{prefix}job-name"] = name
        spec.setdefault("selector", {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}})
        if not mapping(tree, "metadata", "labels"):
            opened(tree, "metadata")["labels"] = {**labels}
    tree["status"] = {}


def _claim(kind: Kind, tree: Map, store: Store) -> None:
    spec = opened(tree, "spec")
    _protect(tree, "kubernetes.io/pvc-protection")
    if "storageClassName" not in spec:
        classes = store.shelf(("storage.k8s.io", "storageclasses")).objects.values()
        defaults = [one.tree for one in classes if text(one.tree, "metadata", "annotations", _DEFAULT_CLASS) == "true"]
        newest = max(defaults, key=lambda one: text(one, "metadata", "creationTimestamp"), default=None)
        if newest is not None:
            spec["storageClassName"] = text(newest, "metadata", "name")
    tree["status"] = {"phase": "Pending"}


def _volume(kind: Kind, tree: Map, store: Store) -> None:
    _protect(tree, "kubernetes.io/pv-protection")
    since = text(tree, "metadata", "creationTimestamp")
    tree["status"] = {"phase": "Pending", "lastPhaseTransitionTime": since}


def _pod_group(kind: Kind, tree: Map, store: Store) -> None:
    _protect(tree, "scheduling.k8s.io/podgroup-protection")
    _priority(kind, tree, store)
    opened(tree, "spec").pop("preemptionPolicy", None)
    opened(tree, "spec").setdefault("disruptionMode", {"single": {}})
    tree["status"] = {}


def _protect(tree: Map, finalizer: str) -> None:
    """Keep an object until nobody uses it any more (`controllers/protection.py`)."""
    finalizers = items(tree, "metadata", "finalizers")
    if finalizer not in finalizers:
        opened(tree, "metadata")["finalizers"] = [*finalizers, finalizer]


def _service(kind: Kind, tree: Map, store: Store) -> None:
    tree["status"] = {"loadBalancer": {}}


def _budget(kind: Kind, tree: Map, store: Store) -> None:
    numbers = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
    tree["status"] = dict.fromkeys(numbers, 0)


def _device_taint(kind: Kind, tree: Map, store: Store) -> None:
    opened(tree, "spec", "taint").setdefault("timeAdded", text(tree, "metadata", "creationTimestamp"))
    tree["status"] = {}


def _with_status(kind: Kind, tree: Map, store: Store) -> None:
    tree["status"] = {"attached": False} if kind.plural == "volumeattachments" else {}


_COMPLETE: Final[dict[tuple[str, str], Callable[[Kind, Map, Store], None]]] = {
    ("", "pods"): _pod,
    NAMESPACES: _namespace,
    ("", "replicationcontrollers"): _workload,
    ("apps", "replicasets"): _workload,
    ("apps", "deployments"): _workload,
    ("apps", "statefulsets"): _workload,
    ("apps", "daemonsets"): _workload,
    ("batch", "jobs"): _job,
    ("", "persistentvolumeclaims"): _claim,
    ("", "persistentvolumes"): _volume,
    ("scheduling.k8s.io", "podgroups"): _pod_group,
    ("", "services"): _service,
    ("policy", "poddisruptionbudgets"): _budget,
    ("", "resourcequotas"): _with_status,
    ("batch", "cronjobs"): _with_status,
    ("resource.k8s.io", "resourceclaims"): _with_status,
    ("resource.k8s.io", "devicetaintrules"): _device_taint,
    ("storage.k8s.io", "volumeattachments"): _with_status,
}
