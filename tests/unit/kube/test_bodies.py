"""Bodies: what is written for each effect, as kube-scheduler writes it."""

from bayplan.api.claims import ObjectReference, PersistentVolume, PersistentVolumeSpec
from bayplan.api.messages import (
    Bind,
    BindVolume,
    Effect,
    Ended,
    Ending,
    Evict,
    Nominate,
    SelectNode,
)
from bayplan.api.objects import Pod, PodCondition, PodStatus
from tests.unit.kube.writing import BIND, CLAIM, POD, VOLUME, WAITS, Known, about, sent


def test_a_binding_names_the_pod_its_uid_and_the_node() -> None:
    """As kube-scheduler posts it."""
    it = sent(BIND)

    assert it.lines == ["POST /api/v1/namespaces/team/pods/web/binding"]
    assert it.bodies == [
        {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": "web", "namespace": "team", "uid": "u1"},
            "target": {"kind": "Node", "name": "n1"},
        }
    ]
    assert it.heard == [Ended(cause="write", write=1, ending=Ending.DONE)]


def test_a_condition_is_patched_with_its_order_and_its_time() -> None:
    """With a nomination in the same patch, and only for this pod and none that has its name."""
    known = Known(_with_conditions(PodCondition(type="Ready", status="False")))
    it = sent(WAITS, Nominate(**about(), node="n2"), known=known)

    assert it.lines == ["PATCH /api/v1/namespaces/team/pods/web/status"]
    assert it.media == ["application/strategic-merge-patch+json"]
    assert it.bodies[0]["metadata"] == {"uid": "u1"}
    assert it.bodies[0]["status"] == {
        "$setElementOrder/conditions": [{"type": "Ready"}, {"type": "PodScheduled"}],
        "conditions": [
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": "Unschedulable",
                "message": "0/1 nodes are available: 1 Insufficient cpu.",
                "lastProbeTime": None,
                "lastTransitionTime": "2023-11-14T22:13:20Z",
                "observedGeneration": 2,
            }
        ],
        "nominatedNodeName": "n2",
    }


def test_a_condition_that_stays_false_keeps_its_time() -> None:
    """Since when is what autoscalers look at."""
    known = Known(_with_conditions(PodCondition(type="PodScheduled", status="False")))
    it = sent(WAITS, known=known, ends=lambda it, _: bool(it.requests))

    assert "lastTransitionTime" not in it.bodies[0]["status"]["conditions"][0]


def test_a_nomination_is_taken_back() -> None:
    """By null."""
    assert sent(Nominate(**about(), node="")).bodies[0]["status"] == {"nominatedNodeName": None}


def _with_conditions(*conditions: PodCondition) -> Pod:
    return Pod(metadata=POD.metadata, spec=POD.spec, status=PodStatus(conditions=conditions))


def test_a_victim_is_told_why_before_it_is_deleted() -> None:
    """And only this one, not a pod that has taken its name."""
    it = sent(Evict(**about(), node="n1"))

    assert it.lines == ["PATCH /api/v1/namespaces/team/pods/web/status", "DELETE /api/v1/namespaces/team/pods/web"]
    condition = it.bodies[0]["status"]["conditions"][0]
    assert (condition["type"], condition["status"], condition["reason"]) == (
        "DisruptionTarget",
        "True",
        "PreemptionByScheduler",
    )
    assert condition["message"] == "bayplan: preempting to accommodate a higher priority pod"
    assert it.bodies[1]["preconditions"] == {"uid": "u1"}
    assert it.endings == [Ending.DONE]


def test_a_volume_is_kept_for_a_claim_unless_it_has_changed() -> None:
    """The patch carries the revision that it was made for."""
    it = sent(BindVolume(**about(), volume="pv", claim="data", claim_uid="c1"))

    assert it.lines == ["PATCH /api/v1/persistentvolumes/pv"]
    assert it.bodies == [
        {
            "metadata": {
                "uid": "v1",
                "resourceVersion": "8",
                "annotations": {"pv.kubernetes.io/bound-by-controller": "yes"},
            },
            "spec": {
                "claimRef": {
                    "apiVersion": "v1",
                    "kind": "PersistentVolumeClaim",
                    "namespace": "team",
                    "name": "data",
                    "uid": "c1",
                    "resourceVersion": "9",
                }
            },
        }
    ]


def test_a_volume_that_was_reserved_by_hand_is_not_marked_as_ours() -> None:
    """A claim's name in it was somebody's wish."""
    kept = PersistentVolumeSpec(claim_ref=ObjectReference(namespace="team", name="data"))
    volume = PersistentVolume(metadata=VOLUME.metadata, spec=kept)
    it = sent(BindVolume(**about(), volume="pv", claim="data", claim_uid="c1"), known=Known(volume, CLAIM))

    assert "annotations" not in it.bodies[0]["metadata"]


def test_a_claim_is_told_its_node_unless_it_has_changed() -> None:
    """For the provisioner."""
    it = sent(SelectNode(**about(), claim="data", node="n1"))

    assert it.lines == ["PATCH /api/v1/namespaces/team/persistentvolumeclaims/data"]
    assert it.media == ["application/merge-patch+json"]
    assert it.bodies[0]["metadata"] == {
        "uid": "c1",
        "resourceVersion": "9",
        "annotations": {"volume.kubernetes.io/selected-node": "n1"},
    }


def test_what_is_not_known_is_refused_without_a_word_to_the_server() -> None:
    """A volume or claim that was deleted meanwhile."""
    effects: list[Effect] = [
        BindVolume(**about(), volume="pv", claim="data", claim_uid="c1"),
        SelectNode(**about(write=2), claim="data", node="n"),
    ]
    it = sent(*effects, known=Known())

    assert it.lines == []
    assert it.endings == [Ending.REFUSED, Ending.REFUSED]


def test_names_are_escaped() -> None:
    """Whatever an API server calls its pods, they stay within their place in the path."""
    it = sent(Bind(**about(name="a/../b?x y"), node="n1"))

    assert it.lines == ["POST /api/v1/namespaces/team/pods/a%2F..%2Fb%3Fx%20y/binding"]
