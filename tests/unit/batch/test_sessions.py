"""Sessions through the core: gangs go whole or not at all, failures are tried again, and who rests tells nobody."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import msgspec
import pytest

from bayplan.api.decode import decode_tree
from bayplan.api.messages import AnyEffect, Bind, Ended, Ending, Event, Evict, Gone, Nominate, PatchStatus, Seen
from bayplan.batch.sessions import Sessions, batch_profile
from bayplan.batch.tasks import Status
from bayplan.batch.voting import Voter
from bayplan.config.profiles import profiles
from bayplan.core.scheduler import Core, Turn
from bayplan.framework.tiers import BatchConfiguration
from tests.unit.batch.worlds import REGISTRY, WIDE, Manifest, configuration, gang, node, pod, pods, queue

NOW_MS = 1_000_000
PERIOD_MS = 1000
ALL = 1_000_000
USUAL = ("priority gang conformance", "drf predicates proportion nodeorder")


class Served:
    """A core with a batch profile, and the clock that it is told."""

    def __init__(self, given: BatchConfiguration | None = None, **others: Any) -> None:  # noqa: ANN401 other profiles
        profile = batch_profile(given or configuration(*USUAL), REGISTRY)
        self.core = Core({profile.scheduler_name: profile, **others})
        self.now_ms = NOW_MS
        self.turns: list[Turn] = []

    def turn(self, events: list[Event], budget: int = ALL) -> list[AnyEffect]:
        """Have the core work until it is idle; return what it wants done."""
        effects: list[AnyEffect] = []
        for _ in range(1000):
            turn = self.core.turn(events, self.now_ms, budget)
            self.turns.append(turn)
            assert list(self.core.queue.check()) == []
            effects += turn.effects
            events = []
            if turn.is_idle:
                return effects
        raise AssertionError("the core does not come to rest")

    def told(self, *things: Manifest | list[Manifest], budget: int = ALL) -> list[AnyEffect]:
        """Tell the core of objects."""
        manifests = [one for thing in things for one in (thing if isinstance(thing, list) else [thing])]
        return self.turn([seen(one) for one in manifests], budget)

    def later(self, ms: int = PERIOD_MS) -> list[AnyEffect]:
        """Let time pass."""
        self.now_ms += ms
        return self.turn([])

    def ended(self, effects: list[AnyEffect], ending: Ending) -> list[AnyEffect]:
        """Tell the core how all writes ended."""
        writes = [one.write for one in effects if isinstance(one, Bind | Evict)]
        return self.turn([Ended(cause="write", write=write, ending=ending) for write in writes])

    def confirmed(self, effects: list[AnyEffect], *manifests: Manifest) -> list[AnyEffect]:
        """Have pods that were bound run."""
        on = binds(effects)
        self.ended([one for one in effects if isinstance(one, Bind)], Ending.DONE)
        return self.told([running(one, on[one["metadata"]["name"]]) for one in manifests])


def seen(manifest: Manifest) -> Event:
    """Return the event of an object that is seen."""
    return Seen(cause="watch", thing=decode_tree(manifest, WIDE))


def gone(manifest: Manifest) -> Event:
    """Return the event of an object that is deleted."""
    return Gone(cause="watch", thing=decode_tree(manifest, WIDE))


def running(manifest: Manifest, on: str) -> Manifest:
    """Return a pod as it runs."""
    return {**manifest, "spec": {**manifest["spec"], "nodeName": on}, "status": {"phase": "Running"}}


def binds(effects: list[AnyEffect]) -> dict[str, str]:
    """Return who is to be bound where."""
    return {one.name: one.node for one in effects if isinstance(one, Bind)}


def evicts(effects: list[AnyEffect]) -> list[str]:
    """Return who is to leave."""
    return [one.name for one in effects if isinstance(one, Evict)]


def reasons(effects: list[AnyEffect]) -> dict[str, tuple[str, str]]:
    """Return what is to be said of pods that wait."""
    return {one.name: (one.reason, one.message) for one in effects if isinstance(one, PatchStatus)}


@pytest.mark.parametrize("budget", [1, 7, ALL])
def test_a_gang_goes_whole_or_not_at_all(budget: int) -> None:
    """Two of three would fit; with a second node all three go at once, and the room of two is not kept meanwhile."""
    served = Served()
    before = served.told(queue("q"), node("a", cpu="2"), gang("g", 3), pods("g", 3, cpu="1"), budget=budget)
    assert binds(before) == {}
    assert served.core.table.pods == {}
    after = served.told(node("b", cpu="1"), budget=budget)

    assert sorted(binds(after)) == ["g-0", "g-1", "g-2"]
    assert sorted(binds(after).values()) == ["a", "a", "b"]


def test_members_that_come_one_by_one_start_with_the_last() -> None:
    """As long as the gang is not complete nobody starts, and each is told what is missing."""
    served = Served()
    first = served.told(queue("q"), node("a"), gang("g", 2), pods("g", 1, cpu="1"))
    assert reasons(first)["g-0"] == ("Unschedulable", "its gang has 1 members and must have 2")
    second = served.told(pod("g-1", "g", cpu="1"))

    assert sorted(binds(second)) == ["g-0", "g-1"]


def test_a_bind_that_fails_is_undone_and_tried_again_in_a_later_session() -> None:
    """Its room is free at once, and a session later it goes again; whoever was bound beside it stays."""
    served = Served()
    first = served.told(queue("q"), node("a", cpu="2"), gang("g", 2), pods("g", 2, cpu="1"))
    refused, bound = (one for one in first if isinstance(one, Bind))
    served.turn([Ended(cause="write", write=bound.write, ending=Ending.DONE)])
    at_once = served.turn([Ended(cause="write", write=refused.write, ending=Ending.REFUSED, text="no")])
    assert binds(at_once) == {}
    assert set(served.core.table.pods) == {bound.uid}
    later = served.later()

    assert binds(later) == {refused.name: "a"}


def test_a_new_form_of_a_pod_on_its_way_does_not_have_it_wait_again() -> None:
    """Its condition is written, and seen: it is bound once, and its room stays taken."""
    served = Served()
    one = pod("g-0", "g", cpu="1")
    first = served.told(queue("q"), node("a"), node("b"), gang("g", 1), one)
    assert len(binds(first)) == 1
    echo = {**one, "metadata": {**one["metadata"], "labels": {"seen": "again"}}}

    assert binds([*served.told(echo), *served.later(), *served.later()]) == {}
    assert set(served.core.table.pods) == {"g-0"}


def test_an_idle_core_gives_no_effects_and_asks_not_to_be_woken() -> None:
    """Some run and some wait; when all is said, no period brings anything, and none is asked for."""
    served = Served()
    run, wait = pods("g", 2, cpu="1"), pods("h", 2, cpu="3")
    first = served.told(queue("q"), node("a", cpu="3"), gang("g", 2), run, gang("h", 2, created=1), wait)
    assert len(binds(first)) == 2
    assert set(reasons(first)) == {"h-0", "h-1"}
    served.confirmed(first, *run)
    served.later()
    served.later()

    assert [served.later() for _ in range(20)] == [[]] * 20
    assert served.turns[-1].wake_at_ms is None


def test_the_same_events_give_the_same_bytes() -> None:
    """Gangs of two queues, a reclaim and a refused write, lived through twice."""
    lives = []
    for _ in range(2):
        served = Served()
        served.told(queue("q"), queue("r"), node("a"), node("b"), gang("g", 2), pods("g", 6, cpu="1"))
        first = [one for turn in served.turns for one in turn.effects]
        served.ended(first, Ending.REFUSED)
        served.confirmed(served.later(), *pods("g", 6, cpu="1"))
        served.told(gang("h", 2, within="r"), pods("h", 4, cpu="1"))
        served.later()
        effects = [one for turn in served.turns for one in turn.effects]
        assert len(binds(effects)) == 8
        lives.append([msgspec.json.encode(turn) for turn in served.turns])

    assert lives[0] == lives[1]


def a_reclaim(served: Served) -> list[AnyEffect]:
    """Have a queue hold everything, and another ask for its half."""
    served.told(queue("q"), queue("r"), node("a", cpu="2"), gang("g", 1), pods("g", 2, on="a", cpu="1"))
    return served.told(gang("h", 1, within="r"), pods("h", 1, cpu="1"))


def test_who_was_evicted_is_counted_until_gone_and_then_its_room_is_taken() -> None:
    """The reclaimer waits and is told for whom; it is bound when the victim is gone, and nobody else is asked."""
    served = Served()
    effects = a_reclaim(served)
    (victim,) = evicts(effects)
    assert binds(effects) == {}
    assert "until others have left" in reasons(effects)["h-0"][1]
    assert evicts([*served.ended(effects, Ending.DONE), *served.later(), *served.later()]) == []
    after = served.turn([gone(running(pod(victim, "g", cpu="1"), "a"))])

    assert binds(after) == {"h-0": "a"}
    assert evicts(after) == []


def test_a_new_form_of_a_victim_does_not_have_another_leave() -> None:
    """It has been asked to leave, though its object does not say so yet."""
    served = Served()
    (victim,) = evicts(a_reclaim(served))
    form = running(pod(victim, "g", cpu="1"), "a")
    form["metadata"]["labels"] = {"seen": "again"}

    effects = served.told(form)
    (lane,) = served.core.hearing
    assert isinstance(lane, Sessions)
    assert lane.lane.jobs.tasks[victim].status is Status.RELEASING
    assert evicts([*effects, *served.later(), *served.later()]) == []


def test_a_victim_seen_after_its_eviction_failed_runs_on() -> None:
    """Its room is not on its way out any more: it is asked to leave again."""
    served = Served()
    effects = a_reclaim(served)
    (evict,) = (one for one in effects if isinstance(one, Evict))
    form = running(pod(evict.name, "g", cpu="1"), "a")
    form["metadata"]["resourceVersion"] = "7"
    failed = Ended(cause="write", write=evict.write, ending=Ending.REFUSED)

    assert evicts([*served.turn([failed, seen(form)]), *served.later()]) == [evict.name]


def test_who_leaves_for_somebody_else_is_waited_for() -> None:
    """Their room is on its way out as soon as that is seen; nobody else is evicted for it."""
    served = Served(configuration(*USUAL, actions="allocate"))
    run = pods("g", 1, on="a", cpu="1")
    before = served.told(queue("q"), node("a", cpu="1"), gang("g", 1), run, gang("h", 1), pods("h", 1, cpu="1"))
    assert reasons(before)["h-0"][1].startswith("no room on any of 1 nodes")
    going = {**run[0], "metadata": {**run[0]["metadata"], "deletionTimestamp": "2024-01-01T00:00:00Z"}}

    assert reasons(served.told(going))["h-0"][1] == "waits on a until others have left: ns/g-0r"


@pytest.mark.parametrize("ending", [Ending.REFUSED, Ending.UNKNOWN])
def test_an_eviction_that_fails_is_asked_for_again_in_a_later_session(ending: Ending) -> None:
    """The victim runs on, as far as anybody knows."""
    served = Served()
    effects = a_reclaim(served)
    assert evicts(served.ended(effects, ending)) == []

    assert len(evicts(served.later())) == 1


def test_a_queue_at_its_limit_says_so_with_a_reason_of_its_own() -> None:
    """Room there would be: no node need be added for it; and it is said once."""
    served = Served()
    effects = served.told(queue("q", cpu="1"), node("a"), gang("g", 2), pods("g", 2, cpu="1"))

    reason, message = reasons(effects)["g-1"]
    assert reason == "QuotaExceeded"
    assert message.startswith("queue q may have 1000 of cpu")
    assert served.told(queue("q", weight=2, cpu="1")) == []


def test_a_pod_that_is_held_back_is_no_member_until_it_is_let_go() -> None:
    """Its gang waits for it; without its gate, both start."""
    served = Served()
    one, other = pods("g", 2, cpu="1")
    held = {**other, "spec": {**other["spec"], "schedulingGates": [{"name": "wait"}]}}
    assert binds(served.told(queue("q"), node("a"), gang("g", 2), one, held)) == {}

    assert sorted(binds(served.told(other))) == ["g-0", "g-1"]


def test_pods_of_both_lanes_share_one_table() -> None:
    """What a pod tried alone takes, a gang does not get; and the other way round."""
    alone = {**pod("alone", cpu="3"), "metadata": {"name": "alone", "namespace": "ns", "uid": "alone"}}
    alone["spec"]["schedulerName"] = "default-scheduler"
    served = Served(None, **profiles(None, REGISTRY))
    first = served.told(queue("q"), node("a", cpu="4"), alone, gang("g", 2), pods("g", 2, cpu="1"))
    assert set(binds(first)) in ({"alone"}, {"g-0", "g-1"})
    second = served.told(node("b", cpu="3"))

    assert {*binds(first), *binds(second)} == {"alone", "g-0", "g-1"}


def test_room_that_others_leave_for_a_gang_is_kept_from_pods_that_are_tried_alone() -> None:
    """Two have to leave, and leave one after the other; who asks for the first one's room meanwhile does not get it."""
    alone = {**pod("alone", cpu="1"), "metadata": {"name": "alone", "namespace": "ns", "uid": "alone"}}
    alone["spec"]["schedulerName"] = "default-scheduler"
    served = Served(None, **profiles(None, REGISTRY))
    served.told(queue("q"), queue("r"), node("a", cpu="4"), gang("g", 1), pods("g", 4, on="a", cpu="1"))
    effects = served.told(gang("h", 2, within="r"), pods("h", 2, cpu="1"))
    first, second = evicts(effects)
    assert [(one.name, one.node) for one in effects if isinstance(one, Nominate)] == [("h-0", "a"), ("h-1", "a")]
    served.turn([gone(running(pod(first, "g", cpu="1"), "a"))])
    meanwhile = [*served.told(alone), *served.later(), *served.later()]
    assert binds(meanwhile) == {}
    assert not any(isinstance(one, Nominate) for one in meanwhile)
    after = served.turn([gone(running(pod(second, "g", cpu="1"), "a"))])

    assert sorted(binds(after)) == ["h-0", "h-1"]


def test_a_member_that_has_room_says_that_it_waits_for_the_others() -> None:
    """One of two has idle room, the other waits for somebody to leave; both are nominated."""
    served = Served(configuration(*USUAL, actions="allocate"))
    (run,) = pods("g", 1, on="a", cpu="1")
    going = {**run, "metadata": {**run["metadata"], "deletionTimestamp": "2024-01-01T00:00:00Z"}}
    effects = served.told(queue("q"), node("a", cpu="2"), gang("g", 1), going, gang("h", 2), pods("h", 2, cpu="1"))

    assert sorted(message for _, message in reasons(effects).values()) == [
        "has room on a, and waits for others of its gang",
        "waits on a until others have left: ns/g-0r",
    ]
    assert [one.node for one in effects if isinstance(one, Nominate)] == ["a", "a"]
    assert binds(effects) == {}


def test_a_member_that_is_gone_before_its_job_was_handed_out_takes_the_others_back() -> None:
    """Two gangs are decided in one session; the second, of which one is gone by then, does not go."""
    served = Served()
    one, other = pods("g", 2, cpu="1"), pods("h", 2, cpu="1")
    things = [queue("q"), node("a"), gang("g", 2), *one, gang("h", 2, created=9), *other]
    effects: list[AnyEffect] = []
    events = [seen(thing) for thing in things]
    while not effects:
        turn = served.core.turn(events, NOW_MS, 1)
        effects, events = [effect for effect in turn.effects if isinstance(effect, Bind)], []
    assert len(served.core.table.pods) == 4
    after = served.turn([gone(other[1])])

    assert sorted(binds(effects)) == ["g-0", "g-1"]
    assert binds([*after, *served.later()]) == {}
    assert set(served.core.table.pods) == {"g-0", "g-1"}


def test_who_may_try_nobody_does_not_ask_to_be_woken_for_a_session() -> None:
    """While others lead, what happens is taken in; the session comes when it may."""
    served = Served()
    served.core.may_try = False
    assert binds(served.told(queue("q"), node("a"), gang("g", 1), pods("g", 1, cpu="1"))) == {}
    assert served.turns[-1].wake_at_ms is None
    served.core.may_try = True

    assert binds(served.turn([])) == {"g-0": "a"}


class FailsOnce(Voter):
    """Raises in the first session."""

    name = "fails-once"
    failures = 0

    def closing(self) -> None:
        """Fail, once."""
        if not FailsOnce.failures:
            FailsOnce.failures += 1
            raise RuntimeError("once")


def test_after_an_exception_a_session_begins_again_on_a_new_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the failed session had bound is not told; on the new table, with all that is known, all is bound once."""
    module = ModuleType("failing")
    module.FailsOnce = FailsOnce  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "failing", module)
    served = Served(configuration("gang", "predicates failing:FailsOnce"))
    effects = served.told(queue("q"), node("a", cpu="2"), gang("g", 2), pods("g", 2, cpu="1"))
    effects += served.later()

    assert any("once" in turn.fault for turn in served.turns)
    assert sorted(one.name for one in effects if isinstance(one, Bind)) == ["g-0", "g-1"]
