"""Messages: what crosses between pure code and I/O; so far the effects that a committed trial hands out.

Each names its pod by uid (who is meant), namespace and name (how the API server is told), and carries its cause.
Invariant: a message never changes and refers to nothing that can.
Not here: carrying them out, and what the API server answers.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec


class PodEffect(msgspec.Struct, frozen=True, gc=False, kw_only=True, tag_field="effect"):
    """Something to be told to the API server about a pod."""

    uid: str
    namespace: str
    name: str
    cause: str


class Bind(PodEffect, frozen=True, kw_only=True, tag="bind"):
    """Bind a pod to a node."""

    node: str


class Evict(PodEffect, frozen=True, kw_only=True, tag="evict"):
    """Have a running pod leave its node."""

    node: str


class Nominate(PodEffect, frozen=True, kw_only=True, tag="nominate"):
    """Note on a waiting pod the node on which room is being made for it."""

    node: str


Effect: TypeAlias = Bind | Evict | Nominate
