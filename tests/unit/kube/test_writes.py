"""Writes: what is sent for each effect, in which order, and how its end is told."""

import asyncio
from typing import Any

import pytest

from bayplan.api.messages import (
    Answered,
    Ask,
    Bind,
    Ended,
    Ending,
    Nominate,
    PatchStatus,
)
from bayplan.kube.auth import Access
from bayplan.kube.calls import Answer, Call, Failure, Outcome, Priority
from bayplan.kube.loop import run
from bayplan.kube.transport import Client, Limits
from bayplan.kube.writes import Settings, Writer
from bayplan.playground.running import Running
from tests.unit.kube import virtual
from tests.unit.kube.hostile import OK, Script, answer, serving, silence, until
from tests.unit.kube.writing import BIND, WAITS, Heard, Known, about, sent

# --- how a write ends ------------------------------------------------------------------------------------------------

TAKEN = b'{"message":"pod web is already assigned to node \\"n2\\""}'


@pytest.mark.parametrize(
    ("answers", "ending", "text"),
    [
        ((OK,), Ending.DONE, ""),
        ((answer("409 Conflict", TAKEN),), Ending.REFUSED, 'pod web is already assigned to node "n2"'),
        ((answer("404 Not Found"),), Ending.REFUSED, "the server answers 404"),
        ((answer("403 Forbidden", b'{"message":"no"}'),), Ending.REFUSED, "no"),
        ((answer("429 Too Many Requests"), OK), Ending.DONE, ""),
        ((answer("429 Too Many Requests"),), Ending.REFUSED, "the server answers 429"),
        ((answer("500 Internal Server Error"), OK), Ending.DONE, ""),
        ((answer("500 Internal Server Error"),), Ending.UNKNOWN, "the server answers 500"),
        ((answer("500 Internal Server Error"), answer("409 Conflict", TAKEN)), Ending.UNKNOWN, "already assigned"),
        ((answer("501 Not Implemented"),), Ending.UNKNOWN, "the server answers 501"),
        ((None,), Ending.UNKNOWN, "it closed the connection"),
        ((answer("500 Internal Server Error"), None), Ending.UNKNOWN, "it closed the connection"),
        ((silence,), Ending.UNKNOWN, "no answer to Call(POST"),
    ],
)
def test_an_ending_is_never_guessed(answers: tuple[bytes | Script | None, ...], ending: Ending, text: str) -> None:
    """Done, when the server said so; refused, when it cannot have been done; unknown otherwise."""
    it = sent(BIND, answers=answers, limits=Limits(timeout_s=0.5) if answers == (silence,) else None)

    assert it.endings == [ending]
    assert isinstance(it.heard[0], Ended)
    assert text in it.heard[0].text


def test_a_binding_that_could_not_be_sent_is_refused_in_time() -> None:
    """A server that is not there; the pod may be tried again."""

    async def main() -> Heard:
        async with serving(OK) as it:
            url = it.url
        client = Client(Access.to(url))
        heard: Heard = []
        writer = Writer(client, Known(), heard.append, Settings(bind_wait_s=0.1))
        writer.write([BIND])
        await until(lambda: bool(heard), "it has ended")
        writer.close()
        await client.close()
        return heard

    (ended,) = run(main())

    assert isinstance(ended, Ended)
    assert ended.ending is Ending.REFUSED
    assert "is it running?" in ended.text


def test_closing_refuses_what_was_not_sent() -> None:
    """Nothing is left without an end."""

    async def main() -> Heard:
        client = Client(Access.to("http://127.0.0.1:9"))
        heard: Heard = []
        writer = Writer(client, Known(), heard.append)
        writer.write([BIND, Nominate(**about(uid="u2", write=2), node="n")])
        writer.close()
        await client.close()
        return heard

    assert [one.ending for one in run(main()) if isinstance(one, Ended)] == [Ending.REFUSED, Ending.REFUSED]


# --- order -----------------------------------------------------------------------------------------------------------


def test_a_newer_patch_takes_the_place_of_one_that_waits() -> None:
    """The older need not be written any more."""
    newer = PatchStatus(**about(write=0), reason="Unschedulable", message="newer")
    it = sent(WAITS, newer, ends=lambda it, _: bool(it.requests))

    assert [body["status"]["conditions"][0]["message"] for body in it.bodies] == ["newer"]


def test_a_binding_takes_the_place_of_a_patch_that_waits() -> None:
    """That the pod waits is over."""
    it = sent(WAITS, Nominate(**about(write=2), node="n"), BIND)

    assert [line.rpartition("/")[2] for line in it.lines] == ["binding"]
    assert [(one.write, one.ending) for one in it.heard if isinstance(one, Ended)] == [
        (2, Ending.DONE),
        (1, Ending.DONE),
    ]


def test_a_binding_waits_for_its_pods_patch_under_way() -> None:
    """Or the patch might come later, and say that the bound pod waits."""

    async def main() -> list[str]:
        async with serving(OK) as it:
            client = Client(Access.to(it.url))
            heard: Heard = []
            writer = Writer(client, Known(), heard.append)
            writer.write([WAITS])
            await until(lambda: len(writer.patches) == 0, "the patch is under way")
            writer.write([BIND, Bind(**about("other", "u2", 2), node="n1")])
            assert len(writer.bindings) <= 1
            await until(lambda: len(heard) == 2, "both are bound")
            writer.close()
            await client.close()
            return [request.split(b" ")[1].decode().rpartition("pods/")[2] for request in it.requests]

    order = run(main())

    assert order.index("web/status") < order.index("web/binding")
    assert "other/binding" in order


def test_a_binding_that_waits_for_a_patch_ends_when_all_ends() -> None:
    """As refused: it was never sent; and so does whatever comes after."""

    async def main() -> list[Ending]:
        async with serving(silence) as it:
            client = Client(Access.to(it.url))
            heard: Heard = []
            writer = Writer(client, Known(), heard.append)
            writer.write([WAITS])
            await until(lambda: len(writer.patches) == 0, "the patch is under way")
            writer.write([BIND])
            writer.close()
            writer.write([Bind(**about("other", "u2", 2), node="n1")])
            await client.close()
            return [one.ending for one in heard if isinstance(one, Ended)]

    assert run(main()) == [Ending.REFUSED, Ending.REFUSED]


# --- reads -----------------------------------------------------------------------------------------------------------


def test_a_read_brings_the_object_or_that_there_is_none(up: Running) -> None:
    """From the server itself."""

    async def main() -> Heard:
        client = Client(Access.to(up.url))
        heard: Heard = []
        writer = Writer(client, Known(), heard.append)
        who = {"uid": "u", "namespace": "kube-system", "name": "x", "cause": "y"}
        writer.write([Ask(**who, write=1, kind="Namespace", of="default")])
        writer.write([Ask(**who, write=2, kind="PersistentVolumeClaim", of="nope")])
        await until(lambda: len(heard) == 2, "both are answered")
        writer.close()
        await client.close()
        return sorted(heard, key=lambda one: one.write)

    found, missing = run(main())

    assert isinstance(found, Answered)
    assert found.thing is not None
    assert missing == Answered(cause="read", write=2, thing=None)


def test_a_read_that_fails_is_repeated_for_a_while() -> None:
    """Whoever asked would ask again at once, and the server has trouble enough."""

    class Dead:
        """A client whose calls fail."""

        def __init__(self) -> None:
            self.times: list[float] = []

        def submit(self, call: Call) -> None:
            self.times.append(virtual.now())
            asyncio.get_running_loop().call_soon(call.end, call, _failure())

        def feed(self, priority: Priority, feed: object) -> None:
            """Take note of nothing."""

        def wake(self) -> None:
            """Do nothing."""

    async def main() -> tuple[list[float], list[Ended | Answered]]:
        client = Dead()
        heard: Heard = []
        writer = Writer(client, Known(), heard.append)  # type: ignore[arg-type]  # as good as a client
        writer.write([Ask(**about(), kind="Pod", of="web")])
        await asyncio.sleep(300)
        writer.close()
        return client.times, heard

    times, heard = virtual.run(main())

    assert heard == [Answered(cause="read", write=1, has_failed=True)]
    assert 5 < len(times) < 15
    assert 30 < times[-1] - times[0] < 70


def _failure() -> Failure:

    return Failure("it is not there", was_sent=False)


# --- the rate --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("qps", "burst"), [(15.0, 20), (1.0, 1), (200.0, 5)])
def test_bindings_are_as_fast_as_they_may_be_and_no_faster(qps: float, burst: int) -> None:
    """In any window no more than the burst and what the rate allows; and over time no less."""

    class Instant:
        """A client that sends whatever it is given at once."""

        def __init__(self) -> None:
            self.times: list[float] = []
            self.feeds: dict[Priority, Any] = {}

        def feed(self, priority: Priority, feed: object) -> None:
            self.feeds[priority] = feed

        def wake(self) -> None:
            feed = self.feeds.get(Priority.BINDING)
            while feed is not None and (call := feed.next()) is not None:
                self.times.append(virtual.now())
                call.end(call, _done())

    async def main() -> list[float]:
        client = Instant()
        heard: Heard = []
        settings = Settings(bind_qps=qps, bind_burst=burst, bind_wait_s=1e9)
        writer = Writer(client, Known(), heard.append, settings)  # type: ignore[arg-type]  # as good as a client
        for first in range(0, 300, 10):
            writer.write([Bind(**about(f"p{n}", f"u{n}", n + 1), node="n1") for n in range(first, first + 10)])
            await asyncio.sleep(0.01)
        await asyncio.sleep(400)
        writer.close()
        return client.times

    times = virtual.run(main())

    assert len(times) == 300
    for first in range(0, 300, 7):
        for last in range(first, 300, 11):
            allowed = burst + (times[last] - times[first]) * qps
            assert last - first + 1 <= allowed + 1e-3
    assert times[-1] - times[0] <= (300 - burst) / qps + 0.5


def _done() -> Outcome:

    return Answer(201)
