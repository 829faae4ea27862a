"""Fields: which of an object's its kind does not know, as a real API server warns of them.

They are kept all the same.  The table beside this module is read when it is first needed.
Invariant: of a kind that is not in the table, such as a definition's, every field is known.
Not here: whether a field's value makes sense.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from bayplan.api.yamltree import Tree
from bayplan.playground.kinds import Kind
from bayplan.playground.trees import Map

TABLE: Final = Path(__file__).parent / "fields.txt"
WARNINGS_MAX: Final = 10

Fields = dict[str, str]  # by a field's name, the schema below it, marked where it is that of a map's values


class Schemas(NamedTuple):
    """The table."""

    roots: dict[tuple[str, str], str]  # by apiVersion and kind
    fields: dict[str, Fields]


def unknown(kind: Kind, tree: Map) -> list[str]:
    """Name the fields of an object, or of a merge patch, that its kind does not know; the first few."""
    schemas = _schemas()
    root = schemas.roots.get((kind.api_version, kind.name), "")
    return list(islice(_below(schemas.fields, root, tree, ""), WARNINGS_MAX))


def _below(known: dict[str, Fields], schema: str, tree: Tree, path: str) -> Iterator[str]:
    if isinstance(tree, list):
        for place, one in enumerate(tree):
            yield from _below(known, schema, one, f"{path}[{place}]")
    elif isinstance(tree, dict) and schema.startswith("{"):
        for name, value in tree.items():
            yield from _below(known, schema[1:], value, f"{path}.{name}")
    elif isinstance(tree, dict) and schema in known:
        fields = known[schema]
        for name, value in tree.items():
            where = f"{path}.{name}" if path else name
            if name not in fields and not name.startswith("$"):  # a strategic merge's directives begin so
                yield where
            elif fields.get(name):
                yield from _below(known, fields[name], value, where)


@lru_cache(maxsize=1)
def _schemas() -> Schemas:
    roots: dict[tuple[str, str], str] = {}
    fields: dict[str, Fields] = {}
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        first, *words = line.split()
        if first == "=":
            roots[words[0], words[1]] = words[2]
        elif first != "#":
            fields[first] = {name: below for name, _, below in (word.partition(":") for word in words)}
    return Schemas(roots, fields)
