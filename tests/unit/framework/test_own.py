"""Own columns: narrow, caught up exactly, and honest about which rows came to fit or ceased to."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.cluster.reading import Reader
from bayplan.cluster.shapes import REQUESTS
from bayplan.cluster.table import Table
from bayplan.cluster.view import View
from bayplan.framework import own
from bayplan.framework.own import Own, RowRule, Width
from bayplan.framework.plugin import Prepared
from bayplan.framework.settings import Settings
from bayplan.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from bayplan.plugins.node_resources_fit import NodeResourcesFit
from tests.kit import a_cluster, a_pod, case, node


def resources_of(table: Table, settings: Settings) -> Own:
    """Return the column of a pod that asks for one CPU and a gibibyte."""
    part = Reader(table).shape(a_pod(cpu=1, memory="1Gi")).part(REQUESTS)
    rules = []
    for plugin in (NodeResourcesFit(), NodeResourcesBalancedAllocation()):
        found = plugin.prepare(part, View(table))
        assert isinstance(found, Prepared)
        rules.append(RowRule(plugin, found.state, 1, filters=plugin.overrides("filter"), scores=True))
    return Own(table, rules, settings, Width.of([1, 1]))


@given(weights=st.lists(st.integers(0, 1 << 31), max_size=6), columns=st.integers(2, 9))
def test_no_total_makes_up_for_one_column_that_rules_a_row_out(weights: list[int], columns: int) -> None:
    """And all columns together that rule it out still fit into the integers."""
    width = Width.of(weights, columns)

    assert width.ruled_out + 100 * sum(weights) < 0
    assert columns * width.ruled_out >= np.iinfo(width.dtype).min


def test_the_usual_weights_take_two_bytes_a_row() -> None:
    """Kube-scheduler's own add up to little."""
    assert Width.of([3, 2, 2, 2, 1, 1, 1, 1], 4).dtype is np.int16


@pytest.mark.parametrize("settings", [
    case("row by row", Settings(scalar_rows=1 << 20)),
    case("a few rows together", Settings(scalar_rows=0)),
    case("all rows in blocks", Settings(scalar_rows=0, block=2)),
])  # fmt: skip
def test_catching_up_gives_what_asking_afresh_gives(settings: Settings) -> None:
    """Whatever came and went; and every row that fits no more, or fits again, is told."""
    table = a_cluster(*(node(f"n{number}", cpu=2, memory="4Gi") for number in range(4)))
    column = resources_of(table, settings)
    for step, row in enumerate([0, 1, 1, 3, 3, 2]):
        table.place(a_pod(f"p{step}", cpu="1500m", memory="1Gi"), table.row_of[f"n{row}"])
        column.catch_up()
    table.remove("uid-default-p0")
    column.catch_up()

    assert column.column.tolist() == resources_of(table, settings).column.tolist()
    assert [int(number) >= 0 for number in column.column[:4]] == [True, False, False, False]
    assert sorted(column.flips) == [0, 0, 1, 2, 3]


def test_flips_that_nobody_followed_are_let_go_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """How many there were is kept, so that whoever is late can tell."""
    monkeypatch.setattr(own, "FLIPS_KEPT", 3)
    column = resources_of(a_cluster(node("n")), Settings())
    for number in range(5):
        column.note([number])

    assert column.flips == [4]
    assert column.flipped == 5
