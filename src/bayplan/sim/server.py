"""A simulated API server: objects with versions, the writes of a scheduler, and what its watches tell.

Each kind has one stream of events in order; streams are late by different amounts, so kinds overtake each other.
Invariant: a pod is bound once, and a volume is for one claim: a write that would change that is a conflict.
Not here: what goes wrong, and when (world.py).
"""

from __future__ import annotations

from collections import deque
from typing import TypeAlias

from msgspec.structs import replace

from bayplan.api.claims import ObjectReference, PersistentVolume, PersistentVolumeClaim
from bayplan.api.messages import (
    AnyEffect,
    Ask,
    Bind,
    BindVolume,
    Ending,
    Event,
    Evict,
    Gone,
    Listed,
    Nominate,
    Seen,
    SelectNode,
)
from bayplan.api.objects import Meta, Node, Object, Pod

Key: TypeAlias = tuple[str, str, str]
DELETED_AT = "2026-03-01T00:00:00Z"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"


def meta_of(thing: Object) -> Meta:
    """Return an object's metadata."""
    meta: Meta = thing.metadata  # type: ignore[attr-defined]  # every kind that is stored has it
    return meta


class Server:
    """Objects, and the streams that tell of them."""

    def __init__(self) -> None:
        self.objects: dict[Key, Object] = {}
        self.streams: dict[str, deque[Event]] = {}
        self._version = 0

    # -- objects

    def put(self, thing: Object) -> Object:
        """Store an object, new or changed."""
        self._version += 1
        meta = replace(meta_of(thing), resource_version=str(self._version))
        stored: Object = replace(thing, metadata=meta)
        self.objects[_key(stored)] = stored
        self._tell(Seen(cause="watch", thing=stored))
        return stored

    def delete(self, pod: Pod) -> None:
        """Have a pod end in its own time."""
        if pod.metadata.deletion_timestamp is None:
            self.put(replace(pod, metadata=replace(pod.metadata, deletion_timestamp=DELETED_AT)))

    def drop(self, thing: Object) -> None:
        """Delete an object."""
        found = self.objects.pop(_key(thing), None)
        if found is not None:
            self._tell(Gone(cause="watch", thing=found))

    def _tell(self, event: Seen | Gone) -> None:
        self.streams.setdefault(type(event.thing).__name__, deque()).append(event)

    def of(self, kind: type[Object]) -> list[Object]:
        """Return all objects of a kind."""
        return [thing for thing in self.objects.values() if isinstance(thing, kind)]

    def pods(self) -> list[Pod]:
        """Return all pods."""
        return [thing for thing in self.objects.values() if isinstance(thing, Pod)]

    def nodes(self) -> list[Node]:
        """Return all nodes."""
        return [thing for thing in self.objects.values() if isinstance(thing, Node)]

    def listed(self, kind: str) -> Listed:
        """Return everything of a kind; what its stream still had to tell is in it."""
        self.streams.get(kind, deque[Event]()).clear()
        return Listed(cause="list", kind=kind, things=self.things(kind))

    def things(self, kind: str) -> tuple[Object, ...]:
        """Return everything of a kind."""
        return tuple(thing for key, thing in self.objects.items() if key[0] == kind)

    def pod(self, namespace: str, name: str) -> Pod | None:
        """Return a pod."""
        found = self.objects.get(("Pod", namespace, name))
        return found if isinstance(found, Pod) else None

    # -- what a scheduler asks for

    def write(self, effect: AnyEffect) -> tuple[Ending, str]:
        """Carry out a write; return how it ended."""
        match effect:
            case Bind():
                return self._bind(effect)
            case BindVolume():
                return self._bind_volume(effect)
            case SelectNode():
                return self._select_node(effect)
            case Evict():
                pod = self.pod(effect.namespace, effect.name)
                if pod is not None and pod.metadata.uid == effect.uid:
                    self.delete(pod)
            case Nominate():
                pod = self.pod(effect.namespace, effect.name)
                if pod is not None and pod.metadata.uid == effect.uid and not pod.spec.node_name:
                    self.put(replace(pod, status=replace(pod.status, nominated_node_name=effect.node)))
            case _:
                pass
        return Ending.DONE, ""

    def read(self, ask: Ask) -> Object | None:
        """Return an object as it is."""
        namespace = "" if ask.kind == "PersistentVolume" else ask.namespace
        return self.objects.get((ask.kind, namespace, ask.of))

    def _bind(self, effect: Bind) -> tuple[Ending, str]:
        pod = self.pod(effect.namespace, effect.name)
        if pod is None or pod.metadata.uid != effect.uid:
            return Ending.REFUSED, f'pods "{effect.name}" not found'
        if pod.spec.node_name or pod.metadata.deletion_timestamp is not None or pod.spec.scheduling_gates:
            return Ending.REFUSED, f"pod {effect.name} cannot be bound: it is bound, gated or being deleted"
        status = replace(pod.status, nominated_node_name="")
        self.put(replace(pod, spec=replace(pod.spec, node_name=effect.node), status=status))
        return Ending.DONE, ""

    def _bind_volume(self, effect: BindVolume) -> tuple[Ending, str]:
        volume = self.objects.get(("PersistentVolume", "", effect.volume))
        if not isinstance(volume, PersistentVolume):
            return Ending.REFUSED, f'persistentvolumes "{effect.volume}" not found'
        kept = volume.spec.claim_ref
        mine = (effect.namespace, effect.claim)
        if kept is not None and ((kept.namespace, kept.name) != mine or kept.uid not in {"", effect.claim_uid}):
            return Ending.REFUSED, "the object has been modified"
        reference = ObjectReference(
            kind="PersistentVolumeClaim", namespace=effect.namespace, name=effect.claim, uid=effect.claim_uid
        )
        self.put(replace(volume, spec=replace(volume.spec, claim_ref=reference)))
        return Ending.DONE, ""

    def _select_node(self, effect: SelectNode) -> tuple[Ending, str]:
        claim = self.claim(effect.namespace, effect.claim)
        if claim is None:
            return Ending.REFUSED, f'persistentvolumeclaims "{effect.claim}" not found'
        notes = {**claim.metadata.annotations, SELECTED_NODE: effect.node}
        self.put(replace(claim, metadata=replace(claim.metadata, annotations=notes)))
        return Ending.DONE, ""

    def claim(self, namespace: str, name: str) -> PersistentVolumeClaim | None:
        """Return a claim."""
        found = self.objects.get(("PersistentVolumeClaim", namespace, name))
        return found if isinstance(found, PersistentVolumeClaim) else None


def _key(thing: Object) -> Key:
    meta = meta_of(thing)
    return type(thing).__name__, meta.namespace, meta.name
