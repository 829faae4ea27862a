"""The port that probes and scrapers ask: health, metrics and the configuration in force, over TLS.

Whether it lives and is ready may be asked by anybody; numbers and settings by who has a token, or asks from this
machine.
Invariant: whatever is asked, the answer tells nothing that was not asked for by somebody who may.
Not here: the numbers (metrics.py) and the certificate (certificate.py).
"""

from __future__ import annotations

import hmac
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import Final, NamedTuple

from aiohttp import web

from bayplan.serve.metrics import Metrics

Check = Callable[[], bool]
Document = Callable[[], bytes]

TEXT: Final = "text/plain"
TOKENS_BYTES_MAX: Final = 1 << 20
SHUTDOWN_S: Final = 1.0
_HEADERS: Final = {"Cache-Control": "no-cache, private", "X-Content-Type-Options": "nosniff"}


CHECKED: Final = {"livez": "live", "healthz": "healthy", "readyz": "ready"}


class ServingError(Exception):
    """The port cannot be listened on."""


class Tokens:
    """The bearer tokens of a file, one on each line; read again when the file has changed."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._stamp: tuple[int, int] | None = None
        self._known: tuple[bytes, ...] = ()

    def admit(self, authorization: str) -> bool:
        """Say whether an Authorization header carries a token of the file; an unreadable file has none."""
        scheme, _, token = authorization.partition(" ")
        if self._file is None or scheme.lower() != "bearer" or not token.strip():
            return False
        given = token.strip().encode()
        met = [hmac.compare_digest(given, one) for one in self._tokens(self._file)]  # all: no early end to be timed
        return any(met)

    def _tokens(self, file: Path) -> tuple[bytes, ...]:
        try:
            found = file.stat()
            stamp = (found.st_mtime_ns, found.st_size)
            if stamp != self._stamp:
                lines = file.read_bytes()[:TOKENS_BYTES_MAX].splitlines()
                self._known, self._stamp = tuple(line.strip() for line in lines if line.strip()), stamp
        except OSError:
            self._known, self._stamp = (), None
        return self._known


class Health(NamedTuple):
    """What is answered with."""

    live: Mapping[str, Check]
    healthy: Mapping[str, Check]
    ready: Mapping[str, Check]
    metrics: Metrics
    configuration: Document
    tokens: Tokens


class Port(NamedTuple):
    """Where it is listened, and with what."""

    address: str
    port: int
    tls: ssl.SSLContext | None  # None: in clear, for tests


@asynccontextmanager
async def listening(health: Health, at: Port) -> AsyncIterator[int]:
    """Listen for as long as the context lasts; give the port."""
    runner = web.ServerRunner(web.Server(_Handler(health), access_log=None), shutdown_timeout=SHUTDOWN_S)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, at.address, at.port, ssl_context=at.tls).start()
        except OSError as error:
            raise ServingError(
                f"cannot listen on {at.address}:{at.port}: {error.strerror or error}; "
                "choose another with --secure-port, 0 for none"
            ) from None
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()


class _Handler:
    def __init__(self, health: Health) -> None:
        self._health = health

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        place, _, name = request.path.strip("/").partition("/")
        checks = getattr(self._health, CHECKED.get(place, ""), None)
        if request.method not in {"GET", "HEAD"}:
            return _text(405, "405: only GET\n")
        if checks is not None:
            return _checked(place, checks, name, request)
        if place in {"metrics", "configz"} and not name:
            return self._told(place, request) if self._may(request) else _refused(request)
        return _text(404, "404 page not found\n")

    def _may(self, request: web.BaseRequest) -> bool:
        return _is_loopback(request.remote) or self._health.tokens.admit(request.headers.get("Authorization", ""))

    def _told(self, place: str, request: web.BaseRequest) -> web.Response:
        if place == "configz":
            body, content_type = self._health.configuration(), "application/json"
        else:
            body, content_type = self._health.metrics.page(request.headers.get("Accept", ""))
        return web.Response(body=body, headers={**_HEADERS, "Content-Type": content_type})


def _checked(place: str, checks: Mapping[str, Check], name: str, request: web.BaseRequest) -> web.Response:
    """Answer as kube-scheduler does: `ok`, or each check with whether it passed."""
    if name and name not in checks:
        return _text(404, "404 page not found\n")
    left_out = set(request.query.getall("exclude", []))
    asked = {one: check for one, check in checks.items() if (one == name if name else one not in left_out)}
    passed = {one: check() for one, check in asked.items()}
    lines = [f"[+]{one} ok" if is_well else f"[-]{one} failed: reason withheld" for one, is_well in passed.items()]
    if not all(passed.values()):
        return _text(500, "\n".join([*lines, f"{place} check failed", ""]))
    if "verbose" in request.query:
        return _text(200, "\n".join([*lines, f"{place} check passed", ""]))
    return _text(200, "ok")


def _refused(request: web.BaseRequest) -> web.Response:
    has_tried = "Authorization" in request.headers
    why = (
        "the token is not known here" if has_tried else "say who you are with a bearer token, or ask from this machine"
    )
    return _text(401, f"401: {why}\n")


def _is_loopback(peer: str | None) -> bool:
    try:
        address = ip_address((peer or "").partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def _text(status: int, text: str) -> web.Response:
    return web.Response(status=status, text=text, content_type=TEXT, headers=_HEADERS)
