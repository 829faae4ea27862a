"""A table remembers nothing but what it was told: after any history it equals one built from the objects that are left.

The histories are those of the engine check; what is compared is everything that a rule can read (tests/dump.py).
"""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bayplan.api.objects import Pod
from bayplan.cluster.fold import put
from bayplan.cluster.rows import NodeQuestion, judged, judged_row
from bayplan.cluster.shapes import node_choice_of
from bayplan.cluster.tallies import recounted
from tests.dump import ask_alike, differences, dump
from tests.engine.asking import ask_everything
from tests.engine.changes import CHANGES, World
from tests.engine.pool import pool_of
from tests.kit import ZONE, a_cluster, a_pod, node
from tests.parity.topics.draw import Draw

SEEDS = st.integers(0, 1 << 30)
STEPS = st.lists(st.tuples(st.sampled_from(sorted(CHANGES)), SEEDS), max_size=40)
"""Which changes happen in which order, and each one's luck: so a failing history shrinks."""


def a_world(seed: int) -> World:
    """Return a world at its beginning."""
    draw = Draw(seed)
    return World(draw, pool_of(draw))


def lived(seed: int, steps: list[tuple[str, int]]) -> World:
    """Return a world after a history in which rules asked about it, so that it has much to keep up to date."""
    world = a_world(seed)
    ask_everything(world, Draw(seed))
    for place, (name, luck) in enumerate(steps):
        CHANGES[name][0](world, Draw(luck))
        if place % 5 == 2:
            ask_everything(world, Draw(luck))
    return world


@settings(max_examples=60)
@given(seed=SEEDS, steps=STEPS)
def test_a_table_equals_one_built_from_the_objects(seed: int, steps: list[tuple[str, int]]) -> None:
    """Columns, tallies, scopes, catalogues and books are what the objects in order of arrival make them."""
    world = lived(seed, steps)
    fresh = world.rebuilt()
    ask_alike(fresh, world.table)

    assert list(differences(dump(world.table), dump(fresh))) == []


@settings(max_examples=30)
@given(seed=SEEDS, steps=STEPS)
def test_domain_numbers_are_the_sums_of_their_rows(seed: int, steps: list[tuple[str, int]]) -> None:
    """What a tally keeps per domain is what counting its rows gives."""
    table = lived(seed, steps).table

    for tally in table.all_tallies():
        for domains in tally._domains.values():
            kept = dict(zip(domains.key.values, domains.numbers.tolist(), strict=False))
            assert {value: number for value, number in kept.items() if number} == {
                value: number for value, number in recounted(tally, domains.key, domains.scope).items() if number
            }


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


def test_a_row_beyond_the_first_block_is_counted() -> None:
    """A key that was asked for knows rows that come after it, however many."""
    table = a_cluster(node("first", zone="a"))
    every = table.every.domains(table.key(ZONE), None)
    for number in range(200):
        put(table, node(f"n{number}", zone="b"))

    assert every.numbers[:2].tolist() == [1, 200]


def test_a_stray_pod_is_counted_once_its_node_comes() -> None:
    """A pod bound to a node that does not exist yet waits, and lies on its row as soon as there is one."""
    table = a_cluster(a_pod("early", on="late", cpu=1))
    assert not table.pods

    put(table, node("late"))
    assert [resident.pod.metadata.name for resident in table.pods.values()] == ["early"]
