"""Asking labels about all rows at once says what asking each node says."""

import numpy as np
from hypothesis import given, settings

from bayplan.api.objects import Pod
from bayplan.cluster.rows import NodeQuestion, judged, judged_row
from bayplan.cluster.shapes import node_choice_of
from tests.kit import a_cluster, a_pod, needs, node
from tests.unit.cluster.worlds import SEEDS, STEPS, lived


@settings(max_examples=30)
@given(seed=SEEDS, steps=STEPS)
def test_asking_all_rows_is_asking_each(seed: int, steps: list[tuple[str, int]]) -> None:
    """A node selector asked once per label value says of every node what its labels and name say."""
    world = lived(seed, steps)
    table = world.table
    live = np.flatnonzero(table.columns.live[: table.columns.rows]).tolist()

    for template in world.pool.pods:
        for question in questions_of(template):
            together = judged(question, table)
            assert [bool(together[row]) for row in live] == [judged_row(question, table, row) for row in live]


def questions_of(pod: Pod) -> list[NodeQuestion]:
    """Return what a pod asks of nodes."""
    choice = node_choice_of(pod)
    return [choice.required, *(term for _, term in (choice.preferred.terms if choice.preferred is not None else ()))]


def test_a_value_that_appears_later_is_asked_about() -> None:
    """Answers are kept per value; a new value is a new question."""
    table = a_cluster(node("a", labels="disk=ssd"))
    wanted = node_choice_of(a_pod(affinity=needs("disk!=ssd"))).required
    assert judged(wanted, table).tolist() == [False]

    table.put_node(node("b", labels="disk=nvme"))
    table.put_node(node("c"))
    assert judged(wanted, table).tolist() == [False, True, True]


def test_a_row_without_a_node_passes_nothing() -> None:
    """Its node has gone, and whatever it was with it."""
    table = a_cluster(node("a", labels="disk=ssd"), node("b"))
    row = table.row_of["a"]
    table.drop_node("a")

    assert not judged_row(node_choice_of(a_pod(selects="disk=ssd")).required, table, row)
    assert not judged(node_choice_of(a_pod(selects="disk=ssd")).required, table)[row]
