"""The one question: the same row with plans and without, and equals take turns."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bayplan.cluster.reading import Reader
from bayplan.cluster.table import Table
from bayplan.config.profiles import profiles
from bayplan.framework.registry import Registry
from bayplan.framework.run import Rules, first_best
from bayplan.framework.settings import Settings
from tests.kit import a_cluster, a_pod, node, spread

USUAL = profiles(None, Registry.installed())["default-scheduler"]


def placed(table: Table, pods: int, settings: Settings, seed: int = 0) -> list[int | None]:
    """Place pods that want to be even over zones, one after the other."""
    rules = Rules(table, Reader(table), seed=seed, settings=settings)
    rows: list[int | None] = []
    for number in range(pods):
        pod = a_pod(f"p{number}", labels="app=web", cpu=1, spread=[spread("app=web")])
        row = rules.ask(pod, USUAL).row
        rows.append(row)
        if row is not None:
            table.place(pod, row)
    return rows


@given(totals=st.lists(st.integers(0, 3), min_size=1, max_size=12), start=st.integers(0, 11))
def test_the_first_best_is_looked_for_from_the_start_and_around(totals: list[int], start: int) -> None:
    """Of all with the highest total, the one that a walk from the start meets first."""
    start %= len(totals)
    walk = [*range(start, len(totals)), *range(start)]

    expected = next(row for row in walk if totals[row] == max(totals))

    assert first_best(np.array(totals, np.int16), start) == expected


def test_equals_take_turns() -> None:
    """Four pods that ask for nothing go to four nodes, from the one that the seed names on."""
    table = a_cluster(*(node(name) for name in "abcd"))
    rules = Rules(table, Reader(table), seed=2)

    chosen = [rules.ask(a_pod(f"p{number}"), USUAL).row for number in range(5)]

    assert chosen == [2, 3, 0, 1, 2]


def test_what_is_remembered_chooses_as_what_is_found_afresh() -> None:
    """Until the cluster is full, and then both say so."""
    nodes = [node(f"n{number}", zone=f"z{number % 3}", cpu=2) for number in range(6)]

    remembered = placed(a_cluster(*nodes), 14, Settings())

    assert remembered == placed(a_cluster(*nodes), 14, Settings(plans=False))
    assert remembered[:12].count(None) == 0
    assert remembered[12:] == [None, None]
