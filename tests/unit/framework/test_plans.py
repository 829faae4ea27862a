"""Plans share what they can, stay within their budget, and are made again when what they read has changed."""

from collections.abc import Callable

import pytest

from bayplan.cluster.reading import Reader
from bayplan.cluster.table import Table
from bayplan.config.profiles import profiles
from bayplan.framework.plans import Plans
from bayplan.framework.registry import Registry
from bayplan.framework.settings import Settings
from tests.kit import HOSTNAME, a_cluster, a_pod, case, neighbours, node, service, term

USUAL = profiles(None, Registry.installed())["default-scheduler"]


def plans_over(table: Table, settings: Settings | None = None) -> tuple[Plans, Reader]:
    """Return the plans of the usual profile, and a reader of pods."""
    return Plans(table, USUAL, settings or Settings()), Reader(table)


def test_pods_that_ask_for_the_same_share_a_column() -> None:
    """And pods of equal constraints share groups, whatever they ask for."""
    plans, reader = plans_over(a_cluster(node("a", labels="disk=ssd"), node("b")))

    one, same, larger = (
        plans.plan(reader.shape(pod))
        for pod in (a_pod("one", cpu=1), a_pod("same", cpu=1, selects="disk=ssd"), a_pod("larger", cpu=2))
    )

    assert one.own is same.own
    assert one.own is not larger.own
    assert one.groups is larger.groups
    assert one.groups is not same.groups


def test_what_no_plan_uses_any_more_is_let_go_of() -> None:
    """With room for one, the plan used longest ago goes, and its column with it."""
    plans, reader = plans_over(a_cluster(node("a")), Settings(bytes_base=1, bytes_per_row=0))
    shapes = [reader.shape(a_pod(f"p{cpu}", cpu=cpu)) for cpu in (1, 2, 3)]
    plans.plan(shapes[0])
    taken = plans.bytes_taken

    for shape in shapes:
        plans.plan(shape)

    assert [plans.remembers(shape) for shape in shapes] == [False, False, True]
    assert plans.evicted == 2
    assert plans.bytes_taken == taken


@pytest.mark.parametrize(("change", "stands"), [
    case("a pod that nobody asked about", lambda table: table.place(a_pod("other", cpu=1), table.row_of["a"]), True),
    case("a new taint", lambda table: table.put_node(node("a", taints="x=y:NoSchedule")), False),
    case("a service that selects the pod", lambda table: table.owners.put_service(service("s", "app=web")), True),
    case("a carried term that means the pod", lambda table: table.place(
        a_pod("shy", affinity=neighbours(far=[term("app=web", key=HOSTNAME)])), table.row_of["b"]), True),
])  # fmt: skip
def test_a_plan_stands_until_what_its_rules_read_reads_otherwise(
    change: Callable[[Table], object], *, stands: bool
) -> None:
    """What a shape says anew is another shape's; what happens on rows is caught up with."""
    table = a_cluster(node("a"), node("b"))
    plans, reader = plans_over(table)
    plan = plans.plan(reader.shape(a_pod("web", labels="app=web")))

    change(table)

    assert plan.stands() == stands
