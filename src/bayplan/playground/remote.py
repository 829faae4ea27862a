"""Remote: an API server at the other end of a connection, as pretend kubelets reach it.

Its nodes and pods are mirrored in a store of our own by list and watch, so that what listens to a store listens here
too.  A write is seen in the mirror at once and follows over the wire: writes to one object in order, what was refused
because somebody else was faster on top of what they wrote, and what got no answer again.
Invariants: the mirror shows what the server showed last, with what is still under way on top; a write is given up only
when its object is gone.
Not here: what kubelets do (`kubelets.py`).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Final, NamedTuple, TypeAlias

import aiohttp
import msgspec

from bayplan.api.yamltree import Tree
from bayplan.playground.kinds import Kind, Kinds
from bayplan.playground.refusals import not_found
from bayplan.playground.store import Key, Store
from bayplan.playground.trees import Map, copied, encoded, mapping, maps, text
from bayplan.playground.verbs import Deletion

CONNECTIONS: Final = 16
AGAIN_AFTER_S: Final = 1.0
WATCH_S: Final = 300
_JSON: Final = {"Content-Type": "application/json"}

logger = logging.getLogger(__name__)

Change: TypeAlias = Callable[[Map], None]


class Unanswered(ConnectionError):
    """A request got no answer that settles it."""


class _Pending(NamedTuple):
    """The writes to one object that the server does not have yet, in order."""

    uid: str
    changes: list[Change]


class Remote:
    """A cluster behind an API server."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        """Reach it by a session, whose base is its address and whose headers say who asks."""
        self.store = Store(log_max=0)
        self.kinds = Kinds()
        self.clock: Callable[[], float] = time.time
        self._session = session
        self._pending: dict[tuple[tuple[str, str], Key], _Pending] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._lanes = asyncio.Semaphore(CONNECTIONS)

    # --- the mirror --------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def following(self, *plurals: str) -> AsyncIterator[None]:
        """Mirror kinds of the core group for as long as the context lasts; raises where they cannot even be listed."""
        kinds = [self.kinds.core(plural) for plural in plurals]
        revisions = [await self._list(kind) for kind in kinds]
        follows = [asyncio.create_task(self._follow(*one)) for one in zip(kinds, revisions, strict=True)]
        try:
            yield
        finally:
            for task in [*follows, *self._tasks]:
                task.cancel()
            await asyncio.gather(*follows, *self._tasks, return_exceptions=True)

    async def _follow(self, kind: Kind, revision: str) -> None:
        """Keep the mirror of a kind, for ever; where a watch breaks off, list again."""
        while True:
            try:
                async for event in self._events(kind, revision):
                    self._seen(kind, event)
            except (aiohttp.ClientError, TimeoutError, Unanswered, msgspec.MsgspecError) as error:
                logger.info("listing %s again: %s", kind.plural, error)
            try:
                revision = await self._list(kind)
            except (aiohttp.ClientError, TimeoutError, Unanswered, msgspec.MsgspecError) as error:
                logger.info("%s cannot be listed: %s", kind.plural, error)
                await asyncio.sleep(AGAIN_AFTER_S)

    async def _list(self, kind: Kind) -> str:
        """Bring the mirror to what is there now, and give the revision of that."""
        told = await self._ask("GET", _path(kind), None)
        there = {_key(one): one for one in maps(told, "items")}
        for key in [key for key in self.store.shelf(kind.stored_as).objects if key not in there]:
            self._reflect(kind, key, None)
        for key, one in there.items():
            self._reflect(kind, key, {"kind": kind.name, "apiVersion": kind.api_version, **one})
        return text(told, "metadata", "resourceVersion")

    async def _events(self, kind: Kind, revision: str) -> AsyncIterator[Map]:
        """Give what a watch tells until it ends; an end in good order begins another where that one stopped."""
        while True:
            query = {"watch": "1", "allowWatchBookmarks": "true", "timeoutSeconds": str(WATCH_S)}
            timeout = aiohttp.ClientTimeout(total=None, sock_read=WATCH_S + 30)
            query["resourceVersion"] = revision
            async with self._session.get(_path(kind), params=query, timeout=timeout) as response:
                if response.status != HTTPStatus.OK:
                    raise Unanswered(f"watch: {response.status}")
                try:
                    async for line in _lines(response):
                        event = msgspec.json.decode(line, type=dict[str, object])
                        told = event.get("object")
                        if event.get("type") == "ERROR" or not isinstance(told, dict):
                            raise Unanswered(f"watch: {told}")
                        revision = text(told, "metadata", "resourceVersion") or revision
                        if event.get("type") != "BOOKMARK":
                            yield {"type": str(event["type"]), "object": told}
                finally:
                    _cut(response)

    def _seen(self, kind: Kind, event: Map) -> None:
        """Take in what a watch told, unless an answer told something newer."""
        told = mapping(event, "object")
        have = self.store.shelf(kind.stored_as).objects.get(_key(told))
        if event["type"] == "DELETED":
            self._reflect(kind, _key(told), None)
        elif have is None or _revision(told) >= _revision(have.tree):
            self._reflect(kind, _key(told), told)

    def _reflect(self, kind: Kind, key: Key, tree: Map | None) -> None:
        """Show in the mirror what the server has, with what is still under way on top."""
        pending = self._pending.get((kind.stored_as, key))
        if pending is not None and tree is not None and text(tree, "metadata", "uid") == pending.uid:
            tree = copied(tree)
            for change in pending.changes:
                change(tree)
        elif pending is not None:
            pending.changes.clear()
        self.store.reflect(kind.stored_as, key, tree)

    # --- writing -----------------------------------------------------------------------------------------------------

    def create(self, kind: Kind, namespace: str, tree: Map) -> None:
        """Make an object; what is there already is taken for it."""
        key = (namespace, text(tree, "metadata", "name"))
        self._later(lambda: self._create(kind, key, tree))

    def amend(self, kind: Kind, key: Key, change: Change) -> None:
        """Change an object: its status, where that is written apart."""
        have = self.store.shelf(kind.stored_as).objects.get(key)
        if have is None:
            raise not_found(kind, key[1])
        new = copied(have.tree)
        change(new)
        if new == have.tree:
            return
        where, uid = (kind.stored_as, key), text(new, "metadata", "uid")
        pending = self._pending.get(where)
        if pending is None or pending.uid != uid:
            pending = self._pending[where] = _Pending(uid, [])
            self._later(lambda: self._write(kind, key, pending))
        pending.changes.append(change)
        self.store.reflect(kind.stored_as, key, new)

    def delete(self, kind: Kind, key: Key, how: Deletion) -> None:
        """Delete an object."""
        options: Map = {} if how.grace is None else {"gracePeriodSeconds": how.grace}
        if how.uid:
            options["preconditions"] = {"uid": how.uid}
        self._later(lambda: self._delete(kind, key, options))

    def _later(self, write: Callable[[], Awaitable[None]]) -> None:
        async def written() -> None:
            try:
                await write()
            except _Refusal as refused:
                logger.warning("given up: %s", refused)

        task = asyncio.get_running_loop().create_task(written())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _create(self, kind: Kind, key: Key, tree: Map) -> None:
        told = await self._insist("POST", _path(kind, key[0]), tree)
        if told is None:
            told = await self._insist("GET", _path(kind, *key), None)
        if told is not None:
            self._reflect(kind, key, told)

    async def _write(self, kind: Kind, key: Key, pending: _Pending) -> None:
        """Write what is pending for an object until nothing is."""
        path = _path(kind, *key) + ("/status" if kind.has_status else "")
        try:
            while pending.changes:
                have = self.store.shelf(kind.stored_as).objects.get(key)
                if have is None or text(have.tree, "metadata", "uid") != pending.uid:
                    return
                number = len(pending.changes)
                try:
                    told = await self._insist("PUT", path, have.tree)
                except _Refusal as refused:
                    logger.warning("given up: %s: %s", path, refused)
                    pending.changes.clear()
                    told = None
                if told is not None:
                    del pending.changes[:number]
                else:  # somebody was faster, or it is gone
                    told = await self._insist("GET", _path(kind, *key), None)
                self._reflect(kind, key, told)
        finally:
            if self._pending.get((kind.stored_as, key)) is pending:
                del self._pending[kind.stored_as, key]

    async def _delete(self, kind: Kind, key: Key, options: Map) -> None:
        await self._insist("DELETE", _path(kind, *key), options)

    async def _insist(self, method: str, path: str, tree: Map | None) -> Map | None:
        """Ask until there is an answer; None where the object is gone, or another than was meant."""
        while True:
            try:
                async with self._lanes:
                    return await self._ask(method, path, tree)
            except _Refusal as refused:
                if refused.code in {HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT}:
                    return None
                if refused.code < HTTPStatus.INTERNAL_SERVER_ERROR and refused.code != HTTPStatus.TOO_MANY_REQUESTS:
                    raise
            except (aiohttp.ClientError, TimeoutError) as error:
                logger.info("asking again: %s %s: %s", method, path, error)
            await asyncio.sleep(AGAIN_AFTER_S)

    async def _ask(self, method: str, path: str, tree: Map | None) -> Map:
        raw = None if tree is None else encoded(tree)
        async with self._session.request(method, path, data=raw, headers=_JSON) as response:
            told = await response.read()
            if response.status >= HTTPStatus.BAD_REQUEST:
                raise _Refusal(response.status, told[:300].decode(errors="replace"))
            decoded: Map = msgspec.json.decode(told, type=dict)
            return decoded


def _cut(response: aiohttp.ClientResponse) -> None:
    """End a connection at once: TLS that takes leave politely would outlive the event loop."""
    connection = response.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()


class _Refusal(Unanswered):
    """An answer that says no."""

    def __init__(self, code: int, told: str) -> None:
        super().__init__(f"{code}: {told}")
        self.code = code


async def _lines(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """Give the lines of a stream, however long they are."""
    rest = b""
    async for piece in response.content.iter_any():
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            yield line


def _path(kind: Kind, namespace: str = "", name: str = "") -> str:
    base = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    within = f"/namespaces/{namespace}" if namespace else ""
    return f"{base}{within}/{kind.plural}" + (f"/{name}" if name else "")


def _key(tree: Tree) -> Key:
    return text(tree, "metadata", "namespace"), text(tree, "metadata", "name")


def _revision(tree: Map) -> int:
    written = text(tree, "metadata", "resourceVersion")
    return int(written) if written.isascii() and written.isdigit() else 0
