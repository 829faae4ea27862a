"""Subresources that are verbs of their own: binding a pod, evicting it, and scaling what has replicas.

Invariant: a pod is bound once; an eviction that a disruption budget does not allow changes nothing.
Not here: the status subresource, which is an update of a part (`verbs.py`).
"""

from __future__ import annotations

from typing import Final

from bayplan.playground.kinds import Kind
from bayplan.playground.matching import selection
from bayplan.playground.refusals import conflict, internal, invalid, too_many_requests
from bayplan.playground.store import Key, Stored
from bayplan.playground.trees import Map, at, items, mapping, maps, opened, pairs, set_condition, stamp, text, whole
from bayplan.playground.verbs import Deletion, Verbs

BUDGETS: Final = Kind(
    "policy",
    "v1",
    "PodDisruptionBudget",
    "poddisruptionbudgets",
    "poddisruptionbudget",
    subresources=("status",),
    generations=True,
    stored_as=("policy", "poddisruptionbudgets"),
)
_DONE: Final = frozenset({"Succeeded", "Failed", "Pending"})  # an eviction from these disrupts nobody


def bind(verbs: Verbs, pods: Kind, key: Key, binding: Map) -> None:
    """Give a pod its node."""
    pod = verbs.get(pods, key).tree
    _check_binding(pod, binding)

    meta, status = {**mapping(pod, "metadata")}, {**mapping(pod, "status")}
    for field in ("labels", "annotations"):
        if given := pairs(binding, "metadata", field):
            meta[field] = {**mapping(meta, field), **given}
    status.pop("nominatedNodeName", None)
    set_condition(status, "PodScheduled", "True", stamp(verbs.clock()))
    spec: Map = {**mapping(pod, "spec"), "nodeName": text(binding, "target", "name")}
    # what a binding does not change is shared with the pod as it was: bindings are what a scheduler does most
    verbs.replace(pods, key, {**pod, "metadata": meta, "spec": spec, "status": status})


def _check_binding(pod: Map, binding: Map) -> None:
    name, target = text(pod, "metadata", "name"), mapping(binding, "target")
    bindings = Kind("", "v1", "Binding", "pods/binding", "binding")
    if text(target, "kind") not in {"", "Node"}:
        fault = f'Unsupported value: "{text(target, "kind")}": supported values: "Node", ""'
        raise invalid(bindings, name, "target.kind", fault, "FieldValueNotSupported")
    if not text(target, "name"):
        raise invalid(bindings, name, "target.name", "Required value", "FieldValueRequired")
    for field in ("uid", "resourceVersion"):
        asked, have = text(binding, "metadata", field), text(pod, "metadata", field)
        if asked and asked != have:
            what = "UID" if field == "uid" else "ResourceVersion"
            why = f"Precondition failed: {what} in precondition: {asked}, {what} in object meta: {have}"
            raise conflict(bindings, name, why)
    if text(pod, "metadata", "deletionTimestamp"):
        raise conflict(bindings, name, f"pod {name} is being deleted, cannot be assigned to a host")
    if node := text(pod, "spec", "nodeName"):
        raise conflict(bindings, name, f'pod {name} is already assigned to node "{node}"')
    if items(pod, "spec", "schedulingGates"):
        raise conflict(bindings, name, f"pod {name} has non-empty .spec.schedulingGates")


def evict(verbs: Verbs, pods: Kind, key: Key, how: Deletion) -> None:
    """Delete a pod where its disruption budget allows it."""
    pod = verbs.get(pods, key).tree
    needs_leave = text(pod, "status", "phase") not in _DONE and not text(pod, "metadata", "deletionTimestamp")
    budgets = _budgets(verbs, pod) if needs_leave else []
    if len(budgets) > 1:
        raise internal(
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        )
    for budget in budgets:
        _take(verbs, budget, key[1], dry=how.dry)
    if needs_leave and not how.dry:
        verbs.amend(pods, key, lambda new: _targeted(new, stamp(verbs.clock())))
    verbs.delete(pods, key, how)


def _targeted(pod: Map, now: str) -> None:
    """Say of a pod why it goes."""
    why = ("EvictionByEvictionAPI", "Eviction API: evicting")
    set_condition(opened(pod, "status"), "DisruptionTarget", "True", now, why)


def _budgets(verbs: Verbs, pod: Map) -> list[Stored]:
    namespace, labels = text(pod, "metadata", "namespace"), pairs(pod, "metadata", "labels")
    found = []
    for (within, _), stored in verbs.store.shelf(BUDGETS.stored_as).objects.items():
        covers = selection(at(stored.tree, "spec", "selector"))
        if within == namespace and covers is not None and covers(labels):
            found.append(stored)
    return found


def _take(verbs: Verbs, budget: Stored, pod: str, *, dry: bool) -> None:
    """Take one disruption off a budget, or be refused."""
    tree = budget.tree
    name, status = text(tree, "metadata", "name"), mapping(tree, "status")
    refusal = "Cannot evict pod as it would violate the pod's disruption budget."
    if (whole(status, "observedGeneration") or 0) < (whole(tree, "metadata", "generation") or 0):
        why: Map = {"reason": "DisruptionBudget"}
        why["message"] = f"The disruption budget {name} is still being processed by the server."
        raise too_many_requests(refusal, [why], retry_after=10)
    allowed = whole(status, "disruptionsAllowed") or 0
    if allowed <= 0:
        needs, has = whole(status, "desiredHealthy") or 0, whole(status, "currentHealthy") or 0
        cause: Map = {"reason": "DisruptionBudget"}
        cause["message"] = f"The disruption budget {name} needs {needs} healthy pods and has {has} currently"
        raise too_many_requests(refusal, [cause])
    if dry:
        return

    def taken(new: Map) -> None:
        opened(new, "status")["disruptionsAllowed"] = allowed - 1
        opened(new, "status", "disruptedPods")[pod] = stamp(verbs.clock())
        tell_allowed(new, stamp(verbs.clock()))

    verbs.amend(BUDGETS, (text(tree, "metadata", "namespace"), name), taken)


def tell_allowed(budget: Map, now: str) -> None:
    """Say in a budget's conditions whether it allows any disruption."""
    status = opened(budget, "status")
    allows = bool(whole(status, "disruptionsAllowed"))
    why = ("SufficientPods" if allows else "InsufficientPods", "")
    set_condition(status, "DisruptionAllowed", "True" if allows else "False", now, why)
    for one in maps(status, "conditions"):
        one.setdefault("message", "")
        one["observedGeneration"] = whole(budget, "metadata", "generation") or 0


# --- scale -----------------------------------------------------------------------------------------------------------


def scale_of(kind: Kind, tree: Map) -> Map:
    """Give the Scale of an object that has replicas."""
    meta = mapping(tree, "metadata")
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    chosen = mapping(tree, "spec", "selector")
    pairs_of = chosen if kind.plural == "replicationcontrollers" else mapping(chosen, "matchLabels")
    status: Map = {"replicas": whole(tree, "status", "replicas") or 0}
    if pairs_of:
        status["selector"] = ",".join(f"{key}={value}" for key, value in sorted(pairs(pairs_of).items()))
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: meta[key] for key in kept if key in meta},
        "spec": {"replicas": whole(tree, "spec", "replicas") or 0},
        "status": status,
    }


def rescale(verbs: Verbs, kind: Kind, key: Key, scale: Map, *, dry: bool) -> Map:
    """Set an object's replicas as a Scale says."""
    old = verbs.get(kind, key)
    replicas = whole(scale, "spec", "replicas") or 0
    if replicas < 0:
        fault = f"Invalid value: {replicas}: must be greater than or equal to 0"
        raise invalid(kind, key[1], "spec.replicas", fault)
    new: Map = {**old.tree, "spec": {**mapping(old.tree, "spec"), "replicas": replicas}}
    asked = text(scale, "metadata", "resourceVersion")
    new["metadata"] = {**mapping(old.tree, "metadata"), "resourceVersion": asked}
    return scale_of(kind, verbs.update(kind, key, new, dry=dry).tree)
