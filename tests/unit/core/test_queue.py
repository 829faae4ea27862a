"""The queue: where a pod is, for how long, and what brings it back."""

import pytest

from bayplan.api.objects import Pod
from bayplan.config.profiles import profiles
from bayplan.core.points import sorting
from bayplan.core.queue import MOVED_MOST, Queue, Settings
from bayplan.core.waiting import Backoff, Held, Place, Waiting
from bayplan.framework.lane import Rejection
from bayplan.framework.plugin import Change
from bayplan.framework.profile import Profile
from bayplan.framework.registry import Registry
from tests.kit import a_pod, case

PROFILE: Profile = next(iter(profiles(None, Registry.installed()).values()))
FULL = Rejection("Unschedulable", "0/1 nodes are available: 1 Insufficient cpu.", frozenset({"NodeResourcesFit"}))
BROKEN = Rejection("SchedulerError", "the server is busy")
USUAL = Settings()
GONE = frozenset({Change.POD_GONE})


def a_queue(settings: Settings = USUAL) -> Queue:
    """Return a queue in which pods with gates are held."""

    def gate(waiting: Waiting) -> Held | None:
        return Held("SchedulingGates", "waiting") if waiting.pod.spec.scheduling_gates else None

    return Queue(sorting(PROFILE), gate, lambda *_: None, settings)


def taken(queue: Queue, pod: Pod, now_ms: int = 0) -> Waiting:
    """Add a pod and take it out."""
    queue.add(pod, PROFILE, now_ms)
    waiting = queue.pop()
    assert waiting is not None
    return waiting


def test_the_queue_goes_by_priority_then_by_time() -> None:
    """Higher priority first, then whoever came earlier; equals in order of arrival."""
    queue = a_queue()
    for name, priority, now_ms in (("late", 0, 9), ("first", 0, 1), ("urgent", 5, 20), ("second", 0, 1)):
        queue.add(a_pod(name, priority=priority), PROFILE, now_ms)

    order = [waiting.pod.metadata.name for _ in range(4) if (waiting := queue.pop()) is not None]

    assert order == ["urgent", "first", "second", "late"]


@pytest.mark.parametrize(
    ("failures", "until_ms"),
    [case("the first failure", 1, 1000), case("the third", 3, 4000), case("the fourth", 4, 8000)]
    + [case("from the fifth on, the longest", number, 10_000) for number in (5, 60)],
)
def test_backoff_doubles_up_to_the_longest(failures: int, until_ms: int) -> None:
    """One second, two, four, eight, then ten for good."""
    waiting = Waiting(a_pod(), PROFILE, 1, 0)
    waiting.failures = failures

    assert Backoff().until(waiting) == until_ms


def test_backoff_ends_on_a_whole_second() -> None:
    """The end is cut to the second, and within that second the pod still backs off."""
    queue = a_queue()
    queue.back(taken(queue, a_pod(), 1700), BROKEN, 1700)

    assert queue.where("uid-default-pod") == "backing off until 2000 ms: an error"
    assert (queue.tick(2999), queue.tick(3000)) == (0, 1)
    assert queue.where("uid-default-pod") == "active"


def test_an_error_is_never_taken_early() -> None:
    """When nobody is active, whoever was turned down is taken before its backoff ends, but not after an error."""
    queue = a_queue()
    queue.back(taken(queue, a_pod("broken")), BROKEN, 0)
    waiting = taken(queue, a_pod("full"))
    queue.note(GONE)
    queue.back(waiting, FULL, 0)

    early = queue.pop()

    assert early is waiting
    assert queue.pop() is None


def test_what_changes_during_an_attempt_is_not_lost() -> None:
    """A pod that was turned down while something happened that helps it does not wait for the next time."""
    queue = a_queue()
    one, other = taken(queue, a_pod("one")), taken(queue, a_pod("other"))
    queue.note(GONE)
    queue.back(one, FULL, 0)
    late = taken(queue, a_pod("late"))
    queue.back(late, FULL, 0)
    queue.back(other, FULL, 0)

    assert [waiting.place for waiting in (one, late, other)] == [
        Place.BACKING_OFF,
        Place.UNSCHEDULABLE,
        Place.BACKING_OFF,
    ]


def test_after_done_a_change_is_not_kept() -> None:
    """Once nobody is in flight, changes are forgotten."""
    queue = a_queue()
    waiting = taken(queue, a_pod())
    queue.note(GONE)
    queue.done(waiting.uid)

    assert len(queue._changes) == 0


def test_those_who_wait_for_the_same_are_one_group() -> None:
    """Pods of one shape that the same rules turned down are looked at together."""
    queue = a_queue()
    for number in range(50):
        queue.back(taken(queue, a_pod(f"p{number}")), FULL, 0)

    lookout = queue.lookout(PROFILE, "NodeResourcesFit")
    assert lookout is not None
    assert [len(group.members) for group in lookout.groups()] == [50]
    assert queue.lookout(PROFILE, "NodePorts") is None
    assert queue.where("uid-default-p7") == "waiting for a change: NodeResourcesFit turned it down"


def test_a_gated_pod_waits_for_its_gate() -> None:
    """It is let in when its gates go, and by nothing else."""
    queue = a_queue()
    queue.add(a_pod(gates="wait"), PROFILE, 0)
    queue.update(a_pod(gates="wait", labels="a=b"), frozenset({Change.OWN_LABELS}), 1)

    assert queue.where("uid-default-pod") == "gated by SchedulingGates"
    queue.update(a_pod(), frozenset({Change.OWN_GATES}), 2)
    assert queue.where("uid-default-pod") == "active"


def test_whoever_has_waited_long_is_tried_again() -> None:
    """Every half minute those who have waited for five minutes are moved; switched off, nobody is."""
    for settings, place in ((Settings(), Place.ACTIVE), (Settings(left_over_ms=None), Place.UNSCHEDULABLE)):
        queue = a_queue(settings)
        waiting = taken(queue, a_pod())
        queue.back(waiting, FULL, 0)
        queue.tick(299_000)
        assert waiting.place is Place.UNSCHEDULABLE
        queue.tick(330_001)

        assert waiting.place is place


def test_those_who_have_waited_long_are_moved_some_at_a_time_unless_they_are_gone() -> None:
    """The longest go first; the queue asks to be called again at once until all have gone."""
    queue = a_queue()
    for number in range(MOVED_MOST + 3):
        queue.back(taken(queue, a_pod(f"p{number:03}"), number), FULL, number)
    assert queue.tick(330_001) == MOVED_MOST
    assert queue.next_ms(330_001) == 330_002
    assert queue.where(f"uid-default-p{MOVED_MOST - 1:03}") == "active"
    assert queue.where(f"uid-default-p{MOVED_MOST:03}") != "active"
    queue.remove(f"uid-default-p{MOVED_MOST:03}")

    assert queue.tick(330_002) == 2
    assert queue.places() == {Place.ACTIVE: MOVED_MOST + 2}
    assert queue.next_ms(330_002) is None
    assert not list(queue.check())


def test_activation_skips_the_backoff() -> None:
    """A rule may have a pod tried at once."""
    queue = a_queue()
    waiting = taken(queue, a_pod())
    queue.back(waiting, BROKEN, 0)
    queue.activate(waiting.uid, 1)

    assert waiting.place is Place.ACTIVE


def test_a_pod_in_no_place_is_noticed() -> None:
    """The queue finds a pod that it knows and has nowhere."""
    queue = a_queue()
    waiting = queue.add(a_pod(), PROFILE, 0)
    assert list(queue.check()) == []
    waiting.ticket += 1

    assert list(queue.check()) == ["<default/pod active> is in 0 places"]


def test_a_pod_that_never_left_does_not_come_back() -> None:
    """Coming back without having been taken is a bug that says so."""
    queue = a_queue()

    with pytest.raises(ValueError, match="is not in flight"):
        queue.back(queue.add(a_pod(), PROFILE, 0), FULL, 0)
