"""The daemon on a playground: from start to end, and what goes wrong in between."""

import asyncio
import gc
import json
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from http.client import HTTPConnection
from typing import Any

import aiohttp
import pytest

from bayplan.kube.auth import Access
from bayplan.playground.running import Running, running
from bayplan.serve import certificate
from bayplan.serve.daemon import Daemon, Means
from bayplan.serve.health import Port, Tokens
from bayplan.serve.setup import Asked, setup

PODS = "/api/v1/namespaces/default/pods"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/bayplan"
WITHIN_S = 30


@pytest.fixture(autouse=True)
def _collecting() -> Iterator[None]:
    """Leave the garbage collector as it was found."""
    yield
    gc.unfreeze()
    gc.enable()


@pytest.fixture(name="up")
def _up() -> Iterator[Running]:
    """Run a playground with two nodes."""
    with running() as up:
        for name in ("a", "b"):
            room = {"cpu": "4", "memory": "8Gi", "pods": "10"}
            ask(up, "POST", "/api/v1/nodes", {"metadata": {"name": name}, "status": {"allocatable": room}})
        yield up


def ask(up: Running, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 - JSON
    """Ask a playground."""
    connection = HTTPConnection("127.0.0.1", up.server.port, timeout=WITHIN_S)
    connection.request(
        method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"}
    )  # fmt: skip
    told = json.loads(connection.getresponse().read())
    connection.close()
    return told


def want(up: Running, name: str, cpu: str = "1", **spec: object) -> None:
    """Create a pod."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    made = {"metadata": {"name": name}, "spec": {"schedulerName": "bayplan", "containers": [container], **spec}}
    ask(up, "POST", PODS, made)


def pod(up: Running, name: str) -> Any:  # noqa: ANN401 - JSON
    """Return a pod as the API server has it."""
    return ask(up, "GET", f"{PODS}/{name}")


def nodes_of(up: Running) -> dict[str, str]:
    """Return where each pod is; nowhere is empty."""
    return {one["metadata"]["name"]: one["spec"].get("nodeName", "") for one in ask(up, "GET", PODS)["items"]}


def events_of(up: Running, name: str) -> list[tuple[str, str]]:
    """Return the events about a pod: reason and text."""
    found = ask(up, "GET", "/apis/events.k8s.io/v1/namespaces/default/events")["items"]
    return [(one["reason"], one["note"]) for one in found if one["regarding"]["name"] == name]


@asynccontextmanager
async def scheduling(up: Running, **asked: object) -> AsyncIterator[Daemon]:
    """Run a daemon for as long as the context lasts; it must end well."""
    made = setup(Asked(**asked), None)  # type: ignore[arg-type]  # as typed
    daemon = Daemon(Means(Access.to(up.url), made, None, Tokens(None), 0, legacy_metrics=False))
    task = asyncio.create_task(daemon.run())
    try:
        yield daemon
    finally:
        daemon.end()
        assert await asyncio.wait_for(task, WITHIN_S) == 0


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds; the playground has a thread of its own."""
    async with asyncio.timeout(WITHIN_S):
        while not await asyncio.to_thread(holds):  # noqa: ASYNC110 - it is another process's word, in effect
            await asyncio.sleep(0.01)


def lived(story: Callable[[], Awaitable[None]]) -> None:
    """Let a story happen."""

    async def live() -> None:
        await story()

    asyncio.run(live())


def test_pods_are_bound_and_told_of(up: Running) -> None:
    """Those that wait when it starts and those that come later; others' pods are left alone."""

    async def story() -> None:
        await asyncio.to_thread(want, up, "early")
        await asyncio.to_thread(want, up, "theirs", schedulerName="default-scheduler")
        async with scheduling(up):
            await asyncio.to_thread(want, up, "late")
            await until(lambda: all(nodes_of(up)[name] for name in ("early", "late")))

    lived(story)

    assert nodes_of(up)["theirs"] == ""
    assert events_of(up, "early") == [("Scheduled", f"Successfully assigned default/early to {nodes_of(up)['early']}")]
    assert ask(up, "GET", LEASE)["spec"]["holderIdentity"] == ""


def test_a_pod_that_fits_nowhere_says_why_and_is_placed_when_there_is_room(up: Running) -> None:
    """Condition and event carry kube-scheduler's words; a new node wakes it."""
    message = "0/2 nodes are available: 2 Insufficient cpu."

    async def story() -> None:
        await asyncio.to_thread(want, up, "whale", cpu="9")
        async with scheduling(up) as daemon:
            await until(lambda: "conditions" in pod(up, "whale")["status"])
            told = await asyncio.to_thread(pod, up, "whale")
            assert [(one["reason"], one["message"]) for one in told["status"]["conditions"]] == [
                ("Unschedulable", message)
            ]
            await until(lambda: bool(events_of(up, "whale")))
            big = {"metadata": {"name": "big"}, "status": {"allocatable": {"cpu": "16", "pods": "10"}}}
            await asyncio.to_thread(ask, up, "POST", "/api/v1/nodes", big)
            await until(lambda: nodes_of(up)["whale"] == "big")
            assert daemon.driver.is_listed

    lived(story)

    assert events_of(up, "whale")[0] == ("FailedScheduling", message)


@pytest.mark.parametrize("fault", [
    pytest.param({"action": "answer", "code": 409}, id="a conflict"),
    pytest.param({"action": "answer", "code": 503}, id="a server that is busy"),
    pytest.param({"action": "drop"}, id="a connection that breaks"),
    pytest.param({"action": "lose"}, id="an answer that is lost"),
])  # fmt: skip
def test_a_binding_that_fails_is_made_good(up: Running, fault: dict[str, object]) -> None:
    """Whatever becomes of the first, the pod ends up bound once."""
    ask(up, "POST", "/bayplan/faults", {"verb": "create", "resource": "pods/binding", "times": 1, **fault})

    async def story() -> None:
        await asyncio.to_thread(want, up, "web")
        async with scheduling(up):
            await until(lambda: bool(nodes_of(up)["web"]))

    lived(story)

    assert [text for reason, text in events_of(up, "web") if reason == "Scheduled"] == [
        f"Successfully assigned default/web to {nodes_of(up)['web']}"
    ]


def test_a_cut_watch_and_a_forgotten_history_cost_nothing(up: Running) -> None:
    """What happened meanwhile is heard of."""

    async def story() -> None:
        async with scheduling(up) as daemon:
            await until(lambda: daemon.driver.is_listed)
            for action in ("cut", "expire"):
                await asyncio.to_thread(ask, up, "POST", "/bayplan/faults", {"action": action})
                await asyncio.to_thread(ask, up, "POST", "/bayplan/faults", {"action": "cut"})
                await asyncio.to_thread(want, up, f"after-{action}")
            await until(lambda: all(nodes_of(up).values()))

    lived(story)

    assert set(nodes_of(up)) == {"after-cut", "after-expire"}


def test_an_object_that_cannot_be_read_is_set_aside(up: Running) -> None:
    """The others are scheduled; it is counted, and an event says so where its owner looks."""

    async def story() -> None:
        async with scheduling(up) as daemon:
            await until(lambda: daemon.driver.leads and daemon.driver.is_listed)
            await asyncio.to_thread(want, up, "odd", nodeSelector=["no map"])
            await asyncio.to_thread(want, up, "web")
            await until(lambda: bool(nodes_of(up)["web"]) and bool(events_of(up, "odd")))
            shown = daemon.metrics.page()[0].decode()
            assert 'bayplan_quarantined_objects{kind="Pod"} 1.0' in shown

    lived(story)

    ((reason, text),) = events_of(up, "odd")
    assert reason == "FailedScheduling"
    assert "spec.nodeSelector" in text


def test_a_second_daemon_waits_and_goes_on_where_the_first_left(up: Running) -> None:
    """Only the holder of the lease binds; when it leaves, the other does so soon."""

    async def story() -> None:
        async with scheduling(up) as first:
            await until(lambda: first.driver.leads)
            async with scheduling(up) as second:
                await until(lambda: second.driver.is_listed)
                await asyncio.to_thread(want, up, "one")
                await until(lambda: bool(nodes_of(up)["one"]))
                assert not second.driver.leads
                first.end()
                await until(lambda: second.driver.leads)
                await asyncio.to_thread(want, up, "two")
                await until(lambda: bool(nodes_of(up)["two"]))

    lived(story)


def test_a_lease_that_is_taken_away_ends_it_with_status_1(up: Running) -> None:
    """Another holds it: nothing more is written."""

    async def story() -> None:
        made = setup(Asked(leader_elect_retry_period="100ms"), None)
        daemon = Daemon(Means(Access.to(up.url), made, None, Tokens(None), 0, legacy_metrics=False))
        task = asyncio.create_task(daemon.run())
        await until(lambda: daemon.driver.leads)
        taken = await asyncio.to_thread(ask, up, "GET", LEASE)
        taken["spec"]["holderIdentity"] = "somebody else"
        await asyncio.to_thread(ask, up, "PUT", LEASE, taken)
        assert await asyncio.wait_for(task, WITHIN_S) == 1
        await asyncio.to_thread(want, up, "late")

    lived(story)

    assert nodes_of(up) == {"late": ""}


def test_a_node_that_cannot_be_read_is_left_out(up: Running) -> None:
    """Pods go to the others; the number says that one is missing."""
    odd = {"metadata": {"name": "odd"}, "spec": {"taints": {"no": "list"}}, "status": {"allocatable": {"cpu": "99"}}}
    ask(up, "POST", "/api/v1/nodes", odd)

    async def story() -> None:
        await asyncio.to_thread(want, up, "web")
        async with scheduling(up) as daemon:
            await until(lambda: bool(nodes_of(up)["web"]))
            assert 'bayplan_quarantined_objects{kind="Node"} 1.0' in daemon.metrics.page()[0].decode()

    lived(story)

    assert nodes_of(up)["web"] in {"a", "b"}


def test_nothing_is_done_when_nothing_happens(up: Running) -> None:
    """No turn is made while an API server is asked twenty times about other things."""

    async def story() -> None:
        async with scheduling(up) as daemon:
            await asyncio.to_thread(want, up, "web")
            await until(lambda: bool(nodes_of(up)["web"]) and bool(events_of(up, "web")))
            await until(lambda: daemon.driver.is_quiet)
            turns = daemon.core.turns
            for _ in range(20):
                await asyncio.to_thread(nodes_of, up)
            assert daemon.core.turns - turns <= 1  # the watch may confirm late

    lived(story)


def test_exceptions_of_our_own_end_it_with_status_1_and_free_the_lease(
    up: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three within a minute: another copy may do better."""

    def broken() -> int:
        raise KeyError("something of ours")

    async def story() -> None:
        daemon = Daemon(Means(Access.to(up.url), setup(Asked(), None), None, Tokens(None), 0, legacy_metrics=False))
        task = asyncio.create_task(daemon.run())
        await until(lambda: daemon.driver.leads and daemon.driver.is_listed)
        monkeypatch.setattr(daemon.core, "_step", broken)
        await asyncio.to_thread(want, up, "web")
        assert await asyncio.wait_for(task, WITHIN_S) == 1

    lived(story)

    assert ask(up, "GET", LEASE)["spec"]["holderIdentity"] == ""


def test_the_port_serves_health_numbers_and_the_configuration(up: Running) -> None:
    """Ready when everything is listed; the oldest three metrics have counted what was bound."""

    async def story() -> None:
        made = setup(Asked(), None)
        at = Port("127.0.0.1", free_port(), certificate.made("bayplan"))
        daemon = Daemon(Means(Access.to(up.url), made, at, Tokens(None), 0, legacy_metrics=True))
        task = asyncio.create_task(daemon.run())

        async def told(path: str) -> tuple[int, str]:
            url = f"https://127.0.0.1:{at.port}{path}"
            async with aiohttp.ClientSession() as session, session.get(url, ssl=False) as response:
                return response.status, await response.text()

        await until(lambda: daemon.driver.leads and daemon.driver.is_listed)
        assert await told("/readyz") == (200, "ok")
        await asyncio.to_thread(want, up, "web")
        await until(lambda: bool(events_of(up, "web")))
        numbers = (await told("/metrics"))[1]
        counts = dict(line.split() for line in numbers.splitlines() if line.split()[0].endswith("_count"))
        for name in ("e2e_scheduling", "scheduling_algorithm", "binding"):
            assert counts[f"scheduler_{name}_latency_microseconds_count"] == "1.0"
        assert 'leader_election_master_status{name="bayplan"} 1.0' in numbers
        shown = json.loads((await told("/configz"))[1])["componentconfig"]
        assert [one["schedulerName"] for one in shown["profiles"]] == ["bayplan"]
        daemon.end()
        assert await asyncio.wait_for(task, WITHIN_S) == 0

    lived(story)


SIGNALLED = """
import asyncio
from bayplan.serve.daemon import _Signals

async def live():
    with _Signals(lambda: print("told", flush=True)):
        print("up", flush=True)
        await asyncio.sleep(60)

asyncio.run(live())
"""


def test_a_second_signal_ends_it_at_once() -> None:
    """With status 1, whatever the first has begun."""
    command = [sys.executable, "-c", SIGNALLED]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line.strip())
            process.send_signal(signal.SIGTERM)
        status = process.wait(WITHIN_S)

    assert (lines, status) == (["up", "told"], 1)


def free_port() -> int:
    """Find a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
