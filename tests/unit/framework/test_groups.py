"""Groups: rows seen alike answer alike, whatever comes and goes; what they were not made for they refuse to guess."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.api.selectors import Selector
from bayplan.cluster.table import Table
from bayplan.cluster.tallies import Match, Tally
from bayplan.cluster.view import View
from bayplan.framework.asks import Ask, Unforeseen
from bayplan.framework.bases import Base
from bayplan.framework.groups import RULED_OUT, Groups, GroupView
from bayplan.framework.settings import Settings
from tests.kit import HOSTNAME, ZONE, a_cluster, a_pod, node, selector

NODES = 7
SETTINGS = st.sampled_from([Settings(), Settings(rows_per_domain=0), Settings(rows_per_domain=2)])


def web(table: Table) -> Tally:
    """Return the tally of the pods of one service."""
    return View(table).tally(Match(((frozenset(("default",)), Selector.of(selector("app=web"))),)))


def grouped(table: Table, tally: Tally, settings: Settings) -> Groups:
    """Group rows by how many of a tally they have themselves and in their zone, and whether there are any by name."""
    asks = (Ask("count", None, tally), Ask("count", ZONE, tally), Ask("any", HOSTNAME, tally), Ask("has", HOSTNAME))
    return Groups(table, asks, settings, lambda facts: Base(table, [], facts))


def every_group(groups: Groups) -> GroupView:
    """Return the view of all groups that have rows."""
    return groups.view(groups.size, (groups.size > 0).tobytes(), b"")


@given(settings=SETTINGS, steps=st.lists(st.tuples(st.booleans(), st.integers(0, NODES - 1)), max_size=20))
def test_a_group_answers_as_each_of_its_rows(settings: Settings, steps: list[tuple[bool, int]]) -> None:
    """After any number of pods that came and went, and nodes that moved to another zone."""
    table = a_cluster(*(node(f"n{number}", zone=f"z{number % 3}") for number in range(NODES)))
    tally = web(table)
    groups = grouped(table, tally, settings)

    for step, (is_pod, number) in enumerate(steps):
        if is_pod:
            table.place(a_pod(f"p{step}", labels="app=web"), table.row_of[f"n{number}"])
        else:
            table.put_node(node(f"n{number}", zone=f"z{step % 4}"))
        if not groups.catch_up():  # a key has become too large, or small enough: they are made anew
            groups = grouped(table, tally, settings)

    view, rows = every_group(groups), View(table)
    place = {group: at for at, group in enumerate(view.ids.tolist())}
    at = [place[group] for group in groups.of[: table.columns.rows].tolist()]
    assert view.count(tally)[at].tolist() == rows.count(tally).tolist()
    assert view.count(tally, ZONE)[at].tolist() == rows.count(tally, ZONE).tolist()
    assert view.any(tally, HOSTNAME)[at].tolist() == rows.any(tally, HOSTNAME).tolist()
    assert sum(groups.size[RULED_OUT + 1 :].tolist()) == NODES


def test_a_row_without_a_node_is_in_the_group_that_is_ruled_out() -> None:
    """And comes back when its node does."""
    table = a_cluster(node("a"), node("b"))
    groups = grouped(table, web(table), Settings())

    table.drop_node("b")
    assert groups.catch_up()
    assert groups.of[1] == RULED_OUT

    table.put_node(node("b"))
    assert groups.catch_up()
    assert groups.of[1] != RULED_OUT


def test_what_was_not_asked_before_is_not_guessed() -> None:
    """Rows of one group may differ in it, so the groups must be made anew."""
    table = a_cluster(node("a"), node("b"))
    tally = web(table)
    groups = Groups(table, (Ask("count", None, tally),), Settings(), lambda facts: Base(table, [], facts))

    with pytest.raises(Unforeseen):
        every_group(groups).has("disk")


def test_a_bonus_is_spread_over_the_rows_once_and_again_when_a_row_moves() -> None:
    """Many plans may share it."""
    table = a_cluster(node("a"), node("b"))
    groups = grouped(table, web(table), Settings())
    bonus = groups.size.astype("int16")

    first = groups.along(bonus)
    assert groups.along(bonus) is first

    table.place(a_pod("p", labels="app=web"), table.row_of["b"])
    assert groups.catch_up()
    longer = groups.size.astype("int16")
    assert groups.along(longer).rows.tolist() == [1, 1]
