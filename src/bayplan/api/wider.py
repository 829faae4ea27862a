"""Wider objects: pods and nodes with the fields that a rule declares and our structs do not carry.

A rule of somebody's own may look at more than ours do.  What it declares (`pod.metadata.annotations`,
`node.status.nodeInfo`) is kept as plain JSON values, in attributes with the field's name in snake case; nobody else
pays for it.  The widened structs are subclasses of ours, so everything that reads those reads these.
Invariant: without declared fields the kinds are the very same objects as before.
Not here: decoding (`api/decode.py`) and who declares what (`framework`).
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias, Union, get_args, get_origin, get_type_hints

import msgspec

from bayplan.api import objects
from bayplan.api.annotations import PodAnnotations
from bayplan.api.objects import Node, Object, Pod

Kinds: TypeAlias = Mapping[tuple[str, str], type[Object]]
Wanted: TypeAlias = dict[str, "Wanted"]

ROOTS: Final[Mapping[str, type[Object]]] = {"pod": Pod, "node": Node}

_FORM: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9]*(\.[a-zA-Z][a-zA-Z0-9]*)+", re.ASCII)
_BOUNDARY: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class FieldError(ValueError):
    """A declared field that cannot be kept."""


def widened(kinds: Kinds, fields: Iterable[str]) -> Kinds:
    """Return kinds whose pods and nodes carry some more fields."""
    wanted: dict[str, Wanted] = {}
    for field in fields:
        if not isinstance(field, str) or not _FORM.fullmatch(field) or field.partition(".")[0] not in ROOTS:
            raise FieldError(
                f'expected a field such as pod.metadata.annotations or node.status.nodeInfo, got "{field}"'
            )
        below: Wanted = wanted
        for step in field.split("."):
            below = below.setdefault(step, {})
    wider = {ROOTS[root]: _wider(ROOTS[root], below, root) for root, below in wanted.items()}
    return {name: wider.get(kind, kind) for name, kind in kinds.items()} if wider else kinds


def as_wide(thing: Object, kinds: Kinds) -> Object:
    """Return an object that was made, not read, with the fields that one read would have: nothing is in them."""
    kind = next((wide for wide in kinds.values() if wide.__name__ == type(thing).__name__), type(thing))
    return _as_wide(thing, kind)


def _as_wide(thing: Object, kind: type[Object]) -> Object:
    if type(thing) is kind:
        return thing
    hints = get_type_hints(kind, vars(objects))
    values: dict[str, object] = {}
    for name in type(thing).__struct_fields__:
        value = getattr(thing, name)
        inner, _ = _struct_in(hints[name])
        if isinstance(value, PodAnnotations) and hints[name] is not PodAnnotations:
            values[name] = msgspec.to_builtins(value) or None
        else:
            values[name] = _as_wide(value, inner) if inner is not None and isinstance(value, Object) else value
    return kind(**values)


def attribute(field: str) -> str:
    """Write a field's name as its attribute.

    >>> attribute("nodeInfo"), attribute("podIP"), attribute("hostIPs")
    ('node_info', 'pod_ip', 'host_ips')
    """
    return _BOUNDARY.sub("_", field.replace("IPs", "Ips")).lower()


def _wider(struct: type[Object], wanted: Wanted, path: str) -> type[Object]:
    """Return a subclass of a struct with more fields."""
    known = {field.encode_name: field.name for field in msgspec.structs.fields(struct)}
    hints = get_type_hints(struct, vars(objects))
    more: list[tuple[str, Any, Any]] = []
    for name, below in wanted.items():
        if name not in known:
            more.append((attribute(name), Any, msgspec.field(name=name, default=None)))
        elif not below and hints[known[name]] is PodAnnotations:
            more.append((known[name], Any, msgspec.field(name=name, default=None)))
        elif below:
            inner, optional = _struct_in(hints[known[name]])
            if inner is None:
                raise FieldError(
                    f"{path}.{name}: fields inside it cannot be kept one by one; it is no map of known fields"
                )
            fresh = _wider(inner, below, f"{path}.{name}")
            if fresh is inner:
                continue
            default: object = None if optional else fresh()
            kind: object = Union[fresh, None] if optional else fresh  # noqa: UP007 fresh is a value here
            more.append((known[name], kind, msgspec.field(name=name, default=default)))
    if not more:
        return struct
    fresh_struct: type[Any] = msgspec.defstruct(
        struct.__name__, more, bases=(struct,), frozen=True, gc=False, kw_only=True, rename="camel",
        module=struct.__module__,
    )  # fmt: skip
    return fresh_struct


def _struct_in(hint: object) -> tuple[type[Object] | None, bool]:
    """Return the struct that a type hint means, and whether it may be None."""
    if isinstance(hint, type) and issubclass(hint, Object):
        return hint, False
    if get_origin(hint) in {Union, types.UnionType}:
        structs = [one for one in get_args(hint) if isinstance(one, type) and issubclass(one, Object)]
        if len(structs) == 1:
            return structs[0], True
    return None, False
