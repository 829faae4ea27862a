"""A recorder answers as any view of all rows and notes, once each, what was asked."""

import numpy as np

from bayplan.api.selectors import Selector
from bayplan.cluster.tallies import Match
from bayplan.cluster.view import View
from bayplan.framework.asks import Ask, Recorder
from tests.kit import HOSTNAME, ZONE, a_cluster, a_pod, node, selector

WEB = Match(((frozenset(("default",)), Selector.of(selector("app=web"))),))


def test_what_is_asked_is_answered_and_noted() -> None:
    """In the order of asking; the same question twice is one."""
    table = a_cluster(
        node("a", zone="1"), node("b", zone="1"), node("c", zone="2"), node("d"), a_pod("p", on="b", labels="app=web")
    )
    recorder, plain = Recorder(table), View(table)
    tally = recorder.tally(WEB)
    every = np.ones(4, np.bool_)

    assert recorder.has(ZONE).tolist() == [True, True, True, False]
    assert recorder.count(tally).tolist() == plain.count(tally).tolist() == [0, 1, 0, 0]
    assert recorder.count(tally, ZONE).tolist() == plain.count(tally, ZONE).tolist()
    assert recorder.any(tally, ZONE).tolist() == (plain.count(tally, ZONE) > 0).tolist()
    assert recorder.distinct(HOSTNAME, every, absent=False) == 4
    assert recorder.has(ZONE).any()
    assert list(recorder.asks) == [
        Ask("has", ZONE),
        Ask("count", None, tally),
        Ask("count", ZONE, tally),
        Ask("any", ZONE, tally),
        Ask("domain", HOSTNAME),
    ]


def test_what_is_the_same_for_all_rows_tells_no_rows_apart() -> None:
    """How many domains a key has is no question about a row."""
    recorder = Recorder(a_cluster(node("a", zone="1"), node("b", zone="2")))

    assert recorder.domains(ZONE) == 2
    assert recorder.asks == {}
