"""NodeName: a pod that names its node goes there or nowhere."""

from bayplan.plugins.node_name import NodeName
from tests.kit import a_cluster, a_pod, judged, node

CLUSTER = a_cluster(node("a"), node("b"))


def test_a_pod_goes_where_it_says() -> None:
    """Every other node is ruled out, for good."""
    ruling = judged(NodeName(), a_pod(on="b"), CLUSTER)

    assert ruling.names_that_fit == ["b"]
    assert ruling.why == {"a": ("node(s) didn't match the requested node name",)}
    assert set(ruling.code.values()) == {"UnschedulableAndUnresolvable"}


def test_a_pod_that_names_no_node_may_go_anywhere() -> None:
    """The rule has nothing to say, and is asked all the same: it has no PreFilter of upstream's to skip."""
    assert judged(NodeName(), a_pod(), CLUSTER).names_that_fit == ["a", "b"]


def test_a_node_that_does_not_exist_is_nowhere() -> None:
    """Naming it leaves no node."""
    assert judged(NodeName(), a_pod(on="c"), CLUSTER).names_that_fit == []
