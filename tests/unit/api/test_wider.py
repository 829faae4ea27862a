"""Declared fields of pods and nodes are kept, and nothing else is different."""

from typing import Any

import pytest

from bayplan.api.decode import KINDS, read_placed
from bayplan.api.objects import Node, Object, Pod
from bayplan.api.share import Sharer
from bayplan.api.wider import FieldError, as_wide, widened
from tests.kit import a_pod, case

FIELDS = ("pod.metadata.annotations", "pod.spec.hostname", "pod.status.podIP", "node.status.nodeInfo")
POD = """
apiVersion: v1
kind: Pod
metadata: {name: web, annotations: {team: red}}
spec: {hostname: h, containers: [{name: main}]}
status: {podIP: 10.0.0.1}
"""


def read(text: str, *fields: str) -> Any:  # noqa: ANN401 - the fields are not known to anybody's checker
    """Read one object with some more fields."""
    ((found, _),) = read_placed("x", text.encode(), widened(KINDS, fields))
    return found


def test_declared_fields_are_attributes_in_snake_case() -> None:
    """They are plain values; a field that is not there is None."""
    pod = read(POD, *FIELDS)
    bare = read("apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: main}]}", *FIELDS)

    assert (pod.metadata.annotations, pod.spec.hostname, pod.status.pod_ip) == ({"team": "red"}, "h", "10.0.0.1")
    assert (bare.metadata.annotations, bare.spec.hostname, bare.status.pod_ip) == (None, None, None)


def test_json_is_read_as_well() -> None:
    """In a list, as kubectl prints it, too."""
    text = (
        '{"kind": "NodeList", "apiVersion": "v1", "items": [{"metadata": {"name": "one"}, '
        '"status": {"nodeInfo": {"kernelVersion": "6.1"}, "allocatable": {"cpu": "1"}}}]}'
    )
    node = read(text, *FIELDS)

    assert node.status.node_info == {"kernelVersion": "6.1"}
    assert node.status.allocatable == {"cpu": "1"}


def test_a_wider_object_is_one_of_ours() -> None:
    """Whatever reads ours reads it: kind, name, and what is checked."""
    pod = read(POD, *FIELDS)
    refused = read(POD.replace("name: main", "name: main, resources: {requests: {cpu: x}}"), *FIELDS)

    assert isinstance(pod, Pod)
    assert type(pod).__name__ == "Pod"
    assert str(refused).endswith('spec.containers[0].resources.requests.cpu: expected a quantity, got "x"')


def test_without_declared_fields_nothing_is_different() -> None:
    """The kinds are the very same, and so is one whose field is carried anyway."""
    assert widened(KINDS, ()) is KINDS
    assert widened(KINDS, ("pod.metadata.labels",))["", "Pod"] is Pod
    assert widened(KINDS, ("pod.spec.hostname",))["", "Node"] is Node


def test_a_field_may_lie_where_a_part_is_optional() -> None:
    """A part that is absent stays absent."""
    text = POD.replace("hostname: h", "affinity: {podAffinity: {mood: good}}")
    pod, bare = (read(one, "pod.spec.affinity.podAffinity.mood") for one in (text, POD))

    assert pod.spec.affinity.pod_affinity.mood == "good"
    assert bare.spec.affinity is None


def test_what_was_made_has_them_too() -> None:
    """A pod that a workload made has the attributes, with nothing in them."""
    kinds = widened(KINDS, FIELDS)
    pod: Any = as_wide(a_pod("web", labels="a=b"), kinds)
    service: Object = as_wide(Node(), widened(KINDS, ("pod.spec.hostname",)))

    assert (pod.metadata.annotations, pod.metadata.labels, pod.status.pod_ip) == (None, {"a": "b"}, None)
    assert type(pod) is kinds["", "Pod"]
    assert type(service) is Node


def test_wider_pods_share_their_parts() -> None:
    """Sharing works among those that were read and those that were made."""
    share = Sharer().share
    kinds = widened(KINDS, FIELDS)
    first, second = (
        share(pod) for _ in "ab" for pod, _ in read_placed("x", POD.encode(), kinds) if isinstance(pod, Pod)
    )
    made = share(a_pod("web"))

    assert first.spec.containers is second.spec.containers
    assert made.metadata.name == "web"


@pytest.mark.parametrize(("field", "message"), [
    case("no root", "metadata.annotations", "expected a field such as pod.metadata.annotations or node.status"),
    case("an unknown root", "service.spec.type", "expected a field such as"),
    case("nothing in it", "pod", "expected a field such as"),
    case("something odd", "pod.metadata.annotations[x]", "expected a field such as"),
    case("within a list", "pod.spec.containers.command", "pod.spec.containers: fields inside it cannot be kept"),
    case("within a map", "pod.metadata.labels.app", "pod.metadata.labels: fields inside it cannot be kept"),
])  # fmt: skip
def test_a_field_that_cannot_be_kept_is_refused(field: str, message: str) -> None:
    """The message says what can be declared."""
    with pytest.raises(FieldError) as raised:
        widened(KINDS, (field,))

    assert message in str(raised.value)
