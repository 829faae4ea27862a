"""Views: an object as a request wants to see it: in its group's words, as a row of a table, or its metadata alone.

Events are kept once, in the words of the core group, and told in those of either.
Invariant: what comes in by one group's words and goes out by the same is unchanged.
Not here: the columns of tables (`tables.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from bayplan.playground.bodies import Form
from bayplan.playground.kinds import Kind
from bayplan.playground.store import Stored
from bayplan.playground.tables import metadata_only, table
from bayplan.playground.trees import Map, encoded

_RENAMED: Final = {
    "involvedObject": "regarding",
    "message": "note",
    "reportingComponent": "reportingController",
    "count": "deprecatedCount",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "source": "deprecatedSource",
}
_BACK: Final = {new: old for old, new in _RENAMED.items()}
CHUNK_BYTES: Final = 256 * 2**10


def outward(kind: Kind, tree: Map) -> Map:
    """Give a stored object in the words of a kind."""
    if kind.group != "events.k8s.io":
        return tree
    return {**{_RENAMED.get(key, key): value for key, value in tree.items()}, "apiVersion": kind.api_version}


def inward(kind: Kind, tree: Map) -> Map:
    """Give an object in the words that it is stored in."""
    if kind.group != "events.k8s.io":
        return tree
    renamed = {_BACK.get(key, key): value for key, value in tree.items()}
    return {**renamed, "apiVersion": "v1"} if tree.get("apiVersion") in {None, kind.api_version} else renamed


class View:
    """How one request wants objects told."""

    def __init__(self, kind: Kind, form: Form, now: float, include: str = "Metadata") -> None:
        """Tell objects of a kind in a form; tables carry what `include` says of each object."""
        self.kind = kind
        self.form = form
        self._now = now
        self._include = include or "Metadata"
        self._plain = kind.group != "events.k8s.io"
        self._head = f'{{"kind":"{kind.name}","apiVersion":"{kind.api_version}",'.encode()

    def raw(self, stored: Stored, *, headed: bool = True) -> bytes:
        """Tell one object."""
        if self.form == "table":
            return encoded(table(self.kind, [stored], self._now, include=self._include, headed=headed))
        if self.form == "metadata":
            return encoded(metadata_only(stored.tree))
        return stored.raw if self._plain else encoded(outward(self.kind, stored.tree))

    def listed(self, objects: Iterable[Stored], meta: Map) -> Iterator[bytes]:
        """Tell many objects as a list, in pieces of a size that a socket takes well."""
        if self.form == "table":
            yield encoded({**table(self.kind, objects, self._now, include=self._include), "metadata": meta})
            return
        name, version = f"{self.kind.name}List", self.kind.api_version
        if self.form == "metadata":
            name, version = "PartialObjectMetadataList", "meta.k8s.io/v1"
        head: Map = {"kind": name, "apiVersion": version, "metadata": meta}
        pieces, size = [encoded(head)[:-1] + b',"items":['], 0
        comma = b""
        for stored in objects:
            piece = self._item(stored)
            pieces.append(comma + piece)
            comma = b","
            size += len(piece)
            if size > CHUNK_BYTES:
                yield b"".join(pieces)
                pieces, size = [], 0
        yield b"".join(pieces) + b"]}"

    def _item(self, stored: Stored) -> bytes:
        """Tell one object of a list; the list says of which kind its objects are, as a real server's does."""
        raw = self.raw(stored)
        if self.form == "object" and not self.kind.custom and raw.startswith(self._head):
            return b"{" + raw[len(self._head) :]
        return raw
