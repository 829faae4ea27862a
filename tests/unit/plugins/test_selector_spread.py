"""SelectorSpread: PodTopologySpread's score by the system's defaults, and by nothing else."""

from msgspec.structs import replace

from bayplan.api.objects import LabelSelector, Requirement
from bayplan.plugins.pod_topology_spread import PodTopologySpread, SelectorSpread
from tests.kit import a_cluster, a_pod, node, scored, service, spread

THINGS = (
    node("a", zone="x"), node("b", zone="x"), node("c", zone="y"),
    service("web", "app=web"), a_pod("p", on="a", labels="app=web"), a_pod("q", on="b", labels="app=web"),
)  # fmt: skip


def test_a_pod_without_constraints_is_scored_as_by_default() -> None:
    """Both rules say the same of it."""
    pod = a_pod(labels="app=web")
    found = scored(SelectorSpread(), pod, a_cluster(*THINGS))

    assert found is not None
    assert found == scored(PodTopologySpread(), pod, a_cluster(*THINGS))
    assert found.normal["c"] > found.normal["a"] == found.normal["b"]


def test_a_pod_with_constraints_of_its_own_is_not_scored() -> None:
    """Whether they can be read or not."""
    own = spread("app=web", hard=False)
    broken = replace(own, label_selector=LabelSelector(match_expressions=(Requirement(key="a", operator="Odd"),)))

    assert scored(SelectorSpread(), a_pod(labels="app=web", spread=(own,)), a_cluster(*THINGS)) is None
    assert scored(SelectorSpread(), a_pod(labels="app=web", spread=(broken,)), a_cluster(*THINGS)) is None


def test_it_takes_no_arguments() -> None:
    """And it acts only where scores are given."""
    assert SelectorSpread.Arguments is None
    assert SelectorSpread.points == {"preScore", "score"}
