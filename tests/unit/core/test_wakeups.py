"""Wake-ups: what a change is called, and whom it helps."""

from collections.abc import Iterable

import numpy as np
import pytest
from msgspec.structs import replace

from bayplan.api.objects import Object
from bayplan.cluster import fold
from bayplan.cluster.reading import Reader
from bayplan.cluster.table import Table
from bayplan.config.profiles import profiles
from bayplan.core.lookouts import Lookout
from bayplan.core.waiting import Group, Waiting
from bayplan.core.wakeups import Looks, Since, changes_of, own_changes
from bayplan.framework.lane import Rejection
from bayplan.framework.plugin import Change
from bayplan.framework.profile import Instance, Profile
from bayplan.framework.registry import Registry
from tests.kit import a_cluster, a_pod, case, node
from tests.storage import claim, volume

PROFILE: Profile = next(iter(profiles(None, Registry.installed()).values()))


def rule(name: str) -> Instance:
    """Return a rule of the default profile."""
    return next(one for found in PROFILE.points.values() for one in found if one.name == name)


@pytest.mark.parametrize(
    ("old", "new", "called"),
    [
        case("a node comes", None, node("a"), "node added"),
        case("a node goes", node("a"), None, "node gone"),
        case("a node has more room", node("a", cpu=1), node("a", cpu=2), "node allocatable"),
        case("a node is cordoned", node("a"), node("a", cordoned=True), "node taints"),
        case("a node is labelled", node("a"), node("a", labels="x=y"), "node labels"),
        case("a node is as it was", node("a"), node("a"), ""),
        case("a pod is bound", a_pod(), a_pod(on="a"), "assigned pod added"),
        case("a pod has run", a_pod(on="a"), a_pod(on="a", phase="Succeeded"), "assigned pod gone"),
        case("a pod begins to leave", a_pod(on="a"), a_pod(on="a", terminating=True), "assigned pod labels"),
        case("a pod shrinks", a_pod(on="a", cpu=2), a_pod(on="a", cpu=1), "assigned pod asks for less"),
        case("a pod that waits changes", a_pod(), a_pod(labels="x=y"), ""),
        case("a claim comes", None, claim("c"), "persistent volume claim"),
        case("a volume goes", volume("v"), None, "persistent volume"),
    ],
)
def test_what_a_change_is_called(old: Object | None, new: Object | None, called: str) -> None:
    """Each change has the name that rules wait for."""
    assert changes_of(old, new) == ({Change(called)} if called else set())


def test_what_changed_about_a_pod_that_waits() -> None:
    """Its own changes have names of their own, and an object that is the same has none."""
    old = a_pod(cpu=2, gates="wait")

    assert own_changes(old, a_pod(cpu=2, gates="wait")) == frozenset()
    assert own_changes(old, a_pod(cpu=1)) == {Change.OWN_OBJECT, Change.OWN_GATES, Change.OWN_REQUESTS}
    assert own_changes(old, replace(old, metadata=replace(old.metadata, labels={"a": "b"}))) == {
        Change.OWN_OBJECT,
        Change.OWN_LABELS,
    }


@pytest.mark.parametrize(
    ("asks", "rows", "helps"),
    [
        case("it fits where something changed", 2, [1], True),
        case("it fits only elsewhere", 2, [0], False),
        case("it fits nowhere", 9, [0, 1], False),
    ],
)
def test_a_rule_about_rows_is_asked_where_something_changed(asks: int, rows: list[int], helps: bool) -> None:  # noqa: FBT001 - a column of a table
    """Room that was there before helps nobody."""
    table = a_cluster(node("small", cpu=1), node("large", cpu=4))
    pod = a_pod(cpu=asks)
    shape = Reader(table).shape(pod)
    lookout = Lookout(rule("NodeResourcesFit"), PROFILE)
    lookout.join(Group(PROFILE, Rejection("Unschedulable", "", frozenset({"NodeResourcesFit"}), shape)))
    looks = Looks(table, Since(frozenset({Change.POD_GONE}), np.array(rows, np.intp)))

    assert any(looks.at(lookout)) is helps


def test_only_rules_that_wait_for_a_change_are_looked_at() -> None:
    """A taint is nothing to whoever waits for room; a new node may be to anybody."""
    table = a_cluster(node("a"))
    taints = {one.name for one in Looks(table, Since(frozenset({Change.NODE_TAINTS}), None)).candidates(PROFILE)}
    added = {one.name for one in Looks(table, Since(frozenset({Change.NODE_ADDED}), None)).candidates(PROFILE)}

    assert "TaintToleration" in taints
    assert "NodeResourcesFit" not in taints
    assert {"NodeResourcesFit", "NodeVolumeLimits"} <= added


def looked_at(table: Table, lookout: Lookout, rows: list[int] | None) -> tuple[int, list[int]]:
    """Return how many questions were asked, and for whom the answer was yes, by the CPUs that they ask for."""
    looks = Looks(table, Since(frozenset({Change.POD_GONE}), None if rows is None else np.array(rows, np.intp)))
    passing = [group for found in looks.at(lookout) for alike in found for group in alike.groups]
    return looks.taken, sorted(int(name) for group in passing for name in group.members)


def waiting_for_room(table: Table, asks: Iterable[int], labels: str = "") -> Lookout:
    """Return those who wait for so many CPUs, each with a member of that name."""
    reader, lookout = Reader(table), Lookout(rule("NodeResourcesFit"), PROFILE)
    for cpu in asks:
        pod = a_pod(f"asks{cpu}", cpu=cpu, labels=labels)
        group = Group(PROFILE, Rejection("Unschedulable", "", frozenset({"NodeResourcesFit"}), reader.shape(pod)))
        group.members[str(cpu)] = Waiting(pod, PROFILE, cpu, 0)
        lookout.join(group)
    return lookout


def test_a_look_answers_for_every_shape_with_the_same_part() -> None:
    """Two shapes that ask for the same are looked at once."""
    table = a_cluster(node("a", cpu=1))
    reader, lookout = Reader(table), Lookout(rule("NodeResourcesFit"), PROFILE)
    for labels in ("app=a", "app=b"):
        shape = reader.shape(a_pod(labels=labels, cpu=2, tolerates=labels))
        lookout.join(Group(PROFILE, Rejection("Unschedulable", "", frozenset({"NodeResourcesFit"}), shape)))

    assert looked_at(table, lookout, None) == (1, [])


def test_one_look_answers_for_a_thousand_shapes() -> None:
    """A row has room for some of them: these pass, and nobody else was asked about singly."""
    table = a_cluster(node("a", cpu=8), node("b", cpu=500))
    lookout = waiting_for_room(table, range(1, 1001))

    assert looked_at(table, lookout, [0]) == (1, list(range(1, 9)))
    assert looked_at(table, lookout, [0, 1]) == (1, list(range(1, 501)))


def test_what_is_asked_at_once_follows_who_waits() -> None:
    """Who leaves is not named any more; who comes is, as is who comes back."""
    table = a_cluster(node("a", cpu=8))
    lookout = waiting_for_room(table, range(5, 15))
    assert looked_at(table, lookout, [0]) == (1, [5, 6, 7, 8])
    gone = next(group for group in lookout.groups() if "6" in group.members)
    lookout.leave(gone)
    assert looked_at(table, lookout, [0]) == (1, [5, 7, 8])
    lookout.join(gone)

    assert looked_at(table, lookout, [0]) == (1, [5, 6, 7, 8])


def test_what_is_asked_at_once_is_made_anew_when_it_reads_something_else() -> None:
    """A resource that nobody knew moves the columns that a rule reads."""
    table = a_cluster(node("a", cpu=8))
    lookout = waiting_for_room(table, range(5, 15))
    looked_at(table, lookout, [0])
    fold.put(table, node("b", cpu=10, gpus=1))

    assert looked_at(table, lookout, [1]) == (1, [5, 6, 7, 8, 9, 10])
