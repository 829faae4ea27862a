"""YAML to plain maps, lists and scalars, as kubectl reads it, whatever it is given.

libyaml's events are folded here one by one, without recursion: its own composer overruns the stack on deep input, and
PyYAML's constructors know dates and sexagesimals, which kubectl does not, and take the last of two equal keys.
Invariant: reading takes time and memory in proportion to the text; nesting, cycles and what aliases unfold to are
bounded.
Not here: what the trees mean (`api/decode.py`).
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator
from itertools import islice
from typing import Final, TypeAlias

import yaml

Tree: TypeAlias = "dict[str, Tree] | list[Tree] | str | int | float | bool | None"
Step: TypeAlias = str | int
Path: TypeAlias = tuple[Step, ...]

DEPTH_MAX: Final = 100
UNFOLDED_MIN: Final = 100_000  # an alias may always unfold to this many nodes,
UNFOLDED_RATIO: Final = 20  # and to so many times what is written

_TRUE: Final = frozenset({"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"})
_FALSE: Final = frozenset({"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"})
_NULL: Final = frozenset({"", "~", "null", "Null", "NULL"})
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_INTEGER: Final = re.compile(r"([-+]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)", re.ASCII)
_CORE: Final = "tag:yaml.org,2002:"
_SCALARS: Final[dict[str, tuple[type, ...]]] = {
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "null": (type(None),),
}
_DIGITS_MAX: Final = 100  # a longer number is a text, as it is to kubectl


class YamlError(ValueError):
    """YAML that cannot be read, or that we refuse to unfold; lines and columns count from nought."""

    def __init__(self, line: int, problem: str) -> None:
        """Say on which line, and what."""
        super().__init__(problem)
        self.line = line
        self.problem = problem
        self.column = 0
        self.path: Path = ()


class Read:
    """One document: its tree, and on demand the lines where its parts stand."""

    def __init__(self, tree: Tree, first_line: int, chunk: bytes, place: int) -> None:
        """Keep what it takes to read the document again; lines are seldom asked for and dear to keep."""
        self.tree = tree
        self._first_line = first_line
        self._chunk = chunk
        self._place = place
        self._again: _Document | None = None

    def line_of(self, path: Path) -> int:
        """Give the line, from one, on which a part stands, or the innermost part around it that there is."""
        return self.place_of(path)[0]

    def place_of(self, path: Path) -> tuple[int, int]:
        """Give the line and the column, from one, at which a part stands, or the innermost part around it."""
        if self._again is None:
            self._again = next(islice(_parsed(self._chunk, marks=True), self._place, None))
        place, node = self._again.root_place, self._again.root
        for step in path:
            places = self._again.places.get(id(node), {})
            if step not in places:
                break
            place = places[step]
            node = node[step]  # type: ignore[index]  # a step that has a place leads to a child
        return self._first_line + place[0] + 1, place[1] + 1


class _Open:
    """A map or list whose end has not been read yet."""

    __slots__ = ("anchor", "is_key", "key", "merges", "own", "size", "value")

    def __init__(self, value: dict[str, Tree] | list[Tree], anchor: str | None) -> None:
        self.value = value
        self.anchor = anchor
        self.own: set[str] | None = None  # keys not inherited, once something is merged
        self.key: str | None = None
        self.is_key = isinstance(value, dict)
        self.merges = False
        self.size = 1


class _Document:
    """Folds one document's events into a tree."""

    def __init__(self, *, marks: bool) -> None:
        self.marks = marks
        self.open: list[_Open] = []
        self.anchors: dict[str, tuple[Tree, int] | None] = {}  # None while the anchor's own node is still open
        self.places: dict[int, dict[Step, tuple[int, int]]] = {}  # by a container's id: line and column of its children
        self.kept: list[object] = []  # so that no id in `places` is given away again
        self.root: Tree = None
        self.root_place = (0, 0)
        self.column = 0
        self.written = 0
        self.unfolded = 0

    def take(self, event: yaml.Event) -> None:
        """Fold in one event."""
        line: int = event.start_mark.line  # type: ignore[union-attr]  # libyaml always says where
        self.column = event.start_mark.column  # type: ignore[union-attr]  # as the line
        self.written += 1
        if self.marks and isinstance(event, yaml.NodeEvent):
            self._mark(line)
        if isinstance(event, yaml.ScalarEvent):
            value = _scalar(event, line)
            if event.anchor:
                self.anchors[event.anchor] = (value, 1)
            self._place(value, 1, line, merges=value == "<<" and event.implicit[0])
        elif isinstance(event, yaml.AliasEvent):
            value, size = self._anchored(event.anchor or "", line)
            self._place(value, size, line)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._begin(event, line)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._end(line)

    def _begin(self, event: yaml.CollectionStartEvent, line: int) -> None:
        if len(self.open) >= DEPTH_MAX:
            raise YamlError(line, f"expected at most {DEPTH_MAX} levels of nesting")
        mapping = isinstance(event, yaml.MappingStartEvent)
        wanted = f"{_CORE}map" if mapping else f"{_CORE}seq"
        if event.tag not in {None, "!", wanted}:
            raise YamlError(line, f"expected plain YAML, got the tag {event.tag}")
        if event.anchor:
            self.anchors[event.anchor] = None
        opened = _Open({} if mapping else [], event.anchor)
        if self.marks:
            self.places[id(opened.value)] = {}
            self.kept.append(opened.value)
        self.open.append(opened)

    def _end(self, line: int) -> None:
        done = self.open.pop()
        if done.anchor:
            self.anchors[done.anchor] = (done.value, done.size)
        self._place(done.value, done.size, line)

    def _anchored(self, anchor: str, line: int) -> tuple[Tree, int]:
        if anchor not in self.anchors:
            raise YamlError(line, f"expected an anchor &{_short(anchor)} before the alias")
        known = self.anchors[anchor]
        if known is None:
            raise YamlError(line, f"expected no cycle, but &{_short(anchor)} contains itself")
        self.unfolded += known[1]
        if self.unfolded > max(UNFOLDED_MIN, UNFOLDED_RATIO * self.written):
            raise YamlError(line, f"expected aliases that unfold to at most {UNFOLDED_MIN:,} nodes")
        return known

    def _place(self, value: Tree, size: int, line: int, *, merges: bool = False) -> None:
        """Put a finished node where it belongs: under a key, into a list, or at the root."""
        if not self.open:
            self.root = value
            return
        top = self.open[-1]
        top.size += size
        if isinstance(top.value, list):
            top.value.append(value)
        elif top.is_key:
            top.key, top.merges, top.is_key = sys.intern(_key(value, line)), merges, False
            if not merges and top.key in (top.value if top.own is None else top.own):
                raise YamlError(line, f'expected each key once, got "{_short(top.key)}" again')
            if self.marks:
                self.places[id(top.value)][top.key] = line, self.column
        elif top.merges:
            self._merge(top, value, line)
            top.is_key = True
        elif top.key is not None:
            top.value[top.key] = value
            if top.own is not None:
                top.own.add(top.key)
            top.is_key = True

    def _merge(self, top: _Open, value: Tree, line: int) -> None:
        """Take over what << names; a key of the map's own, before or after, goes first."""
        if not isinstance(top.value, dict):
            return
        top.own = set(top.value) if top.own is None else top.own
        for source in value if isinstance(value, list) else [value]:
            if not isinstance(source, dict):
                raise YamlError(line, "expected a map, or a list of maps, after <<")
            for inherited, child in source.items():
                top.value.setdefault(inherited, child)

    def _mark(self, line: int) -> None:
        """Remember where the root or an item of a list begins; a map's children are marked by their keys."""
        if not self.open:
            self.root_place = line, self.column
        elif isinstance(self.open[-1].value, list):
            self.places[id(self.open[-1].value)][len(self.open[-1].value)] = line, self.column

    def path(self) -> Path:
        """Say how far into the document the reading has come."""
        steps = (len(one.value) if isinstance(one.value, list) else one.key for one in self.open)
        return tuple(step for step in steps if step is not None)


def documents(text: bytes) -> Iterator[Read | YamlError]:
    """Read every document of a text; a broken one comes out as its error, and the next are still read."""
    for first_line, chunk in _chunks(text):
        try:
            for place, document in enumerate(_parsed(chunk, marks=False)):
                yield Read(document.root, first_line, chunk, place)
        except YamlError as error:
            error.line += first_line
            yield error


def _parsed(chunk: bytes, *, marks: bool) -> Iterator[_Document]:
    document = _Document(marks=marks)
    try:
        for event in yaml.parse(chunk, Loader=yaml.CSafeLoader):
            if isinstance(event, yaml.DocumentStartEvent):
                document = _Document(marks=marks)
            elif isinstance(event, yaml.DocumentEndEvent):
                yield document
            else:
                document.take(event)
    except YamlError as error:
        error.column, error.path = document.column, document.path()
        raise
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = ": ".join(part for part in (error.context, error.problem) if part)
        if mark is not None and b"\t" in b"".join(chunk.splitlines()[mark.line : mark.line + 1]):
            problem += "; there is a tab, and YAML is indented with spaces"
        broken = YamlError(mark.line if mark else 0, f"expected YAML: {problem}")
        broken.column = mark.column if mark else 0
        raise broken from None
    except (yaml.YAMLError, UnicodeError, ValueError) as error:
        raise YamlError(0, f"expected YAML in UTF-8: {_short(str(error))}") from None


_MARKER: Final = re.compile(rb"^---(?=[ \t\r\n]|\Z)", re.MULTILINE)
_DIRECTIVES: Final = re.compile(rb"(?:[ \t]*(?:[%#][^\n]*)?(?:\n|\Z))*", re.ASCII)


def _chunks(text: bytes) -> Iterator[tuple[int, bytes]]:
    """Cut a text before each document marker, so that an error in one document does not lose the next."""
    begin = line = 0
    for marker in _MARKER.finditer(text):
        chunk = text[begin : marker.start()]
        if _DIRECTIVES.fullmatch(chunk):
            if b"%" in chunk:
                continue
        else:
            yield line, chunk
        line += chunk.count(b"\n")
        begin = marker.start()
    yield line, text[begin:]


def _scalar(event: yaml.ScalarEvent, line: int) -> Tree:
    """Give a scalar the type that kubectl would; only plain ones can be anything but text."""
    text: str = event.value
    if event.tag in {None, "!"}:
        return _resolved(text) if event.implicit[0] else text
    kind = event.tag.removeprefix(_CORE)
    if kind == "str":
        return text
    value = _resolved(text)
    if kind not in _SCALARS:
        raise YamlError(line, f"expected plain YAML, got the tag {_short(event.tag)}")
    if not isinstance(value, _SCALARS[kind]):
        raise YamlError(line, f'expected a value of type {kind}, got "{_short(text)}"')
    return value


def _resolved(text: str) -> Tree:
    if text in _NULL:
        return None
    if not text[0].isalpha():
        return _number(text)
    if text in _TRUE:
        return True
    return False if text in _FALSE else text


def _number(text: str) -> Tree:
    """Read a plain scalar as a number, if it is one."""
    if len(text) > _DIGITS_MAX:
        return text
    plain = text.replace("_", "")
    if form := _INTEGER.fullmatch(plain):
        digits = form[2].lower()
        octal = len(digits) > 1 and digits[0] == "0" and digits[1].isdigit()
        size = int(digits, 8) if octal else int(digits, 0)
        return -size if form[1] == "-" else size
    if _FLOAT.fullmatch(plain if text[0] != "." else text):
        number = float(plain)
        return number if math.isfinite(number) else text
    return text


def _key(value: Tree, line: int) -> str:
    """Make a key the text that it is in JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    raise YamlError(line, "expected a text as key")


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
