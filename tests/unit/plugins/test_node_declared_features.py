"""NodeDeclaredFeatures: a pod that needs a feature goes only where it is declared."""

from msgspec.structs import replace

from bayplan.api.objects import Pod
from bayplan.plugins.node_declared_features import NodeDeclaredFeatures
from tests.kit import a_cluster, a_pod, judged, node

CLUSTER = a_cluster(node("old"), node("new", features="UserNamespacesHostNetworkSupport Other"))


def needing() -> Pod:
    """Return a pod in its own user namespace on the node's network."""
    pod = a_pod()
    return replace(pod, spec=replace(pod.spec, host_network=True, host_users=False))


def test_a_pod_that_needs_a_feature_goes_where_it_is_declared() -> None:
    """Nodes that do not declare it are ruled out for good."""
    ruling = judged(NodeDeclaredFeatures(), needing(), CLUSTER)

    assert ruling.names_that_fit == ["new"]
    assert ruling.why == {"old": ("node(s) didn't match Pod's required features",)}
    assert ruling.code == {"old": "UnschedulableAndUnresolvable"}


def test_a_pod_that_needs_none_is_not_filtered() -> None:
    """There is nothing to compare."""
    assert judged(NodeDeclaredFeatures(), a_pod(), CLUSTER).skipped


def test_a_node_may_come_to_declare_it() -> None:
    """A set of features that no node had before is asked about."""
    table = a_cluster(node("n"))
    assert judged(NodeDeclaredFeatures(), needing(), table).names_that_fit == []

    table.put_node(node("n", features="UserNamespacesHostNetworkSupport"))
    assert judged(NodeDeclaredFeatures(), needing(), table).names_that_fit == ["n"]
