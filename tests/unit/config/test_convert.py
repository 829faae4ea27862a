"""A Policy becomes today's configuration; what cannot be said there is listed, and what is said places pods alike."""

from pathlib import Path

import pytest

from bayplan.config.convert import to_kube_scheduler
from bayplan.config.decode import decode
from bayplan.config.files import load
from bayplan.config.policy import Policy, Predicate, Priority, from_keys, from_provider
from bayplan.config.policy_names import PREDICATES, PRIORITIES
from bayplan.config.profiles import profiles
from bayplan.core.pod_lane import PodLane
from bayplan.framework.profile import Profile
from bayplan.framework.registry import Registry
from tests.kit import a_cluster, a_pod, node, service, spread
from tests.unit.config.test_policy import policy_in

FOLDER = Path(__file__).parent / "policies"
RATE = "15 bindings a second"


def converted(policy: Policy, registry: Registry) -> tuple[Profile, list[str]]:
    """Return the profile of today's form, and what it leaves out but for the rate of binding."""
    found = to_kube_scheduler(policy)
    decoded = decode(found.tree, registry)
    assert not decoded.warnings
    (profile,) = profiles(decoded.configuration, registry).values()
    return profile, [one for one in found.unsaid if not one.startswith(RATE)]


def totals(profile: Profile) -> list[tuple[str | None, int | None]]:
    """Place a few pods."""
    things = [
        node("a", zone="x", cpu=8, memory="8Gi", labels="ssd"), node("b", zone="y", cpu=4, memory="16Gi"),
        node("c", zone="y", cpu=16, memory="8Gi", taints="x:NoSchedule"), node("d", zone="z", labels="retiring"),
        service("web", "app=web"), a_pod("p", on="a", labels="app=web", cpu=1),
    ]  # fmt: skip
    lane = PodLane(a_cluster(*things), {profile.scheduler_name: profile})
    own = (spread("app=web", hard=False),)
    waiting = [a_pod(f"w{nth}", labels="app=web", cpu=1, spread=own if nth % 2 else ()) for nth in range(6)]
    return [(one.node, one.score) for one in lane.run(waiting)]


@pytest.mark.parametrize("policy", [
    from_keys(["GeneralPredicates", "EvenPodsSpread"], ["MostRequestedPriority", "EvenPodsSpreadPriority"]),
    from_keys(["PodFitsResources"], ["TaintTolerationPriority", "BalancedResourceAllocation", "ImageLocalityPriority"]),
    Policy(predicates=(Predicate(name="GeneralPredicates"),),
           priorities=(Priority(name="SelectorSpreadPriority", weight=1),
                       Priority(name="EvenPodsSpreadPriority", weight=2),
                       Priority(name="ServiceSpreadingPriority", weight=1))),
    Policy(predicates=(), priorities=(Priority(name="RequestedToCapacityRatio", weight=3),)),
])  # fmt: skip
def test_what_can_be_said_places_pods_alike(installed: Registry, policy: Policy) -> None:
    """The same nodes, with the same totals, and nothing left out."""
    profile, unsaid = converted(policy, installed)
    (old,) = profiles(policy, installed).values()

    assert unsaid == []
    assert totals(profile) == totals(old)


def test_labels_that_must_be_there_become_an_affinity(installed: Registry) -> None:
    """If node affinity is looked at anyway."""
    text = (
        "predicates: [{name: MatchNodeSelector},"
        " {name: x, argument: {labelsPresence: {labels: [ssd], presence: true}}},"
        " {name: z, argument: {labelsPresence: {labels: [retiring]}}}]\n"
        "priorities: [{name: LeastRequestedPriority, weight: 1}]"
    )
    policy = policy_in(text, installed)
    profile, unsaid = converted(policy, installed)
    (old,) = profiles(policy, installed).values()

    assert unsaid == []
    assert totals(profile) == totals(old)
    assert {name for name, _ in totals(profile)} == {"a"}


def test_what_cannot_be_said_is_listed(installed: Registry) -> None:
    """One line for each rule that is left out or changed."""
    found = load(FOLDER / "kubernetes-1.13.yaml", installed).configuration
    assert isinstance(found, Policy)
    _, unsaid = converted(found, installed)

    assert [line.partition(":")[0] for line in unsaid] == [
        "predicate OneRegion (serviceAffinity)",
        "priority EqualPriority",
        "priority MostRequestedPriority",
        "priority NodePreferAvoidPodsPriority",
        "priority Full",
        "priority Empty",
        "priority OverRacks",
        "priority Fast",
        "SelectorSpreadPriority alone",
    ]


@pytest.mark.parametrize(("text", "line"), [
    ("predicates: [{name: x, argument: {labelsPresence: {labels: [a]}}}]", "predicate x (labelsPresence): "),
    ("priorities: [{name: SelectorSpreadPriority, weight: 1}, {name: EvenPodsSpreadPriority, weight: 2}]",
     "the weight 1 of SelectorSpreadPriority beside 2 of EvenPodsSpreadPriority"),
    ("priorities: [{name: NodeAffinityPriority, weight: 3000000000}]",
     "priority NodeAffinityPriority: weight 3000000000 is"),
    ("alwaysCheckAllPredicates: true", "alwaysCheckAllPredicates: "),
    ("predicates: [{name: LabelsPresence}]", "predicate LabelsPresence: no rule of kube-scheduler's"),
    ("priorities: [{name: SelectorSpread, weight: 1}]", "priority SelectorSpread: no rule of kube-scheduler's"),
])  # fmt: skip
def test_what_else_cannot_be_said(installed: Registry, text: str, line: str) -> None:
    """Each is named."""
    assert any(one.startswith(line) for one in to_kube_scheduler(policy_in(text, installed)).unsaid)


def test_arguments_and_extenders_come_along(installed: Registry) -> None:
    """The symmetric weight, a shape, and what an extender says beyond the defaults."""
    policy = policy_in(
        "hardPodAffinitySymmetricWeight: 7\nextenders: [{urlPrefix: u, enableHttps: true, httpTimeout: 1000000000}]\n"
        "priorities: [{name: InterPodAffinityPriority, weight: 1}, {name: x, weight: 2, argument:"
        " {requestedToCapacityRatioArguments: {shape: [{utilization: 0, score: 3}],"
        " resources: [{name: cpu, weight: 2}]}}}]",
        installed,
    )
    tree = to_kube_scheduler(policy).tree
    profile, _ = converted(policy, installed)
    arguments = {one.name: one.plugin.arguments for one in profile.score}

    assert tree["extenders"] == [{"urlPrefix": "u", "enableHTTPS": True, "httpTimeout": "1s"}]
    assert getattr(arguments["InterPodAffinity"], "hard_pod_affinity_weight", None) == 7
    assert "ResourceSpec(name='cpu', weight=2)" in repr(arguments["NodeResourcesFit"])


@pytest.mark.parametrize("name", [*PREDICATES, *PRIORITIES])
def test_every_name_can_be_converted(installed: Registry, name: str) -> None:
    """What comes out is a configuration that decodes."""
    if name in PRIORITIES:
        policy = Policy(predicates=(), priorities=(Priority(name=name, weight=2),))
    else:
        policy = Policy(predicates=(Predicate(name=name),), priorities=())

    assert converted(policy, installed)


def test_providers_can_be_converted(installed: Registry) -> None:
    """They are Policies."""
    assert converted(from_provider("ClusterAutoscalerProvider"), installed)[1] == [
        "priority NodePreferAvoidPodsPriority: its rule was removed",
        "the weight 1 of SelectorSpreadPriority beside 2 of EvenPodsSpreadPriority: PodTopologySpread has one, 2",
    ]
