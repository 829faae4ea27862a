"""Soundness: what no API server would let in is found, and what one does let in is not held up."""

import json

import msgspec
import pytest

from bayplan.api.decode import decode_as
from bayplan.api.objects import Node, Object, Pod
from bayplan.kube.resources import resources
from bayplan.kube.soundness import is_sound
from bayplan.kube.told import Unread, read


def pod(**spec: object) -> Pod:
    """Give a pod as an API server tells it."""
    raw = {"metadata": {"name": "web", "namespace": "team"}, "spec": spec}
    return msgspec.convert(raw, Pod)


def container(**resources_: object) -> dict[str, object]:
    """Give a container that asks for something."""
    return {"name": "c", "image": "i", "resources": resources_}


@pytest.mark.parametrize(
    "thing",
    [
        pod(),
        pod(containers=[container(requests={"cpu": "100m", "memory": "1Gi", "example.com/x": 1})]),
        pod(containers=[container()], overhead={"cpu": "1"}, resources={"requests": {"cpu": "2"}}),
        msgspec.convert({"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "4"}}}, Node),
    ],
)
def test_what_a_server_lets_in_is_sound(thing: Object) -> None:
    """Plain or not."""
    assert is_sound(thing)


@pytest.mark.parametrize(
    "thing",
    [
        Pod(),
        pod(containers=[container(requests={"cpu": "many"})]),
        pod(containers=[container(limits={"cpu": "1Q"})]),
        pod(initContainers=[container(requests={"memory": "1 Gi"})]),
        pod(overhead={"cpu": "x"}),
        pod(resources={"requests": {"cpu": "x"}}),
        pod(topologySpreadConstraints=[{"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": "Perhaps"}]),
        msgspec.convert({"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "x"}}}, Node),
    ],
)
def test_what_arithmetic_would_stumble_over_is_not(thing: Object) -> None:
    """Wherever it is."""
    assert not is_sound(thing)


def test_what_is_wrong_is_said_with_its_field() -> None:
    """For whoever looks for the object."""
    raw = json.dumps({"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "x"}}}).encode()
    unread = read(resources()["Node"], raw)

    assert isinstance(unread, Unread)
    assert (unread.kind, unread.name) == ("Node", "n")
    assert unread.problem.startswith("status.allocatable.cpu: ")
    assert isinstance(decode_as(raw, Node), Node)
