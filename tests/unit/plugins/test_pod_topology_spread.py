"""PodTopologySpread: hard constraints filter, soft ones score, and pods without any get the defaults."""

import pytest

from bayplan.api.objects import Node, OwnerReference, Pod, TopologySpreadConstraint
from bayplan.plugins.pod_topology_spread import DefaultConstraint, PodTopologySpread, PodTopologySpreadArgs
from tests.kit import (
    HOSTNAME,
    ZONE,
    a_cluster,
    a_pod,
    case,
    judged,
    node,
    scored,
    service,
    spread,
)

NODES = (node("a", zone="1"), node("b", zone="1"), node("x", zone="2"), node("y", zone="2"), node("lost"))
LABELS = "node(s) didn't match pod topology spread constraints (missing required label)"
SKEW = "node(s) didn't match pod topology spread constraints"

GOING = a_pod("going", on="a", labels="app=web", terminating=True)
ELSEWHERE = a_pod("elsewhere", on="a", within="other", labels="app=web")


def running(**counts: int) -> list[Pod]:
    """Return pods of app=web: so many on each node."""
    return [a_pod(f"{name}{at}", on=name, labels="app=web") for name, count in counts.items() for at in range(count)]


def asking(*constraints: TopologySpreadConstraint, **rest: str) -> Pod:
    """Return a pod of app=web with constraints."""
    return a_pod(labels="app=web", spread=constraints, **rest)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("pods", "constraints", "fits"),
    [
        case("an empty cluster is even", [], [spread("app=web")], "a b x y"),
        case("the fuller zone is closed", running(a=1), [spread("app=web")], "x y"),
        case("unless it may be fuller", running(a=1), [spread("app=web", skew=2)], "a b x y"),
        case("by hostname each node counts for itself", running(a=1), [spread("app=web", key=HOSTNAME)], "b x y lost"),
        case(
            "both constraints must hold", running(a=1, x=2), [spread("app=web"), spread("app=web", key=HOSTNAME)], "b"
        ),
        case("only pods that match count", running(a=1), [spread("app=db")], "a b x y"),
        case("a selector may ask for a key alone", running(a=1), [spread("app")], "x y"),
        case("an empty selector counts nobody", running(a=5), [spread("")], "a b x y"),
        case(
            "too few domains count as an empty one",
            running(a=1, x=1),
            [spread("app=web", min_domains=3)],
            "",
        ),
        case("enough domains are compared", running(a=1, x=1), [spread("app=web", min_domains=2)], "a b x y"),
        case("pods that are going do not count", [GOING], [spread("app=web")], "a b x y"),
        case("pods of other namespaces do not count", [ELSEWHERE], [spread("app=web")], "a b x y"),
        case("a label key means the pod's own value", running(a=1), [spread("", match_label_keys=("app",))], "x y"),
    ],
)
def test_filter(pods: list[Pod], constraints: list[TopologySpreadConstraint], fits: str) -> None:
    """A node fits where its domain would not be fuller than the emptiest by more than the skew."""
    ruling = judged(PodTopologySpread(), asking(*constraints), a_cluster(*NODES, *pods))

    assert ruling.names_that_fit == fits.split()


def test_a_node_without_the_label_is_told_so() -> None:
    """No eviction cures that; a domain that is too full may be emptied."""
    ruling = judged(PodTopologySpread(), asking(spread("app=web")), a_cluster(*NODES, *running(a=1)))

    assert ruling.why == {"a": (SKEW,), "b": (SKEW,), "lost": (LABELS,)}
    assert ruling.code["a"] == "Unschedulable"
    assert ruling.code["lost"] == "UnschedulableAndUnresolvable"


@pytest.mark.parametrize(
    ("policy", "fits"),
    [
        case("nodes that the pod may not go to do not count", None, "a"),
        case("unless it says so", "Ignore", ""),
    ],
)
def test_whether_unreachable_nodes_count(policy: str | None, fits: str) -> None:
    """By default only domains of nodes that match the pod's node affinity exist."""
    nodes = (node("a", zone="1", labels="disk=ssd"), node("x", zone="2"))
    pod = a_pod(labels="app=web", selects="disk=ssd", spread=[spread("app=web", node_affinity_policy=policy)])
    ruling = judged(PodTopologySpread(), pod, a_cluster(*nodes, *running(a=1)))

    assert ruling.fits["a"] is (fits == "a")


@pytest.mark.parametrize(
    ("policy", "fits"),
    [case("taints do not matter by default", None, []), case("where they do, a tainted zone is none", "Honor", ["a"])],
)
def test_whether_tainted_nodes_count(policy: str | None, fits: list[str]) -> None:
    """A node's taints can take its domain out of the count."""
    nodes = (node("a", zone="1"), node("x", zone="2", taints="gone:NoSchedule"))
    pod = asking(spread("app=web", node_taints_policy=policy))
    ruling = judged(PodTopologySpread(), pod, a_cluster(*nodes, *running(a=1)))

    assert [name for name in ruling.names_that_fit if name == "a"] == fits


def test_a_scope_follows_a_taint() -> None:
    """When the taint goes, the zone is back in the count at once."""
    tainted = node("x", zone="2", taints="gone:NoSchedule")
    cluster = a_cluster(node("a", zone="1"), tainted, *running(a=1))
    pod = asking(spread("app=web", node_taints_policy="Honor"))
    assert judged(PodTopologySpread(), pod, cluster).fits["a"]

    cluster.put_node(node("x", zone="2"))
    assert not judged(PodTopologySpread(), pod, cluster).fits["a"]


def scores_of(pod: Pod, nodes: tuple[Node, ...], pods: list[Pod], among: str = "") -> list[int] | None:
    """Return normalised scores in the nodes' order."""
    found = scored(PodTopologySpread(), pod, a_cluster(*nodes, *pods), among)
    return None if found is None else list(found.normal.values())


FOUR = tuple(node(name, zone=zone) for name, zone in (("a", "1"), ("b", "1"), ("x", "2"), ("y", "2")))


def soft(key: str, skew: int = 1) -> TopologySpreadConstraint:
    """Return a soft constraint."""
    return spread("app=web", key=key, skew=skew, hard=False)


@pytest.mark.parametrize(
    ("constraints", "counts", "among", "scores"),
    [
        case("an empty cluster is all the same", [soft(ZONE)], {}, "", [100, 100, 100, 100]),
        case("the emptiest node is best", [soft(HOSTNAME)], {"a": 2, "b": 1, "y": 3}, "", [20, 60, 100, 0]),
        case("a larger skew softens it", [soft(HOSTNAME, 3)], {"a": 4, "b": 3, "x": 2, "y": 1}, "", [44, 66, 77, 100]),
        case(
            "zones and nodes together", [soft(ZONE), soft(HOSTNAME)], {"a": 2, "b": 1, "x": 2, "y": 4}, "a x", [100, 63]
        ),
    ],
)
def test_score(
    constraints: list[TopologySpreadConstraint], counts: dict[str, int], among: str, scores: list[int]
) -> None:
    """Upstream's own figures."""
    assert scores_of(asking(*constraints), FOUR, running(**counts), among) == scores


def test_a_node_without_the_label_scores_nothing() -> None:
    """It is left out of the scale, too."""
    assert scores_of(asking(soft(ZONE)), NODES, running(a=1)) == [0, 0, 100, 100, 0]


def test_a_pod_without_soft_constraints_is_not_scored() -> None:
    """Hard ones only filter."""
    assert scores_of(asking(spread("app=web")), FOUR, []) is None


def test_a_pod_without_constraints_is_spread_among_its_services_pods() -> None:
    """By the system's defaults, softly, over nodes and zones; without a service there is nobody to be spread among."""
    pods = running(a=1)

    assert scores_of(a_pod(labels="app=web"), FOUR, pods) is None
    with_service = scored(
        PodTopologySpread(), a_pod(labels="app=web"), a_cluster(*FOUR, *pods, service("web", "app=web"))
    )
    assert with_service is not None
    assert with_service.normal["a"] < with_service.normal["b"] < with_service.normal["x"]


def test_defaults_may_be_given_as_a_list() -> None:
    """Hard ones then filter pods that name no constraints, and no others."""
    hard = DefaultConstraint(max_skew=1, topology_key=ZONE, when_unsatisfiable="DoNotSchedule")
    rule = PodTopologySpread(PodTopologySpreadArgs(default_constraints=(hard,), defaulting_type="List"))
    cluster = a_cluster(*FOUR, *running(a=1), service("web", "app=web"))

    assert judged(rule, a_pod(labels="app=web"), cluster).names_that_fit == ["x", "y"]
    assert judged(rule, asking(spread("app=web", skew=9)), cluster).names_that_fit == ["a", "b", "x", "y"]
    assert judged(rule, a_pod(labels="app=other"), cluster).skipped


def test_an_unknown_owner_is_nobody() -> None:
    """A pod of a controller that is not there has no defaults."""
    owner = OwnerReference(api_version="apps/v1", kind="ReplicaSet", name="gone", uid="u", controller=True)

    assert scores_of(a_pod(labels="app=web", owner=owner), FOUR, running(a=1)) is None


def listed(skew: int, action: str = "ScheduleAnyway") -> tuple[DefaultConstraint, ...]:
    """Return a list of one default."""
    return (DefaultConstraint(skew, ZONE, action),)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        case("an unknown kind of defaults", PodTopologySpreadArgs(defaulting_type="None"), "defaultingType: 'None'"),
        case("a list beside the system's", PodTopologySpreadArgs(listed(1)), "must be empty"),
        case("a skew of nought", PodTopologySpreadArgs(listed(0), "List"), "maxSkew: 0"),
        case("a wrong word", PodTopologySpreadArgs(listed(1, "Maybe"), "List"), "'Maybe' is not"),
    ],
)
def test_wrong_arguments_are_named(arguments: PodTopologySpreadArgs, problem: str) -> None:
    """Each problem says which field, and what is wrong with it."""
    assert problem in "; ".join(arguments.problems())
