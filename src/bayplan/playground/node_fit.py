"""Node fit: what a kubelet looks at before it takes a pod, so that a scheduler which is wrong is seen to be wrong.

Not here: what is done with a pod that is refused (`kubelets.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from bayplan.api.decode import DecodeError, decode_tree
from bayplan.api.objects import Node, Pod
from bayplan.api.requests import PODS, fit_request
from bayplan.api.selectors import RequiredAffinity, tolerates
from bayplan.playground.trees import Map

Refusal = tuple[str, str]  # reason and message
Taken = dict[str, int]  # by resource; a port of the host is one too


def taken(pod: Pod) -> Taken:
    """Give what a pod takes of its node."""
    return {**fit_request(pod), PODS: 1}


def taken_by(tree: Map) -> Taken:
    """Give what a pod takes of its node; of one that cannot be read, its place."""
    with suppress(DecodeError):
        pod = decode_tree(tree)
        if isinstance(pod, Pod):
            return taken(pod)
    return {PODS: 1}


def refusal_of(pod: Pod, node: Node) -> Refusal | None:
    """Say why a kubelet would not take a pod, however empty its node is."""
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    if not RequiredAffinity.of(pod.spec.node_selector, affinity).matches(node.metadata.labels, node.metadata.name):
        return _failed("NodeAffinity", "node(s) didn't match Pod's node affinity")
    hard = (taint for taint in node.spec.taints if taint.effect == "NoExecute")
    if not all(any(tolerates(one, taint, compares=False) for one in pod.spec.tolerations) for taint in hard):
        return _failed("TaintToleration", "node(s) had taints that the pod didn't tolerate")
    return None


def shortage(wanted: Taken, held: list[Taken], free: Mapping[str, int]) -> Refusal | None:
    """Say of what a node has too little left."""
    for resource, asked in wanted.items():
        used = sum(one.get(resource, 0) for one in held)
        if asked and used + asked > free.get(resource, 0):
            amounts = f"requested: {asked}, used: {used}, capacity: {free.get(resource, 0)}"
            return f"OutOf{resource}", f"Pod was rejected: Node didn't have enough resource: {resource}, {amounts}"
    return None


def _failed(predicate: str, why: str) -> Refusal:
    return predicate, f"Pod was rejected: Predicate {predicate} failed: {why}"
