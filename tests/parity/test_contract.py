"""However a rule is asked, it answers the same: with reasons or without, about all rows, some of them or one."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bayplan.api.decode import decode_tree
from bayplan.api.objects import Pod
from bayplan.cluster.columns import Bools
from bayplan.cluster.reading import Reader
from bayplan.cluster.table import Table
from bayplan.cluster.view import View
from bayplan.framework.plugin import FITS, SKIP, AnyPlugin, Failed, Prepared
from bayplan.framework.profile import DEFAULT_SCHEDULER
from tests.parity.generator import case
from tests.parity.ours import table_of
from tests.parity.profiles import profile_for


class Ready(NamedTuple):
    """A rule that has something to say about a pod, and what it prepared for it."""

    rule: AnyPlugin
    state: object
    table: Table
    view: View


SEEDS = st.integers(0, 1 << 20)


def prepared(seed: int) -> Iterator[Ready]:
    """Draw a cluster, a pod and a profile, and prepare every rule of it."""
    drawn = case(seed, 0)
    pod = decode_tree(drawn["pod"])
    assert isinstance(pod, Pod)
    table = table_of(drawn["objects"], but=pod)
    name = pod.spec.scheduler_name or DEFAULT_SCHEDULER
    profile = profile_for(drawn.get("config"), name, drawn.get("featureGates") or {})
    shape, view = Reader(table).shape(pod), View(table)
    for instance in dict.fromkeys((*profile.filter, *profile.score)):
        rule = instance.plugin
        found = rule.prepare(pod if rule.reads is None else shape.part(rule.reads), view)
        if isinstance(found, Prepared) and table.count:
            yield Ready(rule, found.state, table, view)


def fitting(ready: Ready, view: View) -> Bools:
    """Say by a rule's reasons which rows fit."""
    if not ready.rule.overrides("filter"):
        return np.ones(len(view), np.bool_)
    fits: Bools = ready.rule.filter(ready.state, view).codes == FITS
    return fits


@given(seed=SEEDS)
def test_without_reasons_the_same_rows_fit(seed: int) -> None:
    """What is quick says no where what explains says why."""
    for ready in prepared(seed):
        if ready.rule.overrides("filter"):
            quick = ready.rule.fits(ready.state, ready.view)
            assert quick.tolist() == fitting(ready, ready.view).tolist(), ready.rule.name


@given(seed=SEEDS)
def test_some_rows_answer_as_among_all(seed: int) -> None:
    """Which rows are asked about besides is no matter of a row's own answer."""
    for ready in prepared(seed):
        if ready.rule.overrides("filter"):
            rows = np.arange(len(ready.view))[::-2]
            some = ready.rule.filter(ready.state, View(ready.table, rows))
            every = ready.rule.filter(ready.state, ready.view)
            assert [some.outcomes[code] for code in some.codes] == [
                every.outcomes[code] for code in every.codes[rows]
            ], ready.rule.name


def scoring(ready: Ready, fits: Bools) -> object:
    """Return the state that a rule scores with; SKIP where it does not score the pod."""
    found = ready.rule.prepare_score(ready.state, ready.view, fits)
    return SKIP if isinstance(found, Failed) else found


def closures_differ(seed: int, asked: Counter[str]) -> list[str]:
    """Name the rules whose closures answer otherwise than their columns, and count who was asked about how many."""
    wrong = []
    for ready in prepared(seed):
        rule, fits = ready.rule, fitting(ready, ready.view)
        state = scoring(ready, fits)
        closure = None if state is SKIP else rule.row(state, ready.view)
        if closure is not None:
            expected = np.where(fits, rule.score(state, ready.view, ready.view.live), -1)  # (rows,)
            rows = ready.table.row_of.values()
            wrong += [f"{rule.name} at {row}" for row in rows if closure(row) != expected[row]]
            asked[rule.name] += len(rows)
    return wrong


@given(seed=SEEDS)
def test_a_single_row_answers_as_among_all(seed: int) -> None:
    """A closure over the columns' memory gives the row's score, and less than nothing where the pod does not fit."""
    assert closures_differ(seed, Counter()) == []


def test_rules_with_closures_are_among_those_drawn() -> None:
    """Both rules about resources have one, and random clusters ask it."""
    asked = Counter[str]()
    for seed in range(40):
        assert closures_differ(seed, asked) == []

    assert set(asked) == {"NodeResourcesFit", "NodeResourcesBalancedAllocation"}
    assert min(asked.values()) > 50
