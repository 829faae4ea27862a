"""Spellings: the field names of old files, whatever their case, as today's.

Kubernetes read its Policy file without regard to case, so both `enableHttps` and `enableHTTPS` were seen.
Invariant: a complaint about a respelled field names the place where it was written.
Not here: fields that do not exist in any case (strict.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

import msgspec
from msgspec import inspect

from bayplan.config.complaints import Complaints, Path, Place


def respelled(tree: Mapping[str, object], wanted: type[msgspec.Struct], complaints: Complaints) -> dict[str, object]:
    """Return a tree with the field names that a struct has; places are looked up as they were written from then on."""
    spelling: dict[Path, str] = {}
    found = _respelled(tree, _type_of(wanted), complaints, (), spelling)
    if spelling:
        complaints.place_of = _as_written(spelling, complaints.place_of)
    return dict(found) if isinstance(found, Mapping) else {}


@lru_cache(maxsize=64)
def _type_of(wanted: type) -> inspect.Type:
    return inspect.type_info(wanted)


def _as_written(spelling: Mapping[Path, str], place_of: Callable[[Path], Place]) -> Callable[[Path], Place]:
    def asked(path: Path) -> Place:
        return place_of(tuple(spelling.get(path[: end + 1], step) for end, step in enumerate(path)))

    return asked


def _respelled(
    tree: object, wanted: inspect.Type, complaints: Complaints, path: Path, spelling: dict[Path, str]
) -> object:
    if isinstance(wanted, inspect.Metadata):
        return _respelled(tree, wanted.type, complaints, path, spelling)
    if isinstance(wanted, inspect.UnionType):
        inner = next((kind for kind in wanted.types if not isinstance(kind, inspect.NoneType)), wanted)
        return _respelled(tree, inner, complaints, path, spelling)
    if isinstance(wanted, inspect.VarTupleType) and isinstance(tree, list | tuple):
        return [
            _respelled(item, wanted.item_type, complaints, (*path, place), spelling) for place, item in enumerate(tree)
        ]
    if not isinstance(wanted, inspect.StructType) or not isinstance(tree, Mapping):
        return tree
    types: dict[str, inspect.Type] = {field.encode_name: field.type for field in wanted.fields}
    by_small: dict[str, str] = {name.lower(): name for name in types}
    found: dict[str, object] = {}
    for key, value in tree.items():
        name = str(key if key in types else by_small.get(key.lower()) or key)
        if name != key and name in tree:
            complaints.unreadable((*path, key), f"is {name} again, spelled otherwise; leave one of them out")
            continue
        if name != key:
            spelling[*path, name] = key
        kind = types.get(name)
        found[name] = value if kind is None else _respelled(value, kind, complaints, (*path, name), spelling)
    return found
