"""Why a pod goes where it goes: the decision's own node, total and message, and every rule's word on every node."""

import pytest

import bayplan
from bayplan.answers.why import NoSuchPod, Why, meant, why, why_running
from bayplan.api.objects import Object, Pod
from bayplan.config.profiles import profiles
from bayplan.core.pod_lane import PodLane
from bayplan.framework.detail import OfNode
from bayplan.framework.profile import Instance, Profile
from bayplan.framework.reasons import Kind
from bayplan.framework.registry import Registry
from tests.kit import a_cluster, a_pod, case, needs, node, spread

USUAL = profiles(None, Registry.installed())


def explained(pod: Pod, *things: Object) -> Why:
    """Explain a waiting pod in a cluster."""
    lane = PodLane(a_cluster(*things), USUAL)
    return why(lane, lane.ask(pod))


def of(answer: Why, name: str) -> OfNode:
    """Return what is said of one node."""
    return next(node for node in answer.nodes if node.name == name)


def test_every_rule_is_heard_on_every_node() -> None:
    """Also where a rule before it had said no."""
    answer = explained(
        a_pod("web", cpu=2, selects="disk=ssd", ports="80"),
        node("bad", cpu=1, taints="a=b:NoSchedule", cordoned=True),
        a_pod("other", on="bad", ports="80"),
        node("good", labels="disk=ssd"),
    )
    bad = of(answer, "bad")

    assert [said.plugin for said in bad.filters] == [said.plugin for said in of(answer, "good").filters]
    assert {said.plugin: [remark.kind for remark in said.reasons] for said in bad.filters if said.reasons} == {
        "NodeUnschedulable": [Kind.CORDONED],
        "TaintToleration": [Kind.UNTOLERATED_TAINT],
        "NodeAffinity": [Kind.NODE_AFFINITY],
        "NodePorts": [Kind.PORT_TAKEN],
        "NodeResourcesFit": [Kind.INSUFFICIENT],
    }
    assert bad.taints == ("a=b:NoSchedule",)
    assert [remark.short for said in bad.filters for remark in said.reasons if remark.short] == ["1"]


def test_it_says_what_the_decision_says() -> None:
    """The node, the total and how many were as good are the decision's."""
    things = (node("a"), node("b"), node("c", cpu=1))
    lane = PodLane(a_cluster(*things), USUAL, seed=1)
    decision = lane.ask(a_pod("web", cpu=2))
    answer = why(lane, decision)

    assert (answer.node, answer.score, answer.among) == (decision.node, decision.score, 2) == ("b", answer.score, 2)
    assert [(node.name, node.is_best, node.fits) for node in answer.nodes] == [
        ("a", True, True), ("b", True, True), ("c", False, False),
    ]  # fmt: skip
    assert all(
        node.total == sum(score.weighted for score in node.scores) == decision.score
        for node in answer.nodes
        if node.is_best
    )
    assert (answer.nodes_fit, answer.message) == (2, None)


def test_scores_are_there_raw_and_weighted() -> None:
    """A weight is what a full score counts."""
    answer = explained(a_pod("web", affinity=needs(likes={"disk=ssd": 7})), node("a", labels="disk=ssd"), node("b"))
    scores = {name: {score.plugin: score for score in of(answer, name).scores} for name in "ab"}

    assert (scores["a"]["NodeAffinity"].raw, scores["a"]["NodeAffinity"].weighted) == (7, 200)
    assert (scores["b"]["NodeAffinity"].raw, scores["b"]["NodeAffinity"].weighted) == (0, 0)
    assert {one.plugin: one.weight for one in answer.weights}["NodeAffinity"] == 2
    assert "InterPodAffinity" in answer.unscored


def test_nodes_that_fit_come_first_then_those_that_miss_least() -> None:
    """The nearest miss is on top of what does not fit."""
    answer = explained(
        a_pod("web", cpu=2),
        node("two", cpu=1, cordoned=True, taints="a:NoSchedule"),
        node("one", cpu=1),
        node("fits"),
    )

    assert [node.name for node in answer.nodes] == ["fits", "one", "two"]


def test_the_pod_as_a_whole_may_be_rejected() -> None:
    """What is said before any node is looked at is said of every node."""
    answer = explained(a_pod("web", affinity=needs("name=elsewhere")), node("a"), node("b"))

    assert answer.message == "0/2 nodes are available: 2 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    assert [[remark.kind for said in node.filters for remark in said.reasons] for node in answer.nodes] == [
        [Kind.NODE_AFFINITY], [Kind.NODE_AFFINITY],
    ]  # fmt: skip
    assert [(reason.kind, reason.nodes) for reason in answer.reasons] == [(Kind.NODES_NARROWED, 2)]


def test_a_held_pod_is_explained_without_nodes() -> None:
    """Who holds it, and by what."""
    answer = explained(a_pod("web", gates="quota"), node("a"))

    assert (answer.held_by, answer.nodes) == ("SchedulingGates", ())
    assert [(reason.kind, reason.subject) for reason in answer.reasons] == [(Kind.GATED, "quota")]


def test_an_empty_cluster_is_a_reason() -> None:
    """No node is no nodes."""
    answer = explained(a_pod("web"))

    assert (answer.message, answer.nodes) == ("no nodes available to schedule pods", ())


def test_a_running_pod_is_judged_as_if_it_did_not_run() -> None:
    """Its own room counts as free, and the table is as before."""
    running = a_pod("web", on="a", cpu=3, labels="app=web", spread=[spread("app=web")])
    table = a_cluster(node("a", cpu=4, zone="x"), node("b", cpu=2, zone="x"), running)
    lane = PodLane(table, USUAL)
    before = table.columns.requested.copy()
    answer = why_running(lane, running)

    assert (answer.runs_on, answer.node, answer.nodes_fit) == ("a", "a", 1)
    assert (table.columns.requested == before).all()
    assert list(table.pods) == ["uid-default-web"]


def test_a_pod_nominated_elsewhere_is_told_of() -> None:
    """A node judged with a more important pod that is nominated there is marked so."""
    answer = explained(a_pod("web", cpu=2), node("a", cpu=3), a_pod("first", nominated="a", priority=9, cpu=2))
    one = of(answer, "a")

    assert not one.fits
    assert one.note == "judged with the pods that are nominated there"
    assert [remark.text for said in one.filters for remark in said.reasons] == ["Insufficient cpu"]


@bayplan.filter_node
def moody(pod: Pod, node: bayplan.OneNode) -> bool:
    """Fail at one node."""
    if node.name == "b":
        raise RuntimeError("not this one")
    return True


def test_a_rule_that_fails_is_shown_failing() -> None:
    """An error is a verdict of its own, and the other rules are heard all the same."""
    usual = USUAL["default-scheduler"]
    instances = (*usual.points["filter"], Instance("moody", moody()))
    lane = PodLane(a_cluster(node("a"), node("b")), {"": Profile("x", {**usual.points, "filter": instances})})
    answer = why(lane, lane.ask(a_pod("web")))
    verdicts = {said.plugin: said.verdict for said in answer.nodes[0].filters}

    assert verdicts == {"NodeName": "Success", "NodeUnschedulable": "Success", "TaintToleration": "Success",
                        "NodeResourcesFit": "Success", "moody": "Error"}  # fmt: skip
    assert answer.message is not None
    assert answer.message.startswith('plugin "moody" failed at filter for pod default/web: raised RuntimeError')


PODS = (a_pod("web"), a_pod("web", within="shop"), a_pod("db"), a_pod("old", phase="Failed"),
        a_pod("going", terminating=True))  # fmt: skip


@pytest.mark.parametrize(("name", "message"), [
    case("nobody", "x/cache", "no pod x/cache in the input; there are: default/web, shop/web, default/db and 2 more"),
    case("somebody like it", "we", "no pod we in the input; did you mean default/web, shop/web?"),
    case("two of one name", "web", "there are 2 pods called web; say which: default/web, shop/web"),
    case("finished", "old", "pod default/old has finished (Failed): it is not placed any more"),
    case("on its way out", "going", "pod default/going is on its way out: it is not placed any more"),
])  # fmt: skip
def test_who_is_not_meant(name: str, message: str) -> None:
    """What cannot be answered says what to ask instead."""
    with pytest.raises(NoSuchPod) as raised:
        meant(name, PODS)

    assert str(raised.value) == message


def test_who_is_meant() -> None:
    """By namespace and name, or by a name that is there once."""
    assert meant("shop/web", PODS) is PODS[1]
    assert meant("db", PODS) is PODS[2]
