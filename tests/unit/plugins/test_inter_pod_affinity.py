"""InterPodAffinity: near some pods, far from others, as the pod asks and as those that run ask of it."""

import pytest

from bayplan.api.objects import Affinity, Pod
from bayplan.framework.plugin import Gates
from bayplan.plugins.inter_pod_affinity import InterPodAffinity, InterPodAffinityArgs
from tests.kit import HOSTNAME, a_cluster, a_pod, case, judged, namespace, neighbours, node, scored, term

NODES = (node("a", zone="1"), node("b", zone="1"), node("x", zone="2"), node("lost"))
NEAR = "node(s) didn't match pod affinity rules"
FAR = "node(s) didn't match pod anti-affinity rules"
UNWELCOME = "node(s) didn't satisfy existing pods anti-affinity rules"
WEB_ON_A = a_pod("web", on="a", labels="app=web")


@pytest.mark.parametrize(
    ("affinity", "fits"),
    [
        case("in the zone of a pod that matches", neighbours(near=[term("app=web")]), "a b"),
        case("on the very node", neighbours(near=[term("app=web", key=HOSTNAME)]), "a"),
        case("away from its zone; a node in no zone is far from everyone", neighbours(far=[term("app=web")]), "x lost"),
        case("away from its node", neighbours(far=[term("app=web", key=HOSTNAME)]), "b x lost"),
        case("near what is nowhere", neighbours(near=[term("app=db")]), ""),
        case("far from what is nowhere", neighbours(far=[term("app=db")]), "a b x lost"),
        case("one pod must meet every term", neighbours(near=[term("app=web"), term("tier=front")]), ""),
        case("pods of other namespaces are not meant", neighbours(near=[term("app=web", within="other")]), ""),
        case("unless namespaces are named", neighbours(near=[term("app=web", within="default other")]), "a b"),
        case("or chosen by their labels", neighbours(near=[term("app=web", among="env=prod")]), "a b"),
        case("or all of them", neighbours(near=[term("app=web", among="")]), "a b"),
        case("a namespace without the labels is not chosen", neighbours(near=[term("app=web", among="env=test")]), ""),
    ],
)
def test_filter(affinity: Affinity, fits: str) -> None:
    """Required terms of the pod itself."""
    cluster = a_cluster(*NODES, namespace("default", "env=prod"), WEB_ON_A)

    assert judged(InterPodAffinity(), a_pod(affinity=affinity), cluster).names_that_fit == fits.split()


def test_the_first_of_its_kind_may_go_anywhere_with_the_label() -> None:
    """A pod that matches its own terms does not wait for another, but a node must have the key."""
    pod = a_pod(labels="app=db", affinity=neighbours(near=[term("app=db")]))
    ruling = judged(InterPodAffinity(), pod, a_cluster(*NODES, WEB_ON_A))

    assert ruling.names_that_fit == ["a", "b", "x"]
    assert ruling.why == {"lost": (NEAR,)}
    assert ruling.code == {"lost": "UnschedulableAndUnresolvable"}


def test_the_second_goes_where_the_first_is() -> None:
    """Once there is one, the terms hold as they stand."""
    affinity = neighbours(near=[term("app=db")])
    first = a_pod("first", on="x", labels="app=db", affinity=affinity)
    ruling = judged(InterPodAffinity(), a_pod(labels="app=db", affinity=affinity), a_cluster(*NODES, first))

    assert ruling.names_that_fit == ["x"]


def test_a_pod_that_runs_may_keep_others_away() -> None:
    """Whoever matches its anti-affinity stays out of its zone, and is told that it is not welcome."""
    hermit = a_pod("hermit", on="a", affinity=neighbours(far=[term("app=web")]))
    ruling = judged(InterPodAffinity(), a_pod(labels="app=web"), a_cluster(*NODES, hermit))

    assert ruling.names_that_fit == ["x", "lost"]
    assert ruling.why == {"a": (UNWELCOME,), "b": (UNWELCOME,)}
    assert ruling.code["a"] == "Unschedulable"


def test_who_is_not_meant_by_anybody_is_not_filtered() -> None:
    """A pod without terms, met by none of those that run."""
    hermit = a_pod("hermit", on="a", affinity=neighbours(far=[term("app=web")]))

    assert judged(InterPodAffinity(), a_pod(labels="app=db"), a_cluster(*NODES, hermit)).skipped


def test_the_pods_own_no_is_named_before_others() -> None:
    """Affinity first, then anti-affinity, then what others say."""
    hermit = a_pod("hermit", on="a", affinity=neighbours(far=[term("app=web")]))
    both = neighbours(near=[term("app=db")], far=[term("")])
    cluster = a_cluster(*NODES, hermit)

    assert judged(InterPodAffinity(), a_pod(labels="app=web", affinity=both), cluster).why["a"] == (NEAR,)
    only_far = a_pod(labels="app=web", affinity=neighbours(far=[term("")]))
    assert judged(InterPodAffinity(), only_far, cluster).why["a"] == (FAR,)


def test_a_terms_namespaces_follow_their_labels() -> None:
    """A namespace that comes to match is meant from then on."""
    cluster = a_cluster(*NODES, namespace("default"), WEB_ON_A)
    pod = a_pod(affinity=neighbours(near=[term("app=web", among="env=prod")]))
    assert judged(InterPodAffinity(), pod, cluster).names_that_fit == []

    cluster.namespaces.put("default", namespace("default", "env=prod"))
    assert judged(InterPodAffinity(), pod, cluster).names_that_fit == ["a", "b"]


@pytest.mark.parametrize("fast", [False, True])
def test_two_nodes_that_share_a_hostname_are_one_place_unless_the_gate_looks_at_rows(fast: bool) -> None:  # noqa: FBT001
    """Behind InterPodAffinityHostnameFastPath hostname terms are judged on the node itself."""
    nodes = tuple(node(name, labels=f"{HOSTNAME}=shared") for name in ("a", "b"))
    rule = InterPodAffinity(gates=Gates(hostname_fast_path=fast))
    pod = a_pod(affinity=neighbours(far=[term("app=web", key=HOSTNAME)]))

    assert judged(rule, pod, a_cluster(*nodes, WEB_ON_A)).names_that_fit == (["b"] if fast else [])


def scores_of(pod: Pod, *others: object, arguments: InterPodAffinityArgs | None = None) -> list[int] | None:
    """Return normalised scores in the nodes' order."""
    found = scored(InterPodAffinity(arguments), pod, a_cluster(*NODES, *others))  # type: ignore[arg-type]
    return None if found is None else list(found.normal.values())


def test_wishes_of_the_pod_are_weighed() -> None:
    """The most attractive node has a hundred, the least none."""
    likes = a_pod(affinity=neighbours(likes=[(5, term("app=web"))]))
    dislikes = a_pod(affinity=neighbours(dislikes=[(5, term("app=web"))]))
    both = a_pod(affinity=neighbours(likes=[(5, term("app=web"))], dislikes=[(4, term("app=web", key=HOSTNAME))]))

    assert scores_of(likes, WEB_ON_A) == [100, 100, 0, 0]
    assert scores_of(dislikes, WEB_ON_A) == [0, 0, 100, 100]
    assert scores_of(both, WEB_ON_A) == [20, 100, 0, 0]


def test_wishes_of_pods_that_run_count_too() -> None:
    """A pod may be liked or shunned without asking for anything."""
    fan = a_pod("fan", on="x", affinity=neighbours(likes=[(3, term("app=web"))]))
    critic = a_pod("critic", on="a", affinity=neighbours(dislikes=[(3, term("app=web"))]))

    assert scores_of(a_pod(labels="app=web"), fan, critic) == [0, 0, 100, 50]


def test_a_required_term_attracts_by_the_configured_weight() -> None:
    """Who needs this pod nearby pulls it; with weight nought it does not."""
    needy = a_pod("needy", on="x", affinity=neighbours(near=[term("app=web")]))
    pod = a_pod(labels="app=web")

    assert scores_of(pod, needy) == [0, 0, 100, 0]
    assert scores_of(pod, needy, arguments=InterPodAffinityArgs(hard_pod_affinity_weight=0)) is None


def test_wishes_of_others_may_be_ignored() -> None:
    """For pods that have no wishes themselves."""
    fan = a_pod("fan", on="x", affinity=neighbours(likes=[(3, term("app=web"))]))
    ignoring = InterPodAffinityArgs(ignore_preferred_terms_of_existing_pods=True)
    wishing = a_pod(labels="app=web", affinity=neighbours(likes=[(1, term("app=db"))]))

    assert scores_of(a_pod(labels="app=web"), fan, arguments=ignoring) is None
    assert scores_of(wishing, fan, arguments=ignoring) == [0, 0, 100, 0]


def test_where_nobody_attracts_anybody_there_is_no_score() -> None:
    """A wish for pods that are nowhere is none."""
    assert scores_of(a_pod(affinity=neighbours(likes=[(5, term("app=db"))])), WEB_ON_A) is None


def test_a_weight_out_of_range_is_named() -> None:
    """It is a percentage."""
    assert InterPodAffinityArgs(hard_pod_affinity_weight=101).problems() == [
        "hardPodAffinityWeight: 101 is not in the range 0..100"
    ]
