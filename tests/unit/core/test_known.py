"""What is known is kept by name, in the order in which it came, so that a table built from it is as the old one was."""

from bayplan.api.objects import Node
from bayplan.cluster.fold import drop, put
from bayplan.cluster.table import Table
from bayplan.core.known import Known
from tests.kit import a_cluster, a_pod, node


def both(known: Known, table: Table, thing: Node, *, goes: bool = False) -> None:
    """Tell both of a node."""
    if goes:
        known.drop(thing)
        drop(table, thing)
    else:
        known.put(thing)
        put(table, thing)


def test_a_rebuilt_table_has_nodes_in_their_order_of_arrival() -> None:
    """So an image keeps the size that its earliest node reports, though rows were used again and nodes changed."""
    known, live = Known(), Table()
    for number, name in enumerate("abc"):
        both(known, live, node(name, images={"app": 100 + number}))
    both(known, live, node("a"), goes=True)
    both(known, live, node("d", images={"app": 7}))  # where the first one was
    both(known, live, node("a", images={"app": 9}))
    both(known, live, node("b", images={"app": 55}, cpu=1))

    rebuilt = a_cluster(*known)

    assert live.row_of["d"] < live.row_of["b"]
    assert rebuilt.images.size("app") == live.images.size("app") == 55
    assert list(rebuilt.row_of) == sorted(live.row_of, key=lambda name: live.columns.arrival[live.row_of[name]])


def test_one_object_has_a_name_in_its_namespace() -> None:
    """A pod and a node of one name are two, and so are pods of one name in two namespaces."""
    known = Known()
    for thing in (node("web"), a_pod("web"), a_pod("web", within="shop"), a_pod("web", cpu=1)):
        known.put(thing)

    assert len(known) == 3
    assert known.like(a_pod("web")) == a_pod("web", cpu=1)
    known.drop(a_pod("web"))
    assert known.get("Pod", "default", "web") is None
    assert len(known) == 2
