"""Watches: everything of a kind, then each change of it, for as long as we live.

A kind is listed by a streaming list where the server has them, page by page where not, and watched from there.  A watch
that ends goes on where it was; when the server has forgotten that place, everything is listed again.
    watch = Watch(client, resources()["Pod"], sink); await watch.run()
The sink is given `Listed` once per list, then `Seen` and `Gone` in the server's order, many at a time; what cannot be
decoded it is told of apart, and that a kind is not served, or cannot be had.
Invariant: between two lists every change is told once; between lists nothing is lost, because each list is whole.
Not here: what a line says (`told.py`), and which kinds are watched (`serve`).
"""

from __future__ import annotations

import asyncio
import enum
import logging
import random
from collections.abc import Sequence
from typing import Final, Protocol
from urllib.parse import quote

import msgspec

from bayplan.api.messages import Event, Gone, Listed, Seen
from bayplan.api.objects import Object
from bayplan.kube.calls import Answer, Failure
from bayplan.kube.kubeconfig import AccessError
from bayplan.kube.resources import Resource
from bayplan.kube.told import Aside, Bookmark, Item, Status, Teller, Told, Unread, meta_of, read, status_of
from bayplan.kube.transport import Client

WATCH: Final = "watch"
LIST: Final = "list"
_NOT_SERVED: Final = frozenset({404, 405})
_NO_STREAMING: Final = frozenset({400, 422})
_AT_ONCE_S: Final = 1.0  # a watch that has lived so long may be resumed without a wait
_HEALTHY_S: Final = 10.0  # and one that has lived so long was well

logger = logging.getLogger(__name__)


class State(enum.StrEnum):
    """How a kind stands."""

    LISTING = "being listed"
    WATCHING = "watched"
    ABSENT = "not served"
    TROUBLED = "in trouble"


class Sink(Protocol):
    """Who is told."""

    def take(self, events: Sequence[Event]) -> None:
        """Take in what happened, in order."""

    def set_aside(self, unread: Unread) -> None:
        """Take note of an object that cannot be decoded; the others go on."""

    def stands(self, kind: str, state: State, text: str) -> None:
        """Take note of how a kind stands, whenever that changes."""


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """How long a watch lasts, and how long is waited between tries."""

    watch_s: float = 300.0  # a watch is ended by the server after one to two times this
    grace_s: float = 30.0  # and by us when it is so much later
    first_s: float = 0.4
    factor: float = 2.0
    wait_s_max: float = 10.0
    absent_s: float = 600.0  # between two looks for a kind that is not served
    page: int = 500


class Watch:
    """Watches one kind."""

    def __init__(self, client: Client, resource: Resource, sink: Sink, pace: Pace | None = None) -> None:
        """Watch for a sink; nothing happens before `run`."""
        self.resource = resource
        self.state: State | None = None
        self._text = ""
        self._client = client
        self._sink = sink
        self._pace = pace or Pace()
        self._revision = ""  # up to which everything is told; empty: nothing is
        self._streams_lists = True
        self._pages = True
        self._failures = 0
        self._luck = random.random
        self._teller = Teller(resource)
        self._gathered: dict[tuple[str, str], Object | None] | None = None  # by name; None: not understood

    async def run(self) -> None:
        """List and watch until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            try:
                wait_s = await self._once()
            except _Ended as error:
                wait_s = self._ended(error.status)
            except (Failure, AccessError) as error:
                wait_s = self._troubled(str(error))
            lived_s = loop.time() - began
            if lived_s > _HEALTHY_S:
                self._failures = 0
            if wait_s or lived_s < _AT_ONCE_S:
                await asyncio.sleep(wait_s or self._backoff_s())

    async def _once(self) -> float:
        """List if need be, then watch until that ends; return how long to wait, 0: as short as is decent."""
        if not self._revision:
            self._stand(State.LISTING)
            if not self._streams_lists:
                wait_s = await self._list()
                if wait_s or not self._revision:
                    return wait_s
        is_list = not self._revision
        self._gathered = {} if is_list else None
        self._teller = Teller(self.resource)
        seconds = self._pace.watch_s * (1 + self._luck())
        answer = await self._client.stream(
            f"{self.resource.path}?{self._query(seconds, is_list=is_list)}",
            self,
            timeout_s=seconds + self._pace.grace_s,
        )
        return 0.0 if answer.status == 200 else await self._refused(answer, WATCH, is_list=is_list)

    def _query(self, seconds: float, *, is_list: bool) -> str:
        query = f"watch=1&allowWatchBookmarks=true&timeoutSeconds={max(1, round(seconds))}"
        if is_list:
            query += "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
        else:
            query += f"&resourceVersion={quote(self._revision, '')}"
        return query + self._fields()

    def _fields(self) -> str:
        return f"&fieldSelector={quote(self.resource.fields, '')}" if self.resource.fields else ""

    # --- what a watch tells ------------------------------------------------------------------------------------------

    def opened(self) -> None:
        """Take note that the server tells."""
        if self._gathered is None:
            self._stand(State.WATCHING)

    def received(self, data: bytes) -> None:
        """Take in a piece of a watch."""
        items = self._teller.told(data)
        if items and self._gathered is not None:
            items = self._gather(items)
        if items:
            self._tell(items)
        if self._teller.broken:
            raise Failure(self._teller.broken, was_sent=True)

    def _tell(self, items: list[Item]) -> None:
        """Tell the sink of changes, and remember how far that was."""
        events: list[Event] = []
        revision = self._revision
        try:
            for item in items:
                if isinstance(item, Told):
                    thing = item.object
                    change = Gone if item.type == "DELETED" else Seen
                    events.append(change(cause=WATCH, thing=thing))
                    revision = thing.metadata.resource_version  # type: ignore[attr-defined]  # it is watched
                else:
                    revision = self._tell_other(item, events) or revision
        finally:
            self._revision = revision
            if events:
                self._sink.take(events)

    def _tell_other(self, item: Aside | Bookmark | Status, events: list[Event]) -> str:
        """Take in what is no object; return its revision."""
        if isinstance(item, Bookmark):
            return item.revision
        if isinstance(item, Status):
            raise _Ended(item)
        unread = item.unread
        self._sink.set_aside(unread)
        if item.type == "DELETED" and unread.name:
            events.append(Gone(cause=WATCH, thing=_stub(self.resource, unread)))
        return unread.revision

    def _gather(self, items: list[Item]) -> list[Item]:
        """Keep what a streaming list tells until it is whole; return what follows it."""
        gathered = self._gathered
        if gathered is None:
            return items
        for place, item in enumerate(items):
            match item:
                case Told():
                    meta = meta_of(item.object)
                    gathered.pop((meta.namespace, meta.name), None)
                    if item.type != "DELETED":
                        gathered[meta.namespace, meta.name] = item.object
                case Aside():
                    gathered.pop((item.unread.namespace, item.unread.name), None)
                    if item.type != "DELETED":
                        gathered[item.unread.namespace, item.unread.name] = None
                        self._sink.set_aside(item.unread)
                case Bookmark() if item.is_initial_end:
                    self._gathered = None
                    self._whole(gathered, item.revision)
                    return items[place + 1 :]
                case Bookmark():
                    pass
                case Status():
                    raise _Ended(item)
        return []

    def _whole(self, gathered: dict[tuple[str, str], Object | None], revision: str) -> None:
        """Tell the sink of a list."""
        things = tuple(thing for thing in gathered.values() if thing is not None)
        unread = tuple(key for key, thing in gathered.items() if thing is None)
        self._revision = revision
        self._sink.take([Listed(cause=LIST, kind=self.resource.kind, things=things, unread=unread)])
        self._stand(State.WATCHING)

    # --- lists by pages ----------------------------------------------------------------------------------------------

    async def _list(self) -> float:
        """List page by page; return how long to wait before anything else."""
        gathered: dict[tuple[str, str], Object | None] = {}
        limit = f"limit={self._pace.page}" if self._pages else "limit=0"
        token = ""
        while True:
            go_on = f"&continue={quote(token, '')}" if token else ""
            answer = await self._client.request("GET", f"{self.resource.path}?{limit}{go_on}{self._fields()}")
            if answer.status != 200:
                self._pages = self._pages and answer.status != 410  # the next in one piece, which cannot expire
                return await self._refused(answer, LIST, is_list=True)
            page = _page(answer.body)
            for raw in page.items or ():
                thing = read(self.resource, raw)
                if isinstance(thing, Unread):
                    self._sink.set_aside(thing)
                    gathered[thing.namespace, thing.name] = None
                else:
                    meta = meta_of(thing)
                    gathered[meta.namespace, meta.name] = thing
            token = page.metadata.continue_
            if not token:
                self._pages = True
                self._whole(gathered, page.metadata.resource_version)
                return 0.0
            await asyncio.sleep(0)  # a page is some milliseconds' work

    # --- what goes wrong ---------------------------------------------------------------------------------------------

    async def _refused(self, answer: Answer, what: str, *, is_list: bool) -> float:
        """Take in an answer that is no list and no watch; return how long to wait."""
        status = status_of(answer.body)
        if answer.status in _NO_STREAMING and is_list and what == WATCH and self._streams_lists:
            self._streams_lists = False  # an older server
            return await self._once()
        if answer.status in _NOT_SERVED and self.state in {State.LISTING, State.ABSENT}:
            if self.state is not State.ABSENT:
                self._stand(State.ABSENT)
                self._sink.take([Listed(cause=LIST, kind=self.resource.kind, things=())])
            return self._pace.absent_s * (1 + self._luck())
        if answer.status == 401:
            await self._client.ready(refused=True)
        return max(self._ended(Status(answer.status, status.reason, status.message)), answer.retry_after_s)

    def _ended(self, status: Status) -> float:
        """Take in an error of the server's; return how long to wait."""
        if status.code == 410 or status.reason in {"Expired", "Gone"}:
            logger.info("%s: the server has forgotten revision %s: listing again", self.resource.name, self._revision)
            self._revision = ""
            return 0.0
        if status.code == 504:  # perhaps it has not come so far as we have, and never will
            self._revision = ""
        return self._troubled(_words(self.resource, status))

    def _troubled(self, text: str) -> float:
        if self.state is not State.ABSENT:
            self._stand(State.TROUBLED, text)
        return self._backoff_s()

    def _backoff_s(self) -> float:
        pace = self._pace
        self._failures += 1
        wait_s = pace.first_s * pace.factor ** min(self._failures - 1, 30)
        return min(wait_s, pace.wait_s_max) * (1 + self._luck()) / 2

    def _stand(self, state: State, text: str = "") -> None:
        """Tell the sink how the kind stands."""
        if (state, text) == (self.state, self._text):
            return
        self.state, self._text = state, text
        self._sink.stands(self.resource.kind, state, text)


class _PageMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(name="continue", default="")


class _Page(msgspec.Struct):
    metadata: _PageMeta = msgspec.field(default_factory=_PageMeta)
    items: list[msgspec.Raw] | None = None


_page_decoder: Final = msgspec.json.Decoder(_Page)


def _page(body: bytes) -> _Page:
    try:
        return _page_decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise Failure(f"expected a list, got something else: {error}", was_sent=True) from None


def _words(resource: Resource, status: Status) -> str:
    """Say what the server's refusal means to whoever runs us."""
    said = status.message or status.reason or f"status {status.code}"
    match status.code:
        case 401:
            return f"{resource.name}: the API server does not know us: {said}; our credentials may have expired"
        case 403:
            return f"{resource.name}: we may not list and watch them: {said}; give our role both verbs on them"
        case _:
            return f"{resource.name}: the API server answers {status.code}: {said}"


def _stub(resource: Resource, unread: Unread) -> Object:
    """Give as much of an object as is known of one that is gone."""
    empty = resource.struct()
    meta = msgspec.structs.replace(meta_of(empty), name=unread.name, namespace=unread.namespace, uid=unread.uid)
    return msgspec.structs.replace(empty, metadata=meta)


class _Ended(Failure):
    """The server ended a watch with an error."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.message, was_sent=True)
        self.status = status
