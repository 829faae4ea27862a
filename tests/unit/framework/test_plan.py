"""A plan's totals are an evaluation's, whatever came and went since it was made."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.api.objects import Node, Pod
from bayplan.cluster.reading import Reader
from bayplan.cluster.table import Table
from bayplan.config.profiles import profiles
from bayplan.framework.evaluate import Attempt
from bayplan.framework.registry import Registry
from bayplan.framework.run import Rules
from bayplan.framework.settings import Settings
from tests.kit import HOSTNAME, a_cluster, a_pod, case, needs, neighbours, node, spread, term

USUAL = profiles(None, Registry.installed())["default-scheduler"]
NODES = 5
SOFT = "a=b:PreferNoSchedule"
SOFTER = f"{SOFT} c=d:PreferNoSchedule"
PODS: dict[str, Callable[[str], Pod]] = {
    "plain": lambda name: a_pod(name, cpu=1),
    "large": lambda name: a_pod(name, cpu=3, tolerates="x=y"),
    "even": lambda name: a_pod(name, labels="app=even", cpu=1, spread=[spread("app=even")]),
    "softly": lambda name: a_pod(name, labels="app=soft", cpu=1, spread=[spread("app=soft", hard=False)]),
    "apart": lambda name: a_pod(name, labels="app=apart", affinity=neighbours(far=[term("app=apart", key=HOSTNAME)])),
    "near": lambda name: a_pod(name, labels="app=near", affinity=neighbours(likes=[(5, term("app=even"))])),
    "picky": lambda name: a_pod(name, affinity=needs("disk=ssd", likes={"disk=ssd": 3}), ports="80"),
    "named": lambda name: a_pod(name, cpu=1, affinity=needs("name=n1", "name=n2")),
}
SETTINGS = st.sampled_from([
    Settings(), Settings(rows_per_domain=0), Settings(scalar_rows=0, block=2), Settings(bytes_base=1, bytes_per_row=0),
])  # fmt: skip
STEPS = st.lists(
    st.tuples(st.sampled_from(["pod", "gone", "node", "drop", "nominated"]), st.integers(0, NODES), st.integers(0, 7)),
    min_size=1,
    max_size=10,
)


def afresh(table: Table, reader: Reader, pod: Pod) -> list[int]:
    """Return each row's total by an evaluation of all rows, -1 where the pod does not fit."""
    found = Attempt(table, USUAL, pod, reader.shape(pod)).evaluate()
    rows = zip(found.feasible.tolist(), found.totals.tolist(), strict=True)
    return [total if fits else -1 for fits, total in rows]


def remembered(rules: Rules, pod: Pod) -> list[int]:
    """Return each row's total by the shape's plan, -1 where the pod does not fit."""
    totals = rules.plan_totals(pod, USUAL, rules.reader.shape(pod))
    if totals is None:
        return [-1] * rules.table.columns.rows
    return [max(total, -1) for total in totals.tolist()]


def a_node(number: int, drawn: int) -> Node:
    """Return a node with or without a taint, a disk and a zone."""
    return node(
        f"n{number}",
        zone=f"z{drawn % 3}",
        cpu=4,
        taints="x=y:NoSchedule" if drawn & 1 else "",
        labels="disk=ssd" if drawn & 2 else "",
        cordoned=drawn == 7,
    )


def happen(table: Table, step: int, what: str, number: int, drawn: int) -> None:
    """Change the cluster in one way."""
    row = table.row_of.get(f"n{number}")
    pod = PODS[list(PODS)[drawn]](f"p{step}")
    if what == "node":
        table.put_node(a_node(number, drawn))
    elif what == "gone":
        if (uid := f"uid-default-p{number}") in table.pods:
            table.remove(uid)
    elif row is None:
        return
    elif what == "drop":
        table.drop_node(f"n{number}")
    elif what == "pod":
        table.place(pod, row)
    else:
        table.nominate(pod, row)


@given(settings=SETTINGS, steps=STEPS)
def test_totals_are_those_of_an_evaluation_afresh(settings: Settings, steps: list[tuple[str, int, int]]) -> None:
    """Of every row and for every kind of rule, after each thing that happened."""
    table = a_cluster(*(node(f"n{number}", zone=f"z{number % 2}", cpu=4) for number in range(NODES)))
    reader = Reader(table)
    rules = Rules(table, reader, settings=settings)

    kinds = list(PODS)
    for step, (what, number, drawn) in enumerate(steps):
        happen(table, step, what, number, drawn)
        asked = kinds if step + 1 == len(steps) else [kinds[drawn], kinds[(drawn + step) % len(kinds)]]
        for kind in asked:
            pod = PODS[kind]("asked")
            assert remembered(rules, pod) == afresh(table, reader, pod) or not table.count, (step, kind)


def test_what_did_not_change_is_not_worked_out_again() -> None:
    """A question asked twice has its bonus from the first time; a pod elsewhere changes only its own row."""
    table = a_cluster(node("a", cpu=4), node("b", cpu=4))
    rules = Rules(table, Reader(table))
    pod = a_pod("web", cpu=1)
    before = remembered(rules, pod)
    plan = rules.plans(USUAL).plan(rules.reader.shape(pod))
    bonus = plan.bonus()

    table.place(a_pod("other", cpu=2), table.row_of["b"])
    after = remembered(rules, pod)

    assert plan.bonus() is bonus
    assert rules.plans(USUAL).plan(rules.reader.shape(pod)) is plan
    assert after[0] == before[0]
    assert after[1] < before[1]


def test_a_group_that_is_full_takes_no_part_in_what_is_normalised() -> None:
    """The worst taints among the feasible nodes set the scale; when they fill up it is another."""
    table = a_cluster(
        node("good", cpu=2),
        node("bad", cpu=1, taints=SOFT),
        node("worse", cpu=2, taints=SOFTER),
    )
    rules = Rules(table, Reader(table))
    pod = a_pod("web", cpu=1)
    before = remembered(rules, pod)

    table.place(a_pod("fills", cpu=2), table.row_of["worse"])
    after = remembered(rules, pod)

    assert after[2] == -1
    assert before[1] - after[1] > 0
    assert after == afresh(table, rules.reader, pod)


def test_a_pod_that_is_rejected_as_a_whole_has_no_totals() -> None:
    """Nothing is worked out for it."""
    table = a_cluster(node("a"), node("b"))
    rules = Rules(table, Reader(table))
    pod = a_pod("web", affinity=needs("name=a name=b"))
    shape = rules.reader.shape(pod)

    assert rules.plan_totals(pod, USUAL, shape) is None
    assert rules.plans(USUAL).plan(shape).is_rejected


@pytest.mark.parametrize("settings", [
    case("zones told apart by their numbers", Settings()),
    case("zones told apart by who they are", Settings(rows_per_domain=0)),
])  # fmt: skip
def test_a_pod_that_is_counted_changes_the_bonus_of_its_whole_zone(settings: Settings) -> None:
    """Though no row but its own has changed, and no row is seen otherwise than before."""
    table = a_cluster(*(node(name, zone=zone) for name, zone in zip("abcd", "1122", strict=True)))
    rules = Rules(table, Reader(table), settings=settings)
    table.place(PODS["even"]("first"), table.row_of["a"])
    pod = PODS["near"]("web")
    before = remembered(rules, pod)

    for number in range(3):
        table.place(PODS["even"](f"more-{number}"), table.row_of["c"])
        after = remembered(rules, pod)
        assert after == afresh(table, rules.reader, pod)

    assert before[1] > before[3]
    assert after[1] < after[3]
