"""Watches: the changes of a kind's objects from a revision on, as they happen.

A watch holds its place in the shelf's log; nothing is queued for it.  Who does not read falls behind until the log has
forgotten what comes next, and is told so.
Invariant: what a watch tells is what happened to the objects it is about, each change once and in order; an object that
begins or ceases to be meant is told as added or deleted.
Not here: writing to the socket (`server.py`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from bayplan.playground.matching import Wanted
from bayplan.playground.reading import is_true, number
from bayplan.playground.refusals import Refused, expired
from bayplan.playground.store import Change, Store, Stored, TooOld
from bayplan.playground.trees import Map, encoded, mapping
from bayplan.playground.views import CHUNK_BYTES, View

BOOKMARK_EVERY_S: Final = 30.0
TIMEOUT_S: Final = 1800
CHUNK_CHANGES: Final = 500


class Asked(NamedTuple):
    """What a watch is to tell, and how long."""

    revision: int | None  # None: whatever is there, then what happens
    seconds: int
    bookmarks: bool
    initial: bool  # the objects that are there first, and a bookmark after them


def asked(query: Mapping[str, str]) -> Asked:
    """Read the options of a watch."""
    initial = is_true(query, "sendInitialEvents")
    bookmarks = is_true(query, "allowWatchBookmarks")
    match = query.get("resourceVersionMatch", "")
    if initial and (match != "NotOlderThan" or not bookmarks):
        fault = "sendInitialEvents needs resourceVersionMatch=NotOlderThan and allowWatchBookmarks=true"
        raise _bad_option(f"Forbidden: {fault}")
    if match and "sendInitialEvents" not in query:
        raise _bad_option("Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")
    revision = number(query, "resourceVersion")
    from_now = revision == 0 or initial
    seconds = number(query, "timeoutSeconds") or TIMEOUT_S
    return Asked(None if from_now else revision, seconds, bookmarks, initial)


def _bad_option(fault: str) -> Refused:
    details: Map = {"group": "meta.k8s.io", "kind": "ListOptions"}
    where = 'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch'
    return Refused(422, "Invalid", f"{where}: {fault}", details)


class Watch:
    """One watch on one shelf."""

    def __init__(self, store: Store, of: tuple[str, str], wanted: Wanted, view: View) -> None:
        """Watch for what is wanted and tell it in a view."""
        self._store = store
        self._shelf = store.shelf(of)
        self._wanted = wanted
        self._view = view
        self._is_first = True

    async def lines(self, options: Asked, monotonic: Callable[[], float]) -> AsyncIterator[bytes]:
        """Give the answer's lines, some at a time; ends when the time is over or the history is too short."""
        end = monotonic() + options.seconds
        if options.revision is None:
            place = self._shelf.end
            for lines in _together(self._present(options)):
                yield lines
        else:
            try:
                place = self._shelf.place_after(options.revision)
            except TooOld as error:
                yield _failure(expired(str(error)))
                return
        bookmark_at = monotonic() + BOOKMARK_EVERY_S
        while (now := monotonic()) < end:
            try:
                changes = self._shelf.since(place)[:CHUNK_CHANGES]
            except TooOld as error:
                yield _failure(expired(str(error)))
                return
            place += len(changes)
            for lines in _together(line for change in changes for line in self._told(change)):
                yield lines
            if options.bookmarks and now >= bookmark_at and place == self._shelf.end:
                bookmark_at = now + BOOKMARK_EVERY_S
                yield self._bookmark()
            if not changes:
                await self._shelf.change_after(place, max(min(end, bookmark_at) - now, 0.001))
        if options.bookmarks and place == self._shelf.end:
            yield self._bookmark()

    def _present(self, options: Asked) -> Iterator[bytes]:
        """Tell what is there."""
        objects = [self._shelf.objects[key] for key in self._shelf.ordered()]
        revision = self._store.revision
        for stored in objects:
            if self._wanted.takes(stored.tree):
                yield self._line("ADDED", stored)
        if options.initial:
            yield self._bookmark(revision, {"k8s.io/initial-events-end": "true"})

    def _told(self, change: Change) -> Iterator[bytes]:
        """Tell a change as it looks to who sees only what is wanted."""
        was = change.before is not None and self._wanted.takes(change.before.tree)
        is_now = change.type != "DELETED" and self._wanted.takes(change.now.tree)
        if is_now:
            yield self._line("MODIFIED" if was else "ADDED", change.now)
        elif was and change.before is not None:
            yield self._line("DELETED", change.now if change.type == "DELETED" else _at(change.before, change.now))

    def _line(self, kind: str, stored: Stored) -> bytes:
        raw = self._view.raw(stored, headed=self._is_first)
        self._is_first = False
        return b'{"type":"' + kind.encode() + b'","object":' + raw + b"}\n"

    def _bookmark(self, revision: int | None = None, annotations: Map | None = None) -> bytes:
        kind = self._view.kind
        meta: Map = {"resourceVersion": str(revision or self._store.revision), "creationTimestamp": None}
        if annotations:
            meta["annotations"] = annotations
        if self._view.form == "table":
            row: Map = {"cells": [], "object": {"kind": kind.name, "apiVersion": kind.api_version, "metadata": meta}}
            head: Map = {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "columnDefinitions": []}
            head["metadata"] = {"resourceVersion": meta["resourceVersion"]}
            return _written("BOOKMARK", {**head, "rows": [row]})
        return _written("BOOKMARK", {"kind": kind.name, "apiVersion": kind.api_version, "metadata": meta})


def _together(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Give lines in pieces that a socket takes well, so that little waits for a watcher that does not read."""
    pieces, size = [], 0
    for line in lines:
        pieces.append(line)
        size += len(line)
        if size > CHUNK_BYTES:
            yield b"".join(pieces)
            pieces, size = [], 0
    if pieces:
        yield b"".join(pieces)


def _at(before: Stored, now: Stored) -> Stored:
    """Give an object's state before a change under the change's revision."""
    meta: Map = {**mapping(before.tree, "metadata"), "resourceVersion": str(now.revision)}
    return Stored({**before.tree, "metadata": meta}, now.revision)


def _failure(refused: Refused) -> bytes:
    return _written("ERROR", refused.status())


def _written(kind: str, tree: Map) -> bytes:
    line: Map = {"type": kind, "object": tree}
    return encoded(line) + b"\n"
