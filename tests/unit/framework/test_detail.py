"""Detail: every rule's word on every node as plain values, and never another than the attempt's."""

import numpy as np

from bayplan.api.objects import Pod
from bayplan.cluster.reading import Reader
from bayplan.cluster.table import Table
from bayplan.config.profiles import profiles
from bayplan.framework.detail import Detail, OfNode, Remark, Said, detailed
from bayplan.framework.plugin import Code, Plugin, Ruling
from bayplan.framework.profile import Instance, Profile
from bayplan.framework.reasons import Kind
from bayplan.framework.registry import Registry
from bayplan.framework.run import Rules
from tests.kit import a_cluster, a_pod, node

USUAL = profiles(None, Registry.installed())["default-scheduler"]


def details(table: Table, pod: Pod, profile: Profile = USUAL) -> Detail:
    """Ask for everything about a pod."""
    return detailed(table, profile, pod, Reader(table).shape(pod))


def no_of(said: OfNode) -> dict[str, tuple[Remark, ...]]:
    """Return the reasons of the rules that say no."""
    return {one.plugin: one.reasons for one in said.filters if one.verdict is not Code.SUCCESS}


def test_each_no_comes_with_what_is_missing() -> None:
    """Amounts as people write them, by resource; a taint by its text; and nothing is scored."""
    table = a_cluster(node("a", cpu=1, memory="1Gi", taints="gpu=yes:NoSchedule soft=x:PreferNoSchedule"))
    (said,) = details(table, a_pod(cpu="2500m", memory="3Gi")).nodes
    found = no_of(said)

    assert not said.fits
    assert (said.scores, said.total, said.is_best) == ((), None, False)
    assert said.taints == ("gpu=yes:NoSchedule",)
    assert [(one.kind, one.text, one.subject, one.short) for one in found["NodeResourcesFit"]] == [
        (Kind.INSUFFICIENT, "Insufficient cpu", "cpu", "1500m"),
        (Kind.INSUFFICIENT, "Insufficient memory", "memory", "2Gi"),
    ]
    assert [one.kind for one in found["TaintToleration"]] == [Kind.UNTOLERATED_TAINT]


def test_totals_are_the_sums_of_what_is_said_and_the_verdicts() -> None:
    """The best nodes are those that the one question may choose."""
    table = a_cluster(node("a"), node("used"), node("c"), a_pod("there", on="used", cpu=20))
    pod = a_pod(cpu=1)
    verdict = Rules(table, Reader(table)).ask(pod, USUAL)
    found = {one.name: one for one in details(table, pod).nodes}

    assert [name for name, one in found.items() if one.is_best] == ["a", "c"]
    assert found["a"].total == verdict.score == sum(score.weighted for score in found["a"].scores)
    assert (found["used"].total or 0) < (found["a"].total or 0)
    assert len(found["used"].scores) == len(found["a"].scores)


def test_nodes_come_in_order_of_arrival_and_the_gone_not_at_all() -> None:
    """Whichever row they have now."""
    table = a_cluster(node("a"), node("b"))
    table.drop_node("a")
    table.put_node(node("c"))

    assert table.row_of["c"] < table.row_of["b"]
    assert [one.name for one in details(table, a_pod()).nodes] == ["b", "c"]


def test_rules_with_nothing_to_say_are_named_apart() -> None:
    """Those that do not filter this pod, and those that do not score it."""
    found = details(a_cluster(node("a")), a_pod())

    assert {"NodePorts", "InterPodAffinity", "VolumeBinding"} <= set(found.skipped)
    assert {"InterPodAffinity", "NodeAffinity"} <= set(found.unscored)
    assert not set(found.skipped) & {said.plugin for said in found.nodes[0].filters}


def test_a_row_judged_with_nominated_pods_says_so() -> None:
    """No rule says no by itself; the room is promised to somebody else."""
    table = a_cluster(node("a", cpu=4), node("b", cpu=4))
    table.nominate(a_pod("first", cpu=3, priority=10), table.row_of["a"])
    found = {one.name: one for one in details(table, a_pod("web", cpu=2)).nodes}

    assert found["b"].fits
    assert not found["a"].fits
    assert found["a"].note == "judged with the pods that are nominated there"
    assert [remark.text for remark in no_of(found["a"])["NodeResourcesFit"]] == ["Insufficient cpu"]


def test_a_rule_that_fails_has_an_error_on_each_node() -> None:
    """The others are still heard."""

    class Breaks(Plugin[Pod, Pod]):
        def filter(self, state: Pod, view: object) -> Ruling:
            return Ruling(np.zeros(9, np.int16), ())

    rule = Instance("Breaks", Breaks())
    profile = Profile("default-scheduler", {"filter": [*USUAL.filter, rule], "score": USUAL.score})
    (said,) = details(a_cluster(node("a")), a_pod(), profile).nodes

    assert not said.fits
    assert Said("NodeName", Code.SUCCESS) in said.filters
    assert said.filters[-1].verdict is Code.ERROR
    assert 'plugin "Breaks" failed at filter' in said.filters[-1].reasons[0].text
