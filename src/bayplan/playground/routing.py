"""Paths: what of the API a URL means.

Not here: what is done with it (`server.py`).
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import unquote

from bayplan.playground.kinds import Kind, Kinds
from bayplan.playground.refusals import no_such_group, no_such_path
from bayplan.playground.store import Key


class Target(NamedTuple):
    """A kind's objects, one of them, or a part of one."""

    kind: Kind
    namespace: str = ""
    name: str = ""
    part: str = ""

    @property
    def key(self) -> Key:
        """Give the object's key on its shelf."""
        return self.namespace, self.name


def parts_of(path: str) -> list[str]:
    """Split a raw path; what is escaped within a part stays within it."""
    return [unquote(part) for part in path.split("/") if part]


def target(kinds: Kinds, parts: list[str]) -> Target:
    """Read a path below /api or /apis; raise Refused where nothing is served there."""
    if parts[0] == "api":
        group, version, rest = "", parts[1], parts[2:]
    elif len(parts) > 2:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        raise no_such_path()
    if not rest:
        raise no_such_path()
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and not (group == "" and rest[2] in {"status", "finalize"}):
        namespace, rest = rest[1], rest[2:]
    kind = kinds.find(group, version, rest[0])
    if kind is None and (group, rest) == ("", ["bindings"]) and namespace:
        return Target(kinds.core("pods"), namespace, "", "binding")
    if kind is None and not kinds.of(group, version):
        raise no_such_group()
    if kind is None or len(rest) > 3 or (namespace and not kind.namespaced):
        raise no_such_path()
    name, part = (*rest[1:], "", "")[:2]
    if part and part not in kind.subresources and not (kind.plural == "namespaces" and part == "finalize"):
        raise no_such_path()
    if name and kind.namespaced and not namespace:
        raise no_such_path()
    return Target(kind, namespace, name, part)
