"""Transport: calls end once, in time, and are sent again only by their rule, whatever the server does."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

import pytest

from bayplan.kube.auth import Access
from bayplan.kube.calls import Answer, Call, Failure, Outcome, Priority
from bayplan.kube.loop import run
from bayplan.kube.transport import Client, Limits
from bayplan.playground.running import Running
from tests.unit.kube.hostile import OK, Script, answer, cut, endless, serving, silence, until

R = TypeVar("R")

QUICK = Limits(timeout_s=0.2, dial_s=0.2, nap_s=0.0)
PODS = "/api/v1/namespaces/default/pods"


async def with_client(url: str, do: Callable[[Client], Awaitable[R]], limits: Limits | None = None) -> R:
    """Do something with a client, and close it."""
    client = Client(Access.to(url), limits)
    try:
        return await do(client)
    finally:
        await client.close()


def asked(url: str, method: str, path: str, body: bytes = b"") -> Answer:
    """Ask once."""
    return run(with_client(url, lambda client: client.request(method, path, body)))


def against(*answers: bytes | Script | None, method: str = "POST", limits: Limits = QUICK) -> Outcome:
    """Ask a hostile server once; give what came of it."""

    async def main() -> Outcome:
        async with serving(*answers) as it:
            try:
                return await with_client(it.url, lambda client: client.request(method, "/x"), limits)
            except Failure as failure:
                return failure

    return run(main())


# --- a server that behaves -------------------------------------------------------------------------------------------


def test_a_request_brings_its_answer_whatever_the_status(up: Running) -> None:
    """A refusal is an answer; its meaning is its reader's."""
    assert asked(up.url, "GET", "/api/v1/namespaces/default").status == 200
    missing = asked(up.url, "GET", "/api/v1/namespaces/nope")
    assert (missing.status, json.loads(missing.body)["reason"]) == (404, "NotFound")


def test_many_calls_share_few_connections(up: Running) -> None:
    """A hundred pods are made over as many connections as are allowed."""

    async def main(client: Client) -> tuple[set[int], int]:
        made = [client.request("POST", PODS, _pod(f"p{number}")) for number in range(100)]
        return {answer.status for answer in await asyncio.gather(*made)}, client.counts.dialed

    statuses, dialed = run(with_client(up.url, main, Limits(connections=3)))

    assert statuses == {201}
    assert dialed == 3


def test_a_connection_is_kept_for_the_next_call(up: Running) -> None:
    """One after another needs one."""

    async def main(client: Client) -> int:
        for _ in range(5):
            await client.request("GET", "/api/v1/namespaces/default")
        return client.counts.dialed

    assert run(with_client(up.url, main)) == 1


def test_bindings_go_before_patches_and_those_before_events(up: Running) -> None:
    """While there are fewer connections than calls."""

    async def main(client: Client) -> list[Priority]:
        ended: list[Priority] = []
        all_done = asyncio.Event()

        def end(call: Call, _: Outcome) -> None:
            ended.append(call.priority)
            if len(ended) == 9:
                all_done.set()

        for priority in (Priority.EVENT, Priority.STATUS, Priority.BINDING) * 3:
            call = Call(b"GET /api/v1/namespaces/default", b"", end)
            call.priority = priority
            client.submit(call)
        await all_done.wait()
        return ended

    ended = run(with_client(up.url, main, Limits(connections=1)))

    assert ended == sorted(ended)


# --- a server that does not ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "says"),
    [
        (None, "it closed the connection"),
        (cut(b"HTTP/1.1 201 Created\r\nContent-Le"), "it closed the connection"),
        (cut(b"HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\n{"), "it closed the connection"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "does not speak HTTP/1.1"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", "does not speak HTTP/1.1"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nabsurd\r\n", "does not speak HTTP/1.1"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n", "does not speak HTTP/1.1"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9999999999999999\r\n\r\n{", "no answer to Call(POST /x) within 0.2 s"),
        (endless(b"HTTP/1.1 200 OK\r\n", b"X-More: " + b"x" * 1000 + b"\r\n"), "bytes of headers"),
        (endless(b"HTTP/1.1 200 OK\r\nX-Long: ", b"x" * 1000), "bytes of headers"),
        (endless(b"", b"HTTP/1.1 102 Processing\r\n\r\n" * 100), "bytes of headers"),
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", "another protocol"),
        (silence, "no answer to Call(POST /x) within 0.2 s"),
    ],
    ids=[
        *("closes", "half a head", "half an answer", "no HTTP", "overflowing chunk", "absurd chunk"),
        *("overflowing length", "absurd length", "endless headers", "endless header", "endless 102"),
        *("upgrade", "silence"),
    ],
)  # fmt: skip
def test_a_server_that_breaks_the_rules_is_an_error_with_a_name(script: bytes | Script | None, says: str) -> None:
    """Never a hang; and what was asked may have been done."""
    outcome = against(script, limits=QUICK if "0.2 s" in says else Limits())

    assert isinstance(outcome, Failure)
    assert says in str(outcome)
    assert str(outcome).startswith("http://127.0.0.1:")
    assert outcome.was_sent


def test_an_answer_larger_than_any_is_refused() -> None:
    """Before it fills the memory."""

    async def main() -> Outcome:
        head, chunk = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"400\r\n" + b"x" * 1024 + b"\r\n"
        async with serving(endless(head, chunk)) as it:
            client = Client(Access.to(it.url))
            done: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
            call = Call(b"POST /x", b"", lambda _, outcome: done.set_result(outcome))
            call.bytes_max = 100_000
            client.submit(call)
            outcome = await done
            await client.close()
            return outcome

    assert "larger than any we expect" in str(run(main()))


def test_an_answer_that_nobody_asked_for_closes_the_connection() -> None:
    """The next call goes over another one."""

    async def main() -> tuple[list[int], int]:
        async with serving(OK + OK, OK) as it:

            async def ask(client: Client) -> list[int]:
                statuses = []
                for _ in range(3):
                    statuses.append((await client.request("POST", "/x")).status)
                    await asyncio.sleep(0)
                return statuses

            return await with_client(it.url, ask), it.connections

    assert run(main()) == ([200, 200, 200], 2)


def test_a_read_is_sent_again_after_a_cut_and_a_write_is_not() -> None:
    """What may have been done is not done twice."""
    assert against(None, OK, method="GET") == Answer(200, b"{}")
    outcome = against(None, OK)
    assert isinstance(outcome, Failure)
    assert outcome.was_sent


def test_a_busy_server_is_asked_again_when_it_says() -> None:
    """429 with Retry-After; what matters less waits too, what matters more does not."""

    async def main() -> tuple[list[str], int]:
        async with serving(answer("429 Too Many Requests", b"busy", "Retry-After: 1"), OK) as it:
            client = Client(Access.to(it.url), Limits(connections=1))
            loop = asyncio.get_running_loop()
            told: list[str] = []
            began = loop.time()
            all_done = asyncio.Event()

            def end(call: Call, outcome: Outcome) -> None:
                is_late = loop.time() - began >= 1.0
                told.append(f"{call.priority.name} {outcome[0]} {'late' if is_late else 'at once'}")  # type: ignore[index]
                if len(told) == 1:  # the binding
                    event = Call(b"POST /event", b"", end)
                    event.priority = Priority.EVENT
                    client.submit(event)
                if len(told) == 3:
                    all_done.set()

            patch = Call(b"POST /patch", b"", end)
            client.submit(patch)
            await until(lambda: bool(it.requests), "it was asked")
            binding = Call(b"POST /binding", b"", end)
            binding.priority = Priority.BINDING
            client.submit(binding)
            await all_done.wait()
            await client.close()
            return told, client.counts.again

    told, again = run(main())

    assert told[0] == "BINDING 200 at once"
    assert set(told[1:]) == {"STATUS 200 late", "EVENT 200 late"}
    assert again == 1


@pytest.mark.parametrize("status", ["500 Internal Server Error", "503 Service Unavailable", "504 Gateway Timeout"])
def test_a_server_in_trouble_is_asked_again_and_that_leaves_a_doubt(status: str) -> None:
    """The refusal may have come after the deed: whoever is refused later cannot be sure."""

    async def main() -> tuple[Outcome, bool]:
        async with serving(answer(status), answer("409 Conflict")) as it:
            client = Client(Access.to(it.url))
            done: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
            call = Call(b"POST /x", b"", lambda _, outcome: done.set_result(outcome))
            client.submit(call)
            outcome = await done
            await client.close()
            return outcome, call.is_doubtful

    outcome, is_doubtful = run(main())

    assert outcome == Answer(409, b"{}")
    assert is_doubtful


def test_tries_end() -> None:
    """A server that is always in trouble is asked four times."""

    async def main() -> tuple[int, int]:
        async with serving(answer("500 Internal Server Error")) as it:
            answered = await with_client(it.url, lambda client: client.request("POST", "/x"))
            return answered.status, len(it.requests)

    assert run(main()) == (500, 4)


def test_a_server_that_is_not_there_is_waited_for_and_named() -> None:
    """Until the call's time is over; nothing was sent."""

    async def main() -> tuple[Failure, int]:
        async with serving(OK) as it:
            url = it.url
        client = Client(Access.to(url), QUICK)
        with pytest.raises(Failure) as raised:
            await client.request("POST", "/x")
        await client.close()
        return raised.value, client.counts.sent

    failure, sent = run(main())

    assert not failure.was_sent
    assert "is it running?" in str(failure)
    assert sent == 0


def test_a_server_that_comes_back_is_found() -> None:
    """Calls that waited meanwhile are sent."""

    async def main() -> int:
        async with serving(OK) as it:
            url, port = it.url, it.port
        client = Client(Access.to(url))
        asking = asyncio.ensure_future(client.request("POST", "/x"))
        await until(lambda: bool(client.trouble), "it is not there")

        async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(OK)
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(served, "127.0.0.1", port)
        answered = await asking
        assert not client.trouble
        await client.close()
        server.close()
        return answered.status

    assert run(main()) == 200


def test_a_server_that_closes_after_each_answer_is_connected_to_again() -> None:
    """Connection: close is honoured."""

    async def main() -> tuple[list[int], int]:
        async with serving(answer("200 OK", b"{}", "Connection: close")) as it:

            async def ask(client: Client) -> list[int]:
                return [(await client.request("POST", "/x")).status for _ in range(3)]

            return await with_client(it.url, ask), it.connections

    assert run(main()) == ([200, 200, 200], 3)


def test_closing_ends_what_waits_and_what_is_under_way() -> None:
    """The one was not sent; of the other nobody knows."""

    async def main() -> list[bool]:
        async with serving(silence) as it:
            client = Client(Access.to(it.url), Limits(connections=1))
            ended: list[bool] = []

            def end(_: Call, outcome: Outcome) -> None:
                assert isinstance(outcome, Failure)
                ended.append(outcome.was_sent)

            for _ in range(2):
                client.submit(Call(b"POST /x", b"", end))
            await until(lambda: bool(it.requests), "it was asked")
            await client.close()
            return sorted(ended)

    assert run(main()) == [False, True]


def test_nothing_about_pods_is_written_while_we_may_not() -> None:
    """Neither what waits nor what is to be sent again; leases and reads go on."""

    async def main() -> tuple[list[str], list[bytes]]:
        async with serving(answer("503 Service Unavailable"), OK) as it:
            client = Client(Access.to(it.url))
            ended: list[str] = []
            done = asyncio.Event()

            def end(_: Call, outcome: Outcome) -> None:
                ended.append(str(outcome))
                done.set()

            def may() -> bool:
                return not it.requests  # until the first has been sent

            client.may_write = may
            client.submit(Call(b"POST /binding", b"", end))
            await done.wait()
            lease = await client.request("PUT", "/lease")
            ended.append(str(lease.status))
            await client.close()
            return ended, [request.split(b" ")[1] for request in it.requests]

    ended, paths = run(main())

    assert ended == ["we may not write any more", "200"]
    assert paths == [b"/binding", b"/lease"]


# --- streams ---------------------------------------------------------------------------------------------------------


class Kept:
    """Keeps what is streamed."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.data = b""
        self.is_open = False

    def opened(self) -> None:
        """Take note."""
        self.is_open = True

    def received(self, data: bytes) -> None:
        """Keep a piece."""
        self.data += data


def streamed(*answers: bytes | Script | None, timeout_s: float = 5.0) -> tuple[Outcome, Kept]:
    """Stream from a hostile server."""
    kept = Kept()

    async def main() -> Outcome:
        async with serving(*answers) as it:
            try:
                return await with_client(it.url, lambda client: client.stream("/w", kept, timeout_s=timeout_s))
            except Failure as failure:
                return failure

    return run(main()), kept


def test_a_stream_hands_on_what_comes() -> None:
    """Piece by piece, until its end."""
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"

    assert streamed(chunked)[0] == Answer(200, b"")
    assert streamed(chunked)[1].data == b"abcde"


def test_a_stream_that_is_refused_gives_the_refusal() -> None:
    """Nothing of it is handed on."""
    outcome, kept = streamed(answer("410 Gone", b'{"reason":"Expired"}', "Retry-After: 7"))

    assert outcome == Answer(410, b'{"reason":"Expired"}', 7.0)
    assert not kept.data
    assert not kept.is_open


@pytest.mark.parametrize(
    ("script", "says"),
    [
        (cut(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"), "it closed the connection"),
        (silence, "did not end within 0.3 s"),
        (endless(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 999), "bytes of headers"),
        (
            endless(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 99),
            "did not end within 0.3 s",
        ),
    ],
    ids=["cut", "silence", "endless headers", "endless body"],
)
def test_a_stream_that_breaks_is_an_error_with_a_name(script: Script, says: str) -> None:
    """Never a hang."""
    outcome, _ = streamed(script, timeout_s=0.3 if "0.3 s" in says else 20.0)

    assert isinstance(outcome, Failure)
    assert says in str(outcome)


def test_what_a_receiver_cannot_read_ends_the_stream() -> None:
    """With the receiver's own words."""

    class Picky(Kept):
        def received(self, data: bytes) -> None:
            raise Failure("this is no watch", was_sent=True)

    async def main() -> None:
        async with serving(answer("200 OK", b"x")) as it:
            await with_client(it.url, lambda client: client.stream("/w", Picky(), timeout_s=5))

    with pytest.raises(Failure, match="this is no watch"):
        run(main())


def _pod(name: str) -> bytes:
    return json.dumps({"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}}).encode()


def test_the_example_of_the_module_works(up: Running) -> None:
    """As a reader would type it."""

    async def main() -> int:
        client = Client(Access.to(up.url))
        answered = await client.request("GET", "/api/v1/nodes")
        await client.close()
        return answered.status

    coroutine: Coroutine[Any, Any, int] = main()
    assert run(coroutine) == 200
