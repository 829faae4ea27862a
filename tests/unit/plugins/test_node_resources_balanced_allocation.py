"""NodeResourcesBalancedAllocation: a pod goes where it brings the used shares of resources closer together."""

from bayplan.api.objects import Pod
from bayplan.framework.resources import ResourceSpec
from bayplan.plugins.node_resources_balanced_allocation import (
    NodeResourcesBalancedAllocation,
    NodeResourcesBalancedAllocationArgs,
)
from tests.kit import a_cluster, a_pod, node, scored

ASKING = a_pod(cpu=3, memory=5000)


def scores_of(pod: Pod, *things: object, arguments: NodeResourcesBalancedAllocationArgs | None = None) -> list[int]:
    """Return the scores of a cluster's nodes, in their order."""
    found = scored(NodeResourcesBalancedAllocation(arguments), pod, a_cluster(*things))  # type: ignore[arg-type]
    assert found is not None
    return list(found.normal.values())


def test_empty_nodes_are_scored_by_the_pods_own_balance() -> None:
    """Three of four CPUs and half of the memory are less even than three of six."""
    assert scores_of(ASKING, node("a", cpu=4, memory=10000), node("b", cpu=6, memory=10000)) == [68, 75]


def test_what_matters_is_the_change() -> None:
    """Upstream's own figures: the balance after, less the balance before, around 75."""
    nodes = (
        node("a", cpu=10, memory=20000),
        node("b", cpu=10, memory=20000),
        node("c", cpu=10, memory=50000),
    )
    used = (
        a_pod("p", on="a", cpu=3, memory=0),
        a_pod("q", on="b", cpu=3, memory=5000),
        a_pod("r", on="c", cpu=3, memory=5000),
    )

    assert scores_of(ASKING, *nodes, *used) == [73, 74, 70]


def test_a_pod_that_evens_a_node_out_is_worth_a_hundred() -> None:
    """All CPU used and no memory: the pod that takes the memory belongs there."""
    nodes = (node("a", cpu=3, memory=5000), node("b", cpu=3, memory=5000))

    assert scores_of(a_pod(memory=5000), *nodes, a_pod("p", on="a", cpu=3, memory=0)) == [100, 50]


def test_three_resources_are_compared_by_their_deviation() -> None:
    """The pod asks for a device and says that it asks for no CPU and memory."""
    resources = (ResourceSpec("cpu"), ResourceSpec("memory"), ResourceSpec("nvidia.com/gpu"))
    nodes = tuple(node(name, cpu="3500m", memory=40000, nvidia_com__gpu=8) for name in ("a", "b"))
    used = (a_pod("p", on="a", cpu=3, memory=5000, nvidia_com__gpu=3), a_pod("q", on="b", cpu=3, memory=5000))
    arguments = NodeResourcesBalancedAllocationArgs(resources=resources)

    assert scores_of(a_pod(cpu=0, memory=0, nvidia_com__gpu=1), *nodes, *used, arguments=arguments) == [75, 76]


def test_requests_are_the_real_ones() -> None:
    """A container that asks for nothing is nothing here, unlike in the allocation score."""
    nodes = (node("a", cpu=1, memory="1000Mi"), node("b", cpu=1, memory="1000Mi"))

    assert scores_of(a_pod(cpu="500m", memory="500Mi"), *nodes, a_pod("p", on="b")) == [75, 75]


def test_a_pod_that_asks_for_none_of_the_resources_is_not_scored() -> None:
    """There is no change to score."""
    cluster = a_cluster(node("a"))

    assert scored(NodeResourcesBalancedAllocation(), a_pod(), cluster) is None
    assert scored(NodeResourcesBalancedAllocation(), a_pod(example_com__gpu=1), cluster) is None


def test_a_weight_is_a_problem() -> None:
    """All resources count alike, and each is there once."""
    arguments = NodeResourcesBalancedAllocationArgs(resources=(ResourceSpec("cpu", 2), ResourceSpec("cpu")))

    assert arguments.problems() == [
        "resources[0].weight: 2 of cpu must be 1",
        "resources[1].name: cpu is there twice",
    ]
