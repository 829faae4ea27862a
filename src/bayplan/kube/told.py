"""What a watch tells: bytes to events, one call of the decoder for all lines of a piece.

A line whose object cannot be decoded is set aside, with as much of its name as can be read, and the others go on.
Invariant: every whole line comes out once, in order, as an object told or as one set aside.
Not here: asking for it (`watch.py`).
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

import msgspec

from bayplan.api.decode import DecodeError, decode_as, in_words
from bayplan.api.objects import Meta, Object
from bayplan.api.validate import faults_of
from bayplan.kube.resources import Resource
from bayplan.kube.soundness import is_sound

LINE_BYTES_MAX: Final = 64 * 2**20
CHANGES: Final = frozenset({"ADDED", "MODIFIED", "DELETED"})
OTHERS: Final = frozenset({"BOOKMARK", "ERROR"})
INITIAL_END: Final = "k8s.io/initial-events-end"


class Unread(NamedTuple):
    """An object that cannot be decoded."""

    kind: str
    namespace: str
    name: str
    uid: str
    revision: str
    problem: str

    def __str__(self) -> str:
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {where or '(without a name)'}: {self.problem}"


class Told(msgspec.Struct, gc=False):
    """One line."""

    type: str
    object: Object


class Aside(NamedTuple):
    """One line whose object was set aside."""

    type: str
    unread: Unread


class Bookmark(msgspec.Struct):
    """How far the server has come."""

    revision: str
    is_initial_end: bool


class Status(msgspec.Struct, rename="camel"):
    """What the server says of a request."""

    code: int = 0
    reason: str = ""
    message: str = ""


class _Meta(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _Headed(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)


class _Marked(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    annotations: dict[str, str] | None = None


class _Mark(msgspec.Struct):
    metadata: _Marked = msgspec.field(default_factory=_Marked)


class _Line(msgspec.Struct):
    type: str
    object: msgspec.Raw = msgspec.Raw(b"{}")


Item: TypeAlias = Told | Aside | Bookmark | Status

_line: Final = msgspec.json.Decoder(_Line)
_status: Final = msgspec.json.Decoder(Status)
_headed: Final = msgspec.json.Decoder(_Headed)
_mark: Final = msgspec.json.Decoder(_Mark)
_MISREAD: Final = (msgspec.MsgspecError, UnicodeError, RecursionError)


class Teller:
    """Takes a watch's pieces apart."""

    def __init__(self, resource: Resource) -> None:
        """Read objects of one kind."""
        self._resource = resource
        line = msgspec.defstruct("Told", [("type", str), ("object", resource.struct)], bases=(Told,), gc=False)
        self._decoder = msgspec.json.Decoder(line)
        self.broken = ""
        self._pieces: list[bytes] = []  # of a line whose end has not come
        self._size = 0

    def told(self, data: bytes) -> list[Item]:
        """Take in a piece; `broken` says when no more can be made of this watch."""
        end = data.rfind(b"\n") + 1
        if not end:
            self._keep(data)
            return []
        whole = data[:end] if not self._pieces else b"".join((*self._pieces, data[:end]))
        self._pieces, self._size = [], 0
        if end < len(data):
            self._keep(data[end:])
        try:
            items: list[Told] = self._decoder.decode_lines(whole)  # type: ignore[assignment]  # a kind of Told
        except _MISREAD:
            return self._one_by_one(whole)
        for item in items:
            if item.type not in CHANGES or not is_sound(item.object):
                return self._one_by_one(whole)  # these are read otherwise, and are rare
        return items  # type: ignore[return-value]  # nobody adds to it

    def _keep(self, data: bytes) -> None:
        self._pieces.append(data)
        self._size += len(data)
        if self._size > LINE_BYTES_MAX:
            self.broken = f"a line of a watch has more than {LINE_BYTES_MAX:,} bytes"

    def _one_by_one(self, whole: bytes) -> list[Item]:
        items: list[Item] = []
        for raw in whole.split(b"\n"):
            if not raw.strip():
                continue
            try:
                line = _line.decode(raw)
            except _MISREAD:
                self.broken = f"expected a line of a watch, got {raw[:80].decode(errors='replace')!r}"
                break
            if line.type not in OTHERS and line.type not in CHANGES:
                self.broken = f'expected a change of an object, got a "{line.type[:80]}"'
                break
            items.append(self._item(line))
        return items

    def _item(self, line: _Line) -> Item:
        if line.type == "BOOKMARK":
            return _bookmark(line.object)
        if line.type == "ERROR":
            return status_of(bytes(line.object))
        thing = read(self._resource, line.object)
        return Aside(line.type, thing) if isinstance(thing, Unread) else Told(line.type, thing)


def read(resource: Resource, raw: bytes | msgspec.Raw) -> Object | Unread:
    """Decode an object, or say what is wrong with it."""
    try:
        thing = decode_as(raw, resource.struct)
    except DecodeError as error:
        return _unread(resource, raw, str(error))
    if is_sound(thing):
        return thing
    faults = faults_of(thing)
    if faults:
        return _unread(resource, raw, f"{in_words(faults[0].path)}: {faults[0].message}")
    if not meta_of(thing).name:
        return _unread(resource, raw, "metadata.name: expected a name, got nothing")
    return thing


def meta_of(thing: Object) -> Meta:
    """Return an object's metadata; every kind that is watched has it."""
    meta: Meta = thing.metadata  # type: ignore[attr-defined]
    return meta


def status_of(raw: bytes) -> Status:
    """Read what the server says of a request; it need not be a Status."""
    try:
        return _status.decode(raw)
    except _MISREAD:
        return Status(message=raw[:200].decode(errors="replace").strip())


def _unread(resource: Resource, raw: bytes | msgspec.Raw, problem: str) -> Unread:
    try:
        meta = _headed.decode(raw).metadata
    except _MISREAD:
        meta = _Meta()
    return Unread(resource.kind, meta.namespace, meta.name, meta.uid, meta.resource_version, problem)


def _bookmark(raw: msgspec.Raw) -> Bookmark:
    try:
        meta = _mark.decode(raw).metadata
    except _MISREAD:
        return Bookmark("", False)
    return Bookmark(meta.resource_version, (meta.annotations or {}).get(INITIAL_END) == "true")
