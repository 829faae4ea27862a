"""kube-batch's pod groups and queues are read from both of its API groups into one form."""

from typing import Any

import pytest

from bayplan.api.annotations import GROUP_MIN_MEMBER, GROUP_NAME
from bayplan.api.decode import DecodeError, Refused, decode_tree, read_manifests
from bayplan.api.groups import PodGroup, Queue, group_min_of, group_of, odd
from bayplan.api.intake import as_stored
from bayplan.api.objects import Pod
from tests.kit import case

VERSIONS = ("scheduling.incubator.k8s.io/v1alpha1", "scheduling.sigs.dev/v1alpha2")


def a_group(**spec: object) -> PodGroup:
    """Read a group."""
    return group_in({"spec": spec})


def group_in(more: dict[str, Any], version: str = VERSIONS[0]) -> PodGroup:
    """Read a group of some version."""
    found = decode_tree({"apiVersion": version, "kind": "PodGroup", "metadata": {"name": "train"}, **more})
    assert isinstance(found, PodGroup)
    return found


def a_queue(**spec: object) -> Queue:
    """Read a queue."""
    found = decode_tree({"apiVersion": VERSIONS[1], "kind": "Queue", "metadata": {"name": "q"}, "spec": spec})
    assert isinstance(found, Queue)
    return found


@pytest.mark.parametrize("version", VERSIONS)
def test_both_versions_are_one_form(version: str) -> None:
    """All that kube-batch writes is there, and which version it was."""
    condition = {
        "type": "Unschedulable", "status": "True", "transitionID": "abc", "lastTransitionTime": "2024-01-01T00:00:00Z",
        "reason": "NotEnoughResources", "message": "2/3 tasks in gang unschedulable",
    }  # fmt: skip
    status = {"phase": "Pending", "running": 1, "succeeded": 2, "failed": 3, "conditions": [condition]}
    spec = {"minMember": 3, "queue": "q", "priorityClassName": "high"}
    group = group_in({"spec": spec, "status": status}, version)
    written = group.status.conditions[0]

    assert (group.api_version, group.members_min) == (version, 3)
    assert (group.spec.queue, group.spec.priority_class_name) == ("q", "high")
    assert (group.status.phase, group.status.running, group.status.succeeded, group.status.failed) == (
        "Pending",
        1,
        2,
        3,
    )
    assert (written.type, written.status, written.transition_id) == ("Unschedulable", "True", "abc")
    assert (written.reason, written.message) == ("NotEnoughResources", "2/3 tasks in gang unschedulable")


def test_a_queue_has_a_weight_and_a_limit() -> None:
    """Quantities stay as they are written."""
    queue = a_queue(weight=4, capability={"cpu": "8", "nvidia.com/gpu": 2})

    assert queue.weight == 4
    assert queue.spec.capability == {"cpu": "8", "nvidia.com/gpu": 2}
    assert odd(queue) == []


def test_a_group_without_a_namespace_is_in_the_default_one() -> None:
    """As kubectl would put it there; a queue is in none."""
    group, queue = as_stored([a_group(minMember=1), a_queue(weight=1)]).objects

    assert isinstance(group, PodGroup)
    assert group.key == "default/train"
    assert queue.metadata.namespace == ""  # type: ignore[attr-defined]


@pytest.mark.parametrize(("number", "counts"), [(-5, 0), (0, 0), (1, 1)])
def test_odd_numbers_are_kept_and_count_as_nought(number: int, counts: int) -> None:
    """They are named, with what they come to."""
    group, queue = a_group(minMember=number), a_queue(weight=number)

    assert (group.spec.min_member, group.members_min) == (number, counts)
    assert (queue.spec.weight, queue.weight) == (number, counts)
    assert [text.split(":")[0] for thing in (group, queue) for text in odd(thing)] == (
        [f"spec.minMember is {number}", f"spec.weight is {number}"] if number < 1 else []
    )


@pytest.mark.parametrize(("kind", "spec", "message"), [
    case("a text as number", "PodGroup", {"minMember": "3"}, 'spec.minMember: expected a whole number, got "3"'),
    case("a fraction", "PodGroup", {"minMember": 1.5}, "spec.minMember: expected a whole number, got 1.5"),
    case("too large", "PodGroup", {"minMember": 2**31}, "spec.minMember: expected a whole number <= 2147483647"),
    case("a number as name", "PodGroup", {"queue": 7}, "spec.queue: expected a text, got 7; put it in quotes"),
    case("a weight that is a map", "Queue", {"weight": {}}, "spec.weight: expected a whole number, got a map"),
    case("a limit that is a list", "Queue", {"capability": []}, "spec.capability: expected a map, got a list"),
])  # fmt: skip
def test_values_of_the_wrong_type_are_named(kind: str, spec: dict[str, object], message: str) -> None:
    """With their field."""
    tree = {"apiVersion": VERSIONS[0], "kind": kind, "metadata": {"name": "x"}, "spec": spec}

    with pytest.raises(DecodeError) as caught:
        decode_tree(tree)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("amount", ["-1", "lots", ""])
def test_a_limit_that_is_no_quantity_is_named(amount: str) -> None:
    """With its resource and its line."""
    text = f"apiVersion: {VERSIONS[0]}\nkind: Queue\nmetadata: {{name: q}}\nspec:\n  capability:\n    cpu: '{amount}'\n"
    (found,) = read_manifests("q.yaml", text.encode())

    assert isinstance(found, Refused)
    assert (found.line, found.path) == (6, "spec.capability.cpu")


@pytest.mark.parametrize(("annotations", "name", "least"), [
    ({GROUP_NAME: "train"}, "train", 1),
    ({GROUP_MIN_MEMBER: "4"}, "", 4),
    ({GROUP_MIN_MEMBER: "many"}, "", 1),
    ({GROUP_MIN_MEMBER: "-2"}, "", 1),
    ({GROUP_MIN_MEMBER: "9" * 30}, "", 1),
    ({}, "", 1),
])  # fmt: skip
def test_a_pod_says_which_group_it_is_of(annotations: dict[str, str], name: str, least: int) -> None:
    """And how large one that is made for it must be."""
    pod = decode_tree({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "annotations": annotations},
        "spec": {"containers": [{"name": "c"}]},
    })  # fmt: skip

    assert isinstance(pod, Pod)
    assert (group_of(pod), group_min_of(pod)) == (name, least)


def test_pods_of_a_workload_are_in_the_group_of_their_mould() -> None:
    """What a template says of groups, its pods say."""
    job = decode_tree({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"},
        "spec": {"parallelism": 2, "template": {
            "metadata": {"annotations": {GROUP_NAME: "train"}}, "spec": {"containers": [{"name": "c"}]},
        }},
    })  # fmt: skip
    pods = [thing for thing in as_stored([job]).objects if isinstance(thing, Pod)]

    assert [group_of(pod) for pod in pods] == ["train", "train"]
