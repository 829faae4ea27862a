"""Guards: which changes of an object its kind does not allow.

Only what a scheduler's correctness hangs on: that a pod which has a node keeps it, and keeps what it asked for.
Not here: metadata (`verbs.py`) and validation of single fields, which is a real API server's.
"""

from __future__ import annotations

from typing import Final

from bayplan.playground.kinds import Kind
from bayplan.playground.refusals import invalid
from bayplan.playground.trees import Map, copied, items, mapping, maps, text

_POD_FAULT: Final = (
    "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "
    "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_POD_FREE: Final = ("activeDeadlineSeconds", "terminationGracePeriodSeconds", "schedulingGates")
_GATED_FREE: Final = ("nodeSelector", "affinity")


def check(kind: Kind, old: Map, new: Map, part: str) -> None:
    """Raise Refused where a change is not allowed."""
    if part:
        return
    name = text(old, "metadata", "name")
    match kind.plural:
        case "pods":
            _pod(kind, name, old, new)
        case "deployments" | "replicasets" | "statefulsets" | "daemonsets" | "jobs" if kind.group in {"apps", "batch"}:
            if mapping(old, "spec").get("selector") != mapping(new, "spec").get("selector"):
                raise invalid(kind, name, "spec.selector", "Invalid value: field is immutable")
        case "priorityclasses" if old.get("value") != new.get("value"):
            fault = "Forbidden: may not be changed in an update."
            raise invalid(kind, name, "value", fault, "FieldValueForbidden")
        case _:
            pass


def _pod(kind: Kind, name: str, old: Map, new: Map) -> None:
    gates = [text(gate, "name") for gate in maps(old, "spec", "schedulingGates")]
    for gate in maps(new, "spec", "schedulingGates"):
        if text(gate, "name") not in gates:
            fault = "Forbidden: only deletion is allowed, but found new scheduling gate"
            raise invalid(kind, name, "spec.schedulingGates", f"{fault} '{text(gate, 'name')}'", "FieldValueForbidden")
    kept = items(old, "spec", "tolerations")
    if any(toleration not in items(new, "spec", "tolerations") for toleration in kept):
        raise invalid(kind, name, "spec", _POD_FAULT, "FieldValueForbidden")
    if _fixed(old, is_gated=bool(gates)) != _fixed(new, is_gated=bool(gates)):
        raise invalid(kind, name, "spec", _POD_FAULT, "FieldValueForbidden")


def _fixed(pod: Map, *, is_gated: bool) -> Map:
    """Give the part of a pod's spec that stays as it was; a gated pod may still be narrowed."""
    spec = copied(mapping(pod, "spec"))
    for field in (*_POD_FREE, "tolerations", *(_GATED_FREE if is_gated else ())):
        spec.pop(field, None)
    for container in [*maps(spec, "containers"), *maps(spec, "initContainers")]:
        container.pop("image", None)
    return spec
