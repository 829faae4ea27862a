"""ServiceAntiAffinity: spread a Service's pods over the values of a label."""

import pytest

from bayplan.plugins.service_anti_affinity import ServiceAntiAffinity, ServiceAntiAffinityArgs
from tests.kit import a_cluster, a_pod, case, node, scored, service

RULE = ServiceAntiAffinity(ServiceAntiAffinityArgs(label="rack"))
NODES = (node("a1", labels="rack=a"), node("a2", labels="rack=a"), node("b", labels="rack=b"), node("loose"))
WEB = service("web", "app=web")


@pytest.mark.parametrize(
    ("running", "expected"),
    [
        case("nobody runs", "", {"a1": 100, "a2": 100, "b": 100, "loose": 0}),
        case("all in one rack", "a1 a2", {"a1": 0, "a2": 0, "b": 100, "loose": 0}),
        case("two of three", "a1 a2 b", {"a1": 33, "a2": 33, "b": 66, "loose": 0}),
        case("one in no rack counts among all", "a1 loose", {"a1": 50, "a2": 50, "b": 100, "loose": 0}),
    ],
)
def test_the_share_that_is_elsewhere(running: str, expected: dict[str, int]) -> None:
    """In whole hundredths, rounded down."""
    pods = [a_pod(f"p{name}", on=name, labels="app=web") for name in running.split()]
    found = scored(RULE, a_pod(labels="app=web"), a_cluster(*NODES, WEB, *pods))

    assert found is not None
    assert found.normal == expected


def test_only_the_services_own_pods_count() -> None:
    """Others, and those of another namespace, do not."""
    others = (a_pod("x", on="a1", labels="app=db"), a_pod("y", on="a1", labels="app=web", within="other"))
    found = scored(RULE, a_pod(labels="app=web"), a_cluster(*NODES, WEB, *others))

    assert found is not None
    assert found.normal == {"a1": 100, "a2": 100, "b": 100, "loose": 0}


def test_the_first_service_by_name_counts() -> None:
    """However they came."""
    both = (service("zeta", "app=web"), service("alpha", "tier=front"))
    running = (a_pod("x", on="a1", labels="app=web"), a_pod("y", on="b", labels="tier=front"))
    found = scored(RULE, a_pod(labels="app=web tier=front"), a_cluster(*NODES, *both, *running))

    assert found is not None
    assert found.normal == {"a1": 100, "a2": 100, "b": 0, "loose": 0}


def test_a_pod_without_a_service_gives_all_racks_the_same() -> None:
    """There is nothing to spread."""
    found = scored(RULE, a_pod(), a_cluster(*NODES, a_pod("x", on="a1")))

    assert found is not None
    assert found.normal == {"a1": 100, "a2": 100, "b": 100, "loose": 0}
    assert ServiceAntiAffinityArgs().problems() == ["label: is required"]
