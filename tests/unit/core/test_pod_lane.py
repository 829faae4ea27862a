"""The pod lane: order, profiles, what is taken by whom, and what is held back."""

from collections.abc import Iterable, Sequence

import pytest
from msgspec.structs import replace

from bayplan.api.decode import read_manifests
from bayplan.api.objects import Object, Pod
from bayplan.cluster.fold import put
from bayplan.cluster.table import Table
from bayplan.config.decode import decode
from bayplan.config.profiles import profiles
from bayplan.core.pod_lane import Decision, PodLane, in_order
from bayplan.framework.plugin import Outcome, Plugin
from bayplan.framework.profile import Instance, Profile
from bayplan.framework.registry import Registry
from tests.kit import a_cluster, a_pod, case, node

REGISTRY = Registry.installed()
USUAL = profiles(None, REGISTRY)


def placed(table: Table, waiting: Iterable[Pod], seed: int = 0) -> list[tuple[str, str | None]]:
    """Run a lane and return where each pod goes, in the order decided."""
    return [(one.pod.metadata.name, one.node) for one in PodLane(table, USUAL, seed=seed).run(waiting)]


def test_pods_are_tried_by_priority_then_as_they_came() -> None:
    """No priority is priority nought, and equals keep their order."""
    pods = [a_pod("a"), a_pod("b", priority=5), a_pod("c", priority=0), a_pod("d", priority=-1), a_pod("e", priority=5)]

    assert [pod.metadata.name for pod in in_order(pods)] == ["b", "e", "a", "c", "d"]


def test_what_one_pod_takes_the_next_does_not_find() -> None:
    """A placed pod is on its row from then on."""
    table = a_cluster(node("one", cpu=2), node("two", cpu=2))

    found = placed(table, [a_pod(name, cpu="1500m") for name in "abc"])

    assert sorted(found[:2], key=str) == [("a", found[0][1]), ("b", found[1][1])]
    assert {where for _, where in found[:2]} == {"one", "two"}
    assert found[2] == ("c", None)


def test_a_decision_says_why_and_how_well() -> None:
    """A node with its total and how many were as good; or the message."""
    table = a_cluster(node("a", cpu=2), node("b", cpu=2), node("c", cpu=1))
    lane = PodLane(table, USUAL)
    first = lane.ask(a_pod("web", cpu=2))
    none = lane.ask(a_pod("whale", cpu=9))

    assert (first.node, first.message, first.among, first.fault) == ("a", None, 2, None)
    assert first.score == lane.ask(a_pod("web", cpu=2)).score
    assert (none.node, none.score, none.among) == (None, None, 0)
    assert none.message == "0/3 nodes are available: 3 Insufficient cpu."


@pytest.mark.parametrize(("seed", "nodes"), [
    case("from the first", 0, ["a", "b", "c"]),
    case("from the second", 1, ["b", "c", "a"]),
    case("round and round", 5, ["c", "a", "b"]),
])  # fmt: skip
def test_equals_take_turns_from_the_seed(seed: int, nodes: Sequence[str]) -> None:
    """The seed says where to begin; the same seed gives the same placements."""
    found = placed(a_cluster(node("a"), node("b"), node("c")), [a_pod(f"web-{n}") for n in range(3)], seed)

    assert [where for _, where in found] == nodes


def test_asking_changes_nothing() -> None:
    """Only settling places."""
    table = a_cluster(node("a", cpu=1))
    lane = PodLane(table, USUAL)
    decision = lane.ask(a_pod("web", cpu=1))

    assert not table.pods
    lane.settle(decision)
    assert [resident.is_assumed for resident in table.pods.values()] == [True]
    assert lane.ask(a_pod("more", cpu=1)).node is None


def test_a_gated_pod_is_held_back_with_its_reason() -> None:
    """No node is asked about, and nothing is placed."""
    table = a_cluster(node("a"))
    decision = next(iter(PodLane(table, USUAL).run([a_pod("web", gates="quota review")])))

    assert decision.message == "waiting for scheduling gates: [quota review]"
    assert decision.held_by is not None
    assert decision.held_by[0].name == "SchedulingGates"
    assert (decision.verdict, decision.node, decision.among) == (None, None, 0)


def test_no_nodes_is_said_so() -> None:
    """An empty cluster has kube-scheduler's own words."""
    decision = PodLane(a_cluster(), USUAL).ask(a_pod("web"))

    assert decision.message == "no nodes available to schedule pods"


def test_each_pod_is_asked_about_with_its_scheduler_s_profile() -> None:
    """The profile of the schedulerName serves; for any other name the first does."""
    configuration = decode(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [
                {"schedulerName": "first"},
                {"schedulerName": "second", "plugins": {"filter": {"disabled": [{"name": "NodeUnschedulable"}]}}},
            ],
        },
        REGISTRY,
    ).configuration
    lane = PodLane(a_cluster(node("a", cordoned=True)), profiles(configuration, REGISTRY))

    def asked(scheduler: str) -> tuple[str, str | None]:
        pod = a_pod("web")
        decision = lane.ask(replace(pod, spec=replace(pod.spec, scheduler_name=scheduler)))
        return decision.profile.scheduler_name, decision.node

    assert asked("second") == ("second", "a")
    assert asked("first") == ("first", None)
    assert asked("nobody") == ("first", None)
    assert asked("") == ("first", None)


def test_a_rule_that_fails_before_the_queue_costs_its_pod_an_error() -> None:
    """The lane goes on with the next pod."""

    class Moody(Plugin[None, None]):
        def pre_enqueue(self, pod: Pod, view: object) -> Outcome | None:
            if pod.metadata.name == "bad":
                raise RuntimeError("not today")
            return None

    profile = Profile("default-scheduler", {"preEnqueue": [Instance("Moody", Moody())]})
    lane = PodLane(a_cluster(node("a")), {"default-scheduler": profile})
    bad, good = lane.run([a_pod("bad"), a_pod("good")])

    assert str(bad.fault).startswith('plugin "Moody" failed at pre_enqueue for pod default/bad: raised RuntimeError')
    assert bad.message == str(bad.fault)
    assert (good.node, good.fault) == ("a", None)


VOLUMES = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: local}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk}
spec: {storageClassName: local, capacity: {storage: 10Gi}, accessModes: [ReadWriteOnce]}
status: {phase: Available}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: first, namespace: default}
spec: {storageClassName: local, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: second, namespace: default}
spec: {storageClassName: local, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: default}
spec:
  containers: [{name: main}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: first}}]
---
apiVersion: v1
kind: Pod
metadata: {name: b, namespace: default}
spec:
  containers: [{name: main}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: second}}]
"""


def test_two_pods_never_take_one_volume() -> None:
    """The only volume goes to the first pod; the second is told that there is none."""
    table = a_cluster(node("one"), node("two"))
    things = [thing for thing in read_manifests("volumes.yaml", VOLUMES.encode()) if isinstance(thing, Object)]
    for thing in things:
        put(table, thing)
    first, second = PodLane(table, USUAL).run([thing for thing in things if isinstance(thing, Pod)])

    assert isinstance(first, Decision)
    assert first.node in {"one", "two"}
    assert second.message == ("0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind.")
