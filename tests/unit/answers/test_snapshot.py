"""A cluster from manifests: what is in the table, who waits, what is refused and what is passed over."""

import pytest

from bayplan.answers.snapshot import Snapshot
from tests.kit import case
from tests.unit.answers.reading import node, pod, read


def test_bound_pods_run_and_others_wait() -> None:
    """The order of the input does not matter for what runs where."""
    _, cluster = read(pod("a", "nodeName: one"), pod("b"), node("one"), pod("c"))

    assert [one.metadata.name for one in cluster.waiting] == ["b", "c"]
    assert [resident.pod.metadata.name for resident in cluster.table.pods.values()] == ["a"]


@pytest.mark.parametrize(("manifest", "counted"), [
    case("finished", pod("x", status="phase: Failed"), {"Pod that has finished": 1}),
    case("finished where no node is any more", pod("x", "nodeName: gone", "phase: Succeeded"),
         {"Pod that has finished": 1}),
    case("on its way out", pod("x", meta='deletionTimestamp: "2026-01-01T00:00:00Z"'), {"Pod on its way out": 1}),
    case("a kind of no use here", "apiVersion: v1\nkind: Secret\nmetadata: {name: x}", {"Secret": 1}),
    case("a kind that is read for later", "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: x}",
         {"PodDisruptionBudget": 1}),
    case("a kind that is used up by reading",
         "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: x}\nvalue: 5", {}),
])  # fmt: skip
def test_what_does_not_wait_is_counted(manifest: str, counted: dict[str, int]) -> None:
    """Nothing is lost without a word."""
    snapshot, cluster = read(node(), manifest)

    assert (dict(snapshot.passed), cluster.waiting, snapshot.refused) == (counted, [], [])


def test_a_nomination_counts_though_its_node_is_read_later() -> None:
    """A waiting pod that is nominated holds its place on the node."""
    _, cluster = read(pod("a", status="nominatedNodeName: one"), node("one"))

    assert [list(map(len, cluster.table.nominated_on.values()))] == [[1]]
    assert [one.metadata.name for one in cluster.waiting] == ["a"]


def test_the_first_of_two_counts() -> None:
    """A second object of one kind, namespace and name is refused, in whatever file; other kinds may share names."""
    snapshot = Snapshot()
    snapshot.read("a.yaml", node("one", "spec: {unschedulable: true}").encode())
    snapshot.read("b.yaml", "\n---\n".join((node("one"), pod("one"), pod("two"))).encode())
    cluster = snapshot.cluster()

    (refused,) = snapshot.refused
    assert refused == (
        "b.yaml, document 1, line 3: metadata.name: expected each Node once, got a second one "
        "(the first: a.yaml, document 1)"
    )
    assert cluster.table.columns.unschedulable[cluster.table.row_of["one"]]
    assert len(cluster.waiting) == 2


def test_two_objects_never_share_a_uid() -> None:
    """What has another's uid is refused: pods are told apart by it."""
    snapshot, cluster = read(node(), pod("a", meta="uid: '1'"), pod("b", meta="uid: '1'"))

    (refused,) = snapshot.refused
    assert (
        "metadata.uid: expected a uid of its own for each Pod, got that of another (input.yaml, document 2)" in refused
    )
    assert [one.metadata.name for one in cluster.waiting] == ["a"]


def test_a_name_may_be_there_once_a_namespace() -> None:
    """No namespace is the default one."""
    one = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: main}]}"
    snapshot, cluster = read(
        one, one.replace("web", "web, namespace: default"), one.replace("web", "web, namespace: x")
    )

    assert [pod.key for pod in cluster.waiting] == ["default/web", "x/web"]
    assert len(snapshot.refused) == 1


def test_a_lost_pod_is_left_out() -> None:
    """A pod bound to a node that is not there is refused at its field."""
    snapshot, cluster = read(node(), pod("web", "nodeName: two"))

    (refused,) = snapshot.refused
    assert refused == (
        'input.yaml, document 2, line 9: spec.nodeName: expected the name of a Node in the input, got "two"; '
        "add the node, or leave the pod out"
    )
    assert (cluster.waiting, cluster.table.pods, cluster.table.strays) == ([], {}, {})


def test_what_is_refused_once_is_said_once() -> None:
    """Many pods of one workload are one message."""
    job = (
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: night}\nspec:\n  parallelism: 9\n  completions: 9\n"
        "  template:\n    spec: {priorityClassName: none, containers: [{name: main}]}"
    )
    snapshot, _ = read(job)

    assert len(snapshot.refused) == 1
    assert snapshot.refused[0].startswith("input.yaml, document 1, line 8: spec.template.spec.priorityClassName: ")


def test_lines_are_right_whatever_the_order_of_complaints() -> None:
    """A pod's node may be found missing after everything was read, in JSON too."""
    snapshot = Snapshot()
    snapshot.read(
        "pods.json",
        b'{"kind": "PodList", "apiVersion": "v1", "items": [\n'
        b'{"metadata": {"name": "a"}, "spec": {"nodeName": "gone", "containers": [{"name": "main"}]}},\n'
        b'{"metadata": {"name": "b"}, "spec": {"containers": [{"name": "main"}], "priority": "x"}}]}',
    )
    snapshot.cluster()

    assert [message.partition(": ")[0] for message in snapshot.refused] == [
        "pods.json, document 1, line 3",
        "pods.json, document 1, line 2",
    ]
