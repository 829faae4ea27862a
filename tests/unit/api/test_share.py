"""Decoded objects of one owner hold their equal parts in common."""

import json

from bayplan.api.decode import decode, decode_pod
from bayplan.api.objects import Node, Pod
from bayplan.api.share import OWNERS_MAX, Sharer


def a_pod(name: str, *, owner: str = "", generate: str = "", cpu: str = "1", node: str = "n-1") -> Pod:
    """Decode a pod from bytes of its own."""
    references = [{"kind": "ReplicaSet", "name": owner, "uid": owner, "controller": True}] if owner else []
    tree = {
        "metadata": {
            "name": name,
            "namespace": "shop",
            "generateName": generate,
            "labels": {"app": "web"},
            "ownerReferences": references,
        },
        "spec": {
            "nodeName": node,
            "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}],
            "tolerations": [{"key": "k", "operator": "Exists"}],
        },
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }
    return decode_pod(json.dumps(tree).encode())


def test_equal_parts_become_one() -> None:
    """The pod stays equal to what it was."""
    share = Sharer().share
    first, second = share(a_pod("a", owner="rs")), share(a_pod("b", owner="rs"))

    assert second == a_pod("b", owner="rs")
    assert second.spec.containers is first.spec.containers
    assert second.spec.tolerations is first.spec.tolerations
    assert second.spec.node_name is first.spec.node_name
    assert second.metadata.labels is first.metadata.labels
    assert second.metadata.owner_references is first.metadata.owner_references
    assert second.status.conditions is first.status.conditions


def test_parts_that_differ_stay_apart() -> None:
    """Only equal ones are shared."""
    share = Sharer().share
    first, second = share(a_pod("a", owner="rs")), share(a_pod("b", owner="rs", cpu="2"))

    assert second == a_pod("b", owner="rs", cpu="2")
    assert second.spec.tolerations is first.spec.tolerations


def test_owners_do_not_disturb_each_other() -> None:
    """A pod shares with the last one of its own owner, name stem or namespace."""
    share = Sharer().share
    for marks in ({"owner": "rs"}, {"generate": "web-"}, {}):
        first = share(a_pod("a", **marks))
        share(a_pod("x", owner="other", cpu="9"))

        assert share(a_pod("b", **marks)).spec.containers is first.spec.containers


def test_owners_long_gone_are_forgotten() -> None:
    """What is remembered is bounded."""
    sharer = Sharer()
    pod = a_pod("a")
    sharer._pods.update((str(number), pod) for number in range(OWNERS_MAX))

    sharer.share(a_pod("b", owner="fresh"))

    assert len(sharer._pods) == 1


def test_nodes_share_with_the_last_node() -> None:
    """Most nodes are alike but for their names."""

    def a_node(name: str) -> Node:
        tree = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
            "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]},
            "status": {"allocatable": {"cpu": "4"}, "images": [{"names": ["a"], "sizeBytes": 1}]},
        }
        node = decode(json.dumps(tree).encode())
        assert isinstance(node, Node)
        return node

    sharer = Sharer()
    first, second = sharer.share_node(a_node("a")), sharer.share_node(a_node("b"))

    assert second == a_node("b")
    assert second.status.allocatable is first.status.allocatable
    assert second.status.images is first.status.images
    assert second.spec is first.spec
