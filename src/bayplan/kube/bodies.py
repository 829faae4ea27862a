"""Bodies: what is written to the API server, as kube-scheduler writes it.

A patch that must not undo somebody else's work carries the revision that it was made for, one that must not meet
another pod of the same name its uid; the server refuses it otherwise.
Not here: when something is written (`writes.py`), events (`recording.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from bayplan.api.claims import PersistentVolume
from bayplan.api.messages import Bind, BindVolume, Evict, Nominate, PatchStatus, SelectNode
from bayplan.api.objects import Object, Pod
from bayplan.kube.stamps import to_the_second
from bayplan.kube.told import meta_of

POD_SCHEDULED: Final = "PodScheduled"
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"

_encode: Final = msgspec.json.Encoder().encode


class _Meta(msgspec.Struct, gc=False):
    name: str
    namespace: str
    uid: str


class _Target(msgspec.Struct, gc=False):
    name: str
    kind: str = "Node"


class _Binding(msgspec.Struct, gc=False, rename="camel"):
    metadata: _Meta
    target: _Target
    api_version: str = "v1"
    kind: str = "Binding"


def binding(effect: Bind) -> bytes:
    """Bind a pod; the uid keeps the server from binding another of its name."""
    return _encode(_Binding(_Meta(effect.name, effect.namespace, effect.uid), _Target(effect.node)))


def status(effects: Sequence[PatchStatus | Nominate], pod: Pod | None, now_ns: int) -> bytes:
    """Patch a pod's status: its PodScheduled condition, the node where room is made for it, or both."""
    changes: dict[str, object] = {}
    for effect in effects:
        if isinstance(effect, Nominate):
            changes["nominatedNodeName"] = effect.node or None
        else:
            changes |= _condition(effect, pod, now_ns)
    return _encode({"metadata": {"uid": effects[0].uid}, "status": changes})


def _condition(effect: PatchStatus, pod: Pod | None, now_ns: int) -> dict[str, object]:
    """Say why a pod is not placed; since when is left as it is while that is so."""
    conditions = pod.status.conditions if pod is not None else ()
    types = [condition.type for condition in conditions]
    was = next((condition.status for condition in conditions if condition.type == POD_SCHEDULED), "")
    condition: dict[str, object] = {
        "type": POD_SCHEDULED, "status": "False", "reason": effect.reason, "message": effect.message,
        "lastProbeTime": None,
    }  # fmt: skip
    if was != "False":
        condition["lastTransitionTime"] = to_the_second(now_ns)
    if pod is not None and pod.metadata.generation:
        condition["observedGeneration"] = pod.metadata.generation
    order = [*types, *([POD_SCHEDULED] if POD_SCHEDULED not in types else [])]
    return {"$setElementOrder/conditions": [{"type": one} for one in order], "conditions": [condition]}


def disruption(effect: Evict, scheduler: str, now_ns: int) -> bytes:
    """Say on a pod that it makes room for another."""
    condition = {
        "type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler",
        "message": f"{scheduler}: preempting to accommodate a higher priority pod",
        "lastProbeTime": None, "lastTransitionTime": to_the_second(now_ns),
    }  # fmt: skip
    return _encode({"metadata": {"uid": effect.uid}, "status": {"conditions": [condition]}})


def deletion(uid: str) -> bytes:
    """Delete this pod and no other of its name."""
    return _encode({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}})


def claimed(effect: BindVolume, volume: PersistentVolume, claim: Object | None) -> bytes:
    """Write into a volume whom it is for, unless it has changed meanwhile."""
    kept, notes = volume.spec.claim_ref, volume.metadata.annotations
    is_reserved = kept is not None and (kept.namespace, kept.name) == (effect.namespace, effect.claim)
    meta: dict[str, object] = _guarded(volume)
    if (
        not (is_reserved and kept is not None and kept.uid in {"", effect.claim_uid})
        and BOUND_BY_CONTROLLER not in notes
    ):
        meta["annotations"] = {BOUND_BY_CONTROLLER: "yes"}
    reference = {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": effect.namespace, "name": effect.claim,
        "uid": effect.claim_uid,
    }  # fmt: skip
    if claim is not None:
        reference["resourceVersion"] = meta_of(claim).resource_version
    return _encode({"metadata": meta, "spec": {"claimRef": reference}})


def selected(effect: SelectNode, claim: Object) -> bytes:
    """Write into a claim where its volume is to be made, unless it has changed meanwhile."""
    return _encode({"metadata": {**_guarded(claim), "annotations": {SELECTED_NODE: effect.node}}})


def _guarded(thing: Object) -> dict[str, object]:
    """Name the object and the revision that a patch was made for."""
    meta = meta_of(thing)
    return {"uid": meta.uid, "resourceVersion": meta.resource_version}
