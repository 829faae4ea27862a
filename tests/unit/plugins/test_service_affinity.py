"""ServiceAffinity: keep a Service's pods where some labels have the same values."""

import pytest

from bayplan.api.objects import Pod
from bayplan.cluster.columns import Row
from bayplan.cluster.reading import Reader
from bayplan.cluster.residents import Resident
from bayplan.cluster.shapes import SERVICE
from bayplan.cluster.table import Table
from bayplan.cluster.view import RowWith, View
from bayplan.framework.plugin import Code, PodsMoved
from bayplan.plugins.service_affinity import ServiceAffinity, ServiceAffinityArgs
from tests.kit import a_cluster, a_pod, case, judged, node, service

RULE = ServiceAffinity(ServiceAffinityArgs(labels=("region", "zone")))
NODES = (
    node("a", labels="region=r1 zone=z1"),
    node("b", labels="region=r1 zone=z2"),
    node("c", labels="region=r2 zone=z1"),
    node("d", labels="region=r2"),
)
WEB = service("web", "app=web")


@pytest.mark.parametrize(
    ("selects", "running", "fits"),
    [
        case("nobody says anything", "", "", "a b c d"),
        case("the pod says all", "region=r1 zone=z2", "c", "b"),
        case("the pod says some, and nobody runs", "region=r2", "", "c d"),
        case("the pod says some, the Service's node the rest", "region=r1", "c", "a"),
        case("the Service's node says all", "", "b", "b"),
        case("the first node by name counts", "", "c b", "b"),
        case("what that node does not have is left open", "", "d", "c d"),
        case("other labels of the pod are not looked at", "disk=ssd", "b", "b"),
    ],
)
def test_values_of_the_pod_then_of_its_service(selects: str, running: str, fits: str) -> None:
    """Eviction may help."""
    pods = [a_pod(f"p{name}", on=name, labels="app=web") for name in running.split()]
    found = judged(RULE, a_pod(labels="app=web", selects=selects), a_cluster(*NODES, WEB, *pods))

    assert found.names_that_fit == fits.split()
    assert set(found.why.values()) <= {("node(s) didn't match service affinity",)}
    assert set(found.code.values()) <= {Code.UNSCHEDULABLE}


@pytest.mark.parametrize(
    "resident",
    [
        case("of another Service", a_pod("p", on="b", labels="app=db")),
        case("of another namespace", a_pod("p", on="b", labels="app=web", within="other")),
    ],
)
def test_pods_of_others_do_not_matter(resident: Pod) -> None:
    """Only the first Service's own."""
    assert judged(RULE, a_pod(labels="app=web"), a_cluster(*NODES, WEB, resident)).names_that_fit == list("abcd")


def with_pods(cluster: Table, on: str, added: str = "", removed: str = "") -> bool:
    """Ask about one node as if pods of the Service came to it or left it."""
    row = Row(cluster.row_of[on])
    moved = [
        [Resident(one, row, *cluster.residents.read(one), is_assumed=True)
         for one in (a_pod(name, on=on, labels="app=web") for name in names.split())]
        for names in (added, removed)
    ]  # fmt: skip
    prepared = RULE.prepare(Reader(cluster).shape(a_pod(labels="app=web")).part(SERVICE), View(cluster))
    view = RowWith(cluster, row, moved[0])
    state = RULE.with_pods(prepared.state, view, row, PodsMoved(*moved))
    return bool(RULE.fits(state, view)[0])


def test_a_pod_that_is_thought_to_come_makes_its_node_the_first() -> None:
    """If its name comes before those where the Service runs."""
    cluster = a_cluster(*NODES, WEB, a_pod("p", on="b", labels="app=web"))

    assert not with_pods(cluster, "a")
    assert with_pods(cluster, "a", added="x")
    assert not with_pods(cluster, "c", added="x")


def test_a_pod_that_is_thought_to_go_leaves_the_rest_to_say() -> None:
    """The next node by name, or nobody."""
    cluster = a_cluster(*NODES, WEB, a_pod("p", on="a", labels="app=web"))
    more = a_cluster(*NODES, WEB, a_pod("p", on="a", labels="app=web"), a_pod("q", on="b", labels="app=web"))

    assert with_pods(cluster, "a", removed="p")
    assert not with_pods(more, "a", removed="p")


def test_without_missing_labels_nothing_moves() -> None:
    """A pod that says all is not asked where its Service runs; a rule about nothing is a slip."""
    assert ServiceAffinityArgs().problems() == ["labels: name at least one"]
