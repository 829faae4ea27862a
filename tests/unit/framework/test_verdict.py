"""A verdict says which row, or why there is none; what is only sometimes wanted is worked out when asked for."""

from bayplan.cluster.reading import Reader
from bayplan.cluster.table import Table
from bayplan.config.profiles import profiles
from bayplan.framework.registry import Registry
from bayplan.framework.run import Rules
from bayplan.framework.settings import Settings
from bayplan.framework.verdict import Verdict
from tests.kit import a_cluster, a_pod, node

USUAL = profiles(None, Registry.installed())["default-scheduler"]


def asked(table: Table, settings: Settings, **wants: object) -> Verdict:
    """Ask about a pod."""
    return Rules(table, Reader(table), settings=settings).ask(a_pod("web", **wants), USUAL)  # type: ignore[arg-type]


def test_reasons_are_counted_by_node_and_told_in_the_order_of_their_texts() -> None:
    """A node gives every reason that it has; one that was never asked about resources gives none of these."""
    table = a_cluster(
        node("small", cpu=1), node("full", cpu=1, pods=0), node("cordoned", cordoned=True), node("other", cpu=1)
    )

    verdict = asked(table, Settings(), cpu=2)

    assert verdict.row is None
    assert verdict.score is None
    assert verdict.message == (
        "0/4 nodes are available: 1 Too many pods, 1 node(s) were unschedulable, 3 Insufficient cpu."
    )
    assert verdict.evaluation.rejectors() == {"NodeResourcesFit", "NodeUnschedulable"}


def test_without_nodes_it_says_so() -> None:
    """There is nothing to count."""
    assert asked(a_cluster(), Settings()).message == "no nodes available to schedule pods"


def test_equals_are_counted_alike_with_plans_and_without() -> None:
    """Two of three nodes are as good as the chosen one."""
    table = a_cluster(node("a"), node("b"), node("used"), a_pod("there", on="used", cpu=20, memory="1Gi"))

    for settings in (Settings(), Settings(plans=False)):
        verdict = asked(table, settings, cpu=1)
        assert verdict.message is None
        assert verdict.among == 2
