"""A session starts gangs whole, lends what is idle, takes back what was lent, and leaves nothing behind."""

import pytest

from bayplan.api.messages import Bind, Evict
from bayplan.batch.tasks import Status
from bayplan.framework.tiers import Behaviour
from tests.dump import differences, dump
from tests.unit.batch.worlds import a_lane, bound, configuration, did, evicted, gang, node, pod, pods, queue, ran

BOTH: tuple[Behaviour, ...] = ("bayplan", "kube-batch")
TEAMS = [queue("red"), queue("blue")]


@pytest.mark.parametrize("behaviour", BOTH)
def test_a_gang_starts_whole(behaviour: Behaviour) -> None:
    """All three are bound, each once, and told to the API server."""
    lane = a_lane(
        configuration(behaviour=behaviour), queue("q"), node("a"), gang("train", 3), pods("train", 3, cpu="1")
    )
    session = ran(lane)

    assert bound(session) == {"train-0": "a", "train-1": "a", "train-2": "a"}
    assert [type(effect) for effect in session.effects] == [Bind] * 3


def test_a_gang_that_does_not_fit_takes_nothing_from_those_behind_it() -> None:
    """Five of five do not fit on four CPUs; the next job gets them in the same session."""
    lane = a_lane(
        configuration(),
        [queue("q"), node("a"), gang("train", 5), *pods("train", 5, cpu="1")],
        [gang("small", 2, created=1), *pods("small", 2, cpu="1")],
    )

    assert set(bound(ran(lane))) == {"small-0", "small-1"}


def test_as_kube_batch_does_it_part_of_a_gang_blocks_the_rest() -> None:
    """It keeps four CPUs until the session ends, and binds nothing."""
    lane = a_lane(
        configuration(behaviour="kube-batch"),
        [queue("q"), node("a"), gang("train", 5), *pods("train", 5, cpu="1")],
        [gang("small", 2, created=1), *pods("small", 2, cpu="1")],
    )
    session = ran(lane)

    assert (bound(session), len(did(session, Status.ALLOCATED))) == ({}, 4)


@pytest.mark.parametrize("behaviour", BOTH)
def test_what_is_not_bound_is_taken_off_when_the_session_closes(behaviour: Behaviour) -> None:
    """After a session that could start nobody the table is as it was."""
    lane = a_lane(
        configuration(behaviour=behaviour), queue("q"), node("a"), gang("train", 5), pods("train", 5, cpu="1")
    )
    lane.open().close()  # asks what it asks for the first time
    before = dump(lane.table)
    session = ran(lane)
    session.close()

    assert list(differences(before, dump(lane.table))) == []
    assert session.effects == []


def test_a_queue_takes_back_what_it_lent() -> None:
    """Blue has the whole node; red, which deserves half, gets two of its four CPUs back, and no more."""
    lane = a_lane(
        configuration(),
        [*TEAMS, node("a"), gang("b", 1, "blue"), *pods("b", 4, on="a", cpu="1")],
        [*(gang(f"r{n}", 1, "red") for n in range(4)), *(pod(f"r{n}-0", f"r{n}", cpu="1") for n in range(4))],
    )
    session = ran(lane)

    assert (len(evicted(session)), len(did(session, Status.PIPELINED)), bound(session)) == (2, 2, {})
    assert [type(effect) for effect in session.effects] == [Evict] * 2


def test_nobody_is_evicted_again_while_the_first_victims_are_on_their_way() -> None:
    """The room that they leave is waited for."""
    lane = a_lane(
        configuration(),
        [*TEAMS, node("a"), gang("b", 1, "blue"), *pods("b", 4, on="a", cpu="1")],
        [gang("r", 2, "red"), *pods("r", 2, cpu="1")],
    )
    ran(lane).close()
    session = ran(lane)

    assert (evicted(session), set(did(session, Status.PIPELINED))) == (set(), {"r-0", "r-1"})


def test_a_gang_gives_what_it_can_spare_or_all_of_itself() -> None:
    """Red needs one CPU; blue's gang of four cannot spare one, the other blue job can."""
    lane = a_lane(
        configuration(),
        [*TEAMS, node("a", cpu="6"), gang("b", 4, "blue"), *pods("b", 4, on="a", cpu="1")],
        [gang("c", 1, "blue", created=-0), *pods("c", 2, on="a", cpu="1")],
        [gang("r", 1, "red"), *pods("r", 1, cpu="1")],
    )

    assert evicted(ran(lane)) <= {"c-0r", "c-1r"}


def test_nothing_is_reclaimed_for_a_gang_that_could_not_start_even_so() -> None:
    """Red's gang needs more than blue can give."""
    lane = a_lane(
        configuration(),
        [*TEAMS, node("a"), gang("b", 1, "blue"), *pods("b", 4, on="a", cpu="1")],
        [gang("r", 3, "red"), *pods("r", 3, cpu="1")],
    )

    assert evicted(ran(lane)) == set()


def test_idle_room_goes_before_eviction() -> None:
    """One CPU is idle, and one is asked for."""
    lane = a_lane(
        configuration(),
        [*TEAMS, node("a"), gang("b", 1, "blue"), *pods("b", 3, on="a", cpu="1")],
        [gang("r", 1, "red"), *pods("r", 1, cpu="1")],
    )
    session = ran(lane)

    assert (evicted(session), set(bound(session))) == (set(), {"r-0"})


def test_a_queue_never_has_more_than_its_capability() -> None:
    """Two CPUs are all that it may have."""
    lane = a_lane(configuration(), queue("q", cpu="2"), node("a"), gang("many", 1), pods("many", 4, cpu="1"))
    session = ran(lane)

    assert len(bound(session)) == 2


def test_the_urgent_preempt_within_their_queue() -> None:
    """One of the lesser job's tasks leaves, and no more."""
    classes = [
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 9}
    ]
    lane = a_lane(
        configuration("priority gang", "predicates"),
        [queue("q"), *classes, node("a"), gang("low", 1), *pods("low", 4, on="a", cpu="1")],
        [gang("top", 1, priorityClassName="high"), *pods("top", 1, cpu="1")],
    )
    session = ran(lane)

    assert (len(evicted(session)), set(did(session, Status.PIPELINED))) == (1, {"top-0"})


def test_inside_a_job_only_the_less_urgent_leave() -> None:
    """The task of priority 5 takes the place of one of priority 1; that of priority 0 takes nobody's."""
    lane = a_lane(
        configuration("priority gang", "predicates"),
        [queue("q"), node("a", cpu="2"), gang("job", 1), *pods("job", 2, on="a", cpu="1", priority=1)],
        [pod("urgent", "job", cpu="1", priority=5), pod("idle", "job", cpu="1", priority=0)],
    )
    session = ran(lane)

    assert (len(evicted(session)), set(did(session, Status.PIPELINED))) == (1, {"urgent"})


def test_a_job_without_enough_members_is_left_alone_and_says_so() -> None:
    """Two of three members exist."""
    lane = a_lane(configuration(), queue("q"), node("a"), gang("train", 3), pods("train", 2, cpu="1"))
    session = ran(lane)
    (said,) = session.close().values()

    assert bound(session) == {}
    assert [(one.reason, one.message) for one in said.conditions] == [
        ("NotEnoughTasks", "Not enough valid tasks for gang-scheduling, valid: 2, min: 3")
    ]


def test_idle_room_is_kept_for_who_waits_there_for_more() -> None:
    """Red needs two CPUs: one is idle, one is blue's; while that leaves, blue's next task does not get the idle one."""
    lane = a_lane(
        configuration(),
        [*TEAMS, node("a"), gang("b", 1, "blue"), *pods("b", 3, on="a", cpu="1"), pod("b-next", "b", cpu="1")],
        [gang("r", 1, "red"), pod("r-0", "r", cpu="2")],
    )
    session = ran(lane)

    assert (len(evicted(session)), set(did(session, Status.PIPELINED)), bound(session)) == (1, {"r-0"}, {})
