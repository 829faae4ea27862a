"""Memos: what a rule found stands while all that it read reads the same, whatever else happens."""

from collections.abc import Callable

import pytest

from bayplan.cluster.reading import Reader
from bayplan.cluster.table import Table
from bayplan.config.profiles import profiles
from bayplan.framework.memo import Duty, Memo
from bayplan.framework.registry import Registry
from tests.kit import HOSTNAME, a_cluster, a_pod, case, neighbours, node, spread, term

USUAL = profiles(None, Registry.installed())["default-scheduler"]
POD = a_pod(
    "web", labels="app=web", images="app:1", spread=[spread("app=web")],
    affinity=neighbours(far=[term("app=web", key=HOSTNAME)]),
)  # fmt: skip


def found(rule: str, table: Table) -> Memo:
    """Return what a rule of the usual profile finds for a pod."""
    instance = next(one for points in USUAL.points.values() for one in points if one.name == rule)
    duty = Duty.of(instance, USUAL)
    return Memo(duty, Reader(table).shape(POD).part(duty.reads), table)


@pytest.mark.parametrize(("rule", "change", "stands"), [
    case("taints, and a new set of them", "TaintToleration",
         lambda table: table.put_node(node("a", taints="x=y:NoSchedule")), False),
    case("taints, and a pod", "TaintToleration", lambda table: table.place(POD, table.row_of["a"]), True),
    case("images, and one that comes", "ImageLocality",
         lambda table: table.put_node(node("a", images={"app:1": 1 << 30})), False),
    case("images, and another image", "ImageLocality",
         lambda table: table.put_node(node("a", images={"db:1": 1 << 30})), True),
    case("spread, and the least of a domain", "PodTopologySpread",
         lambda table: table.place(POD, table.row_of["a"]), True),
    case("neighbours, and the first that matches", "InterPodAffinity",
         lambda table: table.place(POD, table.row_of["a"]), False),
])  # fmt: skip
def test_a_memo_stands(rule: str, change: Callable[[Table], object], *, stands: bool) -> None:
    """What is read while rows are asked is caught up with; what was read before any row decides whether it stands."""
    table = a_cluster(node("a", zone="z1"), node("b", zone="z2"))
    memo = found(rule, table)
    assert memo.stands(table.ticks.value, table.volumes.changes)

    change(table)

    assert memo.stands(table.ticks.value, table.volumes.changes) == stands


def test_what_rules_say_is_named_by_their_state_where_that_can_be_compared() -> None:
    """Two parts with one state are answered by one base."""
    table = a_cluster(node("a"))
    duty = Duty.of(next(one for one in USUAL.score if one.name == "ImageLocality"), USUAL)
    one, other = (Memo(duty, images, table) for images in (("app:1",), ("db:2",)))

    assert one.prepared == other.prepared
    assert one.answers == other.answers
