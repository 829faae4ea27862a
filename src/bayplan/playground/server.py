"""The server: HTTP/1.1 in front of the verbs, with aiohttp; on loopback, or beyond it over TLS for bearers of tokens.

Invariants: whatever is asked, the answer is a Status at worst, never a traceback; a page of another origin cannot drive
the server (Host and Origin are looked at); nothing is buffered for a watcher that does not read.
Not here: what a request does (`requests.py`).
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web

from bayplan.api.names import go_quoted
from bayplan.playground import discovery, openapi
from bayplan.playground.agenda import Agenda
from bayplan.playground.bodies import BODY_BYTES_MAX, form_wanted
from bayplan.playground.controllers.budgets import Budgets
from bayplan.playground.controllers.cleaning import Cleaning
from bayplan.playground.controllers.lifecycle import Lifecycle
from bayplan.playground.controllers.owned import Owned
from bayplan.playground.controllers.protection import Protection
from bayplan.playground.controllers.volumes import Volumes
from bayplan.playground.controllers.workloads import Workloads
from bayplan.playground.evictions import Evictions
from bayplan.playground.faults import Fault, Faults
from bayplan.playground.kinds import Kinds
from bayplan.playground.kubelets import Kubelets, Pace
from bayplan.playground.machines import Machines
from bayplan.playground.matching import wanted
from bayplan.playground.reading import is_true, page
from bayplan.playground.refusals import Refused, bad_request, internal, method_not_allowed, no_such_path, too_large
from bayplan.playground.requests import Answer, Request, answer
from bayplan.playground.routing import Target, parts_of, target
from bayplan.playground.store import LOG_MAX, Store
from bayplan.playground.trees import Map, encoded
from bayplan.playground.users import Users
from bayplan.playground.verbs import Verbs
from bayplan.playground.views import View
from bayplan.playground.watching import Watch, asked

LOOPBACK: Final = "127.0.0.1"
SLOW_READER_S: Final = 30.0
WARNING_CHARACTERS_MAX: Final = 200
FAULTS_PATH: Final = ["bayplan", "faults"]
FATES_PATH: Final = ["bayplan", "fates"]
NAMESPACES: Final = ("default", "kube-system", "kube-public", "kube-node-lease")
_HOSTS: Final = frozenset({"localhost", LOOPBACK, "::1"})
_OPEN: Final = (["healthz"], ["livez"], ["readyz"], ["version"])  # to whoever asks
_VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_HEADERS: Final = {"Content-Type": "application/json", "Cache-Control": "no-cache, private"}
_AGGREGATED: Final = "as=APIGroupDiscoveryList"

logger = logging.getLogger(__name__)


class Unsafe(Exception):
    """The server will not listen where anybody could drive it."""


class Dropped(Exception):
    """The connection is to be closed without an answer."""


class Server:
    """A playground's API server."""

    def __init__(self, *, log_max: int = LOG_MAX, users: Users | None = None) -> None:
        """Begin with the namespaces that every cluster has; with users, only they are answered."""
        self.store = Store(log_max)
        self.kinds = Kinds()
        self.verbs = Verbs(self.store, self.kinds, time.time)
        self.verbs.users = users or Users()
        self.faults = Faults()
        self.slow_reader_s = SLOW_READER_S
        self.address = LOOPBACK
        self.port = 0
        self._scheme = "http"
        self.machines: Machines | None = None
        self.workers: tuple[object, ...] = ()
        self._watches: set[asyncio.Task[None]] = set()
        for name in NAMESPACES:
            self.verbs.create(self.kinds.core("namespaces"), "", {"metadata": {"name": name}})

    @asynccontextmanager
    async def listening(
        self, port: int = 0, *, address: str = LOOPBACK, certificate: ssl.SSLContext | None = None
    ) -> AsyncIterator[Server]:
        """Listen on a port, or on any that is free, for as long as the context lasts; with a certificate, over TLS."""
        if address not in _HOSTS and (certificate is None or not self.verbs.users.are_asked):
            raise Unsafe(f"{address} is not loopback: that takes both a token file and a certificate")
        runner = web.ServerRunner(web.Server(self._handled, access_log=None), shutdown_timeout=0.2)
        await runner.setup()
        site = web.TCPSite(runner, address, port, ssl_context=certificate)
        try:
            await site.start()
            self.address, self.port = address, int(runner.addresses[0][1])
            self._scheme = "http" if certificate is None else "https"
            yield self
        finally:
            await _settled()  # what is just being accepted becomes a connection, which the clean-up then ends
            self.cut_watches()
            await runner.cleanup()
            await _settled()

    def live(self, pace: Pace) -> None:
        """Set kubelets and controllers to work, in the running event loop."""
        agenda = Agenda(self.store)
        owned = Owned(self.store, agenda)
        kubelets = Kubelets(self.verbs, agenda, pace)
        self.machines = Machines(self.verbs, agenda, pace, kubelets)
        self.workers = (
            Cleaning(self.verbs, agenda, owned),
            Workloads(self.verbs, agenda, owned),
            Budgets(self.verbs, agenda),
            Volumes(self.verbs, agenda),
            Evictions(self.verbs, agenda),
            Lifecycle(self.verbs, agenda, pace),
            Protection(self.verbs, agenda),
        )

    @property
    def url(self) -> str:
        """Give the address that clients use."""
        return f"{self._scheme}://{f'[{self.address}]' if ':' in self.address else self.address}:{self.port}"

    def cut_watches(self) -> None:
        """End every open watch."""
        for watch in self._watches:
            watch.cancel()

    # --- one request -------------------------------------------------------------------------------------------------

    async def _handled(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request, whatever happens."""
        try:
            _check_origin(request.headers, is_loopback=not self.verbs.users.are_asked)
            return await self._dispatched(request)
        except Refused as refused:
            return _refusal(refused)
        except (Dropped, ConnectionError):
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=500)
        except Exception as error:
            logger.exception("a request failed: %s %s", request.method, request.rel_url)
            return _refusal(internal(type(error).__name__))

    async def _dispatched(self, request: web.BaseRequest) -> web.StreamResponse:
        parts = parts_of(request.rel_url.raw_path)
        if parts[:1] not in _OPEN:
            self.verbs.users.check(request.headers.get("Authorization", ""))
        if parts == FAULTS_PATH:
            return await self._fault(request)
        if parts == FATES_PATH:
            return await self._befallen(request)
        if len(parts) < 2 or parts[0] not in {"api", "apis"} or parts == ["api", "v1"]:
            return self._discovered(request, parts)
        if parts[0] == "apis" and len(parts) < 4:
            return self._discovered(request, parts)
        meant = target(self.kinds, parts)
        query = dict(request.rel_url.query)
        streams = request.method == "GET" and not meant.name
        is_watch = streams and is_true(query, "watch")
        verb = _VERBS.get(request.method, "watch" if is_watch else "list" if streams else "get")
        fault = self.faults.met(verb, meant)
        await _suffer(fault)
        if streams and not meant.kind.ephemeral:
            view = self._view(request, meant, query)
            return await (self._watched if is_watch else self._listed)(request, meant, query, view)
        body = await _body(request)
        view = self._view(request, meant, query)
        sent = Request(request.method, meant, query, request.headers.get("Content-Type", ""), body)
        done = answer(self.verbs, sent)
        if fault is not None and fault.action == "lose":
            raise Dropped
        return _answered(done, view)

    def _view(self, request: web.BaseRequest, meant: Target, query: Mapping[str, str]) -> View:
        form = form_wanted(request.headers.get("Accept", "*/*"))
        return View(meant.kind, form, time.time(), query.get("includeObject", ""))

    async def _listed(
        self, request: web.BaseRequest, meant: Target, query: Mapping[str, str], view: View
    ) -> web.StreamResponse:
        labels, fields = query.get("labelSelector", ""), query.get("fieldSelector", "")
        chosen = wanted(meant.kind, meant.namespace, labels, fields)
        found = page(self.store, meant.kind.stored_as, chosen, query)
        return await _streamed(request, view.listed(found.objects, found.meta), self.slow_reader_s)

    async def _watched(
        self, request: web.BaseRequest, meant: Target, query: Mapping[str, str], view: View
    ) -> web.StreamResponse:
        """Tell changes until the time is over, the client goes, or somebody cuts the watch."""
        options = asked(query)
        labels, fields = query.get("labelSelector", ""), query.get("fieldSelector", "")
        chosen = wanted(meant.kind, meant.namespace, labels, fields)
        watch = Watch(self.store, meant.kind.stored_as, chosen, view)
        response = web.StreamResponse(headers=_HEADERS)
        await response.prepare(request)

        async def tell() -> None:
            async for lines in watch.lines(options, time.monotonic):
                await asyncio.wait_for(response.write(lines), self.slow_reader_s)

        telling = asyncio.create_task(tell())
        self._watches.add(telling)
        try:
            await asyncio.wait([telling])
        finally:
            self._watches.discard(telling)
            telling.cancel()
        if telling.cancelled() or telling.exception() is not None:
            raise Dropped
        await response.write_eof()
        return response

    # --- what is not an object ---------------------------------------------------------------------------------------

    def _discovered(self, request: web.BaseRequest, parts: list[str]) -> web.Response:
        """Answer what asks for the server itself."""
        if request.method != "GET":
            raise method_not_allowed() if parts else no_such_path()
        wants_all = _AGGREGATED in request.headers.get("Accept", "")
        match parts:
            case ["healthz" | "livez" | "readyz", *_]:
                return web.Response(text="ok")
            case ["api" | "apis"] if wants_all:
                version = "v2" if "v=v2;" in f"{request.headers['Accept']};".replace(" ", "") else "v2beta1"
                media = f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
                tree = discovery.aggregated(self.kinds, version, core=parts == ["api"])
                return web.Response(body=encoded(tree), headers={"Content-Type": media})
            case _:
                return _json(self._told(parts))

    def _told(self, parts: list[str]) -> Map:
        """Give the document that stands at a path."""
        kinds, tree = self.kinds, None
        match parts:
            case ["version"]:
                tree = discovery.VERSION
            case ["api"]:
                tree = discovery.api_versions(f"{self.address}:{self.port}")
            case ["apis"]:
                tree = discovery.api_groups(kinds)
            case ["apis", group] if versions := kinds.groups().get(group):
                tree = discovery.api_group(group, versions)
            case ["openapi", "v3"]:
                tree = openapi.index(kinds)
            case ["openapi", "v3", "api" | "apis", *place] if found := kinds.of(*_group_version(place)):
                tree = openapi.document(found)
            case ["api" | "apis", *place] if found := kinds.of(*_group_version(place)):
                tree = discovery.resources(found)
            case _:
                raise no_such_path()
        return tree

    async def _fault(self, request: web.BaseRequest) -> web.Response:
        """Set a fault, list those that are set, or clear them."""
        if request.method == "POST":
            fault = self.faults.add(await _body(request))
            if fault.action == "cut":
                self.cut_watches()
            elif fault.action == "expire":
                self.store.forget()
        elif request.method == "DELETE":
            self.faults.set.clear()
        elif request.method != "GET":
            raise method_not_allowed()
        shown: list[Map] = [
            {"action": one.action, "verb": one.verb, "resource": one.resource, "times": one.times}
            for one in self.faults.set
        ]
        return _json({"faults": [*shown]})

    async def _befallen(self, request: web.BaseRequest) -> web.Response:
        """Let something befall a node."""
        if request.method != "POST":
            raise method_not_allowed()
        if self.machines is None:
            raise bad_request("this server has no nodes that pretend")
        command = self.machines.befall(await _body(request))
        return _json({"node": command.node, "fate": command.fate})


async def _settled() -> None:
    """Let the event loop do what it has begun."""
    for _ in range(5):
        await asyncio.sleep(0)


# --- pieces of an answer ---------------------------------------------------------------------------------------------


def _check_origin(headers: Mapping[str, str], *, is_loopback: bool) -> None:
    """Refuse what a browser sends for a page that is not ours, or under a name that is not this machine's.

    Where tokens are asked for, the machine may have any name: no page of another origin has a token.
    """
    host = headers.get("Host", "")
    origin = headers.get("Origin", "")
    if (is_loopback and _name(f"//{host}") not in _HOSTS) or (origin and urlsplit(origin).netloc != host):
        raise Refused(403, "Forbidden", "this server answers programs on its own machine, not pages of other origins")


def _name(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _group_version(place: list[str]) -> tuple[str, str]:
    """Read what follows /api or /apis."""
    return (place[0], place[1]) if len(place) == 2 else ("", place[0]) if len(place) == 1 else ("", "")


async def _body(request: web.BaseRequest) -> bytes:
    """Read a body, up to a size."""
    pieces, size = [], 0
    async for piece in request.content.iter_any():
        size += len(piece)
        if size > BODY_BYTES_MAX:
            raise too_large(BODY_BYTES_MAX)
        pieces.append(piece)
    return b"".join(pieces)


async def _suffer(fault: Fault | None) -> None:
    """Let a fault happen that comes before the request is served."""
    if fault is None:
        return
    if fault.action == "delay":
        await asyncio.sleep(fault.seconds)
    elif fault.action == "drop":
        raise Dropped
    elif fault.action == "answer":
        raise fault.refusal()


async def _streamed(request: web.BaseRequest, pieces: Iterable[bytes], slow_reader_s: float) -> web.StreamResponse:
    """Send a list, whole where it is short."""
    response = web.StreamResponse(headers=_HEADERS)
    waiting = None
    for piece in pieces:
        if waiting is not None:
            if not response.prepared:
                await response.prepare(request)
            await asyncio.wait_for(response.write(waiting), slow_reader_s)
        waiting = piece
    if not response.prepared:
        return web.Response(body=waiting, headers=_HEADERS)
    await response.write(waiting or b"")
    await response.write_eof()
    return response


def _answered(done: Answer, view: View) -> web.Response:
    raw = encoded(done.tree) if done.stored is None else view.raw(done.stored)
    response = web.Response(status=done.code, body=raw, headers=_HEADERS)
    for warning in done.warnings:
        told = warning[:WARNING_CHARACTERS_MAX].encode("ascii", "replace").decode()
        response.headers.add("Warning", f"299 - {go_quoted(told)}")
    return response


def _json(tree: Map) -> web.Response:
    return web.Response(body=encoded(tree), headers=_HEADERS)


def _refusal(refused: Refused) -> web.Response:
    headers = dict(_HEADERS)
    seconds = (refused.details or {}).get("retryAfterSeconds")
    if seconds:
        headers["Retry-After"] = str(seconds)
    return web.Response(status=refused.code, body=encoded(refused.status()), headers=headers)
