"""JSON and YAML to objects: one object from its bytes or its tree, and whole manifests.

Decoding is typed and fast; what is refused says which field and what was expected there.  JSON null is Go's zero value
(`api/nulls.py`), unknown fields are passed over.
Invariant: no input raises anything but DecodeError, and one bad object never hides the others of its file.
Not here: opening files and sockets, and filling in what the API server would (`api/defaults.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeAlias, TypeVar

import msgspec

from bayplan.api import claims, groups, objects, policies, workloads
from bayplan.api.nulls import without_nulls
from bayplan.api.objects import Object, Pod
from bayplan.api.validate import faults_of
from bayplan.api.wider import Kinds
from bayplan.api.yamltree import Path, YamlError, documents

MANIFEST_BYTES_MAX: Final = 256 * 2**20
FAULTS_MAX: Final = 10  # of one object: who has that many learns nothing from the eleventh
LISTS_DEPTH_MAX: Final = 10
GUESS_BYTES_MAX: Final = 2**20  # of broken JSON that is tried as YAML, or read again for a line's number

KINDS: Final[dict[tuple[str, str], type[Object]]] = {
    (group, kind.__name__): kind
    for group, kinds in {
        "": (
            objects.Pod,
            objects.Node,
            objects.Namespace,
            workloads.Service,
            workloads.ReplicationController,
            claims.PersistentVolume,
            claims.PersistentVolumeClaim,
        ),
        "apps": (workloads.Deployment, workloads.ReplicaSet, workloads.StatefulSet, workloads.DaemonSet),
        "batch": (workloads.Job, workloads.CronJob),
        "policy": (policies.PodDisruptionBudget,),
        "scheduling.k8s.io": (policies.PriorityClass,),
        "node.k8s.io": (policies.RuntimeClass,),
        "storage.k8s.io": (
            claims.StorageClass,
            claims.CSINode,
            claims.CSIDriver,
            claims.CSIStorageCapacity,
            claims.VolumeAttachment,
        ),
        "resource.k8s.io": (claims.ResourceClaim, claims.DeviceClass),
        **dict.fromkeys(groups.API_GROUPS, (groups.PodGroup, groups.Queue)),
    }.items()
    for kind in kinds
}


class DecodeError(ValueError):
    """An object that is not what its kind says it is."""

    def __init__(self, path: Path, problem: str) -> None:
        """Say in which field, and what was expected there."""
        super().__init__(f"{in_words(path)}: {problem}" if path else problem)
        self.path = path
        self.problem = problem


class UnknownKindError(DecodeError):
    """An object of a kind that no rule reads."""

    def __init__(self, kind: str) -> None:
        """Name the kind."""
        super().__init__(("kind",), f'expected a kind that matters to scheduling, got "{_short(kind)}"')
        self.kind = kind


class Refused(msgspec.Struct, frozen=True, gc=False):
    """What was not understood, and where it stands; document and line count from one, 0 is unknown."""

    file: str
    document: int
    line: int
    path: str
    message: str

    def __str__(self) -> str:
        """Put it in a line for a person."""
        where = [self.file]
        where += [f"document {self.document}"] if self.document else []
        where += [f"line {self.line}"] if self.line else []
        field = f" {self.path}:" if self.path else ""
        return f"{', '.join(where)}:{field} {self.message}"


class Passed(msgspec.Struct, frozen=True, gc=False):
    """An object of a kind that does not matter to scheduling."""

    kind: str


Found: TypeAlias = Object | Refused | Passed
K = TypeVar("K", bound=Object)


class _Header(msgspec.Struct, gc=False, rename="camel"):
    api_version: str | None = None
    kind: str | None = None


class _List(msgspec.Struct, gc=False, rename="camel"):
    api_version: str | None = None
    kind: str | None = None
    items: list[msgspec.Raw] | None = None


_header: Final = msgspec.json.Decoder(_Header)
_raw: Final = msgspec.json.Decoder(msgspec.Raw)
_list: Final = msgspec.json.Decoder(_List)
_decoders: Final = {kind: msgspec.json.Decoder(kind) for kind in KINDS.values()}
_pod: Final = msgspec.json.Decoder(Pod)


# --- one object ------------------------------------------------------------------------------------------------------


def decode_pod(raw: bytes) -> Pod:
    """Read a pod from JSON that is known to be one."""
    try:
        return _pod.decode(raw)
    except _MISREAD:
        return _converted(_json_tree(raw), Pod)


def decode(raw: bytes) -> Object:
    """Read an object from JSON by its apiVersion and kind; raise UnknownKindError for kinds that no rule reads."""
    return _decoded(raw, None, KINDS)


def decode_as(raw: bytes | msgspec.Raw, kind: type[Object]) -> Object:
    """Read an object from JSON that is known to be of a kind, whether or not it says so."""
    try:
        return _decoder(kind).decode(raw)
    except _MISREAD:
        return _converted(_json_tree(raw), kind)


def decode_tree(tree: object, kinds: Kinds = KINDS) -> Object:
    """Make an object of parsed JSON or YAML, by its apiVersion and kind."""
    return _from_tree(tree, None, kinds)


def in_words(path: Path) -> str:
    """Write a field's path the way people do.

    >>> in_words(("spec", "containers", 0, "resources", "requests", "nvidia.com/gpu"))
    'spec.containers[0].resources.requests[nvidia.com/gpu]'
    """
    words = ""
    for step in path:
        if isinstance(step, int):
            words += f"[{step}]"
        elif _WORD.fullmatch(step):
            words += f".{step}" if words else step
        else:
            words += f"[{_short(step)}]"
    return words


_WORD: Final = re.compile(r"[A-Za-z0-9_-]{1,80}", re.ASCII)
_BYTE: Final = re.compile(r"\(byte (\d+)\)", re.ASCII)
_MISREAD: Final = (msgspec.MsgspecError, UnicodeError, RecursionError)


def _decoded(raw: bytes | msgspec.Raw, inside: str | None, kinds: Kinds) -> Object:
    """Read an object; one in a list of pods need not say that it is a pod."""
    try:
        header = _header.decode(raw)
    except _MISREAD:
        return _from_tree(_json_tree(raw), inside, kinds)
    if _is_list(header.kind):  # its items are none, or it would have been taken apart
        return _from_tree(_json_tree(raw), inside, kinds)
    return decode_as(raw, _type_of(header.api_version, header.kind, inside, kinds))


def _decoder(kind: type[Object]) -> msgspec.json.Decoder[Object]:
    found = _decoders.get(kind)
    if found is None:  # a wider one
        found = _decoders[kind] = msgspec.json.Decoder(kind)
    return found


def _from_tree(tree: object, inside: str | None, kinds: Kinds) -> Object:
    if not isinstance(tree, dict):
        raise DecodeError((), f"expected an object with apiVersion and kind, got {_shown(tree)}")
    items = tree.get("items")
    if _is_list(tree.get("kind")) and items is not None and not isinstance(items, list):
        raise DecodeError(("items",), f"expected a list, got {_shown(items)}")
    return _converted(tree, _type_of(tree.get("apiVersion"), tree.get("kind"), inside, kinds))


def _type_of(api_version: object, kind: object, inside: str | None, kinds: Kinds) -> type[Object]:
    """Find the struct of a kind; what the API server lists by type may leave both out."""
    if kind is None and inside is not None:
        for (_, name), struct in kinds.items():
            if name == inside:
                return struct
        raise UnknownKindError(inside)
    for field, value in (("kind", kind), ("apiVersion", api_version)):
        if not isinstance(value, str) or not value:
            raise DecodeError((field,), f"expected the {field} of an object, got {_shown(value)}")
    group, _, version = str(api_version).rpartition("/")
    found = kinds.get((group, str(kind)))
    if found is None or (not group and version != "v1"):
        is_anothers = any(name == kind for _, name in kinds)  # of a name that we know, but not of that group
        raise UnknownKindError(f"{kind} of {_short(str(api_version))}" if is_anothers else str(kind))
    return found


def _converted(tree: object, kind: type[K]) -> K:
    try:
        return msgspec.convert(tree, kind)
    except _MISREAD:
        filled = without_nulls(tree, kind)
    try:
        return msgspec.convert(filled, kind)
    except msgspec.ValidationError as error:
        raise _explained(error, filled) from None
    except _MISREAD as error:
        raise DecodeError((), f"expected an object, got one that cannot be read: {_short(str(error))}") from None


def _json_tree(raw: bytes | msgspec.Raw) -> object:
    try:
        return msgspec.json.decode(raw)
    except RecursionError:
        raise DecodeError((), "expected JSON, got brackets nested too deeply") from None
    except UnicodeError:
        raise DecodeError((), "expected JSON in UTF-8") from None
    except msgspec.MsgspecError as error:
        raise DecodeError((), f"expected JSON: {error}") from None


# --- what msgspec says, in our words ---------------------------------------------------------------------------------

_STEP: Final = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|(\[\.\.\.\])", re.ASCII)
_EXPECTED: Final = re.compile(r"Expected `([^`]*)`(?:, got `([^`]*)`|(.*))")
_WANTED: Final = {
    "str": "a text",
    "int": "a whole number",
    "bool": "true or false",
    "object": "a map",
    "array": "a list",
    "int | float | str": "a quantity",
}
_GOT: Final[dict[str, tuple[type, ...]]] = {
    "str": (str,),
    "int": (int,),
    "float": (float,),
    "bool": (bool,),
    "object": (dict,),
    "array": (list,),
    "null": (type(None),),
}


def _explained(error: msgspec.ValidationError, tree: object) -> DecodeError:
    """Say which field is wrong and what was expected there."""
    text, _, where = str(error).partition(" - at `")
    form = _EXPECTED.match(text)
    path, value = _followed(where.removesuffix("`"), tree, form[2] if form else None)
    if form is None:
        return DecodeError(path, f"expected another value, got {_shown(value)} ({text})")
    wanted = form[1].removesuffix(" | null")
    limits = (form[3] or "").partition("`")[0]
    hint = "; put it in quotes" if wanted == "str" and isinstance(value, bool | int | float) else ""
    return DecodeError(path, f"expected {_WANTED.get(wanted, wanted)}{limits}, got {_shown(value)}{hint}")


def _followed(where: str, tree: object, got: str | None) -> tuple[Path, object]:
    """Follow a path of msgspec's down a tree; it does not name the keys of maps, so look for the value it dislikes."""
    path: Path = ()
    for name, place, unnamed in _STEP.findall(where):
        if isinstance(tree, dict):
            kinds = _GOT.get(got or "", (object,))
            odd = next((key for key, value in tree.items() if type(value) in kinds), None)
            step = odd if unnamed else name
            if step not in tree:
                return path, tree
            path, tree = (*path, str(step)), tree[step]
        elif isinstance(tree, list) and place and int(place) < len(tree):
            path, tree = (*path, int(place)), tree[int(place)]
    return path, tree


def _shown(value: object) -> str:
    """Show a value, if it is small."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case str():
            return f'"{_short(value)}"'
        case int() | float():
            return _short(str(value))
        case dict():
            return "a map"
        case _:
            return "a list"


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:60]}... ({len(text):,} characters)"


# --- manifests -------------------------------------------------------------------------------------------------------


class Place(NamedTuple):
    """Where an object stands in a file."""

    file: str
    document: int
    inside: Path
    line_of: Callable[[Path], int]
    kinds: Kinds = KINDS

    def below(self, number: int, line_of: Callable[[Path], int]) -> Place:
        """Return the place of an item of this list."""
        return self._replace(inside=(*self.inside, "items", number), line_of=line_of)

    def refused(self, path: Path, problem: str) -> Refused:
        """Say what is wrong with a field of the object, and where that stands."""
        line = self.line_of(path)
        return Refused(self.file, self.document, line, in_words((*self.inside, *path)), problem)


Placed: TypeAlias = tuple[Found, Place | None]  # no place: a whole file or document was refused


def read_manifests(file: str, raw: bytes) -> Iterator[Found]:
    """Read everything in a file: YAML documents or JSON, lists taken apart; what is refused comes out as such."""
    return (found for found, _ in read_placed(file, raw))


def read_placed(file: str, raw: bytes, kinds: Kinds = KINDS) -> Iterator[Placed]:
    """Read everything in a file, and say where each object stands, for whoever finds it wrong later."""
    if len(raw) > MANIFEST_BYTES_MAX:
        problem = f"expected at most {MANIFEST_BYTES_MAX:,} bytes, got {len(raw):,}; give it in several files"
        yield Refused(file, 0, 0, "", problem), None
        return
    text = raw.removeprefix(b"\xef\xbb\xbf")
    if text[:4096].lstrip()[:1] in {b"{", b"["}:
        yield from _read_json(file, text, kinds)
    else:
        yield from _read_yaml(file, text, kinds)


def _read_yaml(file: str, text: bytes, kinds: Kinds) -> Iterator[Placed]:
    for number, read in enumerate(documents(text), 1):
        if isinstance(read, YamlError):
            yield Refused(file, number, read.line + 1, "", read.problem), None
        elif read.tree is not None:
            yield from _read_tree(Place(file, number, (), read.line_of, kinds), read.tree, None)


def _read_tree(place: Place, tree: object, inside: str | None) -> Iterator[Placed]:
    """Read an object, or each object of a list, from a tree."""
    if not isinstance(tree, dict) or not isinstance(items := tree.get("items"), list) or not _is_list(tree.get("kind")):
        yield from _checked(place, lambda: _from_tree(tree, inside, place.kinds))
        return
    if len(place.inside) >= 2 * LISTS_DEPTH_MAX:
        yield place.refused((), f"expected at most {LISTS_DEPTH_MAX} lists inside each other"), place
        return
    for number, item in enumerate(items):
        deeper = place.below(number, _below(place.line_of, number))
        yield from _read_tree(deeper, item, _kind_in(tree.get("kind")))


def _below(line_of: Callable[[Path], int], number: int) -> Callable[[Path], int]:
    return lambda path: line_of(("items", number, *path))


def _is_list(kind: object) -> bool:
    return isinstance(kind, str) and kind.endswith("List")


def _kind_in(kind: object) -> str | None:
    """Name the kind that a typed list holds; a plain List says nothing of it."""
    return str(kind).removesuffix("List") or None


def _read_json(file: str, text: bytes, kinds: Kinds) -> Iterator[Placed]:
    """Read JSON objects that follow each other; what begins like JSON but is not may still be YAML."""
    begin, number, lines = 0, 0, _JsonLines(text)
    while text[begin : begin + 4096].strip() or begin + 4096 < len(text):
        number += 1
        end = len(text)
        try:
            _raw.decode(memoryview(text)[begin:])
        except RecursionError:
            problem = "expected JSON, got brackets nested too deeply"
            yield Refused(file, number, _line_at(text, begin), "", problem), None
            return
        except msgspec.DecodeError as error:
            at = _BYTE.search(str(error))
            if at is None or "trailing characters" not in str(error):
                broken = _line_at(text, begin + int(at[1]) if at else end)
                yield from _not_json(text[begin:], Refused(file, number, broken, "", f"expected JSON: {error}"), kinds)
                return
            end = begin + int(at[1]) - 1  # the bytes of a message count from one
        piece = text[begin:end]
        yield from _read_value(Place(file, number, (), lines.question(piece), kinds), lines, piece, None)
        begin = end


def _read_value(place: Place, lines: _JsonLines, raw: bytes | msgspec.Raw, inside: str | None) -> Iterator[Placed]:
    """Read an object, or each object of a list, from JSON."""
    try:
        top = _list.decode(raw) if _is_list(_header.decode(raw).kind) else _List()
    except _MISREAD:
        top = _List()
    if top.items is None:
        yield from _checked(place, lambda: _decoded(raw, inside, place.kinds))
        return
    if len(place.inside) >= 2 * LISTS_DEPTH_MAX:
        yield place.refused((), f"expected at most {LISTS_DEPTH_MAX} lists inside each other"), place
        return
    for number, item in enumerate(top.items):
        deeper = place.below(number, lines.question(item))
        yield from _read_value(deeper, lines, item, _kind_in(top.kind))


def _not_json(text: bytes, refusal: Refused, kinds: Kinds) -> Iterator[Placed]:
    """Try broken JSON as YAML, which may begin with a bracket too; if it is not that either, say why it is not JSON."""
    if len(text) > GUESS_BYTES_MAX:
        yield refusal, None
        return
    read = list(documents(text))
    if any(isinstance(document, YamlError) for document in read):
        yield refusal, None
    else:
        yield from _read_yaml(refusal.file, text, kinds)


class _JsonLines:
    """Finds the lines of pieces of JSON, seldom asked for, and mostly in the order of the text."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._byte = 0
        self._line = 1

    def question(self, piece: bytes | msgspec.Raw) -> Callable[[Path], int]:
        """Give the question on which line a part of a piece stands."""
        return lambda path: self._line_of(bytes(piece), path)

    def _line_of(self, piece: bytes, path: Path) -> int:
        at = self._text.find(piece, self._byte)
        if at < 0:
            self._byte, self._line = 0, 1
            at = self._text.find(piece)
        if at >= 0:
            self._line += self._text.count(b"\n", self._byte, at)
            self._byte = at
        if len(piece) > GUESS_BYTES_MAX:
            return self._line
        read = next(documents(piece), None)  # JSON is YAML, and its reader knows lines
        return self._line if read is None or isinstance(read, YamlError) else self._line - 1 + read.line_of(path)


def _line_at(text: bytes, byte: int) -> int:
    return text.count(b"\n", 0, byte) + 1


def _checked(place: Place, decoded: Callable[[], Object]) -> Iterator[Placed]:
    """Decode one object and look it over; it comes out whole, or each thing wrong with it does."""
    try:
        found = decoded()
    except UnknownKindError as error:
        yield Passed(error.kind), place
        return
    except DecodeError as error:
        yield place.refused(error.path, error.problem), place
        return
    faults = faults_of(found)
    for fault in faults[:FAULTS_MAX]:
        yield place.refused(fault.path, fault.message), place
    if not faults:
        yield found, place
