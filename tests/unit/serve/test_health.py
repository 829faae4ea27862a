"""The port that probes and scrapers ask."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import aiohttp
import pytest

from bayplan.serve import certificate
from bayplan.serve.health import Check, Health, Port, ServingError, Tokens, _is_loopback, listening
from bayplan.serve.metrics import Metrics
from tests.kit import case


def health(checks: Mapping[str, Check] | None = None, tokens: Path | None = None) -> Health:
    """Return answers in which everything is well, unless told otherwise."""
    ready = checks if checks is not None else {"listed": lambda: True, "leads": lambda: True}
    return Health({"ping": lambda: True}, {"ping": lambda: True}, ready, Metrics(), lambda: b"{}", Tokens(tokens))


def asked(path: str, of: Health, method: str = "GET") -> tuple[int, str]:
    """Ask over TLS, from this machine."""

    async def ask() -> tuple[int, str]:
        async with listening(of, Port("127.0.0.1", 0, certificate.made("bayplan"))) as port:
            url = f"https://127.0.0.1:{port}{path}"
            async with aiohttp.ClientSession() as session, session.request(method, url, ssl=False) as response:
                return response.status, await response.text()

    return asyncio.run(ask())


WELL = {"listed": lambda: True, "leads": lambda: True}
ILL = {"listed": lambda: True, "leads": lambda: False}


@pytest.mark.parametrize(("path", "checks", "status", "text"), [
    case("it lives", "/livez", WELL, 200, "ok"),
    case("it lives though it is not ready", "/livez", ILL, 200, "ok"),
    case("it is healthy", "/healthz", WELL, 200, "ok"),
    case("it is ready", "/readyz", WELL, 200, "ok"),
    case("in detail", "/readyz?verbose", WELL, 200, "[+]listed ok\n[+]leads ok\nreadyz check passed\n"),
    case("not ready, and which check", "/readyz", ILL, 500,
         "[+]listed ok\n[-]leads failed: reason withheld\nreadyz check failed\n"),
    case("one check of several", "/readyz/listed", ILL, 200, "ok"),
    case("a check left out", "/readyz?exclude=leads", ILL, 200, "ok"),
    case("no such check", "/readyz/nothing", WELL, 404, "404 page not found\n"),
    case("no such page", "/debug/pprof", WELL, 404, "404 page not found\n"),
    case("the configuration", "/configz", WELL, 200, "{}"),
])  # fmt: skip
def test_what_is_asked_is_answered(path: str, checks: Mapping[str, Check], status: int, text: str) -> None:
    """As kube-scheduler answers, so that its probes work unchanged."""
    assert asked(path, health(checks)) == (status, text)


def test_numbers_are_served_to_this_machine() -> None:
    """In Prometheus' own form."""
    status, text = asked("/metrics", health())

    assert status == 200
    assert "# TYPE scheduler_pod_scheduling_attempts histogram" in text


def test_nothing_can_be_changed() -> None:
    """Only reading is understood."""
    assert asked("/metrics", health(), method="DELETE")[0] == 405


def test_a_token_of_the_file_is_taken_and_no_other(tmp_path: Path) -> None:
    """One on each line; the file is read again when it has changed."""
    file = tmp_path / "tokens"
    file.write_text("first\n\n second \n", encoding="utf-8")
    tokens = Tokens(file)
    before = [tokens.admit(f"Bearer {token}") for token in ("first", "second", "third", "")]
    file.write_text("third-and-longer\n", encoding="utf-8")
    after = [tokens.admit(f"bearer {token}") for token in ("first", "third-and-longer")]
    file.unlink()

    assert (before, after) == ([True, True, False, False], [False, True])
    assert not tokens.admit("Bearer third-and-longer")
    assert not tokens.admit("Basic first")
    assert not Tokens(None).admit("Bearer ")


def test_a_port_that_is_taken_is_named() -> None:
    """With what to do about it."""

    async def twice() -> None:
        async with (
            listening(health(), Port("127.0.0.1", 0, None)) as port,
            listening(health(), Port("127.0.0.1", port, None)),
        ):
            pass

    with pytest.raises(ServingError, match=r"cannot listen on 127\.0\.0\.1:\d+: .*--secure-port"):
        asyncio.run(twice())


@pytest.mark.parametrize(("peer", "is_here"), [
    case("this machine", "127.0.0.1", True),
    case("all of its addresses", "127.8.0.1", True),
    case("by IPv6", "::1", True),
    case("IPv4 in IPv6", "::ffff:127.0.0.1", True),
    case("another", "10.0.0.8", False),
    case("another, in IPv6", "::ffff:10.0.0.8", False),
    case("nobody", None, False),
    case("no address", "unix:", False),
])  # fmt: skip
def test_only_this_machine_is_this_machine(peer: str | None, *, is_here: bool) -> None:
    """Numbers are given to others for a token only."""
    assert _is_loopback(peer) == is_here
