"""Lanes other than the pod lane: all or nothing, over several turns, with evictions, in sessions."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from bayplan.api.messages import Bind, Ended, Ending, Event, Evict, Gone, Nominate, Seen
from bayplan.api.objects import Node, Pod
from bayplan.config.profiles import profiles
from bayplan.core.points import Gatehouse, Wait
from bayplan.core.scheduler import Core
from bayplan.framework.lane import (
    UNSCHEDULABLE,
    Entity,
    Ground,
    LaneKind,
    Placement,
    Plan,
    Rejection,
    Unplaced,
    Waiters,
)
from bayplan.framework.plugin import Outcome, Plugin, unschedulable
from bayplan.framework.profile import DEFAULT_SCHEDULER, Instance, Profile
from bayplan.framework.registry import Registry
from bayplan.sim.draws import GROUP, SIZE
from tests.histories.groups import with_groups
from tests.kit import a_pod, node
from tests.unit.core.test_scheduler import ALL, DAY_MS, binds, bound, free_cpu, told


def a_group(name: str, size: int, *, cpu: int, priority: int | None = None) -> list[Pod]:
    """Return the pods of a group."""
    return [
        a_pod(f"{name}{number}", labels=f"{GROUP}={name} {SIZE}={size}", cpu=cpu, priority=priority)
        for number in range(size)
    ]


def a_core(*plugins: Plugin[None, None]) -> Core:
    """Return a core whose pods go in groups, with some rules at permit."""
    usual = profiles(None, Registry.installed())[DEFAULT_SCHEDULER]
    points = {**usual.points, "permit": [Instance(plugin.name, plugin) for plugin in plugins]}
    return Core({DEFAULT_SCHEDULER: with_groups(Profile(DEFAULT_SCHEDULER, points), evicts=True)})


def turns(core: Core, *things: Pod | Node, budget: int = 1, at_most: int = 200) -> list[object]:
    """Tell a core of objects and let it work in small turns; return what it wants done."""
    events: Sequence[Event] = [Seen(cause="watch", thing=thing) for thing in things]
    effects: list[object] = []
    for _ in range(at_most):
        turn = core.turn(events, DAY_MS, budget)
        assert not turn.fault
        assert list(core.queue.check()) == []
        effects += turn.effects
        events = ()
        if turn.is_idle:
            break
    return effects


def until_in_a_trial(core: Core, *things: Pod | Node) -> None:
    """Tell a core of objects and let it work until a trial is open."""
    core.turn([Seen(cause="watch", thing=thing) for thing in things], DAY_MS, 1)
    for _ in range(50):
        if core.table.has_trial:
            return
        core.turn([], DAY_MS, 1)
    raise AssertionError("no trial was ever open")


@pytest.mark.parametrize("budget", [1, 3, ALL])
def test_a_group_goes_together_or_not_at_all(budget: int) -> None:
    """Two of three would fit; with room for three, all go at once."""
    core = a_core()
    before = turns(core, node("a", cpu=2), *a_group("g", 3, cpu=1), budget=budget)
    assert not any(isinstance(effect, Bind) for effect in before)
    assert free_cpu(core, "a") == 2000
    after = turns(core, node("b", cpu=1), budget=budget)

    assert sum(isinstance(effect, Bind) for effect in after) == 3


def test_events_wait_while_a_trial_is_open() -> None:
    """A node that is emptied meanwhile is seen before anything leaves, and the group is judged again."""
    core = a_core()
    until_in_a_trial(core, node("a", cpu=3), *a_group("g", 3, cpu=1))
    turn = core.turn([Seen(cause="watch", thing=node("a", cpu=2))], DAY_MS, 1)
    assert core.table.columns.allocatable[0, core.table.row_of["a"]] == 3000
    effects = [*turn.effects, *turns(core)]

    assert not any(isinstance(effect, Bind) for effect in effects)
    assert free_cpu(core, "a") == 2000
    assert "waiting for a change" in core.where("uid-default-g0")


def test_a_member_that_is_gone_meanwhile_takes_the_others_back() -> None:
    """What was decided about three does not hold for two."""
    core, pods = a_core(), a_group("g", 3, cpu=1)
    until_in_a_trial(core, node("a", cpu=3), *pods)
    turn = core.turn([Gone(cause="watch", thing=pods[2])], DAY_MS, 1)
    effects = [*turn.effects, *turns(core)]

    assert not any(isinstance(effect, Bind) for effect in effects)
    assert free_cpu(core, "a") == 3000


class Refuses(Plugin[None, None]):
    """Turns the last of a group down at the last moment."""

    points = frozenset({"permit"})

    def permit(self, pod: Pod, node: str, gatehouse: Gatehouse) -> Outcome | Wait | None:
        """Turn down whoever is called so."""
        return unschedulable("not this one") if pod.metadata.name == "g2" else None


def test_a_rule_at_permit_that_turns_one_down_turns_all_down() -> None:
    """Nothing of the group leaves, and each is told why."""
    core = a_core(Refuses())
    effects = told(core, node("a", cpu=3), *a_group("g", 3, cpu=1))

    assert binds(effects) == []
    assert not any(isinstance(effect, Nominate) for effect in effects)
    assert free_cpu(core, "a") == 3000
    assert all(core.where(f"uid-default-g{number}").startswith("waiting for a change") for number in range(3))


def test_a_group_has_others_evicted_and_waits_nominated() -> None:
    """The victim counts until it is gone; its room is kept for the group."""
    core = a_core()
    low = bound(a_pod("low", cpu=2), "a")
    effects = told(core, node("a", cpu=2), low, *a_group("g", 2, cpu=1, priority=5))
    (evict,) = (effect for effect in effects if isinstance(effect, Evict))
    assert evict.name == "low"
    assert free_cpu(core, "a") == 0
    assert binds(told(core, a_pod("third", cpu=1))) == []
    freed = core.turn([Gone(cause="watch", thing=low)], DAY_MS + 9000, ALL).effects

    assert sorted(binds(freed)) == [("g0", "a"), ("g1", "a")]


@pytest.mark.parametrize("ending", [Ending.REFUSED, Ending.UNKNOWN])
def test_an_eviction_that_fails_is_asked_for_again(ending: Ending) -> None:
    """Nobody would ever leave otherwise."""
    core = a_core()
    effects = told(core, node("a", cpu=2), bound(a_pod("low", cpu=2), "a"), *a_group("g", 2, cpu=1, priority=5))
    (evict,) = (effect for effect in effects if isinstance(effect, Evict))
    again = core.turn([Ended(cause="write", write=evict.write, ending=ending)], DAY_MS + 9000, ALL).effects

    assert [effect.name for effect in again if isinstance(effect, Evict)] == ["low"]


def test_a_nomination_outlives_an_older_form_of_the_pod() -> None:
    """What is seen of the pod from before it was nominated does not free its room for others."""
    core, (first, second) = a_core(), a_group("g", 2, cpu=1, priority=5)
    low = bound(a_pod("low", cpu=2), "a")
    told(core, node("a", cpu=2), low, first, second)
    told(core, replace(first, metadata=replace(first.metadata, annotations={"x": "y"})))

    assert set(core.table.nominations) == {"uid-default-g0", "uid-default-g1"}


class Sessions:
    """A lane that places whoever waits, one after another, every ten seconds."""

    def __init__(self, ground: Ground, profile: Profile) -> None:
        self._ground, self._profile, self._next_ms = ground, profile, DAY_MS

    def next_ms(self) -> int | None:
        """Return when the next session begins."""
        return self._next_ms

    def plan(self, first: Entity | None, waiting: Waiters, now_ms: int, budget: int) -> Plan:
        """Place one; when nobody is left who fits, the session is over."""
        for one in sorted(waiting.of(self._profile), key=lambda one: one.uid):
            verdict = self._ground.rules.ask(one.pod, one.profile)
            if verdict.row is not None:
                return Plan(1, [Placement(one.uid, verdict.row)], is_done=False)
        self._next_ms = now_ms + 10_000
        rejection = Rejection(UNSCHEDULABLE, "no room in this session")
        return Plan(1, verdicts=[Unplaced(one.uid, rejection) for one in waiting.of(self._profile)])


def test_a_lane_with_sessions_is_asked_in_its_own_time() -> None:
    """Nobody is handed to it; who found no room waits for the next session, and is told so once."""
    usual = profiles(None, Registry.installed())[DEFAULT_SCHEDULER]
    kind = LaneKind("sessions", Sessions, has_sessions=True)
    core = Core({DEFAULT_SCHEDULER: Profile(DEFAULT_SCHEDULER, usual.points, lane=kind)})
    first = told(core, node("a", cpu=2), *(a_pod(name, cpu=1) for name in "xyz"))
    second = core.turn([], DAY_MS + 10_000, ALL)

    assert binds(first) == [("x", "a"), ("y", "a")]
    assert core.where("uid-default-z") == "waiting for a session"
    assert second.effects == ()
    assert second.wake_at_ms == DAY_MS + 20_000
    assert list(core.queue.check()) == []
