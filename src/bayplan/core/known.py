"""Known objects: what the API server was last heard to have, each kept as decoded, in order of arrival.

The table is made from them, and can be made from them again.  An object that changes keeps its place in that order; an
older form of one that is known is refused, so what is told twice or too late does no harm.
Invariant: one object per kind, namespace and name: the newest that was heard of.
Not here: what follows from an object (scheduler.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from bayplan.api.objects import Meta, Object, uid_of

Key: TypeAlias = tuple[str, str, str]
"""Kind, namespace, name."""


def meta_of(thing: Object) -> Meta:
    """Return an object's metadata; every kind that is watched has it."""
    meta: Meta = thing.metadata  # type: ignore[attr-defined]
    return meta


def key_of(thing: Object) -> Key:
    """Return the name under which an object is kept."""
    meta = meta_of(thing)
    return type(thing).__name__, meta.namespace, meta.name


class Known:
    """All objects heard of."""

    def __init__(self) -> None:
        self._things: dict[Key, Object] = {}

    def __iter__(self) -> Iterator[Object]:
        return iter(self._things.values())

    def __len__(self) -> int:
        return len(self._things)

    def get(self, kind: str, namespace: str, name: str) -> Object | None:
        """Return an object, or None."""
        return self._things.get((kind, namespace, name))

    def like(self, thing: Object) -> Object | None:
        """Return what is known under an object's name."""
        return self._things.get(key_of(thing))

    def put(self, thing: Object) -> None:
        """Keep an object, new or changed."""
        self._things[key_of(thing)] = thing

    def drop(self, thing: Object) -> None:
        """Let an object go."""
        self._things.pop(key_of(thing), None)

    def keys(self) -> list[Key]:
        """Return the names of all objects that are known now."""
        return list(self._things)


def is_older(thing: Object, known: Object) -> bool:
    """Say whether an object is an older form of one that is known; without comparable versions it is not."""
    one, other = meta_of(thing).resource_version, meta_of(known).resource_version
    return one.isdecimal() and other.isdecimal() and int(one) < int(other)


def is_another(thing: Object, known: Object) -> bool:
    """Say whether an object only has the name of one that is known: that one went unheard."""
    return uid_of(thing) != uid_of(known)  # type: ignore[arg-type]  # every kind that is watched has metadata
