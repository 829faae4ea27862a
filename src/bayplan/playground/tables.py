"""Tables: the columns that `kubectl get` prints, per kind.

A column is a function of the object and of the time; those of priority 1 are shown with `-o wide`.
Not here: how kubectl lays a table out.
"""

from __future__ import annotations

import calendar
import time
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from bayplan.api.yamltree import Tree
from bayplan.playground.kinds import Kind
from bayplan.playground.store import Stored
from bayplan.playground.trees import STAMP, Map, at, items, mapping, maps, pairs, text, whole

NONE: Final = "<none>"
_DAY: Final = 86_400
_YEAR: Final = 365 * _DAY
_UNITS: Final = {1: "s", 60: "m", 3600: "h", _DAY: "d"}
# up to how many seconds, in which unit, and which smaller one beside it
_SPANS: Final = (
    (120, 1, 0),
    (600, 60, 1),
    (10_800, 60, 0),
    (28_800, 3600, 60),
    (2 * _DAY, 3600, 0),
    (8 * _DAY, _DAY, 3600),
    (2 * _YEAR, _DAY, 0),
)


class Column(NamedTuple):
    """One column of a table."""

    name: str
    value: Callable[[Map, float], Tree]
    is_wide: bool = False
    type: str = "string"


def table(kind: Kind, objects: Iterable[Stored], now: float, *, include: str, headed: bool = True) -> Map:
    """Give objects as a Table without its list metadata; later tables of a watch have no column definitions."""
    columns = _COLUMNS.get(kind.stored_as, _PLAIN)
    definitions: list[Tree] = []
    for column in columns if headed else ():
        priority = 1 if column.is_wide else 0
        shape = "name" if column.name == "Name" else ""
        definition: Map = {"name": column.name, "type": column.type, "format": shape, "description": column.name}
        definitions.append({**definition, "priority": priority})
    rows: list[Tree] = []
    for stored in objects:
        row: Map = {"cells": [column.value(stored.tree, now) for column in columns]}
        if include == "Object":
            row["object"] = stored.tree
        elif include != "None":
            row["object"] = metadata_only(stored.tree)
        rows.append(row)
    head: Map = {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {}}
    return {**head, "columnDefinitions": definitions, "rows": rows}


def metadata_only(tree: Map) -> Map:
    """Give an object's metadata as clients ask for it alone."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": mapping(tree, "metadata"),
    }


def age(since: str, now: float) -> str:
    """Write how long ago something was, as kubectl does.

    >>> age("1970-01-01T00:00:00Z", 90), age("1970-01-01T00:00:00Z", 7200), age("", 0)
    ('90s', '120m', '<unknown>')
    """
    try:
        seconds = int(now - calendar.timegm(time.strptime(since[:19] + "Z", STAMP)))
    except ValueError:
        return "<unknown>"
    return _span(max(seconds, 0))


def _span(seconds: int) -> str:
    """Write a span in its two largest units, or in one where the second no longer matters."""
    for below, unit, inner in _SPANS:
        if seconds < below:
            rest = seconds % unit // inner if inner else 0
            return f"{seconds // unit}{_UNITS[unit]}" + (f"{rest}{_UNITS[inner]}" if rest else "")
    return f"{seconds // _YEAR}y{seconds % _YEAR // _DAY}d"


# --- columns ---------------------------------------------------------------------------------------------------------


def _at(*path: str) -> Callable[[Map, float], Tree]:
    def value(tree: Map, now: float) -> Tree:
        found = at(tree, *path)
        return NONE if found is None or found == "" else str(found) if not isinstance(found, bool) else found

    return value


def _number(*path: str) -> Callable[[Map, float], Tree]:
    return lambda tree, now: whole(tree, *path) or 0


def _age(tree: Map, now: float) -> Tree:
    return age(text(tree, "metadata", "creationTimestamp"), now)


def _ready(tree: Map, now: float) -> Tree:
    done = sum(one.get("ready") is True for one in maps(tree, "status", "containerStatuses"))
    return f"{done}/{len(items(tree, 'spec', 'containers'))}"


def _pod_status(tree: Map, now: float) -> Tree:
    status = text(tree, "status", "reason") or text(tree, "status", "phase")
    if any(text(one, "reason") == "SchedulingGated" for one in maps(tree, "status", "conditions")):
        status = "SchedulingGated" if status == "Pending" else status
    for one in maps(tree, "status", "containerStatuses"):
        status = text(one, "state", "waiting", "reason") or text(one, "state", "terminated", "reason") or status
    if text(tree, "metadata", "deletionTimestamp"):
        return "Terminating"
    return status


def _restarts(tree: Map, now: float) -> Tree:
    return str(sum(whole(one, "restartCount") or 0 for one in maps(tree, "status", "containerStatuses")))


def _node_status(tree: Map, now: float) -> Tree:
    ready = next((one for one in maps(tree, "status", "conditions") if text(one, "type") == "Ready"), {})
    words = {"True": "Ready", "False": "NotReady"}
    status = words.get(text(ready, "status"), "NotReady" if ready else "Unknown")
    return f"{status},SchedulingDisabled" if at(tree, "spec", "unschedulable") is True else status


def _roles(tree: Map, now: float) -> Tree:
    prefix = "node-role.kubernetes.io/"
    labels = pairs(tree, "metadata", "labels")
    return ",".join(sorted(key.removeprefix(prefix) for key in labels if key.startswith(prefix))) or NONE


def _address(kind: str) -> Callable[[Map, float], Tree]:
    def value(tree: Map, now: float) -> Tree:
        found = (text(one, "address") for one in maps(tree, "status", "addresses") if text(one, "type") == kind)
        return next(found, NONE)

    return value


def _of(*paths: tuple[str, ...]) -> Callable[[Map, float], Tree]:
    return lambda tree, now: "/".join(str(whole(tree, *path) or 0) for path in paths)


def _joined(what: str, *path: str) -> Callable[[Map, float], Tree]:
    return lambda tree, now: ",".join(text(one, what) for one in maps(tree, *path)) or NONE


def _selector(tree: Map, now: float) -> Tree:
    chosen = mapping(tree, "spec", "selector")
    chosen = mapping(chosen, "matchLabels") or (chosen if "matchExpressions" not in chosen else {})
    return ",".join(f"{key}={value}" for key, value in sorted(pairs(chosen).items())) or NONE


def _job_status(tree: Map, now: float) -> Tree:
    true = {text(one, "type") for one in maps(tree, "status", "conditions") if text(one, "status") == "True"}
    named = (("Complete", "Complete"), ("Failed", "Failed"), ("Suspended", "Suspended"))
    return next((shown for kind, shown in named if kind in true), "Running")


def _completions(tree: Map, now: float) -> Tree:
    done, wanted = whole(tree, "status", "succeeded") or 0, whole(tree, "spec", "completions")
    return f"{done}/{wanted}" if wanted is not None else f"{done}/1 of {whole(tree, 'spec', 'parallelism') or 0}"


def _duration(tree: Map, now: float) -> Tree:
    begin, end = text(tree, "status", "startTime"), text(tree, "status", "completionTime")
    if not begin:
        return ""
    return age(begin, calendar.timegm(time.strptime(end[:19] + "Z", STAMP)) if end else now)


def _ports(tree: Map, now: float) -> Tree:
    ports = maps(tree, "spec", "ports")
    return ",".join(f"{whole(one, 'port')}/{text(one, 'protocol')}" for one in ports) or NONE


def _object_of_event(tree: Map, now: float) -> Tree:
    return f"{text(tree, 'involvedObject', 'kind').lower()}/{text(tree, 'involvedObject', 'name')}"


def _last_seen(tree: Map, now: float) -> Tree:
    seen = text(tree, "series", "lastObservedTime") or text(tree, "lastTimestamp") or text(tree, "eventTime")
    return age(seen or text(tree, "metadata", "creationTimestamp"), now)


def _capacity(tree: Map, now: float) -> Tree:
    return text(tree, "spec", "capacity", "storage") or text(tree, "status", "capacity", "storage")


_MODES: Final = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def _modes(tree: Map, now: float) -> Tree:
    return ",".join(_MODES.get(one, one) for one in items(tree, "spec", "accessModes") if isinstance(one, str))


def _claim_ref(tree: Map, now: float) -> Tree:
    claim = mapping(tree, "spec", "claimRef")
    return f"{text(claim, 'namespace')}/{text(claim, 'name')}" if claim else ""


def _is_default(tree: Map, now: float) -> Tree:
    default = text(tree, "metadata", "annotations", "storageclass.kubernetes.io/is-default-class") == "true"
    return text(tree, "metadata", "name") + (" (default)" if default else "")


def _size(*fields: str) -> Callable[[Map, float], Tree]:
    return lambda tree, now: sum(len(mapping(tree, field)) for field in fields)


NAME: Final = Column("Name", _at("metadata", "name"))
AGE: Final = Column("Age", _age)
_CONTAINERS: Final = (
    Column("Containers", _joined("name", "spec", "template", "spec", "containers"), is_wide=True),
    Column("Images", _joined("image", "spec", "template", "spec", "containers"), is_wide=True),
    Column("Selector", _selector, is_wide=True),
)
_SETS: Final = (
    NAME,
    Column("Desired", _number("spec", "replicas"), type="integer"),
    Column("Current", _number("status", "replicas"), type="integer"),
    Column("Ready", _number("status", "readyReplicas"), type="integer"),
    AGE,
    *_CONTAINERS,
)
_PLAIN: Final = (NAME, AGE)

_COLUMNS: Final[dict[tuple[str, str], tuple[Column, ...]]] = {
    ("", "pods"): (
        NAME,
        Column("Ready", _ready),
        Column("Status", _pod_status),
        Column("Restarts", _restarts),
        AGE,
        Column("IP", _at("status", "podIP"), is_wide=True),
        Column("Node", _at("spec", "nodeName"), is_wide=True),
        Column("Nominated Node", _at("status", "nominatedNodeName"), is_wide=True),
        Column("Readiness Gates", lambda tree, now: NONE, is_wide=True),
    ),
    ("", "nodes"): (
        NAME,
        Column("Status", _node_status),
        Column("Roles", _roles),
        AGE,
        Column("Version", _at("status", "nodeInfo", "kubeletVersion")),
        Column("Internal-IP", _address("InternalIP"), is_wide=True),
        Column("External-IP", _address("ExternalIP"), is_wide=True),
        Column("OS-Image", _at("status", "nodeInfo", "osImage"), is_wide=True),
        Column("Kernel-Version", _at("status", "nodeInfo", "kernelVersion"), is_wide=True),
        Column("Container-Runtime", _at("status", "nodeInfo", "containerRuntimeVersion"), is_wide=True),
    ),
    ("", "namespaces"): (NAME, Column("Status", _at("status", "phase")), AGE),
    ("", "events"): (
        Column("Last Seen", _last_seen),
        Column("Type", _at("type")),
        Column("Reason", _at("reason")),
        Column("Object", _object_of_event),
        Column("Message", _at("message")),
        Column("Name", _at("metadata", "name"), is_wide=True),
    ),
    ("", "services"): (
        NAME,
        Column("Type", _at("spec", "type")),
        Column("Cluster-IP", _at("spec", "clusterIP")),
        Column("External-IP", _joined("ip", "status", "loadBalancer", "ingress")),
        Column("Port(s)", _ports),
        AGE,
        Column("Selector", _selector, is_wide=True),
    ),
    ("", "replicationcontrollers"): _SETS,
    ("apps", "replicasets"): _SETS,
    ("apps", "deployments"): (
        NAME,
        Column("Ready", _of(("status", "readyReplicas"), ("spec", "replicas"))),
        Column("Up-to-date", _number("status", "updatedReplicas"), type="integer"),
        Column("Available", _number("status", "availableReplicas"), type="integer"),
        AGE,
        *_CONTAINERS,
    ),
    ("apps", "statefulsets"): (
        NAME,
        Column("Ready", _of(("status", "readyReplicas"), ("spec", "replicas"))),
        AGE,
        *_CONTAINERS[:2],
    ),
    ("apps", "daemonsets"): (
        NAME,
        Column("Desired", _number("status", "desiredNumberScheduled"), type="integer"),
        Column("Current", _number("status", "currentNumberScheduled"), type="integer"),
        Column("Ready", _number("status", "numberReady"), type="integer"),
        Column("Up-to-date", _number("status", "updatedNumberScheduled"), type="integer"),
        Column("Available", _number("status", "numberAvailable"), type="integer"),
        AGE,
        *_CONTAINERS,
    ),
    ("batch", "jobs"): (
        NAME,
        Column("Status", _job_status),
        Column("Completions", _completions),
        Column("Duration", _duration),
        AGE,
        *_CONTAINERS,
    ),
    ("", "persistentvolumes"): (
        NAME,
        Column("Capacity", _capacity),
        Column("Access Modes", _modes),
        Column("Reclaim Policy", _at("spec", "persistentVolumeReclaimPolicy")),
        Column("Status", _at("status", "phase")),
        Column("Claim", _claim_ref),
        Column("StorageClass", lambda tree, now: text(tree, "spec", "storageClassName")),
        AGE,
    ),
    ("", "persistentvolumeclaims"): (
        NAME,
        Column("Status", _at("status", "phase")),
        Column("Volume", lambda tree, now: text(tree, "spec", "volumeName")),
        Column("Capacity", lambda tree, now: text(tree, "status", "capacity", "storage")),
        Column("Access Modes", _modes),
        Column("StorageClass", lambda tree, now: text(tree, "spec", "storageClassName")),
        AGE,
    ),
    ("", "configmaps"): (NAME, Column("Data", _size("data", "binaryData"), type="integer"), AGE),
    ("", "secrets"): (NAME, Column("Type", _at("type")), Column("Data", _size("data"), type="integer"), AGE),
    ("scheduling.k8s.io", "priorityclasses"): (
        NAME,
        Column("Value", _number("value"), type="integer"),
        Column("Global-Default", lambda tree, now: tree.get("globalDefault") is True, type="boolean"),
        AGE,
        Column("PreemptionPolicy", _at("preemptionPolicy")),
    ),
    ("policy", "poddisruptionbudgets"): (
        NAME,
        Column("Min Available", lambda tree, now: str(at(tree, "spec", "minAvailable") or "N/A")),
        Column("Max Unavailable", lambda tree, now: str(at(tree, "spec", "maxUnavailable") or "N/A")),
        Column("Allowed Disruptions", _number("status", "disruptionsAllowed"), type="integer"),
        AGE,
    ),
    ("storage.k8s.io", "storageclasses"): (
        Column("Name", _is_default),
        Column("Provisioner", _at("provisioner")),
        Column("ReclaimPolicy", _at("reclaimPolicy")),
        Column("VolumeBindingMode", _at("volumeBindingMode")),
        Column("AllowVolumeExpansion", lambda tree, now: tree.get("allowVolumeExpansion") is True, type="boolean"),
        AGE,
    ),
    ("coordination.k8s.io", "leases"): (NAME, Column("Holder", _at("spec", "holderIdentity")), AGE),
    ("apiextensions.k8s.io", "customresourcedefinitions"): (
        NAME,
        Column("Created At", lambda tree, now: text(tree, "metadata", "creationTimestamp")),
    ),
}
