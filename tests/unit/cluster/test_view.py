"""A view shows rows as they are, or one as if pods were added; it writes nothing and notes what is read."""

import numpy as np
import pytest

from bayplan.api.objects import Pod
from bayplan.cluster.columns import Row
from bayplan.cluster.residents import Resident
from bayplan.cluster.table import Table
from bayplan.cluster.view import RowWith, View
from tests.kit import ZONE, a_cluster, a_pod, node


def a_table() -> Table:
    """Return three nodes, one of them with a pod."""
    nodes = (node("a", zone="1", cpu=4, images={"app": 5}), node("b"), node("c", zone="2", cpu=2))
    return a_cluster(*nodes, a_pod("p", on="c", cpu=1, ports="80"))


def added(table: Table, pod: Pod, row: Row) -> Resident:
    """Return a pod to be thought of as on a row."""
    load, label_set = table.residents.read(pod)
    return Resident(pod, row, load, label_set, is_assumed=True)


def test_some_rows_are_shown_as_all_are() -> None:
    """In the order in which they are named."""
    table = a_table()
    every, some = View(table), View(table, np.array([2, 0], np.intp))
    places = every.places(("cpu", "memory"))

    assert some.names == ["c", "a"]
    assert np.array_equal(some.allocatable(places), every.allocatable(places)[:, [2, 0]])
    assert np.array_equal(some.requested(places), every.requested(places)[:, [2, 0]])
    assert np.array_equal(some.nonzero, every.nonzero[:, [2, 0]])
    for ask in (View.has, lambda view, key: view.distinct(key, np.ones(len(view), np.bool_), absent=False)):
        assert np.array_equal(ask(some, ZONE), [True, True] if ask is View.has else 2)
    assert some.has_image("app").tolist() == [False, True]
    assert some.port_taken(("0.0.0.0", "TCP", 80)).tolist() == [True, False]  # noqa: S104 a host port's wildcard


def test_a_row_with_added_pods_has_what_they_lay_on_it() -> None:
    """Requests, places and ports; the other rows and the table stay as they are."""
    table = a_table()
    row = table.row_of["c"]
    view = RowWith(
        table,
        row,
        [added(table, a_pod("q", cpu=2, memory="1Gi", ports="81@10.0.0.1"), row), added(table, a_pod("r"), row)],
    )
    cpu, memory, pods = (int(view.requested(view.places((name,)))[0, 0]) for name in ("cpu", "memory", "pods"))

    assert (cpu, memory, pods) == (3000, 1 << 30, 3)
    assert view.nonzero[:, 0].tolist() == [3100, 2 * (200 << 20) + (1 << 30)]
    assert view.port_taken(("10.0.0.1", "TCP", 81)).tolist() == [True]
    assert view.port_taken(("10.0.0.2", "TCP", 81)).tolist() == [False]
    assert View(table).requested(view.places(("cpu",)))[0].tolist() == [0, 0, 1000]


def test_a_views_columns_cannot_be_written() -> None:
    """They are the table's own."""
    view = View(a_table())

    with pytest.raises(ValueError, match="read-only"):
        view.live[0] = False


def test_what_was_read_tells_whether_it_stands() -> None:
    """An answer that is the same again is no change."""
    table = a_table()
    view = View(table)
    assert view.image("app") == (5, 1)
    assert view.domains(ZONE) == 2
    assert all(read.stands for read in view.reads)

    table.put_node(node("a", zone="2", cpu=4, images={"app": 5}))
    assert [read.stands for read in view.reads] == [True, False]


def test_a_row_without_a_node_cannot_be_asked_for_it() -> None:
    """The message says what to do."""
    table = a_table()
    row = table.row_of["b"]
    table.drop_node("b")

    with pytest.raises(LookupError, match="ask only about live rows"):
        View(table).node(row)
