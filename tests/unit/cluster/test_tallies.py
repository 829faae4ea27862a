"""Tallies, scopes and what they keep per domain: always what a recount gives."""

import numpy as np
from hypothesis import given, settings

from bayplan.api.selectors import RequiredAffinity, Selector
from bayplan.cluster.columns import Row
from bayplan.cluster.fold import put
from bayplan.cluster.shapes import Tolerations
from bayplan.cluster.table import Table
from bayplan.cluster.tallies import Match, Scope, Tally, recounted
from bayplan.cluster.view import View
from tests.kit import HOSTNAME, ZONE, a_cluster, a_pod, node
from tests.unit.cluster.worlds import SEEDS, STEPS, lived

WEB = Match(((frozenset({"default"}), Selector.of_map({"app": "web"})),))


@settings(max_examples=30)
@given(seed=SEEDS, steps=STEPS)
def test_domain_numbers_are_the_sums_of_their_rows(seed: int, steps: list[tuple[str, int]]) -> None:
    """What a tally keeps per domain is what counting its rows gives, after any history."""
    table = lived(seed, steps).table

    for tally in table.all_tallies():
        for domains in tally._domains.values():
            kept = dict(zip(domains.key.values, domains.numbers.tolist(), strict=False))
            assert _there(kept) == _there(dict(recounted(tally, domains.key, domains.scope)))


def _there(numbers: dict[str, int]) -> dict[str, int]:
    return {value: number for value, number in numbers.items() if number}


def zones(table: Table, tally: Tally, scope: Scope | None = None) -> dict[str, int]:
    """Return a tally's numbers by zone."""
    key = table.key(ZONE)
    numbers = tally.domains(key, scope).numbers
    return {value: int(numbers[place]) for place, value in enumerate(key.values) if numbers[place]}


def test_a_selector_that_becomes_known_counts_who_runs_already() -> None:
    """It is asked once per label set."""
    table = a_cluster(node("a", zone="1"), a_pod("p", on="a", labels="app=web"), a_pod("q", on="a", labels="app=db"))

    assert zones(table, table.residents.tally(WEB)) == {"1": 1}


def test_a_selector_that_is_known_counts_who_comes_later() -> None:
    """Also pods of a label set that was not there before."""
    table = a_cluster(node("a", zone="1"), node("x", zone="2"))
    tally = table.residents.tally(WEB)
    put(table, a_pod("p", on="x", labels="app=web new=yes"))

    assert zones(table, tally) == {"2": 1}


def test_pods_that_are_going_may_be_left_out() -> None:
    """Spreading does not count them, affinity does."""
    table = a_cluster(node("a", zone="1"), a_pod("p", on="a", labels="app=web", terminating=True))

    assert zones(table, table.residents.tally(WEB)) == {"1": 1}
    assert zones(table, table.residents.tally(Match(WEB.terms, terminating=False))) == {}


def test_a_node_that_moves_takes_its_pods_along() -> None:
    """A label that changes changes the domain of all that is on the row."""
    table = a_cluster(node("a", zone="1"), a_pod("p", on="a", labels="app=web"))
    tally = table.residents.tally(WEB)
    assert zones(table, tally) == {"1": 1}

    table.put_node(node("a", zone="2"))
    assert zones(table, tally) == {"2": 1}

    table.put_node(node("a"))
    assert zones(table, tally) == {}


def test_a_scope_counts_only_its_own_rows() -> None:
    """Rows enter and leave it as their labels and taints change, those that came after it included."""
    table = a_cluster(node("a", zone="1"), a_pod("p", on="a", labels="app=web"))
    tally, scope = table.residents.tally(WEB), table.scope(None, Tolerations(()), (ZONE,))
    assert zones(table, tally, scope) == {"1": 1}

    table.put_node(node("a", zone="1", taints="gone:NoSchedule"))
    assert zones(table, tally, scope) == {}

    table.put_node(node("late", zone="2"))
    put(table, a_pod("q", on="late", labels="app=web"))
    assert zones(table, tally, scope) == {"2": 1}
    assert zones(table, tally) == {"1": 1, "2": 1}


def test_an_affinity_that_asks_for_nothing_makes_no_scope_of_its_own() -> None:
    """Scopes are interned by what they ask."""
    table = a_cluster(node("a", zone="1"))

    assert table.scope(RequiredAffinity(), None, (ZONE,)) is table.scope(None, None, (ZONE,))


def test_a_weighted_tally_follows_its_parts() -> None:
    """One number a row, kept up to date as its parts change."""
    table = a_cluster(node("a", zone="1"), node("x", zone="2"), a_pod("p", on="a", labels="app=web"))
    web, db = table.residents.tally(WEB), table.residents.tally(Match(((None, Selector.of_map({"app": "db"})),)))
    both = table.sum_of(((web, 3), (db, -2)))
    assert zones(table, both) == {"1": 3}

    put(table, a_pod("q", on="a", labels="app=db"))
    put(table, a_pod("r", on="x", labels="app=db"))
    assert zones(table, both) == {"1": 1, "2": -2}


def test_a_scope_knows_every_row_of_the_table() -> None:
    """A count on the row itself, within a scope, is nought for rows that came after it and are outside."""
    table = a_cluster(node("a", zone="1"), a_pod("p", on="a", labels="app=web"))
    scope = table.scope(None, None, (ZONE,))
    for number in range(3):
        table.put_node(node(f"late{number}"))

    assert View(table).count(table.residents.tally(WEB), None, scope).tolist() == [1, 0, 0, 0]


def test_the_least_count_is_over_domains_that_exist() -> None:
    """A zone whose only node has gone is no domain; besides a row's own, others remain."""
    table = a_cluster(
        node("a", zone="1"), node("x", zone="2"), node("y", zone="3"), a_pod("p", on="a", labels="app=web")
    )
    tally, view = table.residents.tally(WEB), View(table)
    assert view.least(tally, ZONE) == 0

    table.drop_node("x")
    table.drop_node("y")
    assert view.least(tally, ZONE) == 1
    assert view.least(tally, ZONE, besides=Row(table.row_of["a"])) is None


def test_the_least_count_besides_a_row_outside_the_scope_is_over_the_whole_scope() -> None:
    """That row's domain may not even have a number there."""
    inside = [node(f"in{number}", zone=str(number)) for number in range(3)]
    outside = [node(f"out{number}", zone=f"far{number}", taints="no:NoSchedule") for number in range(40)]
    table = a_cluster(*inside, *outside)
    scope = table.scope(None, Tolerations(()), (ZONE,))

    view, last = View(table), Row(table.row_of["out39"])
    assert view.least(table.residents.tally(WEB), ZONE, scope, besides=last) == 0


def test_two_nodes_may_share_a_hostname() -> None:
    """They are one domain."""
    table = a_cluster(
        node("a", labels=f"{HOSTNAME}=one"), node("b", labels=f"{HOSTNAME}=one"), a_pod("p", on="a", labels="app=web")
    )
    view = View(table)

    assert view.count(table.residents.tally(WEB), HOSTNAME).tolist() == [1, 1]
    assert view.distinct(HOSTNAME, np.ones(2, np.bool_), absent=True) == 1
