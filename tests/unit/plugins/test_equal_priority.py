"""EqualPriority: nobody is preferred."""

from bayplan.plugins.equal_priority import EqualPriority
from tests.kit import a_cluster, a_pod, node, scored


def test_every_node_gets_a_tenth() -> None:
    """One of ten, on a scale of a hundred."""
    found = scored(EqualPriority(), a_pod(), a_cluster(node("a"), node("b", cpu=1)))

    assert found is not None
    assert found.normal == {"a": 10, "b": 10}
