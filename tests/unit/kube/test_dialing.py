"""Dialing: TLS, proxies, and what is said when a server cannot be reached or is not believed."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from bayplan.kube.auth import Access
from bayplan.kube.calls import Answer, Failure
from bayplan.kube.loop import run
from bayplan.kube.transport import Client
from tests.unit.kube.hostile import OK, serving, until
from tests.unit.kube.kubeconfigs import Tree, access, b64, config


@asynccontextmanager
async def with_tls(pair: tuple[bytes, bytes], folder: Path, *, wants: bool = False) -> AsyncIterator[int]:
    """Answer over TLS; with `wants`, only to those who show a certificate of the same authority."""
    (folder / "pair").write_bytes(pair[0] + pair[1])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "pair")
    if wants:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=pair[0].decode())

    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            while True:
                await reader.readuntil(b"\r\n\r\n")
                writer.write(OK)
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(served, "127.0.0.1", 0, ssl=context)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def asked(way: Access) -> Answer | Failure:
    """Ask, and give the answer, or what keeps us from the server."""
    client = Client(way)
    asking = asyncio.ensure_future(client.request("GET", "/x"))
    await until(lambda: asking.done() or bool(client.trouble), "it is answered, or known why not")
    trouble = client.trouble
    await client.close()
    try:
        return await asking
    except Failure as failure:
        return Failure(trouble or str(failure), was_sent=failure.was_sent)


def over_tls(
    pair: tuple[bytes, bytes], folder: Path, cluster: Tree, *, wants: bool = False, shows: bool = False
) -> Answer | Failure:
    """Ask a server that speaks TLS."""
    user = {"client-certificate-data": b64(pair[0]), "client-key-data": b64(pair[1])} if shows else {}

    async def main() -> Answer | Failure:
        async with with_tls(pair, folder, wants=wants) as port:
            way = access(folder, config({"server": f"https://localhost:{port}", **cluster}, user))
            return await asked(way)

    return run(main())


def test_a_server_is_believed_whose_authority_is_named(pair: tuple[bytes, bytes], tmp_path: Path) -> None:
    """And asked over TLS."""
    assert over_tls(pair, tmp_path, {"certificate-authority-data": b64(pair[0])}) == Answer(200, b"{}")


def test_a_server_that_is_not_believed_is_not_asked(pair: tuple[bytes, bytes], tmp_path: Path) -> None:
    """What to look at is said."""
    failure = over_tls(pair, tmp_path, {})

    assert isinstance(failure, Failure)
    assert "its certificate is not believed" in str(failure)
    assert "check certificate-authority" in str(failure)
    assert not failure.was_sent


def test_a_certificate_for_another_name_is_not_believed(pair: tuple[bytes, bytes], tmp_path: Path) -> None:
    """Unless that name is said to be meant."""
    cluster = {"certificate-authority-data": b64(pair[0])}
    wrong = over_tls(pair, tmp_path, {**cluster, "tls-server-name": "other.example"})

    assert isinstance(wrong, Failure)
    assert "Hostname mismatch" in str(wrong)
    assert over_tls(pair, tmp_path, {**cluster, "tls-server-name": "api.example"}) == Answer(200, b"{}")


def test_whoever_asks_not_to_look_is_not_held_up(pair: tuple[bytes, bytes], tmp_path: Path) -> None:
    """insecure-skip-tls-verify."""
    assert over_tls(pair, tmp_path, {"insecure-skip-tls-verify": True}) == Answer(200, b"{}")


def test_our_certificate_is_shown_to_who_wants_it(pair: tuple[bytes, bytes], tmp_path: Path) -> None:
    """Without one we are not let in."""
    cluster = {"certificate-authority-data": b64(pair[0])}

    assert over_tls(pair, tmp_path, cluster, wants=True, shows=True) == Answer(200, b"{}")
    assert isinstance(over_tls(pair, tmp_path, cluster, wants=True), Failure)


def test_a_server_that_speaks_no_tls_is_said_to(tmp_path: Path) -> None:
    """A port of plain HTTP."""

    async def main() -> Answer | Failure:
        async with serving(b"HTTP/1.1 400 Bad Request\r\n\r\n") as it:
            return await asked(access(tmp_path, config({"server": f"https://127.0.0.1:{it.port}"})))

    failure = run(main())

    assert isinstance(failure, Failure)
    assert f"https://127.0.0.1:{_port(failure)}: " in str(failure)


def _port(failure: Failure) -> str:
    return str(failure).partition("127.0.0.1:")[2].partition(":")[0]


def test_a_name_that_nobody_knows_is_said(tmp_path: Path) -> None:
    """And where it stands."""
    failure = run(asked(access(tmp_path, config({"server": "http://no-such-host.invalid"}))))

    assert isinstance(failure, Failure)
    assert "check server" in str(failure) or "no connection" in str(failure)


# --- proxies ---------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def proxying(
    answer: bytes = b"HTTP/1.1 200 Connection established\r\n\r\n",
) -> AsyncIterator[tuple[int, list[str]]]:
    """Tunnel, or answer something else."""
    heads: list[str] = []

    async def pumped(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(answer)
        await writer.drain()
        if b" 200 " not in answer:
            writer.close()
            return
        host, _, port = heads[-1].split()[1].rpartition(":")
        theirs, ours = await asyncio.open_connection(host, int(port))
        await asyncio.gather(pumped(reader, ours), pumped(theirs, writer))

    server = await asyncio.start_server(served, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], heads
    finally:
        server.close()


def test_a_proxy_makes_the_way_to_a_server(pair: tuple[bytes, bytes], tmp_path: Path) -> None:
    """By CONNECT, with who we are to it; TLS is with the server."""

    async def main() -> tuple[Answer | Failure, list[str], int]:
        async with with_tls(pair, tmp_path) as port, proxying() as (proxy, heads):
            cluster = {
                "server": f"https://localhost:{port}",
                "certificate-authority-data": b64(pair[0]),
                "proxy-url": f"http://me:pw@127.0.0.1:{proxy}",
            }
            return await asked(access(tmp_path, config(cluster))), heads, port

    outcome, heads, port = run(main())

    assert outcome == Answer(200, b"{}")
    assert heads == [
        f"CONNECT localhost:{port} HTTP/1.1\r\nHost: localhost:{port}\r\nProxy-Authorization: Basic bWU6cHc=\r\n\r\n"
    ]


@pytest.mark.parametrize(
    ("says", "problem"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "the proxy refused with status 407; check proxy-url"),
        (b"hello\r\n\r\n", "the proxy does not speak HTTP/1.1"),
        (b"HTTP/1.1 502 Bad Gateway\r\n\r\n", "the proxy refused with status 502"),
    ],
)
def test_a_proxy_that_refuses_is_named(tmp_path: Path, says: bytes, problem: str) -> None:
    """And nothing is sent."""

    async def main() -> Answer | Failure:
        async with proxying(says) as (proxy, _):
            return await asked(access(tmp_path, config({"proxy-url": f"http://127.0.0.1:{proxy}"})))

    failure = run(main())

    assert isinstance(failure, Failure)
    assert problem in str(failure)
    assert not failure.was_sent


def test_a_proxy_does_for_plain_http_too(tmp_path: Path) -> None:
    """The same tunnel."""

    async def main() -> Answer | Failure:
        async with serving(OK) as it, proxying() as (proxy, _):
            cluster = {"server": it.url, "proxy-url": f"http://127.0.0.1:{proxy}"}
            return await asked(access(tmp_path, config(cluster)))

    assert run(main()) == Answer(200, json.dumps({}).encode())
