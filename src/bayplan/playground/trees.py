"""Reading and writing trees of JSON whose shape nobody vouches for.

A question about a path that is absent, or is of another type, is answered with the type's empty value: what a client
sends may have any shape, and no shape may raise.
Not here: what the fields mean.
"""

from __future__ import annotations

import time
from datetime import datetime
from typing import Final, TypeAlias

import msgspec

from bayplan.api.yamltree import Tree

Map: TypeAlias = dict[str, Tree]

STAMP: Final = "%Y-%m-%dT%H:%M:%SZ"


def at(tree: Tree, *path: str) -> Tree:
    """Give what stands at a path, or None."""
    for step in path:
        if not isinstance(tree, dict):
            return None
        tree = tree.get(step)
    return tree


def mapping(tree: Tree, *path: str) -> Map:
    """Give the map at a path, or an empty one."""
    found = at(tree, *path)
    return found if isinstance(found, dict) else {}


def items(tree: Tree, *path: str) -> list[Tree]:
    """Give the list at a path, or an empty one."""
    found = at(tree, *path)
    return found if isinstance(found, list) else []


def maps(tree: Tree, *path: str) -> list[Map]:
    """Give the maps of the list at a path."""
    return [one for one in items(tree, *path) if isinstance(one, dict)]


def text(tree: Tree, *path: str) -> str:
    """Give the text at a path, or an empty one."""
    found = at(tree, *path)
    return found if isinstance(found, str) else ""


def whole(tree: Tree, *path: str) -> int | None:
    """Give the integer at a path, or None."""
    found = at(tree, *path)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def pairs(tree: Tree, *path: str) -> dict[str, str]:
    """Give the texts of the map at a path, such as labels."""
    return {key: value for key, value in mapping(tree, *path).items() if isinstance(value, str)}


def opened(tree: Map, *path: str) -> Map:
    """Give the map at a path for writing, made where there is none."""
    for step in path:
        below = tree.get(step)
        if not isinstance(below, dict):
            below = tree[step] = {}
        tree = below
    return tree


def set_condition(status: Map, kind: str, value: str, now: str, why: tuple[str, str] = ("", "")) -> None:
    """Set one condition of a status; its time is that of the last change of its value."""
    old = next((one for one in maps(status, "conditions") if text(one, "type") == kind), None)
    since = text(old, "lastTransitionTime") if old is not None and text(old, "status") == value else now
    new: Map = {"type": kind, "status": value, "lastTransitionTime": since}
    for field, words in zip(("reason", "message"), why, strict=True):
        if words:
            new[field] = words
    conditions = items(status, "conditions")
    status["conditions"] = [new if one is old else one for one in conditions] if old else [*conditions, new]


def copied(tree: Map) -> Map:
    """Give a copy that shares nothing with the original."""
    return {key: _copied(value) for key, value in tree.items()}


def _copied(value: Tree) -> Tree:
    if isinstance(value, dict):
        return {key: _copied(below) for key, below in value.items()}
    if isinstance(value, list):
        return [_copied(below) for below in value]
    return value


def encoded(tree: Tree) -> bytes:
    """Write JSON."""
    return msgspec.json.encode(tree)


def stamp(seconds: float) -> str:
    """Write a time the way Kubernetes does."""
    return time.strftime(STAMP, time.gmtime(seconds))


def fine_stamp(seconds: float) -> str:
    """Write a time with microseconds, as leases have it."""
    return f"{stamp(seconds)[:-1]}.{int(seconds % 1 * 1e6):06}Z"


def moment(written: str, otherwise: float) -> float:
    """Read a time, in seconds since 1970; one that cannot be read is what is given for it."""
    try:
        return datetime.fromisoformat(written).timestamp()
    except (ValueError, OverflowError, OSError):
        return otherwise
