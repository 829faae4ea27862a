"""Policy files of Kubernetes 1.0 and 1.13 that name all that their age knew place pods as the table of names says.

In each scene one node is what a rule wants and the other is not; everything else is alike.
"""

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from bayplan.api.objects import Node, Object, OwnerReference, Pod
from bayplan.cluster.fold import put
from bayplan.cluster.table import Table
from bayplan.config.files import load
from bayplan.config.policy import Policy, from_keys, from_provider
from bayplan.config.profiles import profiles
from bayplan.core.pod_lane import Decision, PodLane
from bayplan.framework.profile import Profile
from bayplan.framework.registry import Registry
from tests.kit import a_cluster, a_pod, case, needs, neighbours, node, service, spread, term
from tests.storage import claim, csi_driver, csi_node, mounting, storage_class, volume

FOLDER = Path(__file__).parent / "policies"
REGISTRY = Registry.installed()
GIB = 1 << 30
AVOID = "scheduler.alpha.kubernetes.io/preferAvoidPods"
NOTE = '{"preferAvoidPods": [{"podSignature": {"podController": {"kind": "ReplicaSet", "uid": "rs-1"}}}]}'
OWNER = OwnerReference(api_version="apps/v1", kind="ReplicaSet", name="web", uid="rs-1", controller=True)


def profile_in(name: str) -> Profile:
    """Return the profile of one of the files."""
    (profile,) = profiles(load(FOLDER / name, REGISTRY).configuration, REGISTRY).values()
    return profile


def profile_by(policy: Policy) -> Profile:
    """Return the profile of a Policy."""
    (profile,) = profiles(policy, REGISTRY).values()
    return profile


OLD, NEW = profile_in("kubernetes-1.0.json"), profile_in("kubernetes-1.13.yaml")
LAST = profile_by(from_provider("DefaultProvider"))


def decided(profile: Profile, pod: Pod, things: Sequence[Object]) -> tuple[Table, Decision]:
    """Ask where a pod goes among things."""
    table = a_cluster(*things)
    return table, PodLane(table, {profile.scheduler_name: profile}).ask(pod)


def there(name: str, **words: object) -> Node:
    """Return a node of the one region."""
    labels = f"region=r {words.pop('labels', '')}"
    return node(name, labels=labels, **words)  # type: ignore[arg-type]  # words of the kit


def web(name: str = "pod", **words: object) -> Pod:
    """Return a pod of the service `web`."""
    return a_pod(name, labels="app=web", **words)  # type: ignore[arg-type]  # words of the kit


WEB = service("web", "app=web")


# --- predicates ------------------------------------------------------------------------------------------------------

BOTH = (OLD, NEW, LAST)
SINCE = (NEW, LAST)
FILTERS = [
    case("PodFitsPorts, PodFitsHostPorts", BOTH, a_pod(ports="80"),
         [there("good"), there("bad"), a_pod("p", on="bad", ports="80")], "NodePorts"),
    case("PodFitsResources", BOTH, a_pod(cpu=4), [there("good"), there("bad", cpu=2)], "NodeResourcesFit"),
    case("NoDiskConflict", BOTH, mounting(a_pod(), "gce:d"),
         [there("good"), there("bad"), mounting(a_pod("p", on="bad"), "gce:d")], "VolumeRestrictions"),
    case("MatchNodeSelector", BOTH, a_pod(selects="disk=ssd"), [there("good", labels="disk=ssd"), there("bad")],
         "NodeAffinity"),
    case("HostName, which narrows the search before any node is asked about", BOTH, a_pod(on="good"),
         [there("good"), there("bad")], ""),
    case("PodToleratesNodeTaints, named or not", BOTH, a_pod(), [there("good"), there("bad", taints="x:NoSchedule")],
         "TaintToleration"),
    case("CheckNodeUnschedulable, named or not", BOTH, a_pod(), [there("good"), there("bad", cordoned=True)],
         "NodeUnschedulable"),
    case("serviceAffinity, as the nodeSelector says", (OLD, NEW), web(selects="region=r"),
         [WEB, there("good"), node("bad", labels="region=q"), web("p", on="bad")], "NodeAffinity"),
    case("serviceAffinity, as the Service's pods lie", (OLD, NEW), web(),
         [WEB, there("good"), node("bad", labels="region=q"), there("full", pods=0), web("p", on="full")],
         "ServiceAffinity OneRegion"),
    case("labelsPresence, absent", (OLD, NEW), a_pod(), [there("good"), there("bad", labels="retiring=soon")],
         "LabelsPresence InService"),
    case("labelsPresence, present", (OLD,), a_pod(), [there("good"), node("bad")], "LabelsPresence Known"),
    case("MaxCSIVolumeCountPred and its like", SINCE, mounting(a_pod(), "mine"),
         [there("good"), there("bad"), csi_node("good", disk=1), csi_node("bad", disk=1), csi_driver(),
          storage_class(), claim("mine", volume="pv-mine"), claim("other", volume="pv-other"),
          volume("pv-mine", handle="mine"), volume("pv-other", handle="other"),
          mounting(a_pod("p", on="bad"), "other")], "NodeVolumeLimits"),
    case("CheckVolumeBinding", SINCE, mounting(a_pod(), "data"),
         [there("good", labels="disk=here"), there("bad"), storage_class(), claim("data", volume="pv"),
          volume("pv", reach="disk=here")], "VolumeBinding"),
    case("NoVolumeZoneConflict", SINCE, mounting(a_pod(), "data"),
         [there("good", zone="a"), there("bad", zone="b"), storage_class(), claim("data", volume="pv"),
          volume("pv", labels="topology.kubernetes.io/zone=a")], "VolumeZone"),
    case("MatchInterPodAffinity", SINCE, a_pod(affinity=neighbours(far=[term("app=db", key="kubernetes.io/hostname")])),
         [there("good"), there("bad"), a_pod("p", on="bad", labels="app=db")], "InterPodAffinity"),
    case("EvenPodsSpread", (LAST,), web(spread=[spread("app=web", key="kubernetes.io/hostname")]),
         [there("good"), there("bad"), web("p", on="bad")], "PodTopologySpread"),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "pod", "things", "by"), FILTERS)
def test_a_predicate_rules_out(asked: Sequence[Profile], pod: Pod, things: list[Object], by: str) -> None:
    """The pod goes to the good node, and the other was turned down by the rule that does it today."""
    for profile in asked:
        table, decision = decided(profile, pod, things)

        assert decision.node == "good"
        assert decision.verdict is not None
        assert decision.verdict.evaluation.answer(table.row_of["bad"]).plugin == by.rpartition(" ")[2]


@pytest.mark.parametrize(("asked", "pod", "things", "by"), FILTERS)
def test_a_predicate_that_is_not_named_rules_nothing_out(
    asked: Sequence[Profile], pod: Pod, things: list[Object], by: str
) -> None:
    """An empty list leaves the mandatory two."""
    policy = Policy(predicates=(), priorities=())
    table, decision = decided(profile_by(policy), pod, things)

    assert asked
    assert decision.verdict is not None
    fits = decision.verdict.evaluation.answer(table.row_of["bad"]).plugin == ""
    assert fits is (by not in {"TaintToleration", "NodeUnschedulable"})


def test_an_old_file_does_not_know_later_rules() -> None:
    """What Kubernetes 1.0 did not know rules nothing out, though every pod today may ask for it."""
    pod = a_pod(affinity=neighbours(far=[term("app=db", key="kubernetes.io/hostname")]))
    _, decision = decided(OLD, pod, [there("bad"), a_pod("p", on="bad", labels="app=db")])

    assert decision.node == "bad"


# --- priorities ------------------------------------------------------------------------------------------------------

SCENE = [
    WEB,
    there("good", labels="rack=a ssd=yes", cpu=4, memory="4Gi"),
    there("bad", labels="rack=b spot=yes", cpu=4, memory="4Gi"),
    web("p", on="bad", cpu=1, memory="1Gi"),
]


def weighted(profile: Profile, pod: Pod, things: Sequence[Object]) -> dict[str, dict[str, int]]:
    """Return what each score gives each node, times its weight."""
    table, decision = decided(profile, pod, things)
    assert decision.verdict is not None
    scored = decision.verdict.evaluation.scored
    return {
        name: {there: int(one.weighted[row]) for there, row in table.row_of.items()} for name, one in scored.items()
    }


def test_the_scores_of_kubernetes_1_0() -> None:
    """Each priority times its weight, on today's scale."""
    assert weighted(OLD, web(cpu=1, memory="2Gi"), SCENE) == {
        "LeastRequestedPriority": {"good": (75 + 50) // 2, "bad": (50 + 25) // 2},
        "BalancedResourceAllocation": {"good": 2 * 68, "bad": 2 * 68},
        "ServiceSpreadingPriority": {"good": 3 * 100, "bad": 3 * 66},
        "EqualPriority": {"good": 4 * 10, "bad": 4 * 10},
        "OverRacks": {"good": 500, "bad": 0},
        "Fast": {"good": 600, "bad": 0},
        "NotSpot": {"good": 700, "bad": 0},
    }  # fmt: skip


def test_the_scores_of_kubernetes_1_13() -> None:
    """Three strategies of one rule side by side, the weights of two names for one rule added, rules by argument."""
    pod = replace(web(cpu=1, memory="2Gi", images="big:v1"), spec=replace(
        web(cpu=1, memory="2Gi", images="big:v1").spec, affinity=needs(likes={"rack=a": 5})))  # fmt: skip
    found = weighted(NEW, pod, [*SCENE, there("third", taints="soft:PreferNoSchedule", cpu=4, memory="4Gi",
                                              images={"big:v1": 600 << 20})])  # fmt: skip

    assert found["EqualPriority"] == dict.fromkeys(("good", "bad", "third"), 20)
    assert found["LeastRequestedPriority"] == {"good": 2 * 62, "bad": 2 * 37, "third": 2 * 62}
    assert found["MostRequestedPriority"] == {"good": 3 * 37, "bad": 3 * 62, "third": 3 * 37}
    assert found["Full"] == {"good": 2 * 50, "bad": 2 * 75, "third": 2 * 50}
    assert found["Empty"] == {"good": 63, "bad": 38, "third": 63}
    assert found["SelectorSpreadPriority"] == {"good": 5 * 100, "bad": 5 * 50, "third": 5 * 100}
    assert "ServiceSpreadingPriority" not in found
    assert found["NodePreferAvoidPodsPriority"] == dict.fromkeys(("good", "bad", "third"), 200)
    assert found["NodeAffinityPriority"] == {"good": 200, "bad": 0, "third": 0}
    assert found["TaintTolerationPriority"] == {"good": 200, "bad": 200, "third": 0}
    assert found["ImageLocalityPriority"]["third"] > 0 == found["ImageLocalityPriority"]["good"]
    assert found["OverRacks"] == {"good": 200, "bad": 0, "third": 0}
    assert found["Fast"] == {"good": 200, "bad": 0, "third": 0}


def test_required_affinity_of_others_weighs_what_the_file_says() -> None:
    """Symmetric weight 10 of a pod that must be near makes its node ten times as liked as one wish of weight 1."""
    near = neighbours(near=[term("app=web", key="kubernetes.io/hostname")])
    fond = neighbours(likes=[(10, term("app=web", key="kubernetes.io/hostname"))])
    things = [there("one"), there("two"), there("three"), a_pod("p", on="one", affinity=near),
              a_pod("q", on="two", affinity=fond)]  # fmt: skip

    assert weighted(NEW, web(), things)["InterPodAffinityPriority"] == {"one": 200, "two": 200, "three": 0}


def test_a_node_may_ask_to_be_spared() -> None:
    """By the last defaults that outweighs everything else."""
    full = there("full", cpu=1, memory="1Gi")
    sparing = replace(there("roomy"), metadata=replace(there("roomy").metadata, annotations={AVOID: NOTE}))

    assert decided(LAST, web(owner=OWNER), [full, sparing])[1].node == "full"
    assert decided(LAST, web(), [full, sparing])[1].node == "roomy"


def test_constraints_of_its_own_and_the_systems_defaults_are_scored_apart() -> None:
    """EvenPodsSpread looks at the pod's own constraints only, SelectorSpread at none of them."""
    own = web(spread=[spread("app=web", key="kubernetes.io/hostname", hard=False)])

    assert weighted(LAST, own, SCENE)["EvenPodsSpreadPriority"] == {"good": 200, "bad": 0}
    assert "SelectorSpreadPriority" not in weighted(LAST, own, SCENE)
    assert weighted(LAST, web(), SCENE)["SelectorSpreadPriority"] == {"good": 100, "bad": 66}
    assert "EvenPodsSpreadPriority" not in weighted(LAST, web(), SCENE)


def test_without_priorities_all_nodes_are_equal() -> None:
    """An empty list is EqualPriority of weight 1, so equals take turns."""
    profile = profile_by(Policy(priorities=()))
    lane = PodLane(a_cluster(there("a"), there("b", cpu=1)), {profile.scheduler_name: profile})
    decisions = [lane.ask(a_pod(str(number))) for number in range(2)]

    assert [one.node for one in decisions] == ["a", "b"]
    assert [one.score for one in decisions] == [10, 10]


def test_lists_that_are_null_are_the_last_defaults() -> None:
    """They are what DefaultProvider asks for."""
    absent, provided = profile_by(Policy()), LAST

    assert [one.name for one in absent.filter] == [one.name for one in provided.filter]
    assert {one.name: one.weight for one in absent.score} == {one.name: one.weight for one in provided.score}
    assert [one.name for one in absent.filter] == [
        "NodeUnschedulable", "NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity", "VolumeRestrictions",
        "TaintToleration", "NodeVolumeLimits", "VolumeBinding", "VolumeZone", "PodTopologySpread", "InterPodAffinity",
    ]  # fmt: skip


# --- providers and keys ----------------------------------------------------------------------------------------------


def test_create_from_provider() -> None:
    """DefaultProvider spreads load, ClusterAutoscalerProvider fills nodes."""
    things = [there("full", cpu=4, memory="4Gi"), there("empty", cpu=4, memory="4Gi"),
              a_pod("p", on="full", cpu=2, memory="2Gi")]  # fmt: skip
    filling = profile_by(from_provider("ClusterAutoscalerProvider"))

    assert decided(LAST, a_pod(cpu=1, memory="1Gi"), things)[1].node == "empty"
    assert decided(filling, a_pod(cpu=1, memory="1Gi"), things)[1].node == "full"


def test_create_from_keys() -> None:
    """Rules by name alone, each with its default weight; the mandatory ones come along."""
    profile = profile_by(from_keys(["PodFitsResources", "HostName"], ["LeastRequestedPriority"]))

    assert [one.name for one in profile.filter] == [
        "NodeUnschedulable", "NodeName", "NodeResourcesFit", "TaintToleration"]  # fmt: skip
    assert {one.name: one.weight for one in profile.score} == {"LeastRequestedPriority": 1}
    assert decided(profile, a_pod(cpu=1), [there("small", cpu=2), there("large", cpu=8)])[1].node == "large"


def test_create_from_config() -> None:
    """A file's own predicates and priorities decide: filter, then the sum of scores."""
    table, decision = decided(OLD, web(cpu=1, memory="2Gi"), SCENE)

    assert decision.node == "good"
    assert decision.score == 62 + 136 + 300 + 40 + 500 + 600 + 700
    assert decision.verdict is not None
    assert np.count_nonzero(decision.verdict.evaluation.feasible) == table.count


def changed(table: Table, draw: random.Random) -> None:
    """Change something: a pod goes, a node gets other labels, notes or taints, a Service comes or goes."""
    way = draw.randrange(5)
    if way == 0 and table.pods:
        table.drop_pod(draw.choice(sorted(table.pods)))
    elif way == 1:
        put(table, service(draw.choice("ab"), draw.choice(["app=web", "tier=front"])))
    elif way == 2:
        table.owners.drop_service(service(draw.choice("ab"), ""))
    else:
        put(table, a_node(f"n{draw.randrange(6)}", draw))


def a_node(name: str, draw: random.Random) -> Node:
    """Return a node with some of what the rules look at."""
    words = ["region=r", "region=q", "rack=a", "rack=b", "ssd", "spot", "retiring", "broken"]
    found = node(name, labels=" ".join(draw.sample(words[:4], 2) + draw.sample(words, 1)), cpu=draw.choice([2, 8]),
                 zone=draw.choice(["x", "y", ""]), taints=draw.choice(["", "soft:PreferNoSchedule"]),
                 memory=draw.choice(["4Gi", "16Gi"]))  # fmt: skip
    annotations = {AVOID: NOTE} if draw.random() < 0.3 else {}
    return replace(found, metadata=replace(found.metadata, annotations=annotations))


@pytest.mark.parametrize("profile", [OLD, NEW, LAST], ids=["1.0", "1.13", "1.22"])
@pytest.mark.parametrize("seed", range(6))
def test_what_is_remembered_is_what_is_found_afresh(profile: Profile, seed: int) -> None:
    """Rules that are there several times, for filtering or scoring only, do not get into each other's way."""
    draw = random.Random(seed)
    table = a_cluster(WEB, *(a_node(f"n{number}", draw) for number in range(6)))
    lane = PodLane(table, {profile.scheduler_name: profile})
    for step in range(40):
        own = (spread("app=web", hard=False),) if draw.random() < 0.3 else ()
        pod = a_pod(f"p{step}", labels=draw.choice(["app=web", "app=web tier=front", ""]), spread=own, cpu="250m",
                    owner=draw.choice([None, OWNER]), selects=draw.choice(["", "", "region=r"]))  # fmt: skip
        decision = lane.ask(pod)
        assert decision.verdict is not None
        evaluation = decision.verdict.evaluation
        if decision.node is None:
            assert not evaluation.feasible.any()
        else:
            row = table.row_of[decision.node]
            assert evaluation.feasible[row]
            assert decision.score == int(evaluation.totals[row]) == int(evaluation.totals[evaluation.feasible].max())
        lane.settle(decision)
        changed(table, draw)
    assert lane.rules.plans(profile).can
