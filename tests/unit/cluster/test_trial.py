"""A trial leaves no trace when it is taken back, and only what it came to when it is kept."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayplan.api.messages import Bind, Evict, Nominate, Who, who
from bayplan.api.objects import Pod, uid_of
from bayplan.cluster.columns import Row
from bayplan.cluster.table import Table
from bayplan.cluster.trial import Trial, TrialMisused
from tests.dump import ask_alike, differences, dump
from tests.engine.asking import ask_everything
from tests.engine.changes import World, try_something
from tests.engine.pool import pool_of
from tests.kit import a_cluster, a_pod, node
from tests.parity.topics.draw import Draw


@settings(max_examples=80)
@given(seed=st.integers(0, 1 << 30), steps=st.integers(1, 60))
def test_what_is_taken_back_leaves_no_trace(seed: int, steps: int) -> None:
    """After rolling back to a mark every column, tally, scope and book equals its copy at that mark."""
    draw = Draw(seed)
    world = World(draw, pool_of(draw))
    ask_everything(world, draw)
    with Trial(world.table, cause="test") as trial:
        marks = [(trial.mark(), dump(world.table))]
        for _ in range(steps):
            try_something(world, trial, draw)
            if draw.chance(0.1):
                ask_everything(world, draw)  # what is asked for the first time now stays right, too
            if draw.chance(0.15):
                marks.append((trial.mark(), dump(world.table)))
            if draw.chance(0.15):
                kept = draw.randrange(len(marks))
                trial.rollback(marks[kept][0])
                assert_alike(world.table, marks[kept][1])
                del marks[kept + 1 :]
    assert_alike(world.table, marks[0][1])
    fresh = world.rebuilt()
    ask_alike(fresh, world.table)

    assert list(differences(dump(world.table), dump(fresh))) == []


def assert_alike(table: Table, then: dict[str, object]) -> None:
    """Claim that a table holds what it held then; what was asked for since is left out."""
    now = dump(table)
    for asked in ("tallies", "scopes", "labels"):
        before, after = then[asked], now[asked]
        assert isinstance(before, dict)
        now[asked] = {name: value for name, value in after.items() if name in before}
        for name, value in now[asked].items():
            if asked == "tallies":
                known = before[name]["domains"]
                value["domains"] = {key: numbers for key, numbers in value["domains"].items() if key in known}
    assert list(differences(then, now)) == []


CLUSTER_NODES = (node("a"), node("b"))
RUNS = a_pod("runs", on="a", cpu=1)
WAITS = a_pod("waits", cpu=2)


def a_table() -> Table:
    """Return two nodes and a pod on the first."""
    return a_cluster(*CLUSTER_NODES, RUNS)


def told(pod: Pod) -> Who:
    """Return how an effect names a pod."""
    return who(pod, "test")


def test_what_is_kept_is_told_in_order() -> None:
    """A committed trial hands out one effect for each step, in order, with its cause."""
    table = a_table()
    trial = Trial(table, cause="test")
    trial.evict(uid_of(RUNS))
    trial.nominate(WAITS, table.row_of["a"])
    trial.place(a_pod("other"), table.row_of["b"])

    assert trial.commit() == (
        Evict(**told(RUNS), node="a"),
        Nominate(**told(WAITS), node="a"),
        Bind(**told(a_pod("other")), node="b"),
    )
    assert {one.pod.metadata.name: one.is_assumed for one in table.pods.values()} == {"other": True}


def test_a_pod_placed_and_taken_off_again_is_not_told() -> None:
    """What a later step makes void has no effect."""
    table = a_table()
    trial = Trial(table, cause="test")
    trial.place(WAITS, table.row_of["a"])
    trial.evict(uid_of(WAITS))
    trial.nominate(WAITS, table.row_of["a"])
    trial.nominate(WAITS, table.row_of["b"])

    assert trial.commit() == (Nominate(**told(WAITS), node="b"),)


def test_a_placed_pod_is_nominated_nowhere() -> None:
    """Placing a pod ends its nomination; taking that back restores it."""
    table = a_table()
    table.nominate(WAITS, table.row_of["b"])
    with Trial(table, cause="test") as trial:
        trial.place(WAITS, table.row_of["a"])
        assert not table.nominations

    assert table.nominations[uid_of(WAITS)].row == table.row_of["b"]


def test_a_block_left_by_an_exception_takes_everything_back() -> None:
    """A trial that is not committed never happened."""
    table = a_table()
    before = dump(table)
    trial = Trial(table, cause="test")
    trial.place(WAITS, table.row_of["b"])
    with pytest.raises(ZeroDivisionError), trial:
        _ = 1 // 0

    assert dump(table) == before


def test_one_trial_is_open_at_a_time() -> None:
    """A second trial on a table is a bug of ours, named; after the first has ended it is not."""
    table = a_table()
    with Trial(table, cause="first"), pytest.raises(TrialMisused, match=r"open on this table already.*second"):
        Trial(table, cause="second")

    Trial(table, cause="second").close()


def test_an_ended_trial_cannot_be_used() -> None:
    """Whatever is asked of a trial after commit() is refused."""
    table = a_table()
    trial = Trial(table, cause="test")
    trial.commit()

    with pytest.raises(TrialMisused, match="has ended"):
        trial.place(WAITS, table.row_of["a"])
    assert uid_of(WAITS) not in table.pods


@pytest.mark.parametrize("what", ["a pod that is on a row", "a row without a node"])
def test_what_cannot_be_placed_is_refused(what: str) -> None:
    """Nothing is written before the refusal."""
    table = a_table()
    row = table.row_of["b"]
    if what == "a row without a node":
        table.drop_node("b")
    before = dump(table)
    with Trial(table, cause="test") as trial, pytest.raises(TrialMisused):
        trial.place(RUNS if what == "a pod that is on a row" else WAITS, Row(row))

    assert dump(table) == before


def test_a_held_pod_has_no_effect_and_what_was_noted_is_taken_back_in_order() -> None:
    """A lane keeps its own count beside the table, and gets it back with the rest."""
    table, pod = a_cluster(node("a", cpu=2)), a_pod(cpu=1)
    happened: list[str] = []
    with Trial(table, cause="test") as trial:
        trial.note(lambda: happened.append("first"))
        trial.hold(pod, Row(0))
        trial.note(lambda: happened.append("last"))
        trial.rollback()

        assert (happened, table.pods) == (["last", "first"], {})
        trial.hold(pod, Row(0))
        assert trial.commit() == ()

    assert [*table.pods] == [uid_of(pod)]
