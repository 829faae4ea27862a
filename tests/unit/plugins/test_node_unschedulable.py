"""NodeUnschedulable: cordoned nodes take only pods that tolerate what cordoning means."""

import pytest

from bayplan.plugins.node_unschedulable import NodeUnschedulable
from tests.kit import a_cluster, a_pod, case, judged, node

CLUSTER = a_cluster(node("open"), node("cordoned", cordoned=True))
TAINT = "node.kubernetes.io/unschedulable"


@pytest.mark.parametrize(
    ("tolerates", "fits"),
    [
        case("most pods stay off", "", "open"),
        case("its own taint may be tolerated, though the node does not have it", TAINT, "open cordoned"),
        case("for its effect alone", f"{TAINT}:NoSchedule", "open cordoned"),
        case("another effect does not help", f"{TAINT}:NoExecute", "open"),
        case("who tolerates everything goes everywhere", "*", "open cordoned"),
        case("another key does not help", "maintenance", "open"),
    ],
)
def test_filter(tolerates: str, fits: str) -> None:
    """A cordon blocks unless its taint is tolerated."""
    ruling = judged(NodeUnschedulable(), a_pod(tolerates=tolerates), CLUSTER)

    assert ruling.names_that_fit == fits.split()
    assert set(ruling.why.values()) <= {("node(s) were unschedulable",)}
