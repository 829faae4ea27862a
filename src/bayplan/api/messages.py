"""Messages: what crosses between pure code and I/O: events in, effects out, each with its cause.

An event says that something was seen, listed or gone, that a write has ended, or what a read found.  An effect asks for
a write, a read or a line to be recorded.  Writes and reads have a number, by which they are answered.
Invariant: a message never changes and refers to nothing that can.
Not here: carrying them out, and what the API server answers.
"""

from __future__ import annotations

import enum
from typing import TypeAlias, TypedDict

import msgspec

from bayplan.api.objects import Object, Pod, uid_of


class Event(msgspec.Struct, frozen=True, gc=False, kw_only=True, tag_field="event"):
    """Something that happened."""

    cause: str = ""  # who says so: a watch, a list, a read


class Seen(Event, frozen=True, kw_only=True, tag="seen"):
    """An object came or changed."""

    thing: Object


class Gone(Event, frozen=True, kw_only=True, tag="gone"):
    """An object was deleted."""

    thing: Object


class Listed(Event, frozen=True, kw_only=True, tag="listed"):
    """All objects of a kind were listed: what is not among them is gone."""

    kind: str
    things: tuple[Object, ...]
    unread: tuple[tuple[str, str], ...] = ()  # namespace and name of what is there, but was not understood


class Ending(enum.StrEnum):
    """How a write ended."""

    DONE = "done"
    REFUSED = "refused"  # certainly not applied
    UNKNOWN = "unknown"  # applied or not


class Ended(Event, frozen=True, kw_only=True, tag="ended"):
    """A write has ended."""

    write: int
    ending: Ending
    text: str = ""


class Answered(Event, frozen=True, kw_only=True, tag="answered"):
    """A read has ended: the object as the API server has it, None when it is not there."""

    write: int
    thing: Object | None = None
    has_failed: bool = False  # nothing was learnt


class PodEffect(msgspec.Struct, frozen=True, gc=False, kw_only=True, tag_field="effect"):
    """Something to be told to the API server about a pod."""

    uid: str
    namespace: str
    name: str
    cause: str
    write: int = 0  # under which its end is told; 0: nobody waits for it


class Bind(PodEffect, frozen=True, kw_only=True, tag="bind"):
    """Bind a pod to a node."""

    node: str


class Evict(PodEffect, frozen=True, kw_only=True, tag="evict"):
    """Have a running pod leave its node."""

    node: str


class Nominate(PodEffect, frozen=True, kw_only=True, tag="nominate"):
    """Note on a waiting pod the node on which room is being made for it; empty: none."""

    node: str


class PatchStatus(PodEffect, frozen=True, kw_only=True, tag="patch status"):
    """Say in a pod's PodScheduled condition why it is not placed."""

    reason: str
    message: str


class Record(PodEffect, frozen=True, kw_only=True, tag="record event"):
    """Record an Event about a pod, as `kubectl describe` shows it."""

    type: str
    reason: str
    action: str
    note: str


class BindVolume(PodEffect, frozen=True, kw_only=True, tag="bind volume"):
    """Write into a volume which claim of the pod's it is for."""

    volume: str
    claim: str
    claim_uid: str


class SelectNode(PodEffect, frozen=True, kw_only=True, tag="select node"):
    """Write into a claim of the pod's on which node its volume is to be made."""

    claim: str
    node: str


class Ask(PodEffect, frozen=True, kw_only=True, tag="ask"):
    """Read an object as the API server has it now, on a pod's behalf."""

    kind: str
    of: str  # the object's name; its namespace is the pod's, if its kind has one


class Stop(msgspec.Struct, frozen=True, gc=False, kw_only=True, tag_field="effect", tag="stop"):
    """Ask to be stopped: something is wrong that trying again does not cure."""

    cause: str


Effect: TypeAlias = Bind | Evict | Nominate | PatchStatus | Record | BindVolume | SelectNode | Ask
AnyEffect: TypeAlias = Effect | Stop


class Who(TypedDict):
    """Whom an effect is about, and why there is one."""

    uid: str
    namespace: str
    name: str
    cause: str


def who(pod: Pod, cause: str) -> Who:
    """Name a pod for an effect."""
    meta = pod.metadata
    return {"uid": uid_of(pod), "namespace": meta.namespace, "name": meta.name, "cause": cause}
