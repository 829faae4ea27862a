"""A table remembers nothing but what it was told: after any history it equals one built from the objects that are left.

The histories are those of the engine check; what is compared is everything that a rule can read (tests/dump.py).
"""

from hypothesis import given, settings
from msgspec.structs import replace

from bayplan.api.objects import uid_of
from bayplan.cluster.fold import drop, put
from bayplan.cluster.table import Table
from tests.dump import ask_alike, differences, dump
from tests.kit import ZONE, a_cluster, a_pod, neighbours, node, term
from tests.unit.cluster.worlds import SEEDS, STEPS, lived


@settings(max_examples=60)
@given(seed=SEEDS, steps=STEPS)
def test_a_table_equals_one_built_from_the_objects(seed: int, steps: list[tuple[str, int]]) -> None:
    """Columns, tallies, scopes, catalogues and books are what the objects in order of arrival make them."""
    world = lived(seed, steps)
    fresh = world.rebuilt()
    ask_alike(fresh, world.table)

    assert list(differences(dump(world.table), dump(fresh))) == []


def requested(table: Table, name: str) -> dict[str, int]:
    """Return what is asked for on a node."""
    columns, row = table.columns, table.row_of[name]
    found = {resource: int(columns.requested[place, row]) for resource, place in columns.resources.items()}
    return {resource: amount for resource, amount in found.items() if amount}


def test_a_row_beyond_the_first_block_is_counted() -> None:
    """A key that was asked for knows rows that come after it, however many."""
    table = a_cluster(node("first", zone="a"))
    every = table.every.domains(table.key(ZONE), None)
    for number in range(200):
        put(table, node(f"n{number}", zone="b"))

    assert every.numbers[:2].tolist() == [1, 200]


def test_a_free_row_has_one_of_every_resource() -> None:
    """Of one that is heard of later, too, so that nothing is divided by nought; but of pods none."""
    table = a_cluster(node("goes"), node("stays"))
    row = table.row_of["goes"]
    table.drop_node("goes")
    table.columns.resource("example.com/heard-of-later")

    for column in (table.columns.allocatable, table.columns.whole):
        room = {name: int(column[place, row]) for name, place in table.columns.resources.items()}
        assert room == {name: int(name != "pods") for name in table.columns.resources}


def test_a_stray_pod_is_counted_once_its_node_comes() -> None:
    """A pod bound to a node that does not exist yet waits, and lies on its row as soon as there is one."""
    table = a_cluster(a_pod("early", on="late", cpu=1))
    assert not table.pods

    put(table, node("late"))
    assert requested(table, "late") == {"cpu": 1000, "pods": 1}


def test_pods_of_a_node_that_goes_are_back_when_it_is() -> None:
    """Whichever row it gets; an assumed pod is still assumed."""
    table = a_cluster(node("n"), a_pod("bound", on="n", cpu=1))
    table.place(a_pod("assumed", cpu=2), table.row_of["n"], is_assumed=True)
    table.drop_node("n")
    assert not table.pods

    put(table, node("other"))
    put(table, node("n"))
    assert requested(table, "n") == {"cpu": 3000, "pods": 2}
    assert {one.pod.metadata.name: one.is_assumed for one in table.pods.values()} == {"bound": False, "assumed": True}


def test_a_stray_pod_that_goes_does_not_come_back() -> None:
    """Nor does one that finishes, or turns up elsewhere."""
    strays = [a_pod(name, on="late") for name in ("gone", "done", "moved", "stays")]
    table = a_cluster(node("other"), *strays)
    drop(table, strays[0])
    put(table, a_pod("done", on="late", phase="Succeeded"))
    put(table, a_pod("moved", on="other"))
    put(table, node("late"))

    assert {one.pod.metadata.name: one.row for one in table.pods.values()} == {
        "moved": table.row_of["other"],
        "stays": table.row_of["late"],
    }


def test_a_confirmed_pod_is_assumed_no_more() -> None:
    """It is the same resident, counted once."""
    table = a_cluster(node("n"))
    pod = a_pod("p", cpu=1)
    table.place(pod, table.row_of["n"], is_assumed=True)
    put(table, pod)  # still unbound, as the watch may yet say
    assert table.is_assumed(uid_of(pod))

    put(table, a_pod("p", cpu=1, on="n"))
    assert not table.is_assumed(uid_of(pod))
    assert requested(table, "n") == {"cpu": 1000, "pods": 1}


def test_a_pod_is_counted_as_it_is_now() -> None:
    """Resized, relabelled or terminating, the old count goes and the new one comes."""
    pod = a_pod("p", on="n", cpu=1, labels="app=web")
    table = a_cluster(node("n"), pod)
    put(table, a_pod("p", on="n", cpu=2, labels="app=db"))

    assert requested(table, "n") == {"cpu": 2000, "pods": 1}
    assert [one.labels for one in table.residents.all_label_sets() if one.rows] == [{"app": "db"}]


def test_a_finished_pod_is_forgotten_whatever_it_was() -> None:
    """On a row or nominated."""
    table = a_cluster(node("n"), a_pod("p", on="n"), a_pod("q", nominated="n"))
    put(table, a_pod("p", on="n", phase="Failed"))
    put(table, a_pod("q", nominated="n", phase="Succeeded"))

    assert not table.pods
    assert not table.nominations


def test_a_nomination_waits_for_its_node() -> None:
    """As bound pods do; and goes when the pod is bound, is nominated elsewhere or goes."""
    table = a_cluster(a_pod("p", nominated="n"), a_pod("q", nominated="n"), a_pod("r", nominated="n"))
    assert not table.nominations
    put(table, a_pod("q"))
    drop(table, a_pod("r"))

    put(table, node("n"))
    assert {one.pod.metadata.name for one in table.nominations.values()} == {"p"}

    table.drop_node("n")
    put(table, node("n"))
    assert {one.pod.metadata.name for one in table.nominations.values()} == {"p"}

    put(table, a_pod("p", on="n"))
    assert not table.nominations


def test_terms_of_a_nominated_pod_are_known_before_anybody_asks() -> None:
    """Others may be judged as if it ran there, so that what it minds must have a number."""
    hermit = a_pod("hermit", nominated="n", affinity=neighbours(far=[term("app=web")]))
    table = a_cluster(node("n"), hermit)

    assert len(table.carried) == 1


def test_what_was_new_stays_known() -> None:
    """A resource, taint set or term that has gone keeps its number: nobody else gets it."""
    table = a_cluster(node("n", taints="a:NoSchedule", example_com__gpu=1))
    number, place = table.columns.taint_set[0], table.columns.resources["example.com/gpu"]
    put(table, node("n"))
    put(table, node("m", taints="b:NoSchedule"))
    put(table, node("n", taints="a:NoSchedule", example_com__gpu=2))

    assert table.columns.taint_set[table.row_of["n"]] == number
    assert table.columns.allocatable[place, table.row_of["n"]] == 2


def test_a_node_told_again_changes_nothing() -> None:
    """An equal object is no news."""
    table = a_cluster(node("n", zone="1", images={"app": 5}), a_pod("p", on="n", cpu=1))
    table.key(ZONE)
    before = dump(table)
    put(table, replace(node("n", zone="1", images={"app": 5})))

    assert list(differences(dump(table), before)) == []
