"""Strict decoding: a plain tree into frozen structs, where everything unknown or mistyped is a complaint.

It goes on after each complaint, so that one run finds them all; a value that could not be read stands at its default.
Invariant: what comes out has the types its struct declares, or there was a complaint.
Not here: reading text (source.py) and what values mean together (checks.py).
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final, TypeVar

import msgspec
from msgspec import inspect

from bayplan.config.complaints import Complaints, Path, meant, shown

Struct = TypeVar("Struct", bound=msgspec.Struct)
_SHOWN: Final = 3


class Unread:
    """What stands for a value that could not be read."""


UNREAD: Final = Unread()


def decoded(tree: object, wanted: type[Struct], complaints: Complaints, path: Path = ()) -> Struct | None:
    """Read a tree as a struct; None when nothing of it can be used."""
    found = _Reading(complaints).value(tree, _type_of(wanted), path)
    return found if isinstance(found, wanted) else None


@lru_cache(maxsize=256)
def _type_of(wanted: type) -> inspect.Type:
    return inspect.type_info(wanted)


class _Reading:
    """One tree being read; a method for each kind of type."""

    def __init__(self, complaints: Complaints) -> None:
        self.complaints = complaints

    def value(self, tree: object, wanted: inspect.Type, path: Path) -> object:
        """Read a value of any type; one that nothing is known of is left as it is."""
        reader = _READERS.get(type(wanted))
        return reader(self, tree, wanted, path) if reader is not None else tree

    def struct(self, tree: object, wanted: inspect.StructType, path: Path) -> object:
        """Read a map field by field; null is a field not given."""
        if not isinstance(tree, Mapping):
            return self._mistyped(tree, "a map", path)
        fields = {field.encode_name: field for field in wanted.fields}
        for key in tree:
            if key not in fields and not self.complaints.is_full:
                self.complaints.unreadable((*path, key), f"unknown field {shown(key)}; {_meant_field(key, fields)}")
        given: dict[str, object] = {}
        usable = True
        for name, field in fields.items():
            value = tree.get(name)
            if value is not None:
                found = self.value(value, field.type, (*path, name))
                if not isinstance(found, Unread):
                    given[field.name] = found
                    continue
            elif field.required:
                self.complaints.add((*path, name), "is required")
            usable = usable and not field.required
        return wanted.cls(**given) if usable else UNREAD

    def items(self, tree: object, wanted: inspect.VarTupleType, path: Path) -> object:
        """Read a list; items that cannot be read stand empty where that is possible, so that places stay right."""
        if not isinstance(tree, list | tuple):
            return self._mistyped(tree, "a list", path)
        found = [self.value(item, wanted.item_type, (*path, place)) for place, item in enumerate(tree)]
        if isinstance(wanted.item_type, inspect.StructType):
            found = [_empty(wanted.item_type) if isinstance(item, Unread) else item for item in found]
        if any(isinstance(item, Unread) for item in found):
            return UNREAD
        return found if isinstance(wanted, inspect.ListType) else tuple(found)

    def mapping(self, tree: object, wanted: inspect.DictType, path: Path) -> object:
        if not isinstance(tree, Mapping):
            return self._mistyped(tree, "a map", path)
        found = {key: self.value(value, wanted.value_type, (*path, key)) for key, value in tree.items()}
        return UNREAD if any(isinstance(value, Unread) for value in found.values()) else found

    def integer(self, tree: object, wanted: inspect.IntType, path: Path) -> object:
        if isinstance(tree, float) and tree.is_integer():
            tree = int(tree)
        if isinstance(tree, bool) or not isinstance(tree, int):
            return self._mistyped(tree, "an integer", path)
        return self._bounded(tree, wanted, path)

    def number(self, tree: object, wanted: inspect.FloatType, path: Path) -> object:
        if isinstance(tree, bool) or not isinstance(tree, int | float) or not math.isfinite(tree):
            return self._mistyped(tree, "a number", path)
        return self._bounded(float(tree), wanted, path)

    def _bounded(self, number: float, wanted: inspect.IntType | inspect.FloatType, path: Path) -> object:
        least, most = wanted.ge, wanted.le
        if (least is None or number >= least) and (most is None or number <= most):
            return number
        bounds = " and ".join(
            f"{word} {bound}" for word, bound in (("at least", least), ("at most", most)) if bound is not None
        )
        self.complaints.unreadable(path, f"expected a number of {bounds}, got {number}")
        return UNREAD

    def words(self, tree: object, wanted: inspect.StrType, path: Path) -> object:
        return tree if isinstance(tree, str) else self._mistyped(tree, "a text", path)

    def truth(self, tree: object, wanted: inspect.BoolType, path: Path) -> object:
        return tree if isinstance(tree, bool) else self._mistyped(tree, "true or false", path)

    def data(self, tree: object, wanted: inspect.BytesType, path: Path) -> object:
        if isinstance(tree, str):
            try:
                return base64.b64decode("".join(tree.split()), validate=True)
            except (binascii.Error, ValueError):
                pass
        return self._mistyped(tree, "base64", path, secret=True)

    def choice(self, tree: object, wanted: inspect.LiteralType | inspect.EnumType, path: Path) -> object:
        values = wanted.values if isinstance(wanted, inspect.LiteralType) else [member.value for member in wanted.cls]
        if tree not in values:
            self.complaints.unreadable(path, f"unknown value {shown(tree)}; {meant(str(tree), map(str, values))}")
            return UNREAD
        return tree if isinstance(wanted, inspect.LiteralType) else wanted.cls(tree)

    def by_itself(self, tree: object, wanted: inspect.CustomType, path: Path) -> object:
        """Read a type that reads itself from text."""
        parse: Callable[[str], object] | None = getattr(wanted.cls, "parse", None)
        if parse is None:
            return tree
        if not isinstance(tree, str):
            return self._mistyped(tree, getattr(wanted.cls, "FORM", "a text"), path)
        try:
            return parse(tree)
        except ValueError as error:
            self.complaints.unreadable(path, str(error))
            return UNREAD

    def one_of(self, tree: object, wanted: inspect.UnionType, path: Path) -> object:
        """Read the first type that fits; where only one can be given, complain as that one does."""
        kinds = [kind for kind in wanted.types if not isinstance(kind, inspect.NoneType)]
        if tree is None and len(kinds) < len(wanted.types):
            return None
        if len(kinds) == 1:
            return self.value(tree, kinds[0], path)
        for kind in kinds:
            trial = _Reading(Complaints())
            found = trial.value(tree, kind, path)
            if not trial.complaints.found:
                return found
        return self._mistyped(tree, "another type", path)

    def within(self, tree: object, wanted: inspect.Metadata, path: Path) -> object:
        return self.value(tree, wanted.type, path)

    def _mistyped(self, tree: object, expected: str, path: Path, *, secret: bool = False) -> Unread:
        """Complain that a value is of the wrong type, and say how to make it right where that is known."""
        got, cure = _KINDS.get(type(tree), type(tree).__name__), ""
        if secret:
            got = got.replace("the ", "a ")
        elif isinstance(tree, str | int | float) and not isinstance(tree, bool):
            got = f"{got} {shown(tree)}"
        if expected == "a text" and isinstance(tree, bool | int | float):
            cure = "; quotes make it one"
        if expected in {"an integer", "a number", "true or false"} and isinstance(tree, str):
            cure = "; without quotes it may be one" if _looks_plain(tree) else ""
        self.complaints.unreadable(path, f"expected {expected}, got {got}{cure}")
        return UNREAD


def _meant_field(key: str, fields: Mapping[str, inspect.Field]) -> str:
    """Say which field was probably meant, or in which it would stand."""
    inside = sorted(name for name, field in fields.items() if key in _names_in(field.type))
    if not inside:
        return meant(key, fields)
    more = f" or {len(inside) - _SHOWN} more" if len(inside) > _SHOWN else ""
    return f"it stands one level deeper, in {' or '.join(inside[:_SHOWN])}{more}"


def _names_in(wanted: inspect.Type) -> frozenset[str]:
    """Return the names of the fields of a struct, or of each of a list's."""
    if isinstance(wanted, inspect.Metadata):
        return _names_in(wanted.type)
    if isinstance(wanted, inspect.VarTupleType | inspect.ListType):
        return _names_in(wanted.item_type)
    if isinstance(wanted, inspect.UnionType):
        return frozenset(name for kind in wanted.types for name in _names_in(kind))
    if not isinstance(wanted, inspect.StructType):
        return frozenset()
    return frozenset(field.encode_name for field in wanted.fields)


def _empty(wanted: inspect.StructType) -> object:
    return UNREAD if any(field.required for field in wanted.fields) else wanted.cls()


def _looks_plain(text: str) -> bool:
    return text.lower() in {"true", "false"} or not text.strip("+-0123456789.")


def plain(value: object) -> object:
    """Return decoded values as a tree again, every field by its name in files."""
    return msgspec.to_builtins(value, enc_hook=str)


def fields_of(wanted: type[msgspec.Struct]) -> Sequence[str]:
    """Return the names that a struct's fields have in files."""
    return [field.encode_name for field in msgspec.structs.fields(wanted)]


_KINDS: Final[dict[type, str]] = {
    dict: "a map",
    list: "a list",
    tuple: "a list",
    str: "the text",
    int: "the number",
    float: "the number",
    bool: "true or false",
    type(None): "null",
}
_READERS: Final[dict[type, Callable[..., object]]] = {
    inspect.StructType: _Reading.struct,
    inspect.VarTupleType: _Reading.items,
    inspect.ListType: _Reading.items,
    inspect.DictType: _Reading.mapping,
    inspect.IntType: _Reading.integer,
    inspect.FloatType: _Reading.number,
    inspect.StrType: _Reading.words,
    inspect.BoolType: _Reading.truth,
    inspect.BytesType: _Reading.data,
    inspect.LiteralType: _Reading.choice,
    inspect.EnumType: _Reading.choice,
    inspect.CustomType: _Reading.by_itself,
    inspect.UnionType: _Reading.one_of,
    inspect.Metadata: _Reading.within,
}
