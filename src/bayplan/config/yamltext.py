"""Writing YAML that people read: block style, and beside each value where it comes from.

Invariant: what is written reads back as the same tree.
Not here: which values there are (shown.py, convert.py).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

from bayplan.api.yamltree import documents

COMMENT_COLUMN: Final = 64
_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_./()+-]*( [A-Za-z0-9_./()+-]+)*")


class Value(msgspec.Struct, frozen=True):
    """A scalar, or an empty list or map, and a remark about it."""

    value: object
    remark: str = ""


Node: TypeAlias = "Value | Mapping[str, Node] | Sequence[Node]"


def text(node: Node, *, remarks: bool = True) -> str:
    """Write a tree."""
    return "".join(f"{line}\n" for line in _lines(node, "", remarks=remarks))


def bare(node: Node) -> object:
    """Return a tree without remarks."""
    if isinstance(node, Value):
        return node.value
    if isinstance(node, Mapping):
        return {key: bare(child) for key, child in node.items()}
    return [bare(child) for child in node]


def noted(tree: object, remark: str = "") -> Node:
    """Return a plain tree with one remark beside every value."""
    if isinstance(tree, Mapping) and tree:
        return {str(key): noted(child, remark) for key, child in tree.items()}
    if isinstance(tree, list | tuple) and tree:
        return [noted(child, remark) for child in tree]
    return Value(tree, remark)


def _lines(node: Node, pad: str, *, remarks: bool) -> Iterator[str]:
    if isinstance(node, Value):
        yield _with_remark(f"{pad}{_scalar(node.value)}", node, remarks=remarks)
    elif isinstance(node, Mapping):
        for key, child in node.items():
            if isinstance(child, Value):
                yield _with_remark(f"{pad}{_scalar(key)}: {_scalar(child.value)}", child, remarks=remarks)
            else:
                yield f"{pad}{_scalar(key)}:"
                yield from _lines(child, pad if _is_list(child) else f"{pad}  ", remarks=remarks)
    else:
        for child in node:
            first, *rest = _lines(child, f"{pad}  ", remarks=remarks)
            yield f"{pad}- {first[len(pad) + 2 :]}"
            yield from rest


def _is_list(node: Node) -> bool:
    return not isinstance(node, Value | Mapping)


def _with_remark(line: str, value: Value, *, remarks: bool) -> str:
    if not remarks or not value.remark:
        return line
    return f"{line:<{COMMENT_COLUMN - 1}} # {' '.join(value.remark.split())}"


def _scalar(value: object) -> str:
    """Write a scalar so that it is read back as itself."""
    if isinstance(value, str):
        return value if _PLAIN.fullmatch(value) and _reads_back(value) else _quoted(value)
    return json.dumps(value)


def _reads_back(word: str) -> bool:
    """Say whether YAML takes a word for a text, and not for `yes` or `null`."""
    found = next(iter(documents(word.encode())), None)
    return getattr(found, "tree", None) == word


def _quoted(words: str) -> str:
    return '"' + "".join(map(_escaped, words)) + '"'


def _escaped(character: str) -> str:
    if character in {'"', "\\"}:
        return f"\\{character}"
    return character if character.isprintable() else f"\\U{ord(character):08X}"
