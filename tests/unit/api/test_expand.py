"""Workloads make the pods that are missing, and nothing more."""

import pytest

from bayplan.api.decode import decode_tree
from bayplan.api.expand import PODS_MAX, Made, expanded
from bayplan.api.intake import as_stored
from bayplan.api.objects import Node, Object, Pod, uid_of
from bayplan.api.selectors import RequiredAffinity

TEMPLATE: dict[str, object] = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c"}]}}
GROUPS = {"Pod": "v1", "Node": "v1", "ReplicationController": "v1", "Job": "batch/v1", "CronJob": "batch/v1"}


def a(kind: str, name: str = "web", *, owner: tuple[str, str] | None = None, uid: str = "", **rest: object) -> Object:
    """Decode an object; `owner` is its controller's kind and name, `meta` more metadata."""
    more = rest.pop("meta", {})
    references = [{"kind": owner[0], "name": owner[1], "controller": True}] if owner else []
    assert isinstance(more, dict)
    metadata = {"name": name, "namespace": "shop", "uid": uid, "ownerReferences": references, **more}
    spec = {} if kind in {"Node", "CronJob"} else {"template": TEMPLATE}
    given = rest.pop("spec", {})
    assert isinstance(given, dict)
    return decode_tree(
        {
            "apiVersion": GROUPS.get(kind, "apps/v1"),
            "kind": kind,
            "metadata": metadata,
            "spec": {**spec, **given},
            **rest,
        }
    )


def a_pod(name: str, *, owner: tuple[str, str] | None = None, phase: str = "", **meta: object) -> Object:
    """Decode a pod that is there."""
    return a("Pod", name, owner=owner, meta=meta, status={"phase": phase})


def names(made: Made) -> list[str]:
    """Name the pods that were made."""
    return [pod.metadata.name for pods in made.pods.values() for pod in pods]


# --- how many --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet", "ReplicationController"])
def test_replicas_are_made_and_numbered(kind: str) -> None:
    """One unless said; none when none are wanted."""
    assert names(expanded([a(kind, spec={"replicas": 3})])) == ["web-0", "web-1", "web-2"]
    assert names(expanded([a(kind)])) == ["web-0"]
    assert names(expanded([a(kind, spec={"replicas": 0})])) == []


@pytest.mark.parametrize(
    ("spec", "status", "count"),
    [
        ({}, {}, 1),
        ({"parallelism": 3}, {}, 3),
        ({"parallelism": 3}, {"succeeded": 1}, 0),
        ({"parallelism": 3, "completions": 5}, {}, 3),
        ({"parallelism": 3, "completions": 5}, {"succeeded": 4}, 1),
        ({"completions": 5}, {"succeeded": 5}, 0),
        ({"parallelism": 3, "suspend": True}, {}, 0),
        ({"parallelism": 3}, {"completionTime": "2026-01-01T00:00:00Z"}, 0),
    ],
)
def test_a_job_makes_what_may_run_at_once(spec: dict[str, object], status: dict[str, object], count: int) -> None:
    """And no more than is left to do."""
    assert len(names(expanded([a("Job", spec=spec, status=status)]))) == count


def test_what_is_there_is_not_made_again() -> None:
    """Pods that ended or are leaving do not count, but their names are taken."""
    owner = ("ReplicaSet", "web")
    things = [
        a("ReplicaSet", spec={"replicas": 4}),
        a_pod("web-x", owner=owner),
        a_pod("web-1", owner=owner, phase="Failed"),
        a_pod("web-2", owner=owner, deletionTimestamp="2026-01-01T00:00:00Z"),
        a_pod("web-0"),
    ]

    assert names(expanded(things)) == ["web-3", "web-4", "web-5"]


def test_a_stateful_set_waits_for_pods_that_are_leaving() -> None:
    """And begins where its ordinals do."""
    leaving = a_pod("web-6", owner=("StatefulSet", "web"), deletionTimestamp="2026-01-01T00:00:00Z")

    assert names(expanded([a("StatefulSet", spec={"replicas": 3, "ordinals": {"start": 5}}), leaving])) == [
        "web-5",
        "web-7",
    ]


def test_more_pods_than_anybody_has_are_refused() -> None:
    """Whatever the manifest asks for; the others are made."""
    huge = a("ReplicaSet", "huge", spec={"replicas": PODS_MAX + 1})
    made = expanded([huge, a("ReplicaSet")])

    assert names(made) == ["web-0"]
    assert [(thing, str(error)) for thing, error in made.refused] == [
        (huge, "expected at most 1,000,000 pods of one workload, got 1,000,001")
    ]


# --- whose -----------------------------------------------------------------------------------------------------------


def test_what_another_of_the_input_owns_makes_nothing() -> None:
    """A Deployment counts the pods of its ReplicaSets."""
    things = [
        a("Deployment", spec={"replicas": 3}),
        a("ReplicaSet", "web-1a", owner=("Deployment", "web"), spec={"replicas": 3}),
        a_pod("web-1a-x", owner=("ReplicaSet", "web-1a")),
        a("CronJob", "nightly"),
        a("Job", "nightly-1", owner=("CronJob", "nightly")),
        a("ReplicaSet", "orphan", owner=("Deployment", "gone")),
    ]

    assert names(expanded(things)) == ["web-0", "web-1", "orphan-0"]


def test_a_deployment_knows_its_pods_without_its_replica_set() -> None:
    """By the hash in their names."""
    pods = [a_pod(f"web-1a-{n}", owner=("ReplicaSet", "web-1a"), labels={"pod-template-hash": "1a"}) for n in range(2)]

    assert names(expanded([a("Deployment", spec={"replicas": 3}), *pods])) == ["web-0"]


def test_owners_are_known_by_uid_where_there_is_one() -> None:
    """A namesake of old is not the owner; a workload that is being deleted makes nothing."""
    reference = [{"kind": "ReplicaSet", "name": "web", "uid": "new", "controller": True}]
    things = [a("ReplicaSet", uid="new", spec={"replicas": 2}), a("Pod", "x", meta={"ownerReferences": reference})]

    assert names(expanded(things)) == ["web-0"]
    assert names(expanded([a("ReplicaSet", meta={"deletionTimestamp": "2026-01-01T00:00:00Z"})])) == []


def test_a_deployments_pods_belong_to_a_replica_set() -> None:
    """That is there, or is made with them: spreading goes by its selector."""
    made = expanded([a("Deployment", spec={"replicas": 2, "selector": {"matchLabels": {"app": "web"}}})])
    (owner,) = made.owners
    assert owner.spec.selector is not None

    (pods,) = made.pods.values()
    for pod in pods:
        (reference,) = pod.metadata.owner_references
        assert (reference.kind, reference.uid, reference.controller) == ("ReplicaSet", uid_of(owner), True)
        assert owner.spec.selector.match_labels.items() <= pod.metadata.labels.items()
    again = expanded([a("Deployment", spec={"replicas": 2}), owner])
    assert (names(again), again.owners) == (["web-0", "web-1"], [])


# --- what ------------------------------------------------------------------------------------------------------------


def test_a_stateful_sets_pods_have_claims_of_their_own() -> None:
    """The volume hides one of the same name, and claims that are there are not made again."""
    template = {"metadata": {"name": "data"}, "spec": {"storageClassName": "fast"}}
    pod_spec = {"containers": [{"name": "c"}], "volumes": [{"name": "data"}, {"name": "tmp"}]}
    things = [
        a("StatefulSet", spec={"replicas": 2, "volumeClaimTemplates": [template], "template": {"spec": pod_spec}}),
        decode_tree(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": "data-web-0", "namespace": "shop"},
            }
        ),
    ]
    made = expanded(things)

    (pods,) = made.pods.values()
    claim = pods[1].spec.volumes[0].persistent_volume_claim
    assert claim is not None
    assert (claim.claim_name, [volume.name for volume in pods[1].spec.volumes]) == ("data-web-1", ["data", "tmp"])
    assert [(each.metadata.name, each.spec.storage_class_name) for each in made.claims] == [("data-web-1", "fast")]
    assert pods[1].metadata.labels["statefulset.kubernetes.io/pod-name"] == "web-1"


def test_an_indexed_jobs_pods_know_their_number() -> None:
    """As a label."""
    made = expanded([a("Job", spec={"completions": 2, "parallelism": 2, "completionMode": "Indexed"})])

    (pods,) = made.pods.values()
    assert [pod.metadata.labels["batch.kubernetes.io/job-completion-index"] for pod in pods] == ["0", "1"]


def test_an_ephemeral_volume_gets_its_claim() -> None:
    """Which the pod owns."""
    ephemeral = {"volumeClaimTemplate": {"spec": {"storageClassName": "fast"}}}
    pod = a("Pod", "p", spec={"containers": [{"name": "c"}], "volumes": [{"name": "v", "ephemeral": ephemeral}]})
    (claim,) = expanded([pod]).claims

    assert isinstance(pod, Pod)
    assert (claim.metadata.name, claim.metadata.owner_references[0].uid) == ("p-v", uid_of(pod))


def a_node(name: str, **spec: object) -> Object:
    """Decode a node."""
    return a("Node", name, spec=spec, meta={"namespace": "", "labels": {"disk": name}})


def test_a_daemon_set_makes_one_pod_for_each_node_that_it_may_use() -> None:
    """Hard taints and affinity decide; what comes with being a node does not; pods that are there serve theirs."""
    there = a("Pod", "old", owner=("DaemonSet", "agent"), spec={"nodeName": "served"})
    nodes = [
        a_node("a"),
        a_node("served"),
        a_node("hard", taints=[{"key": "k", "effect": "NoSchedule"}]),
        a_node("soft", taints=[{"key": "k", "effect": "PreferNoSchedule"}]),
        a_node("full", taints=[{"key": "node.kubernetes.io/disk-pressure", "effect": "NoSchedule"}]),
    ]
    made = expanded([a("DaemonSet", "agent"), there, *nodes])

    (pods,) = made.pods.values()
    affinities = [pod.spec.affinity.node_affinity for pod in pods if pod.spec.affinity]
    meant = [sorted(RequiredAffinity.of(None, affinity).names() or ()) for affinity in affinities]
    assert meant == [["a"], ["soft"], ["full"]]
    assert [pod.metadata.name for pod in pods] == ["agent-0", "agent-1", "agent-2"]
    again = expanded([a("DaemonSet", "agent"), there, *pods, *nodes])
    assert names(again) == []


def test_a_daemon_set_heeds_its_node_selector() -> None:
    """Nodes that it does not match get nothing."""
    template = {"spec": {"containers": [{"name": "c"}], "nodeSelector": {"disk": "b"}}}

    assert names(expanded([a("DaemonSet", "agent", spec={"template": template}), a_node("a"), a_node("b")])) == [
        "agent-0"
    ]


# --- all together ----------------------------------------------------------------------------------------------------


def test_a_cluster_holds_pods_after_their_workload() -> None:
    """Admitted, in the order of the input, with what was turned away beside them."""
    bad = a("Pod", "bad", spec={"containers": [{"name": "c"}], "priorityClassName": "none"})
    stored = as_stored([a_node("n"), a("Deployment", spec={"replicas": 2}), bad, a_pod("last")])

    kinds = [type(thing).__name__ for thing in stored.objects]
    assert kinds == ["Node", "Deployment", "Pod", "Pod", "Pod", "ReplicaSet"]
    assert [thing for thing, _ in stored.refused] == [bad]
    pods = [thing for thing in stored.objects if isinstance(thing, Pod)]
    assert {pod.spec.scheduler_name for pod in pods} == {"default-scheduler"}
    assert pods[0].spec.tolerations is pods[1].spec.tolerations
    assert isinstance(stored.objects[0], Node)
