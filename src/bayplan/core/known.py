"""Known objects: what the API server was last heard to have, each kept as decoded.

The table is made from them, and can be made from them again.  An object that changes keeps its place in that order; an
older form of one that is known is refused, so what is told twice or too late does no harm.
Invariant: one object per kind, namespace and name: the newest that was heard of; the order of arrival holds within a
namespace.
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
        self._kinds: dict[str, dict[str, dict[str, Object]]] = {}  # by kind, namespace and name

    def __iter__(self) -> Iterator[Object]:
        for kind in list(self._kinds):
            yield from self.of_kind(kind)

    def __len__(self) -> int:
        return sum(len(names) for namespaces in self._kinds.values() for names in namespaces.values())

    def get(self, kind: str, namespace: str, name: str) -> Object | None:
        """Return an object, or None."""
        return self._kinds.get(kind, {}).get(namespace, {}).get(name)

    def like(self, thing: Object) -> Object | None:
        """Return what is known under an object's name."""
        meta = meta_of(thing)
        return self.get(type(thing).__name__, meta.namespace, meta.name)

    def put(self, thing: Object) -> None:
        """Keep an object, new or changed."""
        meta = meta_of(thing)
        self._kinds.setdefault(type(thing).__name__, {}).setdefault(meta.namespace, {})[meta.name] = thing

    def drop(self, thing: Object) -> None:
        """Let an object go."""
        meta = meta_of(thing)
        self._kinds.get(type(thing).__name__, {}).get(meta.namespace, {}).pop(meta.name, None)

    def of_kind(self, kind: str) -> Iterator[Object]:
        """Return all objects of a kind, as they are when a namespace's turn comes."""
        for names in list(self._kinds.get(kind, {}).values()):
            yield from list(names.values())


def is_older(thing: Object, known: Object) -> bool:
    """Say whether an object is an older form of one that is known; without comparable versions it is not."""
    one, other = meta_of(thing).resource_version, meta_of(known).resource_version
    return one.isdecimal() and other.isdecimal() and int(one) < int(other)


def is_another(thing: Object, known: Object) -> bool:
    """Say whether an object only has the name of one that is known: that one went unheard."""
    return uid_of(thing) != uid_of(known)  # type: ignore[arg-type]  # every kind that is watched has metadata
