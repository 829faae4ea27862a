"""JSON null where a field has no None is Go's zero value: absent in a struct, empty in a map or list.

This is the slow path of decoding, taken only by objects that the fast path refused.
Not here: the fast path (`api/decode.py`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

import msgspec
from msgspec import inspect

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"


def without_nulls(tree: object, wanted: type) -> object:
    """Replace each null by the zero value of what is wanted there; leave what may be null, and what is unknown."""
    return _filled(tree, _type_of(wanted))


@lru_cache(maxsize=256)
def _type_of(wanted: type) -> inspect.Type:
    return inspect.type_info(wanted)


def _filled(tree: object, wanted: inspect.Type) -> object:
    if isinstance(wanted, inspect.UnionType):
        wanted = next((kind for kind in wanted.types if not isinstance(kind, inspect.NoneType)), wanted)
    if isinstance(wanted, inspect.StructType) and isinstance(tree, dict):
        fields = _fields(wanted.cls)
        return {
            key: _filled(value, fields[key][0]) if key in fields else value
            for key, value in tree.items()
            if value is not None or (key in fields and fields[key][1])
        }
    if isinstance(wanted, inspect.DictType) and isinstance(tree, dict):
        return {key: _zero(wanted.value_type) if value is None else value for key, value in tree.items()}
    if isinstance(wanted, inspect.VarTupleType) and isinstance(tree, list):
        item = wanted.item_type
        return [_zero(item) if value is None else _filled(value, item) for value in tree]
    return tree


@lru_cache(maxsize=256)
def _fields(struct: type[msgspec.Struct]) -> dict[str, tuple[inspect.Type, bool]]:
    """Give a struct's fields by their name in JSON: what is wanted there, and whether null is."""
    wanted = _type_of(struct)
    if not isinstance(wanted, inspect.StructType):
        return {}
    return {field.encode_name: (field.type, _may_be_null(field.type)) for field in wanted.fields}


def _may_be_null(wanted: inspect.Type) -> bool:
    return isinstance(wanted, inspect.UnionType) and any(isinstance(kind, inspect.NoneType) for kind in wanted.types)


def _zero(wanted: inspect.Type) -> object:
    if isinstance(wanted, inspect.UnionType):  # a quantity
        return 0
    if isinstance(wanted, inspect.StructType):
        return {}
    return 0 if isinstance(wanted, inspect.IntType) else ""
