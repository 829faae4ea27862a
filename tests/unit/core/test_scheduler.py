"""The core: events in, effects out, within a budget, whatever happens in between."""

from collections.abc import Iterable, Sequence

import msgspec
import pytest
from msgspec.structs import replace

from bayplan.api.messages import (
    Answered,
    AnyEffect,
    Ask,
    Bind,
    Ended,
    Ending,
    Event,
    Gone,
    Listed,
    PatchStatus,
    Record,
    Seen,
    SelectNode,
    Stop,
)
from bayplan.api.objects import Object, Pod
from bayplan.cluster.view import View
from bayplan.config.profiles import profiles
from bayplan.core.points import Gatehouse, Wait
from bayplan.core.scheduler import Core, Turn
from bayplan.framework.plugin import Change, Outcome, Plugin, unschedulable
from bayplan.framework.profile import DEFAULT_SCHEDULER, Instance, Profile
from bayplan.framework.registry import Registry
from tests.kit import a_pod, node
from tests.storage import claim, mounting, storage_class, volume

ALL = 100_000
DAY_MS = 1_000_000


def a_core(*plugins: tuple[str, Plugin[None, None]]) -> Core:
    """Return a core with the default profile, and some rules at other points."""
    usual = profiles(None, Registry.installed())[DEFAULT_SCHEDULER]
    points = {point: list(instances) for point, instances in usual.points.items()}
    for point, plugin in plugins:
        points.setdefault(point, []).append(Instance(plugin.name, plugin))
    return Core({DEFAULT_SCHEDULER: Profile(DEFAULT_SCHEDULER, points)})


def told(core: Core, *things: Object, at_ms: int = DAY_MS) -> Sequence[AnyEffect]:
    """Tell a core of objects and return what it wants done."""
    return core.turn([Seen(cause="watch", thing=thing) for thing in things], at_ms, ALL).effects


def ended(core: Core, write: int, ending: Ending = Ending.DONE, at_ms: int = DAY_MS) -> Sequence[AnyEffect]:
    """Tell a core how a write ended."""
    return core.turn([Ended(cause="write", write=write, ending=ending, text="busy")], at_ms, ALL).effects


def binds(effects: Iterable[AnyEffect]) -> list[tuple[str, str]]:
    """Return who is to be bound where."""
    return [(effect.name, effect.node) for effect in effects if isinstance(effect, Bind)]


def the_bind(effects: Iterable[AnyEffect]) -> Bind:
    """Return the one binding among effects."""
    (found,) = (effect for effect in effects if isinstance(effect, Bind))
    return found


def bound(pod: Pod, where: str) -> Pod:
    """Return a pod as it is once it is bound."""
    return replace(pod, spec=replace(pod.spec, node_name=where))


def free_cpu(core: Core, name: str) -> int:
    """Return how many thousandths of a CPU a node has left."""
    columns, row = core.table.columns, core.table.row_of[name]
    return int(columns.allocatable[0, row] - columns.requested[0, row])


# --- a pod's way -----------------------------------------------------------------------------------------------------


def test_a_pod_goes_from_the_queue_to_its_node() -> None:
    """It is bound, assumed, told of, and confirmed by the watch alone."""
    core, pod = a_core(), a_pod("web", cpu=1)
    bind = the_bind(told(core, node("a", cpu=2), pod))
    assert (bind.node, bind.cause) == ("a", "attempt 1")
    assert core.where("uid-default-web") == "on its way to a: being bound"
    (event,) = ended(core, bind.write)
    assert isinstance(event, Record)
    assert event.note == "Successfully assigned default/web to a"
    assert core.table.is_assumed("uid-default-web")
    told(core, bound(pod, "a"))

    assert not core.table.is_assumed("uid-default-web")
    assert core.where("uid-default-web") == "not in the queue"
    assert free_cpu(core, "a") == 1000


def test_a_pod_that_fits_nowhere_says_why_once() -> None:
    """The condition is written once, the event every time; then it waits for what would help."""
    core = a_core()
    first = told(core, node("a", cpu=1), a_pod("whale", cpu=9))
    again = told(core, node("b", cpu=9, taints="x:NoSchedule"))

    assert [type(effect) for effect in first] == [Record, PatchStatus]
    assert isinstance(first[1], PatchStatus)
    assert first[1].message == "0/1 nodes are available: 1 Insufficient cpu."
    assert not binds(again)
    assert core.where("uid-default-whale").startswith("waiting for a change: ")


@pytest.mark.parametrize("ending", [Ending.REFUSED, Ending.UNKNOWN])
def test_a_write_that_fails_gives_back_what_it_took(ending: Ending) -> None:
    """Refused, the room is free at once; of unknown end, only when the pod was read and is not bound."""
    core, pod = a_core(), a_pod("web", cpu=1)
    bind = the_bind(told(core, node("a", cpu=1), pod))
    effects = ended(core, bind.write, ending)
    if ending is Ending.UNKNOWN:
        (ask,) = effects
        assert isinstance(ask, Ask)
        assert free_cpu(core, "a") == 0
        effects = core.turn([Answered(cause="read", write=ask.write, thing=pod)], DAY_MS, ALL).effects

    assert free_cpu(core, "a") == 1000
    assert [effect.reason for effect in effects if isinstance(effect, PatchStatus)] == ["SchedulerError"]
    assert "an error" in core.where("uid-default-web")
    assert binds(core.turn([], DAY_MS + 2000, ALL).effects) == [("web", "a")]


def test_a_write_that_succeeded_unheard_is_found_by_reading() -> None:
    """The pod that was read has its node: it is not tried again."""
    core, pod = a_core(), a_pod("web", cpu=1)
    bind = the_bind(told(core, node("a", cpu=1), pod))
    (ask,) = ended(core, bind.write, Ending.UNKNOWN)
    assert isinstance(ask, Ask)
    core.turn([Answered(cause="read", write=ask.write, thing=bound(pod, "a"))], DAY_MS, ALL)

    assert not core.binding.flights
    assert free_cpu(core, "a") == 0


def test_a_read_that_fails_is_made_again() -> None:
    """Nothing was learnt, so nothing is given back."""
    core = a_core()
    bind = the_bind(told(core, node("a", cpu=1), a_pod("web", cpu=1)))
    (ask,) = ended(core, bind.write, Ending.UNKNOWN)
    assert isinstance(ask, Ask)
    (again,) = core.turn([Answered(cause="read", write=ask.write, has_failed=True)], DAY_MS, ALL).effects

    assert isinstance(again, Ask)
    assert again.write != ask.write
    assert free_cpu(core, "a") == 0


def test_late_and_repeated_results_are_harmless() -> None:
    """What nobody waits for is passed over."""
    core, pod = a_core(), a_pod("web", cpu=1)
    bind = the_bind(told(core, node("a", cpu=1), pod))
    ended(core, bind.write)
    told(core, bound(pod, "a"))

    assert not ended(core, bind.write, Ending.REFUSED)
    assert not ended(core, 99, Ending.UNKNOWN)
    assert free_cpu(core, "a") == 0


def test_a_pod_that_somebody_else_bound_frees_our_room() -> None:
    """It lies where it was seen, not where we sent it."""
    core, pod = a_core(), a_pod("web", cpu=1)
    bind = the_bind(told(core, node("a", cpu=1), node("b", cpu=1), pod))
    other = "b" if bind.node == "a" else "a"
    told(core, bound(pod, other))

    assert (free_cpu(core, bind.node), free_cpu(core, other)) == (1000, 0)
    assert not core.binding.flights


def test_a_pod_that_ended_unheard_frees_its_room_for_others() -> None:
    """It was assumed, and the first that is heard of it is that it has run and ended."""
    core, pod = a_core(), a_pod("web", cpu=1)
    told(core, node("a", cpu=1), pod, a_pod("next", cpu=1))
    over = bound(replace(pod, status=replace(pod.status, phase="Succeeded")), "a")

    assert binds(told(core, over, at_ms=DAY_MS + 9000)) == [("next", "a")]


def test_a_pod_deleted_on_its_way_frees_its_room_for_others() -> None:
    """Whoever waits for the room gets it."""
    core, pod = a_core(), a_pod("web", cpu=1)
    told(core, node("a", cpu=1), pod)
    told(core, a_pod("next", cpu=1))

    assert binds(core.turn([Gone(cause="watch", thing=pod)], DAY_MS + 9000, ALL).effects) == [("next", "a")]


def test_a_pod_that_is_being_deleted_is_not_placed() -> None:
    """It is passed over with an event."""
    core = a_core()
    (event,) = told(core, node("a"), a_pod("leaving", terminating=True))

    assert isinstance(event, Record)
    assert event.note == "skip schedule deleting pod: default/leaving"


# --- volumes ---------------------------------------------------------------------------------------------------------


def test_a_claim_is_written_and_waited_for_before_the_pod_is_bound() -> None:
    """The node is written into the claim; when the controller has bound it, the pod goes."""
    core, pod = a_core(), mounting(a_pod("db"), "data")
    effects = told(core, node("a"), storage_class(), claim("data"), pod)
    (select,) = (effect for effect in effects if isinstance(effect, SelectNode))
    assert not binds(effects)
    assert not binds(ended(core, select.write))
    chosen = claim("data", notes="volume.kubernetes.io/selected-node=a")
    assert not binds(told(core, chosen))

    assert binds(told(core, claim("data", volume="made"), volume("made", kept="default/data"))) == [("db", "a")]


def test_every_claim_is_looked_at_whatever_the_first_has_come_to() -> None:
    """A claim that is bound says nothing of the next: the pod goes when both are."""
    core, pod = a_core(), mounting(a_pod("db"), "data", "logs")
    effects = told(core, node("a"), storage_class(), claim("data"), claim("logs"), pod)
    for select in [effect for effect in effects if isinstance(effect, SelectNode)]:
        ended(core, select.write)
    chosen = "volume.kubernetes.io/selected-node=a"
    told(core, claim("logs", notes=chosen))
    assert not binds(told(core, claim("data", volume="one"), volume("one", kept="default/data")))

    assert binds(told(core, claim("logs", volume="two"), volume("two", kept="default/logs"))) == [("db", "a")]


def test_a_volume_is_free_again_when_somebody_else_binds_the_pod() -> None:
    """What we were about to write never will be, even if the node is the one we had chosen."""
    core, pod = a_core(), mounting(a_pod("db"), "data")
    told(core, node("a"), storage_class(), claim("data"), volume("disk"), pod)
    assert core.table.volumes.volumes.entries["disk"].spec.claim_ref is not None
    told(core, bound(pod, "a"))

    assert core.table.volumes.volumes.entries["disk"].spec.claim_ref is None


def test_volumes_are_waited_for_no_longer_than_said() -> None:
    """After ten minutes the attempt has failed and everything is given back."""
    core = a_core()
    effects = told(core, node("a"), storage_class(), claim("data"), mounting(a_pod("db", cpu=1), "data"))
    (select,) = (effect for effect in effects if isinstance(effect, SelectNode))
    ended(core, select.write)
    turn = core.turn([], DAY_MS + 600_000, ALL)

    (patch,) = (effect for effect in turn.effects if isinstance(effect, PatchStatus))
    assert patch.message.endswith("binding volumes: context deadline exceeded")
    assert free_cpu(core, "a") == 32_000


# --- points around a placement ---------------------------------------------------------------------------------------


class Pairs(Plugin[None, None]):
    """Lets pods go in twos."""

    points = frozenset({"permit"})
    wakes = (Change.POD_ADDED,)

    def permit(self, pod: Pod, node: str, gatehouse: Gatehouse) -> Outcome | Wait | None:
        """Wait for another; when one is there, let it go too."""
        for other in gatehouse.waiting():
            gatehouse.allow(other.uid, "Pairs")
            return None
        return Wait(60)


class Takes(Plugin[None, None]):
    """Notes what is reserved, and refuses some."""

    points = frozenset({"reserve"})
    wakes = ()

    def __init__(self) -> None:
        """Hold nothing."""
        super().__init__()
        self.held: list[str] = []

    def reserve(self, pod: Pod, node: str) -> Outcome | None:
        """Take the pod in, or not."""
        self.held.append(pod.metadata.name)
        return unschedulable("no licence left") if pod.metadata.name == "unlucky" else None

    def unreserve(self, pod: Pod, node: str) -> None:
        """Give it back."""
        self.held.remove(pod.metadata.name)


class Raises(Plugin[None, None]):
    """Breaks the contract at permit."""

    points = frozenset({"permit"})
    wakes = ()

    def permit(self, pod: Pod, node: str, gatehouse: Gatehouse) -> Outcome | Wait | None:
        """Raise."""
        raise RuntimeError("boom")


def test_a_permit_is_waited_for_and_given_by_the_next() -> None:
    """The first waits; the second lets both go."""
    core = a_core(("permit", Pairs()))
    assert not binds(told(core, node("a"), a_pod("one")))
    assert core.where("uid-default-one") == "on its way to a: waiting for permission"

    assert sorted(binds(told(core, a_pod("two")))) == [("one", "a"), ("two", "a")]


def test_a_permit_that_does_not_come_in_time_is_a_rejection() -> None:
    """The text is kube-scheduler's, the room is free again, and the pod waits for the rule."""
    core = a_core(("permit", Pairs()))
    told(core, node("a"), a_pod("one", cpu=1))
    turn = core.turn([], DAY_MS + 60_000, ALL)

    (patch,) = (effect for effect in turn.effects if isinstance(effect, PatchStatus))
    timeout = "rejected due to timeout after waiting 1m0s at plugin Pairs"
    assert patch.message == f"0/1 nodes are available: 1 {timeout}."
    assert core.where("uid-default-one") == "waiting for a change: Pairs turned it down"
    assert free_cpu(core, "a") == 32_000


def test_a_refused_reservation_is_given_back() -> None:
    """All rules give back, the one that refused too."""
    takes = Takes()
    core = a_core(("reserve", takes))
    effects = told(core, node("a", cpu=2), a_pod("unlucky", cpu=1), a_pod("lucky", cpu=1))

    assert binds(effects) == [("lucky", "a")]
    assert takes.held == ["lucky"]
    assert free_cpu(core, "a") == 1000


def test_a_rule_that_raises_costs_its_pod_an_error_and_nothing_else() -> None:
    """The turn goes on, nothing stays taken, and the pod is tried again later."""
    core = a_core(("permit", Raises()))
    turn = core.turn([Seen(thing=node("a")), Seen(thing=a_pod("one", cpu=1))], DAY_MS, ALL)

    (patch,) = (effect for effect in turn.effects if isinstance(effect, PatchStatus))
    assert (turn.fault, patch.reason) == ("", "SchedulerError")
    assert "boom" in patch.message
    assert free_cpu(core, "a") == 32_000


# --- waking ----------------------------------------------------------------------------------------------------------


def test_a_waiting_pod_is_tried_again_when_room_comes() -> None:
    """Only what can help wakes it."""
    core, whale = a_core(), a_pod("whale", cpu=4)
    running = a_pod("running", on="a", cpu=3)
    told(core, node("a", cpu=4), running, whale)
    assert not told(core, node("b", cpu=2), at_ms=DAY_MS + 5000)
    effects = core.turn([Gone(cause="watch", thing=running)], DAY_MS + 9000, ALL).effects

    assert binds(effects) == [("whale", "a")]


def test_a_gated_pod_is_tried_when_its_gates_go() -> None:
    """Nobody tells the API server of a gate: it knows."""
    core = a_core()
    assert not told(core, node("a"), a_pod("web", gates="wait"))
    assert core.where("uid-default-web") == "gated by SchedulingGates"

    assert binds(told(core, a_pod("web"))) == [("web", "a")]


def test_a_list_lets_go_of_what_is_not_on_it() -> None:
    """What went unheard frees its room, and the difference is reported."""
    core = a_core()
    told(core, node("a", cpu=1), a_pod("old", on="a", cpu=1), a_pod("new", cpu=1))
    turn = core.turn([Listed(cause="list", kind="Pod", things=(a_pod("new", cpu=1),))], DAY_MS + 9000, ALL)

    assert turn.notes == ("listing Pod: 0 new or changed, 1 gone unheard",)
    assert binds(turn.effects) == [("new", "a")]


def test_an_older_form_changes_nothing() -> None:
    """What is told too late is known to be old by its version."""
    core, new, old = a_core(), node("a", cpu=4), node("a", cpu=1)
    new = replace(new, metadata=replace(new.metadata, resource_version="12"))
    old = replace(old, metadata=replace(old.metadata, resource_version="9"))
    told(core, new, old)

    assert free_cpu(core, "a") == 4000


# --- turns -----------------------------------------------------------------------------------------------------------


def through(core: Core, events: Sequence[Event], budget: int) -> list[Turn]:
    """Take turns until there is nothing left to do."""
    turns = [core.turn(events, DAY_MS, budget)]
    while not turns[-1].is_idle:
        turns.append(core.turn([], DAY_MS, budget))
    return turns


def test_a_turn_ends_at_the_step_that_spends_its_budget() -> None:
    """With a budget of one every turn is one step, and what is done is the same."""
    events = [Seen(cause="watch", thing=thing) for thing in (node("a"), a_pod("one"), a_pod("two"))]
    at_once, in_steps = through(a_core(), events, ALL), through(a_core(), events, 1)

    assert len(at_once) == 1
    assert len(in_steps) >= 5
    assert all(turn.spent <= 4 for turn in in_steps)
    assert [effect for turn in in_steps for effect in turn.effects] == list(at_once[0].effects)


def test_the_same_events_give_the_same_bytes() -> None:
    """A turn's record and its effects are equal whenever they are made again."""
    events = [Seen(cause="watch", thing=thing) for thing in (node("a"), node("b"), a_pod("one"), a_pod("two", cpu=99))]

    assert [msgspec.json.encode(turn) for turn in through(a_core(), events, 3)] == [
        msgspec.json.encode(turn) for turn in through(a_core(), events, 3)
    ]


class Trips(Core):
    """A core that fails on demand, after a step."""

    trip = ""

    def _plan(self) -> int:
        cost = super()._plan()
        if self.trip:
            raise RuntimeError(self.trip)
        return cost


def test_an_exception_of_our_own_ends_the_turn_and_not_the_process() -> None:
    """Nothing half done gets out, the table is built anew, and the pod is tried again."""
    core = Trips(profiles(None, Registry.installed()))
    core.trip = "a bug"
    turn = core.turn([Seen(thing=node("a", cpu=2)), Seen(thing=a_pod("web", cpu=1))], DAY_MS, ALL)
    assert "a bug" in turn.fault
    assert not turn.effects
    assert not turn.is_idle
    core.trip = ""
    core.turn([], DAY_MS, ALL)
    assert free_cpu(core, "a") == 2000
    assert "an error" in core.where("uid-default-web")

    assert binds(core.turn([], DAY_MS + 2000, ALL).effects) == [("web", "a")]


def test_three_exceptions_within_a_minute_ask_for_an_end() -> None:
    """Trying again does not cure it."""
    core = Trips(profiles(None, Registry.installed()))
    core.trip = "a bug"
    turns = [core.turn([Seen(thing=node("a")), Seen(thing=a_pod("web"))], DAY_MS, ALL)]
    turns += [core.turn([], DAY_MS + 20_000 * number, ALL) for number in (1, 2)]

    assert [any(isinstance(effect, Stop) for effect in turn.effects) for turn in turns] == [False, False, True]


def test_a_story_tells_what_happened_in_order() -> None:
    """Each line has its time, turn, cause and reason."""
    core, pod = a_core(), a_pod("web")
    bind = the_bind(told(core, node("a"), pod))
    ended(core, bind.write)
    told(core, bound(pod, "a"))

    assert [(line.cause, line.what) for line in core.stories.of("uid-default-web")] == [
        ("watch", "active"),
        ("attempt 1", "reserved a"),
        ("watch", "seen on a"),
    ]


def test_a_gate_sees_the_table() -> None:
    """What holds a pod back may look at the cluster."""

    class Small(Plugin[None, None]):
        """Waits for a node."""

        wakes = (Change.NODE_ADDED,)

        def pre_enqueue(self, pod: Pod, view: View) -> Outcome | None:
            """Say whether there is one."""
            return None if view.node_count else unschedulable("no node yet")

    core = a_core(("preEnqueue", Small()))
    assert not told(core, a_pod("web"))

    assert binds(told(core, node("a"))) == [("web", "a")]
