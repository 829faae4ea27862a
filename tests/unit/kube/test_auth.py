"""Access: credentials that change, and what a server's 401 makes of them."""

import asyncio
import json
from pathlib import Path

import pytest

from bayplan.kube.auth import Access
from bayplan.kube.calls import Failure
from bayplan.kube.kubeconfig import AccessError
from bayplan.kube.loop import run
from bayplan.kube.transport import Client
from tests.unit.kube.hostile import OK, answer, serving, until
from tests.unit.kube.kubeconfigs import access, config, plugin, shown


def test_a_token_file_is_read_again_after_a_minute(tmp_path: Path) -> None:
    """And when the server says 401; while it cannot be read, the token that worked is kept."""
    token = tmp_path / "token"
    token.write_text("one\n", encoding="utf-8")
    it = access(tmp_path, config(user={"tokenFile": "token", "token": "inline"}))
    shown(it)
    assert it.headers == b"Authorization: Bearer one\r\n"
    assert it.fresh_until == 60.0

    token.write_text("two\n", encoding="utf-8")
    assert asyncio.run(it.refresh(60.0))
    assert (it.headers, it.version) == (b"Authorization: Bearer two\r\n", 2)

    token.write_text("three\n", encoding="utf-8")
    assert asyncio.run(it.refresh(70.0, refused=True))
    assert not asyncio.run(it.refresh(71.0, refused=True))  # it has just been looked at
    assert it.headers == b"Authorization: Bearer three\r\n"


def test_files_that_cannot_be_read_for_a_while_cost_a_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What worked is kept, and soon tried again."""
    token = tmp_path / "token"
    token.write_text("one\n", encoding="utf-8")
    it = access(tmp_path, config(user={"tokenFile": "token"}))
    shown(it)
    token.unlink()

    assert not asyncio.run(it.refresh(60.0))
    assert (it.headers, it.fresh_until) == (b"Authorization: Bearer one\r\n", 70.0)
    assert "going on with those we have" in caplog.text


def test_a_pod_shows_its_service_accounts_token(tmp_path: Path, pair: tuple[bytes, bytes]) -> None:
    """Which is rotated; so may the authority be, and then connections are made anew."""
    (tmp_path / "token").write_text("one", encoding="utf-8")
    (tmp_path / "ca.crt").write_bytes(pair[0])
    (tmp_path / "namespace").write_text("scheduling", encoding="utf-8")
    it = Access.in_cluster({"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}, tmp_path)
    shown(it)

    assert (str(it.address), it.namespace) == ("https://[fd00::1]:443", "scheduling")
    assert (it.headers, it.generation) == (b"Authorization: Bearer one\r\n", 1)
    (tmp_path / "token").write_text("two", encoding="utf-8")
    asyncio.run(it.refresh(60.0))
    assert (it.headers, it.generation) == (b"Authorization: Bearer two\r\n", 1)
    (tmp_path / "ca.crt").write_bytes(pair[0] * 2)
    asyncio.run(it.refresh(120.0))
    assert it.generation == 2


def test_who_is_in_no_pod_is_told_so() -> None:
    """With the next step."""
    with pytest.raises(AccessError, match="this is not a pod, so name a kubeconfig file"):
        Access.in_cluster({})


def test_the_way_that_is_meant_is_found(tmp_path: Path) -> None:
    """A named file, else KUBECONFIG's, else the one at home."""
    (tmp_path / ".kube").mkdir()
    for place, name in ((".kube/config", "home"), ("one", "one"), ("two", "two")):
        (tmp_path / place).write_text(json.dumps(config({"server": f"http://{name}"})), encoding="utf-8")
    environ = {"KUBECONFIG": f"{tmp_path / 'gone'}:{tmp_path / 'two'}"}

    assert Access.found(str(tmp_path / "one"), "", environ, tmp_path).address.host == "one"
    assert Access.found("", "", environ, tmp_path).address.host == "two"
    assert Access.found("", "", {}, tmp_path).address.host == "home"


def test_a_401_has_credentials_read_again_and_the_call_sent_once_more(tmp_path: Path) -> None:
    """Whatever the call was: it was not done."""
    token = tmp_path / "token"
    token.write_text("old", encoding="utf-8")

    async def main() -> tuple[int, list[bytes]]:
        async with serving(answer("401 Unauthorized"), OK) as it:
            client = Client(access(tmp_path, config({"server": it.url}, {"tokenFile": "token"})))
            await client.ready()
            token.write_text("new", encoding="utf-8")
            status = (await client.request("POST", "/x")).status
            await client.close()
            return status, [line for one in it.requests for line in one.split(b"\r\n") if line.startswith(b"Auth")]

    assert run(main()) == (200, [b"Authorization: Bearer old", b"Authorization: Bearer new"])


def test_a_401_that_stays_is_the_answer(tmp_path: Path) -> None:
    """Nobody asks in circles."""
    (tmp_path / "token").write_text("old", encoding="utf-8")

    async def main() -> tuple[list[int], int]:
        async with serving(answer("401 Unauthorized")) as it:
            client = Client(access(tmp_path, config({"server": it.url}, {"tokenFile": "token"})))
            statuses = [(await client.request("POST", "/x")).status for _ in range(3)]
            await client.close()
            return statuses, len(it.requests)

    assert run(main()) == ([401, 401, 401], 3)


def test_without_credentials_nothing_is_sent(tmp_path: Path) -> None:
    """The call ends with what is wrong with them."""

    async def main() -> tuple[str, int]:
        async with serving(OK) as it:
            user = plugin(tmp_path, "sys.exit('log in first')")
            client = Client(access(tmp_path, config({"server": it.url}, user)))
            asking = asyncio.ensure_future(client.request("POST", "/x"))
            await until(lambda: bool(client.trouble), "it is known that there are none")
            with pytest.raises(Failure) as raised:
                await client.request("POST", "/x", timeout_s=0.05)
            await client.close()
            await asyncio.gather(asking, return_exceptions=True)
            return str(raised.value), len(it.requests)

    text, sent = run(main())

    assert "log in first" in text
    assert sent == 0
