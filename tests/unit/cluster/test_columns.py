"""Columns grow without losing anything, and the row log says what changed or that it cannot say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.cluster.columns import CPU, Columns, Desk, RowLog
from tests.kit import case


def test_growing_in_either_direction_keeps_the_numbers() -> None:
    """More rows than fit, then more resources, then more rows again."""
    columns = Columns()
    first = columns.add_row()
    columns.allocatable[CPU, first] = 7
    columns.live[first] = True
    for _ in range(300):
        columns.add_row()
    gpu = columns.resource("example.com/gpu")
    columns.requested[gpu, 300] = 5
    for _ in range(600):
        columns.add_row()

    assert columns.allocatable[CPU, first] == 7
    assert columns.live[first]
    assert columns.requested[gpu, 300] == 5
    assert columns.requested_of[gpu][300] == 5


def test_who_holds_on_to_memory_can_tell_that_it_moved() -> None:
    """The epoch rises with every growth, and only then."""
    columns = Columns()
    before = columns.epoch
    columns.add_row()
    assert columns.epoch == before

    columns.resource("example.com/gpu")
    assert columns.epoch > before


def test_a_window_writes_the_column() -> None:
    """Scalar access and vectors share one memory."""
    columns = Columns()
    row = columns.add_row()
    columns.nonzero_of[CPU][row] += 3
    columns.pods_of[row] += 1

    assert columns.nonzero[CPU, row] == 3
    assert columns.requested[columns.resources["pods"], row] == 1


def test_what_pods_ask_for_is_kept_twice_alike() -> None:
    """Whole numbers and floats are one amount, pods among them, and taking a pod off again leaves nothing."""
    columns = Columns()
    row = columns.add_row()
    gpu = columns.resource("example.com/gpu")

    columns.account(row, [(CPU, 250), (gpu, 3)], (300, 1 << 60), 1)
    assert columns.requested[:, row].tolist() == columns.taken[:, row].tolist() == [250, 0, 1, 0, 3]
    assert columns.nonzero[:, row].tolist() == columns.counted[:, row].tolist() == [300, 1 << 60]

    columns.account(row, [(CPU, 250), (gpu, 3)], (300, 1 << 60), -1)
    assert not columns.taken[:, row].any()
    assert not columns.counted[:, row].any()


def test_floats_do_not_drift_where_they_cannot_tell_numbers_apart() -> None:
    """One more than 2^53 is lost on a float, and yet taking the large amount off leaves the one."""
    columns = Columns()
    row = columns.add_row()
    columns.account(row, [(CPU, 1)], (0, 0), 1)
    columns.account(row, [(CPU, 1 << 53)], (0, 0), 1)
    columns.account(row, [(CPU, 1 << 53)], (0, 0), -1)

    assert columns.taken[CPU, row] == 1


def test_a_desk_lends_arrays_of_the_shape_asked_for() -> None:
    """Small or large, first or later, smaller than before or larger."""
    desk = Desk()

    for shape in ((2, 5), (3, 5000), (2, 4000), (2, 3, 9000)):
        assert desk.lend(*shape).shape == shape
    assert np.shares_memory(desk.lend(2, 5000), desk.lend(3, 5000))


@given(length=st.integers(1, 12), rows=st.lists(st.integers(0, 9), max_size=60), seen=st.integers(0, 60))
def test_a_reader_is_told_what_came_since_or_that_it_is_too_late(length: int, rows: list[int], seen: int) -> None:
    """Never the wrong rows, whatever the ring's length."""
    log = RowLog(length)
    seen = min(seen, len(rows))
    for row in rows:
        log.append(row)
    since = log.since(seen)

    if len(rows) - seen > length:
        assert since is None
    else:
        assert since is not None
        assert since.tolist() == rows[seen:]


@pytest.mark.parametrize(
    ("behind", "known"),
    [case("as long as the log", 4, True), case("one longer", 5, False), case("nothing new", 0, True)],
)
def test_the_logs_length_is_how_far_one_may_fall_behind(behind: int, known: bool) -> None:  # noqa: FBT001
    """To the entry."""
    log = RowLog(4)
    for row in range(9):
        log.append(row)

    assert (log.since(9 - behind) is not None) is known
