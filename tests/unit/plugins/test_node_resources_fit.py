"""NodeResourcesFit: what a pod asks for must be free, and nodes are scored by what would then be left or used."""

import numpy as np
import pytest

from bayplan.api.objects import Pod
from bayplan.framework.plugin import Code
from bayplan.framework.resources import ResourceSpec, ShapePoint
from bayplan.plugins.node_resources_fit import (
    NodeResourcesFit,
    NodeResourcesFitArgs,
    RatioParam,
    ScoringStrategy,
    combined,
)
from tests.kit import a_cluster, a_pod, case, judged, node, scored

SMALL = a_cluster(
    node("free", cpu=4, memory=1000, pods=2, example_com__gpu=2),
    node("used", cpu=4, memory=1000, pods=2, example_com__gpu=2),
    node("full", cpu=4, memory=1000, pods=1),
    a_pod("p", on="used", cpu=3, memory=900, example_com__gpu=2),
    a_pod("q", on="full"),
)


FULL = "Too many pods"
CPU, MEMORY, DISK, GPU = (f"Insufficient {name}" for name in ("cpu", "memory", "ephemeral-storage", "example.com/gpu"))


@pytest.mark.parametrize(
    ("pod", "free", "used", "full"),
    [
        case("what fits fits", a_pod(cpu=1, memory=100), [], [], [FULL]),
        case("to the last bit", a_pod(cpu=4, memory=1000), [], [CPU, MEMORY], [FULL]),
        case("and no further", a_pod(cpu="4001m"), [CPU], [CPU], [FULL, CPU]),
        case("a device that is taken, or is not there", a_pod(example_com__gpu=1), [], [GPU], [FULL, GPU]),
        case("nothing at all still takes a place", a_pod(), [], [], [FULL]),
        case("an explicit nought is nothing", a_pod(example_com__fpga=0), [], [], [FULL]),
        case(
            "everything that is missing is named, devices last",
            a_pod(example_com__gpu=3, memory=2000, cpu=5, ephemeral_storage=1),
            [CPU, MEMORY, DISK, GPU],
            [CPU, MEMORY, DISK, GPU],
            [FULL, CPU, MEMORY, DISK, GPU],
        ),
    ],
)
def test_filter(pod: Pod, free: list[str], used: list[str], full: list[str]) -> None:
    """Every node is told all that it lacks, in upstream's order."""
    ruling = judged(NodeResourcesFit(), pod, SMALL)

    assert [list(ruling.why.get(name, ())) for name in ("free", "used", "full")] == [free, used, full]


def test_what_the_whole_node_could_not_give_cannot_be_cured() -> None:
    """Eviction helps where a node is full, not where it is too small."""
    ruling = judged(
        NodeResourcesFit(),
        a_pod(cpu=2),
        a_cluster(node("busy", cpu=2), node("tiny", cpu=1), a_pod("p", on="busy", cpu=1)),
    )

    assert ruling.code == {"busy": "Unschedulable", "tiny": "UnschedulableAndUnresolvable"}


def test_what_a_configuration_ignores_is_left_to_somebody_else() -> None:
    """By name or by group; cpu and memory are never ignored."""
    arguments = NodeResourcesFitArgs(ignored_resources=("a.com/x", "cpu"), ignored_resource_groups=("b.com",))
    rule = NodeResourcesFit(arguments)
    cluster = a_cluster(node("n", cpu=1))

    assert judged(rule, a_pod(a_com__x=1, b_com__y=1), cluster).names_that_fit == ["n"]
    assert judged(rule, a_pod(a_com__y=1), cluster).names_that_fit == []
    assert judged(rule, a_pod(cpu=2), cluster).names_that_fit == []


def scores_of(pod: Pod, *things: object, arguments: NodeResourcesFitArgs | None = None) -> list[int]:
    """Return the scores of a cluster's nodes, in their order."""
    found = scored(NodeResourcesFit(arguments), pod, a_cluster(*things))  # type: ignore[arg-type]
    assert found is not None
    return list(found.normal.values())


def scoring(kind: str, *specs: ResourceSpec, shape: tuple[tuple[int, int], ...] = ()) -> NodeResourcesFitArgs:
    """Return arguments with a strategy."""
    ratio = RatioParam(tuple(ShapePoint(*point) for point in shape)) if shape else None
    resources = specs or (ResourceSpec("cpu"), ResourceSpec("memory"))
    return NodeResourcesFitArgs(
        scoring_strategy=ScoringStrategy(type=kind, resources=resources, requested_to_capacity_ratio=ratio)
    )


EMPTY = (node("a", cpu=4, memory=10000), node("b", cpu=6, memory=10000))
ASKING = a_pod(cpu=3, memory=5000)


def test_least_allocated_prefers_what_is_emptier() -> None:
    """The mean of what would be left free, in percent; upstream's own figures."""
    assert scores_of(ASKING, *EMPTY) == [37, 50]
    weights = scoring("LeastAllocated", ResourceSpec("memory", 2), ResourceSpec("cpu", 1))
    assert scores_of(ASKING, EMPTY[0], arguments=weights) == [41]
    used = (a_pod("p", on="a", cpu=3, memory=0), a_pod("q", on="b", cpu=3, memory=5000))
    nodes = (node("a", cpu=10, memory=20000), node("b", cpu=10, memory=20000))
    assert scores_of(ASKING, *nodes, *used) == [57, 45]


def test_a_container_that_asks_for_nothing_counts_all_the_same() -> None:
    """As 100m and 200Mi, in the pod and on the node; the filter counts it as nothing."""
    nodes = (node("a", cpu=1, memory="1000Mi"), node("b", cpu=1, memory="1000Mi"))

    assert scores_of(a_pod(), *nodes, a_pod("p", on="b")) == [85, 70]


def test_a_node_without_the_resource_is_scored_by_the_others() -> None:
    """What a node does not have is left out of its mean."""
    assert scores_of(a_pod(cpu=1, memory=0), node("n", cpu=4, memory=0)) == [75]


def test_more_than_there_is_scores_nothing() -> None:
    """A score is never negative."""
    assert scores_of(a_pod(cpu=5, memory=0), node("n", cpu=4, memory=10000)) == [50]


def test_most_allocated_prefers_what_is_fuller() -> None:
    """The mean of what would be used."""
    assert scores_of(ASKING, *EMPTY, arguments=scoring("MostAllocated")) == [62, 50]


def test_a_device_counts_only_for_pods_that_ask_for_it() -> None:
    """A scalar resource that the pod does not ask for takes no part."""
    by_device = scoring("LeastAllocated", ResourceSpec("cpu"), ResourceSpec("example.com/gpu", 3))
    nodes = (node("n", cpu=4, example_com__gpu=4),)

    assert scores_of(a_pod(cpu=2), *nodes, arguments=by_device) == [50]
    assert scores_of(a_pod(cpu=2, example_com__gpu=1), *nodes, arguments=by_device) == [(50 + 3 * 75) // 4]


@pytest.mark.parametrize(
    ("cpu", "score"),
    [
        case("at a point", 2, 50),
        case("between two points", 1, 75),
        case("below the first point", 0, 100),
        case("above the last", 4, 0),
        case("more than there is counts as all", 9, 0),
    ],
)
def test_a_curve_says_what_usage_is_worth(cpu: int, score: int) -> None:
    """RequestedToCapacityRatio reads utilization off a piecewise linear curve."""
    falling = scoring("RequestedToCapacityRatio", ResourceSpec("cpu"), shape=((0, 10), (50, 5), (100, 0)))

    assert scores_of(a_pod(cpu=cpu), node("n", cpu=4), arguments=falling) == [score]


def test_a_resource_that_scores_nothing_does_not_count_in_a_curve() -> None:
    """The mean is over the resources that score anything."""
    rising = scoring("RequestedToCapacityRatio", shape=((0, 0), (100, 10)))

    assert scores_of(a_pod(cpu=2, memory=0), node("n", cpu=4, memory=10000), arguments=rising) == [50]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        case("an unknown strategy", scoring("Least"), "scoringStrategy.type: 'Least' is not one of"),
        case("a weight out of range", scoring("LeastAllocated", ResourceSpec("cpu", 101)), "weight: 101 of cpu"),
        case("a curve without points", scoring("RequestedToCapacityRatio"), "at least one point"),
        case("points out of order", scoring("RequestedToCapacityRatio", shape=((50, 1), (50, 2))), "sorted"),
        case("a group with a slash", NodeResourcesFitArgs(ignored_resource_groups=("a/b",)), "can't contain '/'"),
    ],
)
def test_wrong_arguments_are_named(arguments: NodeResourcesFitArgs, problem: str) -> None:
    """Each problem says which field, and what is wrong with it."""
    assert problem in "; ".join(arguments.problems())


@pytest.mark.parametrize("kinds", [3, 14, 45])
def test_each_combination_of_missing_things_is_told_apart(kinds: int) -> None:
    """However many kinds there are: each row hears of exactly what it lacks."""
    luck = np.random.default_rng(kinds)
    lacking = [luck.random(200) < 0.3 for _ in range(kinds)]
    hopeless = lacking[0] & lacking[1]
    texts = [f"Insufficient {kind}" for kind in range(kinds)]

    codes, outcomes = combined(lacking, hopeless, texts)

    for row, code in enumerate(codes.tolist()):
        missing = tuple(text for text, mask in zip(texts, lacking, strict=True) if mask[row])
        assert outcomes[code].texts == missing
        assert outcomes[code].code == (
            Code.SUCCESS if not missing else Code.UNRESOLVABLE if hopeless[row] else Code.UNSCHEDULABLE
        )
