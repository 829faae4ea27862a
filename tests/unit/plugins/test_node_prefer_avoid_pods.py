"""NodePreferAvoidPods: nodes that name a controller by annotation earn nothing from its pods."""

import json
from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from bayplan.api.objects import Node, OwnerReference
from bayplan.cluster.books.avoided import ANNOTATION, Avoided, named
from bayplan.plugins.node_prefer_avoid_pods import NodePreferAvoidPods
from tests.kit import a_cluster, a_pod, case, node, scored


def owner(uid: str = "1", kind: str = "ReplicaSet", *, controls: bool = True) -> OwnerReference:
    """Return an owner."""
    return OwnerReference(api_version="apps/v1", kind=kind, name="web", uid=uid, controller=controls)


def note(*uids: str) -> str:
    """Return the annotation that names replica sets."""
    entries = [{"podSignature": {"podController": {"kind": "ReplicaSet", "uid": uid}}} for uid in uids]
    return json.dumps({"preferAvoidPods": entries})


def noted(name: str, text: str) -> Node:
    """Return a node with the annotation."""
    plain = node(name)
    return replace(plain, metadata=replace(plain.metadata, annotations={ANNOTATION: text}))


@pytest.mark.parametrize(
    ("mine", "expected"),
    [
        case("its controller is named", owner(), {"sparing": 0, "open": 100}),
        case("among others", owner("2"), {"sparing": 0, "open": 100}),
        case("another controller is named", owner("3"), {"sparing": 100, "open": 100}),
        case("another kind is named", owner(kind="StatefulSet"), {"sparing": 100, "open": 100}),
        case("its owner controls nothing", owner(controls=False), {"sparing": 100, "open": 100}),
        case("it has no owner", None, {"sparing": 100, "open": 100}),
    ],
)
def test_a_node_that_names_the_controller_earns_nothing(
    mine: OwnerReference | None, expected: Mapping[str, int]
) -> None:
    """By kind and uid."""
    found = scored(NodePreferAvoidPods(), a_pod(owner=mine), a_cluster(noted("sparing", note("1", "2")), node("open")))

    assert found is not None
    assert found.normal == expected


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "7", '{"preferAvoidPods": 7}', '{"preferAvoidPods": [7, {"podSignature": null}]}',
             '{"preferAvoidPods": [{"podSignature": {"podController": {"kind": 1, "uid": "1"}}}]}'],
)  # fmt: skip
def test_a_note_that_cannot_be_read_names_nobody(text: str) -> None:
    """As Kubernetes took it."""
    assert named({ANNOTATION: text}) == frozenset()


def test_notes_come_and_go() -> None:
    """What was avoided is forgotten with the node that did, and the version says when anything changes."""
    avoided, pod = Avoided(), a_pod(owner=owner())
    avoided.put(0, {ANNOTATION: note("1")})
    avoided.put(1, {ANNOTATION: note("1", "2")})

    assert avoided.rows(("ReplicaSet", "1")) == {0, 1}
    assert avoided.controller_of(pod) == ("ReplicaSet", "1")

    version = avoided.version
    avoided.put(0, {})
    assert avoided.rows(("ReplicaSet", "1")) == {1}
    assert avoided.version == version

    avoided.put(1, {})
    assert avoided.controller_of(pod) is None
    assert avoided.version > version
