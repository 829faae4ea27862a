"""Bases: rows that node-only rules see alike are one, and follow their node wherever it goes."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.api.objects import Pod
from bayplan.cluster.reading import Reader
from bayplan.cluster.table import Table
from bayplan.framework import bases
from bayplan.framework.asks import Ask
from bayplan.framework.bases import Base
from bayplan.framework.memo import Duty, Memo, Roles
from bayplan.framework.plugin import Prepared
from bayplan.framework.profile import Instance, Profile
from bayplan.plugins.image_locality import ImageLocality
from bayplan.plugins.node_unschedulable import NodeUnschedulable
from bayplan.plugins.taint_toleration import TaintToleration
from tests.kit import ZONE, a_cluster, a_pod, node

CORDON, TAINTS, IMAGES = (
    Instance(plugin.name, plugin) for plugin in (NodeUnschedulable(), TaintToleration(), ImageLocality())
)
FILTERS, SCORES = [CORDON, TAINTS], [TAINTS, IMAGES]
PROFILE = Profile("default-scheduler", {"filter": FILTERS, "score": SCORES})
ZONES = (Ask("domain", ZONE),)
MANY = {"app:1": 900 << 20}


def based(table: Table, facts: Sequence[Ask] = ZONES, pod: Pod | None = None) -> Base:
    """Return the bases of a pod by three rules: two that rule out, two that score."""
    shape, memos = Reader(table).shape(pod or a_pod(images="app:1")), []
    for instance in (CORDON, TAINTS, IMAGES):
        duty = Duty.of(instance, PROFILE)
        memo = Memo(duty, shape.part(duty.reads), table)
        assert isinstance(memo.prepared, Prepared)
        memo.roles = Roles(memo.prepared.state, duty.filters, duty.scores, duty.prepares, duty.normalizes, duty.is_ours)
        memos.append(memo)
    return Base(table, memos, facts)


def told_apart(base: Base, table: Table) -> dict[str, tuple[int, ...] | None]:
    """Return each node's values; None where it is ruled out."""
    numbers = {name: int(base.of[row]) for name, row in table.row_of.items()}
    return {name: base.values[number] if number else None for name, number in numbers.items()}


def test_rows_seen_alike_are_one() -> None:
    """What differs only in what no rule looks at has the same number; ruled out is number nought."""
    table = a_cluster(
        node("a", zone="1", cpu=1), node("b", zone="1", cpu=64), node("c", zone="2"), node("d", zone="1", images=MANY),
        node("e", zone="1", cordoned=True), node("f", zone="1", taints="x=y:NoSchedule"),
    )  # fmt: skip
    base = based(table)
    a, b, c, d, e, f = base.of[:6].tolist()

    assert a == b
    assert len({a, c, d}) == 3
    assert (e, f) == (0, 0)
    assert base.width == 3
    assert len(base.values[a]) == 3


def test_a_row_without_a_label_is_in_no_domain() -> None:
    """It is told apart from all that have one, be the value empty."""
    base = based(a_cluster(node("a"), node("b", labels=f"{ZONE}=")), (Ask("has", ZONE),))

    assert base.of[0] != base.of[1]
    assert [values[-1] for values in base.values[1:]] == [0, 1]


@pytest.mark.parametrize("wide", [bases.WIDE, 1])
def test_values_far_apart_are_told_apart_all_the_same(wide: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether they fit together into one number or not."""
    monkeypatch.setattr(bases, "WIDE", wide)
    table = a_cluster(
        node("a", zone="1"), node("b", zone="2", images=MANY), node("c", zone="1", images=MANY), node("d", zone="1")
    )
    base = based(table)
    a, b, c, d = base.of[:4].tolist()

    assert a == d
    assert len({a, b, c}) == 3
    assert base.values[b][1:] != base.values[c][1:]
    assert base.values[b][:2] == base.values[c][:2] != base.values[a][:2]


STEPS = st.lists(
    st.tuples(
        st.integers(0, 6), st.sampled_from(["", "1", "2"]), st.booleans(), st.booleans(), st.booleans(), st.booleans()
    ),
    max_size=12,
)


@given(steps=STEPS)
def test_catching_up_gives_what_beginning_afresh_gives(steps: list[tuple[int, str, bool, bool, bool, bool]]) -> None:
    """After nodes that came, changed and went, more than there was room for included."""
    table = a_cluster(*(node(f"n{number}") for number in range(3)))
    base = based(table)
    for number, zone, cordoned, tainted, has_image, goes in steps:
        if goes:
            table.drop_node(f"n{number}")
        else:
            table.put_node(
                node(
                    f"n{number}",
                    zone=zone,
                    cordoned=cordoned,
                    taints="x=y:NoSchedule" if tainted else "soft=y:PreferNoSchedule",
                    images=MANY if has_image else None,
                )
            )
        base = base if all(memo.stands(table.ticks.value, 0) for memo in base.memos) else based(table)
        base.catch_up()

    assert told_apart(base, table) == told_apart(based(table), table)
    dead = set(range(table.columns.rows)) - set(table.row_of.values())
    assert [int(base.of[row]) for row in dead] == [0] * len(dead)


def test_there_may_be_more_rows_than_at_first() -> None:
    """The column grows with the table."""
    table = a_cluster(node("a"))
    base = based(table)
    for number in range(table.columns.capacity + 1):
        table.put_node(node(f"n{number}", zone=str(number % 2)))

    base.catch_up()

    assert told_apart(base, table) == told_apart(based(table), table)
