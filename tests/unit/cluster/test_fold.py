"""Folding in: every kind that a rule reads goes where it belongs, and goes again."""

import pytest

from bayplan.api.claims import DeviceClass, PersistentVolume
from bayplan.api.objects import Object, ObjectMeta
from bayplan.api.policies import PriorityClass
from bayplan.api.workloads import Deployment, ReplicaSet
from bayplan.cluster.fold import drop, put
from bayplan.cluster.table import Table
from tests.dump import differences, dump
from tests.kit import a_cluster, a_pod, case, namespace, node, service


@pytest.mark.parametrize(
    "thing",
    [
        case("a node", node("n")),
        case("a running pod", a_pod("p", on="there")),
        case("a pod whose node is not there", a_pod("p", on="elsewhere")),
        case("a nominated pod", a_pod("p", nominated="there")),
        case("a namespace", namespace("team", "env=prod")),
        case("a service", service("web", "app=web")),
        case("an owner", ReplicaSet(metadata=ObjectMeta(name="rs", namespace="default"))),
        case("a device class", DeviceClass(metadata=ObjectMeta(name="gpu"))),
        case("a volume", PersistentVolume(metadata=ObjectMeta(name="pv"))),
    ],
)
def test_what_comes_and_goes_leaves_nothing(thing: Object) -> None:
    """Told of a thing and then that it is gone, a table is as before."""
    table = a_cluster(node("there"))
    before = dump(table)
    assert put(table, thing)
    assert list(differences(dump(table), before)) != []

    assert drop(table, thing)
    assert list(differences(dump(table), before)) == []


@pytest.mark.parametrize(
    "thing", [Deployment(metadata=ObjectMeta(name="d")), PriorityClass(metadata=ObjectMeta(name="p"))]
)
def test_a_kind_that_no_rule_reads_is_passed_over(thing: Object) -> None:
    """It is said, so that somebody can count it."""
    table = Table()

    assert not put(table, thing)
    assert not drop(table, thing)


def test_what_was_never_there_may_go() -> None:
    """A deletion that is heard twice, or of something unheard of, is no error."""
    table = a_cluster(node("there"))
    before = dump(table)
    for thing in (node("n"), a_pod("p", on="there"), namespace("team"), service("web", "app=web")):
        drop(table, thing)

    assert list(differences(dump(table), before)) == []
