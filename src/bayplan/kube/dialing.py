"""Dialing: a socket to the API server, with TLS, through a proxy where one is named.

Invariant: what cannot be connected says why in words that name the server and what to do, within a given time.
Not here: what is said over it (`connection.py`).
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeVar

import httptools

from bayplan.kube.auth import Access, Address
from bayplan.kube.calls import Failure

DIAL_S_MAX: Final = 10.0
KEEP_ALIVE: Final = (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3))  # a silent end is heard in 30 s
PROXY_BYTES_MAX: Final = 64 * 2**10

P = TypeVar("P", bound=asyncio.Protocol)


async def dialed(access: Access, made: Callable[[], P], seconds: float = DIAL_S_MAX) -> P:
    """Connect; raise Failure where that cannot be."""
    try:
        async with asyncio.timeout(seconds):
            return await _dialed(access, made)
    except TimeoutError:
        problem = f"no connection within {seconds:g} s; is it running, and does a firewall let us through?"
    except ssl.SSLCertVerificationError as error:
        problem = f"its certificate is not believed: {error.verify_message}; check certificate-authority"
    except ssl.SSLError as error:
        problem = f"TLS failed: {error.reason or error}; is this its https port, and is our certificate accepted?"
    except socket.gaierror as error:
        problem = f"its name is not known: {error.strerror}; check server"
    except OSError as error:
        problem = f"no connection: {error.strerror or error}; is it running?"
    raise Failure(f"{access.address}: {problem}", was_sent=False) from None


async def _dialed(access: Access, made: Callable[[], P]) -> P:
    loop = asyncio.get_running_loop()
    to, tls = access.address, access.tls
    if access.proxy is None:
        name = access.server_name if tls is not None else None
        transport, protocol = await loop.create_connection(made, to.host, to.port, ssl=tls, server_hostname=name)
    else:
        first, tunnel = await _tunnel(access.proxy, to)
        protocol = made()
        if tls is not None:
            upgraded = await loop.start_tls(first, protocol, tls, server_hostname=access.server_name)
            if upgraded is None:
                raise ConnectionResetError("the proxy closed the connection")
            transport = upgraded
        else:
            first.set_protocol(protocol)
            transport = first
        tunnel.is_over = True
        protocol.connection_made(transport)
    _keep_alive(transport)
    return protocol


def _keep_alive(transport: asyncio.BaseTransport) -> None:
    """Have the kernel find out that the other side is gone, and send what is written at once."""
    sock = transport.get_extra_info("socket")
    if sock is None:
        return
    with suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for name, value in KEEP_ALIVE:
            option = getattr(socket, name, None)  # not every system has all of them
            if option is not None:
                sock.setsockopt(socket.IPPROTO_TCP, option, value)


class _Tunnel(asyncio.Protocol):
    """Hears whether a proxy opens a tunnel."""

    def __init__(self, opened: asyncio.Future[int]) -> None:
        self.is_over = False
        self._opened = opened
        self._left = PROXY_BYTES_MAX
        self._parser = httptools.HttpResponseParser(self)

    def data_received(self, data: bytes) -> None:
        self._left -= len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # a good answer to CONNECT
        except httptools.HttpParserError as error:
            self._tell(ConnectionError(f"the proxy does not speak HTTP/1.1: {error}"))
        if self._left < 0:
            self._tell(ConnectionError("the proxy's answer has no end"))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if 200 <= status < 300:
            self._tell(None)
        elif status >= 300:
            self._tell(ConnectionError(f"the proxy refused with status {status}; check proxy-url"))

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.is_over:
            self._tell(ConnectionError("the proxy closed the connection"))

    def _tell(self, error: Exception | None) -> None:
        if self._opened.done():
            return
        if error is None:
            self._opened.set_result(0)
        else:
            self._opened.set_exception(error)


async def _tunnel(proxy: Address, to: Address) -> tuple[asyncio.Transport, _Tunnel]:
    """Connect to a proxy and have it connect to a server."""
    loop = asyncio.get_running_loop()
    opened: asyncio.Future[int] = loop.create_future()
    tls = ssl.create_default_context() if proxy.scheme == "https" else None
    transport, tunnel = await loop.create_connection(lambda: _Tunnel(opened), proxy.host, proxy.port, ssl=tls)
    lines = [f"CONNECT {to.authority} HTTP/1.1", f"Host: {to.authority}"]
    lines += [f"Proxy-Authorization: {proxy.authorization}"] if proxy.authorization else []
    transport.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
    try:
        await opened
    except BaseException:
        transport.abort()
        raise
    return transport, tunnel
