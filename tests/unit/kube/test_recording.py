"""Recording: events as describe shows them, series of them, and no flood."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from bayplan.api.messages import Record
from bayplan.api.objects import Object, Pod, PodMeta, PodSpec
from bayplan.kube.calls import Answer, Call, Failure, Outcome, Priority
from bayplan.kube.recording import Limits, Recorder
from tests.unit.kube import virtual

Tree = dict[str, Any]


class Server:
    """Takes calls, as a client and the server behind it."""

    def __init__(self) -> None:
        """Take everything at once."""
        self.asked: list[tuple[str, Tree]] = []
        self.outcomes: list[Outcome] = []  # of the next calls; after these, all is well
        self.feed_: Any = None
        self.is_open = True

    def feed(self, priority: Priority, feed: object) -> None:
        """Keep the queue."""
        assert priority is Priority.EVENT
        self.feed_ = feed

    def wake(self) -> None:
        """Send what waits."""
        while self.is_open and self.feed_ is not None and (call := self.feed_.next()) is not None:
            self.asked.append((call.line.decode(), json.loads(call.payload)))
            call.end(call, self.outcomes.pop(0) if self.outcomes else Answer(201, b"{}"))


class Known:
    """One pod, in the form in which it is now."""

    def __init__(self) -> None:
        """Begin with a revision."""
        self.revision = "7"
        self.is_there = True

    def get(self, kind: str, namespace: str, name: str) -> Object | None:
        """Give the pod."""
        meta = PodMeta(name=name, namespace=namespace, uid="u", resource_version=self.revision)
        return Pod(metadata=meta, spec=PodSpec(scheduler_name="bayplan")) if self.is_there else None


def failed(note: str = "0/1 nodes are available.", name: str = "web", uid: str = "u") -> Record:
    """Record that a pod does not fit."""
    return Record(
        uid=uid, namespace="team", name=name, cause="attempt 1", type="Warning", reason="FailedScheduling",
        action="Scheduling", note=note,
    )  # fmt: skip


SCHEDULED = Record(
    uid="u", namespace="team", name="web", cause="attempt 1", type="Normal", reason="Scheduled", action="Binding",
    note="Successfully assigned team/web to n1",
)  # fmt: skip


def recorded(do: Callable[[Server, Known, Recorder], Any], limits: Limits | None = None) -> tuple[Server, Recorder]:
    """Record in virtual time."""

    async def main() -> tuple[Server, Recorder]:
        server, known = Server(), Known()
        recorder = Recorder(server, known, "host", limits, lambda: int(virtual.now() * 1e9))  # type: ignore[arg-type]
        await do(server, known, recorder)
        server.wake()
        recorder.close()
        return server, recorder

    return virtual.run(main())


def test_an_event_says_who_what_about_whom_and_when() -> None:
    """In the words of events.k8s.io/v1."""

    async def once(server: Server, known: Known, recorder: Recorder) -> None:
        recorder.record(SCHEDULED)

    server, recorder = recorded(once)

    assert server.asked == [
        (
            "POST /apis/events.k8s.io/v1/namespaces/team/events",
            {
                "apiVersion": "events.k8s.io/v1",
                "kind": "Event",
                "metadata": {"name": "web.e8d4a51000", "namespace": "team"},
                "eventTime": "1970-01-01T00:16:40.000000Z",
                "reportingController": "bayplan",
                "reportingInstance": "bayplan-host",
                "action": "Binding",
                "reason": "Scheduled",
                "type": "Normal",
                "note": "Successfully assigned team/web to n1",
                "regarding": {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "namespace": "team",
                    "name": "web",
                    "uid": "u",
                    "resourceVersion": "7",
                },
            },
        )
    ]
    assert (recorder.recorded, recorder.written, recorder.dropped) == (1, 1, 0)


def test_what_happens_again_to_an_unchanged_pod_is_a_series() -> None:
    """Written the second time, then counted; and once more when nothing has been added for six minutes."""

    async def often(server: Server, known: Known, recorder: Recorder) -> None:
        for _ in range(10):
            recorder.record(failed())
            server.wake()
            await asyncio.sleep(5)
        await asyncio.sleep(600)

    server, recorder = recorded(often)

    assert [line.split()[0] for line, _ in server.asked] == ["POST", "PATCH", "PATCH"]
    assert server.asked[1][0].endswith("/events/web.e8d4a51000")
    assert [body["series"]["count"] for _, body in server.asked[1:]] == [2, 10]
    assert server.asked[2][1]["series"]["lastObservedTime"] == "1970-01-01T00:17:25.000000Z"
    assert recorder.written == 1


def test_a_series_that_goes_on_is_written_every_half_hour() -> None:
    """So that it is not forgotten: the server keeps events for an hour."""

    async def always(server: Server, known: Known, recorder: Recorder) -> None:
        for _ in range(240):
            recorder.record(failed())
            server.wake()
            await asyncio.sleep(60)

    server, _ = recorded(always)

    assert 8 <= len(server.asked) <= 11
    assert all(line.startswith("PATCH") for line, _ in server.asked[1:])


def test_a_pod_that_has_changed_begins_a_new_event() -> None:
    """Its revision is part of what makes a series."""

    async def changed(server: Server, known: Known, recorder: Recorder) -> None:
        recorder.record(failed())
        known.revision = "8"
        recorder.record(failed())

    server, _ = recorded(changed)

    assert [line.split()[0] for line, _ in server.asked] == ["POST", "POST"]


def test_an_event_that_repeats_before_it_is_written_is_patched_after_it() -> None:
    """Two connections might put the patch first."""

    async def hasty(server: Server, known: Known, recorder: Recorder) -> None:
        server.is_open = False
        recorder.record(failed())
        recorder.record(failed())
        recorder.record(failed())
        server.is_open = True

    server, _ = recorded(hasty)

    assert [line.split()[0] for line, _ in server.asked] == ["POST", "PATCH"]
    assert server.asked[1][1]["series"]["count"] == 3


def test_a_series_that_the_server_has_forgotten_begins_anew() -> None:
    """A patch that is answered with 404."""

    async def forgotten(server: Server, known: Known, recorder: Recorder) -> None:
        recorder.record(failed())
        server.wake()
        server.outcomes = [Answer(404, b"{}")]
        await asyncio.sleep(1)
        recorder.record(failed())

    server, _ = recorded(forgotten)

    assert [line.split()[0] for line, _ in server.asked] == ["POST", "PATCH", "POST"]
    assert server.asked[2][1]["metadata"]["name"] != server.asked[0][1]["metadata"]["name"]


def test_events_give_way_to_bindings_for_some_seconds_and_no_longer() -> None:
    """They go when none has been sent for a moment; a stream of bindings without an end holds them back for five."""

    async def stream(server: Server, known: Known, recorder: Recorder) -> None:
        recorder.bound_at = virtual.now()
        recorder.record(SCHEDULED)
        server.wake()
        await asyncio.sleep(0.05)
        assert (server.asked, recorder.ready()) == ([], 0)
        await asyncio.sleep(0.1)
        assert len(server.asked) == 1  # nobody had to say so

        began = recorder.bound_at = virtual.now()
        recorder.record(SCHEDULED)
        server.wake()
        while len(server.asked) < 2:
            recorder.bound_at = virtual.now()
            await asyncio.sleep(0.05)
        assert 4.9 < virtual.now() - began < 5.3

    recorded(stream)


def test_one_pod_has_so_many_events_in_a_row_and_no_more() -> None:
    """Twenty-five, then one in five minutes; others are not affected."""

    async def flood(server: Server, known: Known, recorder: Recorder) -> None:
        for number in range(100):
            known.revision = str(number)
            recorder.record(failed())
        recorder.record(failed(name="other", uid="v"))
        await asyncio.sleep(301)
        for number in range(100, 200):
            known.revision = str(number)
            recorder.record(failed())

    server, recorder = recorded(flood)

    assert len(server.asked) == 25 + 1 + 1
    assert recorder.dropped == 201 - 27


def test_every_pod_is_told_to_be_scheduled() -> None:
    """Whatever it went through before."""

    async def at_last(server: Server, known: Known, recorder: Recorder) -> None:
        for number in range(100):
            known.revision = str(number)
            recorder.record(failed())
        recorder.record(SCHEDULED)

    server, _ = recorded(at_last)

    assert server.asked[-1][1]["reason"] == "Scheduled"


def test_what_waits_is_bounded(caplog: pytest.LogCaptureFixture) -> None:
    """The newest are counted and dropped; nobody waits for them."""

    async def slow(server: Server, known: Known, recorder: Recorder) -> None:
        server.is_open = False
        for _ in range(15):
            recorder.record(SCHEDULED)
        assert len(recorder) == 10
        server.is_open = True

    server, recorder = recorded(slow, Limits(waiting_max=10))

    assert (len(server.asked), recorder.dropped) == (10, 5)


def test_an_event_that_was_perhaps_written_is_not_counted_as_lost() -> None:
    """Its name exists when it is sent again."""

    async def doubtful(server: Server, known: Known, recorder: Recorder) -> None:
        recorder.record(SCHEDULED)
        call = recorder.next()
        assert isinstance(call, Call)
        call.is_doubtful = True
        call.end(call, Answer(409, b"{}"))
        recorder.record(SCHEDULED)
        server.outcomes = [Failure("the connection broke", was_sent=True)]

    _, recorder = recorded(doubtful)

    assert (recorder.written, recorder.dropped) == (1, 1)


def test_a_name_that_would_be_too_long_is_another() -> None:
    """An event's name is a DNS name, too."""

    async def long(server: Server, known: Known, recorder: Recorder) -> None:
        recorder.record(failed(name="x" * 250))

    server, _ = recorded(long)

    assert len(server.asked[0][1]["metadata"]["name"]) == 36


def test_a_pod_that_is_not_known_has_its_event_all_the_same() -> None:
    """It was deleted while it was tried."""

    async def gone(server: Server, known: Known, recorder: Recorder) -> None:
        known.is_there = False
        recorder.record(SCHEDULED)

    server, _ = recorded(gone)

    assert server.asked[0][1]["reportingController"] == "default-scheduler"
