"""Watches: everything of a kind and each change of it, once, whatever happens to the line."""

import asyncio
import json
import random
from collections.abc import Awaitable, Callable, Sequence
from itertools import pairwise
from typing import Any

import pytest

from bayplan.api.messages import Event, Gone, Listed, Seen
from bayplan.api.objects import Object
from bayplan.kube.auth import Access
from bayplan.kube.calls import Answer, Failure
from bayplan.kube.loop import run
from bayplan.kube.resources import Resource, resources
from bayplan.kube.told import Unread, meta_of
from bayplan.kube.transport import Client
from bayplan.kube.watch import Pace, State, Watch
from bayplan.playground.running import Running
from bayplan.playground.server import Server
from tests.unit.kube import virtual
from tests.unit.kube.hostile import Script, answer, serving, until

Key = tuple[str, str]
PODS = resources()["Pod"]
SERVICES = resources()["Service"]
QUICK = Pace(first_s=0.01, wait_s_max=0.02)
COLLECTION = "/api/v1/namespaces/default/services"


class Mirror:
    """What a sink can know; it objects to being told anything twice, or in the wrong order."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.things: dict[Key, Object] = {}
        self.told: list[str] = []
        self.aside: list[Unread] = []
        self.states: list[tuple[State, str]] = []
        self.lists = 0
        self._newest = 0

    def take(self, events: Sequence[Event]) -> None:
        """Take in what happened."""
        for event in events:
            match event:
                case Listed():
                    self.lists += 1
                    self.things = {_key(thing): thing for thing in event.things}
                    self.told.append(f"listed {' '.join(sorted(name for _, name in self.things))}".strip())
                    self.unread = event.unread
                    self._newest = max(map(_revision, event.things), default=self._newest)
                case Seen():
                    assert _revision(event.thing) > self._newest
                    self._newest = _revision(event.thing)
                    self.things[_key(event.thing)] = event.thing
                    self.told.append(f"seen {meta_of(event.thing).name}")
                case Gone():
                    assert _key(event.thing) in self.things
                    del self.things[_key(event.thing)]
                    self.told.append(f"gone {meta_of(event.thing).name}")

    def set_aside(self, unread: Unread) -> None:
        """Take note."""
        self.aside.append(unread)

    def stands(self, kind: str, state: State, text: str) -> None:
        """Take note."""
        self.states.append((state, text))

    @property
    def versions(self) -> dict[Key, str]:
        """Give what is known, as names and versions."""
        return {key: meta_of(thing).resource_version for key, thing in self.things.items()}


def _key(thing: Object) -> Key:
    meta = meta_of(thing)
    return meta.namespace, meta.name


def _revision(thing: Object) -> int:
    return int(meta_of(thing).resource_version or 0)


async def watched(
    url: str, do: Callable[[Client, Mirror, Watch], Awaitable[None]], resource: Resource = PODS, pace: Pace = QUICK
) -> Mirror:
    """Watch while something is done."""
    client, mirror = Client(Access.to(url)), Mirror()
    watch = Watch(client, resource, mirror, pace)
    task = asyncio.create_task(watch.run())
    try:
        await do(client, mirror, watch)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await client.close()
    return mirror


async def made(client: Client, name: str) -> None:
    """Make a service."""
    answered = await client.request("POST", COLLECTION, json.dumps({"metadata": {"name": name}}).encode())
    assert answered.status == 201


async def there(client: Client) -> dict[Key, str]:
    """Give what the server has, as names and versions."""
    items = json.loads((await client.request("GET", COLLECTION)).body)["items"]
    return {
        (one["metadata"]["namespace"], one["metadata"]["name"]): one["metadata"]["resourceVersion"] for one in items
    }


async def settled(client: Client, mirror: Mirror) -> None:
    """Wait until the mirror shows what the server has."""
    have = await there(client)
    await until(lambda: mirror.versions == have, f"{have} is seen, not {mirror.versions}")


# --- a server that behaves -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("streams", [True, False], ids=["a streaming list", "pages"])
def test_what_is_there_is_listed_and_what_happens_is_told(up: Running, streams: bool) -> None:  # noqa: FBT001
    """In order, by either way of listing."""
    for number in range(5):
        up.call(lambda server, name=f"a{number}": _made(server, name))  # type: ignore[misc]

    async def main(client: Client, mirror: Mirror, watch: Watch) -> None:
        watch._streams_lists = streams
        await until(lambda: State.WATCHING in [state for state, _ in mirror.states], "it is watched")
        await made(client, "b")
        await client.request("PATCH", f"{COLLECTION}/b", b'{"metadata":{"labels":{"x":"y"}}}', media=MERGE)
        await client.request("DELETE", f"{COLLECTION}/a1")
        await settled(client, mirror)

    mirror = run(watched(up.url, main, SERVICES, Pace(page=2)))

    assert mirror.told == ["listed a0 a1 a2 a3 a4", "seen b", "seen b", "gone a1"]
    assert mirror.lists == 1


MERGE = b"Content-Type: application/merge-patch+json\r\n"


@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_lost_or_told_twice_whatever_happens_to_the_line(up: Running, seed: int) -> None:
    """Watches are cut, the history is forgotten, lists fail: in the end the mirror shows what is there."""
    luck = random.Random(seed)

    async def main(client: Client, mirror: Mirror, watch: Watch) -> None:
        watch._streams_lists = seed != 1
        names: list[str] = []
        for number in range(120):
            draw = luck.random()
            if draw < 0.1:
                await client.request("POST", "/bayplan/faults", b'{"action": "cut"}')
            elif draw < 0.15:
                names.append(f"a{number}")
                up.call(lambda server, name=names[-1]: _forgotten(server, name))  # type: ignore[misc]
            elif draw < 0.2:
                fault = {"action": "drop", "verb": luck.choice(["watch", "list"]), "resource": SERVICES.plural}
                await client.request("POST", "/bayplan/faults", json.dumps(fault).encode())
            elif draw < 0.4 and names:
                await client.request("DELETE", f"{COLLECTION}/{names.pop(luck.randrange(len(names)))}")
            elif draw < 0.6 and names:
                patch = json.dumps({"metadata": {"labels": {"n": str(number)}}}).encode()
                await client.request("PATCH", f"{COLLECTION}/{luck.choice(names)}", patch, media=MERGE)
            else:
                names.append(f"a{number}")
                await made(client, names[-1])
            if luck.random() < 0.1:
                await settled(client, mirror)
        await client.request("DELETE", "/bayplan/faults")
        await settled(client, mirror)

    mirror = run(watched(up.url, main, SERVICES, Pace(page=7, first_s=0.001, wait_s_max=0.005)))

    assert mirror.lists > 1
    assert len(mirror.told) > 40


def _forgotten(server: Server, name: str) -> None:
    """Cut the watches, let something happen, and forget that it did, before anybody can come back."""
    server.cut_watches()
    _made(server, name)
    server.store.forget()


def _made(server: Server, name: str) -> None:
    server.verbs.create(server.kinds.core(SERVICES.plural), "default", {"metadata": {"name": name}})


def test_a_pod_that_ends_is_gone(up: Running) -> None:
    """Only pods that may still run are asked for; one that ends leaves the selection."""

    async def main(client: Client, mirror: Mirror, _: Watch) -> None:
        pods = "/api/v1/namespaces/default/pods"
        body = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        await client.request("POST", pods, json.dumps(body).encode())
        await until(lambda: bool(mirror.things), "the pod is seen")
        await client.request("PATCH", f"{pods}/a/status", b'{"status":{"phase":"Succeeded"}}', media=MERGE)
        await until(lambda: not mirror.things, "the pod is gone")

    run(watched(up.url, main))


# --- scripted servers ------------------------------------------------------------------------------------------------


def line(kind: str, name: str, revision: int, **more: object) -> bytes:
    """Write one line of a watch of pods."""
    meta = {"name": name, "namespace": "default", "uid": f"u-{name}", "resourceVersion": str(revision)}
    return json.dumps({"type": kind, "object": {"metadata": meta, **more}}).encode() + b"\n"


def bookmark(revision: int, *, ends_list: bool = False) -> bytes:
    """Write a bookmark."""
    notes = {"k8s.io/initial-events-end": "true"} if ends_list else {}
    meta = {"resourceVersion": str(revision), "annotations": notes}
    return json.dumps({"type": "BOOKMARK", "object": {"metadata": meta}}).encode() + b"\n"


def failure(code: int, reason: str) -> bytes:
    """Write the line with which a server ends a watch."""
    return json.dumps({"type": "ERROR", "object": {"code": code, "reason": reason, "message": "why"}}).encode() + b"\n"


def tells(*pieces: bytes, stays: bool = False) -> Script:
    """Tell this in pieces, and end in good order or stay silent."""

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for piece in pieces:
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await writer.drain()
            await asyncio.sleep(0.001)
        if stays:
            await reader.read()
        else:
            writer.write(b"0\r\n\r\n")

    return script


def told_by(*answers: bytes | Script, ends: Callable[[Mirror], bool]) -> tuple[Mirror, list[str]]:
    """Watch a scripted server until something holds; give what was told, and what it was asked for."""

    async def main() -> tuple[Mirror, list[str]]:
        async with serving(*answers) as it:

            async def wait(_: Client, mirror: Mirror, __: Watch) -> None:
                await until(lambda: ends(mirror), f"it ends; told {mirror.told} {mirror.states}")

            mirror = await watched(it.url, wait)
            return mirror, [request.split(b" ")[1].decode() for request in it.requests]

    return run(main())


FIRST = tells(line("ADDED", "a", 1) + line("ADDED", "b", 2), bookmark(5, ends_list=True))


def test_a_watch_goes_on_where_it_was() -> None:
    """From the last bookmark, if nothing happened after it."""
    mirror, asked = told_by(
        tells(line("ADDED", "a", 1) + bookmark(5, ends_list=True), line("MODIFIED", "a", 6), bookmark(9)),
        tells(line("MODIFIED", "a", 11), stays=True),
        ends=lambda mirror: len(mirror.told) == 3,
    )

    assert mirror.told == ["listed a", "seen a", "seen a"]
    assert "sendInitialEvents=true&resourceVersionMatch=NotOlderThan" in asked[0]
    assert "fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed" in asked[0]
    assert "resourceVersion=9" in asked[1]
    assert "sendInitialEvents" not in asked[1]


@pytest.mark.parametrize(
    "expired",
    [tells(failure(410, "Expired")), answer("410 Gone", b'{"code":410,"reason":"Expired"}')],
    ids=["told in the watch", "answered"],
)
def test_a_server_that_has_forgotten_has_everything_listed_again(expired: bytes | Script) -> None:
    """Whether it says so at once or in the watch."""
    mirror, asked = told_by(
        FIRST, expired, tells(line("ADDED", "b", 2) + bookmark(8, ends_list=True), stays=True),
        ends=lambda mirror: mirror.lists == 2,
    )  # fmt: skip

    assert mirror.told == ["listed a b", "listed b"]
    assert "resourceVersion=5" in asked[1]
    assert "sendInitialEvents=true" in asked[2]


def test_a_list_that_breaks_off_is_not_told() -> None:
    """Half a list would make the others gone."""
    mirror, _ = told_by(
        tells(line("ADDED", "a", 1)),
        tells(line("ADDED", "a", 1) + line("ADDED", "b", 2) + bookmark(2, ends_list=True), stays=True),
        ends=lambda mirror: mirror.lists == 1,
    )

    assert mirror.told == ["listed a b"]


def test_what_happens_during_a_streaming_list_is_in_it() -> None:
    """The newest form of each, and none that was deleted."""
    mirror, _ = told_by(
        tells(
            line("ADDED", "a", 1), line("ADDED", "b", 2), line("MODIFIED", "a", 3), line("DELETED", "b", 4),
            bookmark(4, ends_list=True), stays=True,
        ),
        ends=lambda mirror: mirror.lists == 1,
    )  # fmt: skip

    assert mirror.told == ["listed a"]
    assert mirror.versions == {("default", "a"): "3"}


def test_an_older_server_is_listed_page_by_page() -> None:
    """It refuses streaming lists; a page that has expired makes the list begin again, in one piece."""
    page = {"metadata": {"resourceVersion": "7", "continue": "next"}, "items": [_item("a", 1)]}
    whole = {"metadata": {"resourceVersion": "8"}, "items": [_item("a", 1), _item("b", 2)]}
    mirror, asked = told_by(
        answer("422 Unprocessable Entity", b'{"code":422,"reason":"Invalid"}'),
        answer("200 OK", json.dumps(page).encode()),
        answer("410 Gone", b'{"code":410,"reason":"Expired"}'),
        answer("200 OK", json.dumps(whole).encode()),
        tells(line("DELETED", "a", 9), stays=True),
        ends=lambda mirror: len(mirror.told) == 2,
    )

    assert mirror.told == ["listed a b", "gone a"]
    assert [path.partition("?")[2].partition("&field")[0] for path in asked[1:4]] == [
        "limit=500",
        "limit=500&continue=next",
        "limit=0",
    ]
    assert "resourceVersion=8" in asked[4]


def _item(name: str, revision: int, **more: object) -> dict[str, Any]:
    item: dict[str, Any] = json.loads(line("", name, revision, **more))["object"]
    return item


def test_an_object_that_cannot_be_read_is_set_aside_and_the_others_go_on() -> None:
    """In a list and in a watch; what was known of it stays, and its deletion is heard."""
    bad = {"spec": {"containers": "many"}}
    mirror, _ = told_by(
        tells(
            line("ADDED", "a", 1) + line("ADDED", "bad", 2, **bad) + bookmark(2, ends_list=True),
            line("ADDED", "c", 3) + line("MODIFIED", "a", 4, **bad) + line("DELETED", "a", 5, **bad)
            + line("ADDED", "", 6) + line("ADDED", "d", 7),
            stays=True,
        ),
        ends=lambda mirror: "seen d" in mirror.told,
    )  # fmt: skip

    assert mirror.told == ["listed a", "seen c", "gone a", "seen d"]
    assert mirror.unread == (("default", "bad"),)
    assert [(one.name, one.revision) for one in mirror.aside] == [("bad", "2"), ("a", "4"), ("a", "5"), ("", "6")]
    assert mirror.aside[0].problem == 'spec.containers: expected a list, got "many"'


def test_lines_are_put_together_from_any_pieces() -> None:
    """A line may come byte by byte, and many in one piece."""
    whole = line("ADDED", "a", 1) + bookmark(1, ends_list=True) + line("ADDED", "b", 2) + line("DELETED", "a", 3)
    mirror, _ = told_by(
        tells(*(whole[place : place + 7] for place in range(0, len(whole), 7)), stays=True),
        ends=lambda mirror: len(mirror.told) == 3,
    )

    assert mirror.told == ["listed a", "seen b", "gone a"]


@pytest.mark.parametrize(
    ("garbage", "says"),
    [
        (b"hello\n", "expected a line of a watch, got 'hello'"),
        (b'{"object":{}}\n', "expected a line of a watch"),
        (b'{"type":"RENAMED","object":{}}\n', 'expected a change of an object, got a "RENAMED"'),
        (failure(500, "InternalError"), "pods: the API server answers 500: why"),
        (failure(403, "Forbidden"), "pods: we may not list and watch them: why; give our role both verbs on them"),
    ],
)
def test_what_is_no_watch_is_said_and_the_watch_goes_on(garbage: bytes, says: str) -> None:
    """From the place before it: what came in the same piece is told first."""
    mirror, asked = told_by(
        FIRST, tells(line("MODIFIED", "a", 6) + garbage), tells(line("MODIFIED", "a", 7), stays=True),
        ends=lambda mirror: len(mirror.told) == 3,
    )  # fmt: skip

    assert mirror.told == ["listed a b", "seen a", "seen a"]
    assert "resourceVersion=6" in asked[2]
    assert any(says in text for state, text in mirror.states if state is State.TROUBLED)
    assert mirror.states[-1] == (State.WATCHING, "")


def test_a_kind_that_is_not_served_is_said_once_and_nothing_of_it_is_there() -> None:
    """Whoever waits for all kinds need not wait for this one."""
    mirror, asked = told_by(answer("404 Not Found", b"404 page not found\n"), ends=lambda mirror: bool(mirror.told))

    assert mirror.told == ["listed"]
    assert [state for state, _ in mirror.states] == [State.LISTING, State.ABSENT]
    assert len(asked) == 1


# --- time ------------------------------------------------------------------------------------------------------------


class Dead:
    """A client whose server is not there."""

    def __init__(self, outcome: Answer | Failure) -> None:
        """Answer so, always."""
        self.outcome = outcome
        self.times: list[float] = []

    async def stream(self, path: str, receiver: object, *, timeout_s: float) -> Answer:
        """Answer as always."""
        self.times.append(virtual.now())
        if isinstance(self.outcome, Failure):
            raise self.outcome
        return self.outcome

    async def ready(self, *, refused: bool = False) -> bool:
        """Have nothing else to show."""
        return False


@pytest.mark.parametrize(
    "outcome",
    [
        Failure("it is not there", was_sent=False),
        Answer(200),
        Answer(401, b"{}"),
        Answer(403, b"{}"),
        Answer(410, b"{}"),
        Answer(500, b"{}"),
    ],
)
def test_a_server_in_trouble_is_left_in_peace(outcome: Answer | Failure) -> None:
    """Tries come less and less often, never more than some six a minute, and never stop."""

    async def main() -> list[float]:
        client, mirror = Dead(outcome), Mirror()
        task = asyncio.create_task(Watch(client, PODS, mirror).run())  # type: ignore[arg-type]  # as good as one
        await asyncio.sleep(600)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return client.times

    times = virtual.run(main())
    waits = [later - earlier for earlier, later in pairwise(times)]

    assert 0.1 <= waits[0] <= 0.5
    assert all(5 <= wait <= 10 for wait in waits[8:])
    assert 600 - (times[-1] - times[0]) < 11


def test_a_server_that_asks_for_time_is_given_it() -> None:
    """Retry-After is heard."""

    async def main() -> list[float]:
        client = Dead(Answer(429, b"{}", 30.0))
        task = asyncio.create_task(Watch(client, PODS, Mirror()).run())  # type: ignore[arg-type]  # as good as one
        await asyncio.sleep(100)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return client.times

    assert len(virtual.run(main())) == 4
