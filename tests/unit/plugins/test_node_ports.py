"""NodePorts: a host port can be taken once on each address."""

import pytest

from bayplan.plugins.node_ports import NodePorts
from tests.kit import a_cluster, a_pod, case, judged, node

CLUSTER = a_cluster(
    node("free"), node("all"), node("one"), a_pod("p", on="all", ports="80"), a_pod("q", on="one", ports="80@10.0.0.1")
)


@pytest.mark.parametrize(
    ("ports", "fits"),
    [
        case("a port on all addresses meets one on any", "80", "free"),
        case("a port on one address meets itself", "80@10.0.0.1", "free"),
        case("and one on all addresses, but not one on another", "80@10.0.0.2", "free one"),
        case("the wildcard may be written out", "80@0.0.0.0", "free"),
        case("another protocol is another port", "udp:80", "free all one"),
        case("another number, too", "81", "free all one"),
        case("all that a pod wants must be free", "81 80", "free"),
    ],
)
def test_filter(ports: str, fits: str) -> None:
    """A node fits where every port is free."""
    ruling = judged(NodePorts(), a_pod(ports=ports), CLUSTER)

    assert ruling.names_that_fit == fits.split()
    assert set(ruling.why.values()) <= {("node(s) didn't have free ports for the requested pod ports",)}
    assert set(ruling.code.values()) <= {"Unschedulable"}


def test_a_pod_without_host_ports_is_not_filtered() -> None:
    """There is nothing to look up."""
    assert judged(NodePorts(), a_pod(), CLUSTER).skipped


def test_a_port_is_free_again_when_its_last_pod_has_gone() -> None:
    """Two pods may have had it; both must go."""
    table = a_cluster(node("n"), a_pod("p", on="n", ports="80"), a_pod("q", on="n", ports="80@10.0.0.1"))
    table.drop_pod("uid-default-p")
    assert judged(NodePorts(), a_pod(ports="80"), table).names_that_fit == []

    table.drop_pod("uid-default-q")
    assert judged(NodePorts(), a_pod(ports="80"), table).names_that_fit == ["n"]
