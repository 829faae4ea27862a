"""Leases: who may write, and that never two may."""

import asyncio
import json
from collections.abc import Coroutine
from typing import Any

import msgspec
import pytest

from bayplan.api.messages import Gone, Seen
from bayplan.kube.auth import Access
from bayplan.kube.calls import Answer, Failure
from bayplan.kube.lease import Election, Lease, Settings
from bayplan.kube.loop import run as run_for_real
from bayplan.kube.transport import Client
from bayplan.kube.watch import State
from bayplan.playground.running import Running
from tests.unit.kube.hostile import until
from tests.unit.kube.virtual import jump, now, run

LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/bayplan"


class Api:
    """A server with one lease, which can be out of reach for some."""

    def __init__(self) -> None:
        """Begin without a lease."""
        self.lease: dict[str, Any] | None = None
        self.revision = 0
        self.unreachable: set[str] = set()
        self.slow_s = 0.01
        self.loses_answers = False
        self.watchers: list[Election] = []
        self.writes: list[tuple[float, str]] = []
        self.events: list[dict[str, Any]] = []

    def candidate(self, name: str, *, watches: bool = True) -> Election:
        """Give somebody who stands for the lease."""
        election = Election(Line(self, name), Settings(identity=name), lambda: int(now() * 1e9))
        if watches:
            election._hear = lambda: self._heard(election)
        return election

    async def _heard(self, election: Election) -> None:
        """Tell of every change, as a watch does."""
        election.stands("Lease", State.WATCHING, "")
        self.watchers.append(election)
        try:
            await asyncio.sleep(10**9)
        finally:
            self.watchers.remove(election)

    def ask(self, method: str, body: bytes) -> Answer:
        """Do what a client wants."""
        if method == "GET":
            return Answer(200, json.dumps(self.lease).encode()) if self.lease is not None else Answer(404, b"{}")
        tree = json.loads(body)
        if tree["kind"] == "Event":
            self.events.append(tree)
            return Answer(201, b"{}")
        have = self.lease["metadata"]["resourceVersion"] if self.lease is not None else None
        if method == "POST" and have is not None:
            return Answer(409, b'{"message":"already exists"}')
        if method == "PUT" and tree["metadata"].get("resourceVersion") != have:
            return Answer(409, b'{"message":"the object has been modified"}')
        self.put(tree)
        self.writes.append((now(), tree["spec"]["holderIdentity"]))
        return Answer(200, json.dumps(self.lease).encode())

    def put(self, tree: dict[str, Any] | None) -> None:
        """Store the lease, and tell who watches."""
        self.revision += 1
        self.lease = tree
        if tree is not None:
            tree["metadata"]["resourceVersion"] = str(self.revision)
        lease = Lease() if tree is None else _decoded(tree)
        event = Gone(thing=lease) if tree is None else Seen(thing=lease)
        for watcher in self.watchers:
            if watcher.settings.identity not in self.unreachable:
                watcher.take([event])


def _decoded(tree: dict[str, Any]) -> Lease:
    return msgspec.convert(tree, Lease)


class Line:
    """One candidate's way to the server."""

    def __init__(self, api: Api, name: str) -> None:
        """Belong to a candidate."""
        self._api = api
        self._name = name

    async def request(self, method: str, path: str, body: bytes = b"", *, timeout_s: float = 0.0) -> Answer:
        """Ask; who is out of reach hears nothing for as long as he is willing to wait."""
        await asyncio.sleep(self._api.slow_s)
        if self._name in self._api.unreachable:
            await asyncio.sleep(timeout_s)
            raise Failure("no answer", was_sent=True)
        answer = self._api.ask(method, body)
        if self._api.loses_answers:
            raise Failure("the connection broke", was_sent=True)
        return answer


def begun(*elections: Election) -> list[asyncio.Task[None]]:
    """Let candidates stand."""
    return [asyncio.create_task(election.run()) for election in elections]


async def ended(tasks: list[asyncio.Task[None]]) -> None:
    """Let candidates go."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def test_the_first_takes_a_lease_that_is_not_there_and_keeps_it() -> None:
    """It is made at once, and renewed every two seconds without another word to the server."""

    async def main() -> None:
        api = Api()
        one = api.candidate("one")
        tasks = begun(one)
        await one.won.wait()
        began = now()
        await asyncio.sleep(60)

        assert one.is_held()
        assert began < 1000.1
        assert len(api.writes) == pytest.approx(31, abs=1)
        assert api.lease is not None
        spec = api.lease["spec"]
        assert (spec["holderIdentity"], spec["leaseDurationSeconds"], spec["leaseTransitions"]) == ("one", 15, 0)
        assert spec["acquireTime"] == "1970-01-01T00:16:40.010000Z"
        assert spec["renewTime"] > spec["acquireTime"]
        await ended(tasks)

    run(main())


def test_a_standby_begins_at_once_when_its_holder_leaves() -> None:
    """The released lease is seen by the watch: nobody waits for a period to pass."""

    async def main() -> None:
        api = Api()
        one, two = api.candidate("one"), api.candidate("two")
        first = begun(one)
        await one.won.wait()
        second = begun(two)
        await asyncio.sleep(30)
        assert not two.won.is_set()

        await ended(first)
        left = now()
        await one.release()
        assert not one.is_held()
        await two.won.wait()

        assert now() - left < 0.1
        assert api.lease is not None
        assert api.lease["spec"]["leaseTransitions"] == 1
        await ended(second)

    run(main())


@pytest.mark.parametrize("watches", [True, False])
def test_a_standby_takes_over_when_the_record_has_stood_still(watches: bool) -> None:  # noqa: FBT001
    """After the duration in the record, by its own clock, and not before."""

    async def main() -> None:
        api = Api()
        one, two = api.candidate("one"), api.candidate("two", watches=watches)
        first = begun(one)
        await one.won.wait()
        second = begun(two)
        await asyncio.sleep(31)
        await ended(first)  # as by kill -9: nothing is released
        last = api.writes[-1][0]
        await two.won.wait()

        assert 15 <= now() - last < 15.1 + (0 if watches else 4.4)
        await ended(second)

    run(main())


@pytest.mark.parametrize("seed", range(10))
def test_who_cannot_renew_stops_before_another_begins(seed: int) -> None:
    """However long the line to the server is broken, at no moment do two hold the lease."""

    async def main() -> None:
        api = Api()
        api.slow_s = 0.05 * (1 + seed)
        names = ["one", "two", "three"]
        elections = [api.candidate(name, watches=seed % 2 == 0) for name in names]
        tasks = begun(*elections)
        await asyncio.sleep(20)
        for round_ in range(20):
            holder = next((one.settings.identity for one in elections if one.is_held()), "")
            api.unreachable = {holder} if holder else set()
            for _ in range(100):
                await asyncio.sleep(0.29 + 0.01 * ((seed + round_) % 5))
                assert sum(one.is_held() for one in elections) <= 1
            api.unreachable = set()
            for place, one in enumerate(elections):
                if one.lost.is_set():
                    assert "could not be renewed" in one.why_lost
                    elections[place] = api.candidate(one.settings.identity, watches=seed % 2 == 0)
                    tasks += begun(elections[place])
            await asyncio.sleep(20)
            assert sum(one.is_held() for one in elections) == 1
        await ended(tasks)

    run(main())


def test_a_process_that_was_stopped_knows_that_it_may_not_write() -> None:
    """Before any timer has run: the clock is asked at the moment of the write."""

    async def main() -> None:
        api = Api()
        one = api.candidate("one")
        tasks = begun(one)
        await one.won.wait()
        jump(10.1)

        assert not one.is_held()
        await one.lost.wait()
        assert "could not be renewed for 10 s" in one.why_lost
        await asyncio.gather(*tasks)

    run(main())


def test_an_answer_that_is_lost_loses_no_lease() -> None:
    """A renewal that was applied unheard is a conflict the next time, and the record is ours all the same."""

    async def main() -> None:
        api = Api()
        one = api.candidate("one")
        tasks = begun(one)
        await one.won.wait()
        await asyncio.sleep(5)
        api.loses_answers = True
        await asyncio.sleep(3)
        api.loses_answers = False
        await asyncio.sleep(60)

        assert one.is_held()
        await ended(tasks)

    run(main())


def test_a_lease_that_somebody_else_took_is_lost_at_once() -> None:
    """An administrator may have given it away."""

    async def main() -> None:
        api = Api()
        one = api.candidate("one")
        tasks = begun(one)
        await one.won.wait()
        assert api.lease is not None
        api.put({**api.lease, "spec": {**api.lease["spec"], "holderIdentity": "other"}})
        await one.lost.wait()

        assert one.why_lost == 'it is held by "other" now'
        await asyncio.gather(*tasks)

    run(main())


def test_a_lease_that_was_deleted_is_made_again() -> None:
    """Whoever holds it goes on."""

    async def main() -> None:
        api = Api()
        one = api.candidate("one")
        tasks = begun(one)
        await one.won.wait()
        api.put(None)
        await asyncio.sleep(5)

        assert one.is_held()
        assert api.lease is not None
        await ended(tasks)

    run(main())


def test_who_leads_is_recorded_about_the_lease() -> None:
    """In kube-scheduler's words."""

    async def main() -> None:
        api = Api()
        one = api.candidate("one")
        tasks = begun(one)
        await one.won.wait()
        await asyncio.sleep(5)
        await ended(tasks)
        await one.release()

        assert [event["note"] for event in api.events] == ["one became leader", "one stopped leading"]
        first = api.events[0]
        assert (first["reason"], first["regarding"]["kind"]) == ("LeaderElection", "Lease")
        assert first["regarding"]["name"] == "bayplan"

    run(main())


def test_timings_that_cannot_keep_two_apart_are_refused() -> None:
    """As upstream refuses them."""
    assert not Settings(identity="x").faults()
    assert Settings(identity="x", duration_s=10).faults() == [
        "the lease duration must be longer than the renew deadline"
    ]
    assert Settings(identity="x", retry_s=9.0).faults() == [
        "the renew deadline must be longer than 1.2 times the retry period"
    ]


def test_over_a_real_socket_the_standby_hears_at_once(up: Running) -> None:
    """The same, with a client, a watch and the playground."""

    async def candidate(client: Client, name: str) -> tuple[Election, Coroutine[None, None, None]]:
        election = Election(client, Settings(identity=name))
        return election, election.run()

    async def main() -> list[str]:
        client = Client(Access.to(up.url))
        one, running_one = await candidate(client, "one")
        two, running_two = await candidate(client, "two")
        first = asyncio.create_task(running_one)
        await one.won.wait()
        second = asyncio.create_task(running_two)
        await until(lambda: two.holder == "one" and two._is_watched, "the standby watches")
        await ended([first])
        await one.release()
        await two.won.wait()
        lease = json.loads((await client.request("GET", LEASE)).body)["spec"]
        await ended([second])
        await client.close()
        return [lease["holderIdentity"], str(lease["leaseTransitions"])]

    assert run_for_real(main()) == ["two", "1"]
