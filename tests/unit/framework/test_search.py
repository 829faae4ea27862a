"""Searches: asked only where it matters, remembered until the row or what is shared has changed."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayplan.cluster.columns import Bools
from bayplan.cluster.shapes import REQUESTS, Requests
from bayplan.cluster.table import Table
from bayplan.cluster.view import View
from bayplan.framework.own import Width
from bayplan.framework.plugin import ROW, SUCCESS, Plugin, Rows, Ruling, Scores, error, unschedulable
from bayplan.framework.search import Search
from tests.kit import a_cluster, a_pod, node

WIDTH = Width.of([1], 3)


class Looking(Plugin[Requests, None]):
    """Finds something on even rows, fails where it is told to, and notes where it looked."""

    reads = REQUESTS
    depends = ROW
    searches = True

    def __init__(self) -> None:
        super().__init__()
        self.looked: list[int] = []
        self.stock = 0
        self.fails_on: Sequence[int] = ()

    def filter(self, state: None, view: View) -> Ruling:
        rows = view.rows.tolist()
        self.looked += rows
        codes = [2 if row in self.fails_on else row % 2 for row in rows]
        return Ruling(np.array(codes, np.int16), (SUCCESS, unschedulable("nothing there"), error("broken")))

    def score(self, state: None, view: View, feasible: Any) -> Scores:  # noqa: ANN401 - a mask, checked by the contract
        return view.rows.astype(np.int64)

    def shared(self, state: None, view: View) -> int:
        return self.stock

    def may_fail_on(self, state: None, view: View) -> Rows:
        return np.array(self.fails_on, np.intp)

    def seen(self) -> list[int]:
        """Return where it looked since last time."""
        looked, self.looked = sorted(self.looked), []
        return looked


def six_nodes() -> Table:
    """Return a cluster of six nodes."""
    return a_cluster(*(node(f"n{number}") for number in range(6)))


def everywhere(rows: Rows) -> Bools:
    """Let every row pass."""
    return np.ones(len(rows), np.bool_)


def test_a_row_is_asked_about_when_all_others_let_it_pass_and_once() -> None:
    """What others rule out is left for later, and counts as if something were there."""
    plugin, table = Looking(), six_nodes()
    search = Search(table, plugin, None, 2, WIDTH)

    assert search.settle(lambda rows: rows < 3)
    assert plugin.seen() == [0, 1, 2]
    assert not search.settle(lambda rows: rows < 3)
    assert plugin.seen() == []
    assert search.settle(everywhere)
    assert plugin.seen() == [3, 4, 5]
    assert search.column[:6].tolist() == [0, WIDTH.ruled_out, 4, WIDTH.ruled_out, 8, WIDTH.ruled_out]
    assert sorted(search.flips) == [1, 3, 5]


def test_a_row_that_changed_is_asked_about_again() -> None:
    """That one and no other; it is told as fitting until then."""
    plugin, table = Looking(), six_nodes()
    search = Search(table, plugin, None, 1, WIDTH)
    search.settle(everywhere)
    plugin.seen()

    table.place(a_pod(), table.row_of["n5"])
    search.catch_up()

    assert search.column[5] == 0
    assert search.settle(everywhere)
    assert plugin.seen() == [5]
    assert search.flips[-2:] == [5, 5]


def test_what_is_shared_changes_all_answers() -> None:
    """And whoever follows is told to count anew."""
    plugin, table = Looking(), six_nodes()
    search = Search(table, plugin, None, 1, WIDTH)
    search.settle(everywhere)
    plugin.seen()
    before = search.flipped

    plugin.stock += 1
    search.catch_up()

    assert not search.column[:6].any()
    assert search.flips_before > before
    search.settle(everywhere)
    assert plugin.seen() == [0, 1, 2, 3, 4, 5]


def test_a_row_where_it_may_fail_is_asked_about_whoever_rules_it_out() -> None:
    """For a failure ends the attempt though another rule would have said no, too."""
    plugin = Looking()
    plugin.fails_on = (4,)
    search = Search(six_nodes(), plugin, None, 1, WIDTH)

    search.settle(lambda rows: rows < 1)

    assert plugin.seen() == [0, 4]
    assert search.has_error()
