"""Residents: what runs is interned, so that pods of one template share what they lay on their rows."""

import pytest

from bayplan.api.objects import Pod
from bayplan.cluster import reading as reading_module
from bayplan.cluster import residents as residents_module
from bayplan.cluster.reading import Reader
from bayplan.cluster.table import Table
from tests.kit import a_cluster, a_pod, case, neighbours, node, term


@pytest.mark.parametrize(
    ("one", "other", "load", "label_set"),
    [
        case(
            "pods of one template share both",
            a_pod("a", cpu=1, labels="app=web"),
            a_pod("b", cpu=1, labels="app=web"),
            True,
            True,
        ),
        case("another size is another load", a_pod("a", cpu=1), a_pod("b", cpu=2), False, True),
        case("another label is another set", a_pod("a", labels="app=web"), a_pod("b", labels="app=db"), True, False),
        case("another namespace, too", a_pod("a"), a_pod("b", within="other"), True, False),
        case("so is one that is going", a_pod("a"), a_pod("b", terminating=True), True, False),
        case("labels have no order", a_pod("a", labels="x=1 y=2"), a_pod("b", labels="y=2 x=1"), True, True),
        case("ports are load", a_pod("a", ports="80"), a_pod("b", ports="81"), False, True),
        case("so are terms", a_pod("a", affinity=neighbours(far=[term("x")])), a_pod("b"), False, True),
    ],
)
def test_what_is_alike_is_one(one: Pod, other: Pod, load: bool, label_set: bool) -> None:  # noqa: FBT001
    """Interned, whichever was read first."""
    residents = Table().residents
    first, second = residents.read(one), residents.read(other)

    assert (first[0] is second[0]) is load
    assert (first[1] is second[1]) is label_set
    assert residents.read(one) == first


def test_owners_long_gone_are_let_go_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept of the last pod of each owner is bounded, here and where waiting pods are read."""
    table = a_cluster(node("a"))
    reader = Reader(table)
    for module in (residents_module, reading_module):
        monkeypatch.setattr(module, "OWNERS_MAX", 3)
    pods = [a_pod(f"p{number}", within=f"n{number}", cpu=1) for number in range(10)]
    shapes = [reader.shape(pod) for pod in pods]
    for pod in pods:
        reader.forget(pod.metadata.uid)

    assert len(table.residents._last) <= 3
    assert len(reader._last) <= 3
    assert [reader.shape(pod) for pod in pods] == shapes


def test_a_label_set_counts_its_pods_by_row() -> None:
    """Sparsely: a row that has none is not there."""
    table = a_cluster(node("a"), node("b"), a_pod("p", on="a"), a_pod("q", on="a"), a_pod("r", on="b"))
    table.drop_pod("uid-default-r")
    (label_set,) = table.residents.all_label_sets()

    assert label_set.rows == {table.row_of["a"]: 2}


def test_a_term_carried_twice_counts_twice() -> None:
    """As the pod repeats it."""
    pod = a_pod("p", on="a", affinity=neighbours(far=[term("x"), term("x")]))
    table = a_cluster(node("a"), pod)

    assert [tally.all for tally in table.carried.tallies] == [2]
