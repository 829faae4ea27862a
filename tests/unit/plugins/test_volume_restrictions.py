"""VolumeRestrictions: disks on the same node, claims for one pod anywhere."""

import pytest

from bayplan.api.objects import Pod
from bayplan.cluster.columns import Row
from bayplan.cluster.reading import Reader
from bayplan.cluster.residents import Resident
from bayplan.cluster.shapes import VOLUMES
from bayplan.cluster.table import Table
from bayplan.cluster.view import View
from bayplan.framework.plugin import Code, PodsMoved, Prepared, Rejected
from bayplan.plugins.volume_restrictions import State, VolumeRestrictions
from tests.kit import a_cluster, a_pod, case, judged, node
from tests.storage import claim, mounting

ALONE = "ReadWriteOncePod"
IN_USE = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)


@pytest.mark.parametrize(
    ("mine", "theirs", "fits"),
    [
        case("the same Google disk", "gce:d", "gce:d", "b"),
        case("to read on both sides", "gce:d!", "gce:d!", "a b"),
        case("another disk", "gce:e", "gce:d", "a b"),
        case("the same EBS volume, even to read", "ebs:v!", "ebs:v!", "b"),
        case("the same iSCSI target", "iscsi:t!", "iscsi:t", "b"),
        case("the same image on a common monitor", "rbd:p/i@x,y", "rbd:p/i@y", "b"),
        case("the same image elsewhere", "rbd:p/i@x", "rbd:p/i@y", "a b"),
    ],
)
def test_a_disk_keeps_pods_off_its_node(mine: str, theirs: str, fits: str) -> None:
    """Eviction may help."""
    cluster = a_cluster(node("a"), node("b"), mounting(a_pod("resident", on="a"), theirs))
    found = judged(VolumeRestrictions(), mounting(a_pod(), mine), cluster)

    assert found.names_that_fit == fits.split()
    assert set(found.why.values()) <= {("node(s) had no available disk",)}
    assert set(found.code.values()) <= {Code.UNSCHEDULABLE}


def test_a_claim_for_one_pod_that_is_in_use_keeps_pods_off_every_node() -> None:
    """Wherever its user runs."""
    cluster = a_cluster(node("a"), node("b"), claim("data", modes=ALONE), mounting(a_pod("resident", on="a"), "data"))
    found = judged(VolumeRestrictions(), mounting(a_pod(), "data"), cluster)

    assert found.why == {"a": (IN_USE,), "b": (IN_USE,)}


@pytest.mark.parametrize(
    ("modes", "resident"),
    [
        case("nobody has it", ALONE, "other"),
        case("it may be shared", "ReadWriteOnce", "data"),
    ],
)
def test_a_claim_that_is_free_to_use_is_not_asked_about(modes: str, resident: str) -> None:
    """The filter is skipped."""
    cluster = a_cluster(
        node("a"), claim("data", modes=modes), claim("other"), mounting(a_pod("resident", on="a"), resident)
    )

    assert judged(VolumeRestrictions(), mounting(a_pod(), "data"), cluster).skipped


def test_a_claim_that_is_missing_rejects_the_pod() -> None:
    """Claims made for pods are left to other rules."""
    text = 'persistentvolumeclaim "data" not found'

    assert judged(VolumeRestrictions(), mounting(a_pod(), "data"), a_cluster(node("a"))).rejected == Rejected(
        Code.UNRESOLVABLE, (text,)
    )
    assert judged(VolumeRestrictions(), mounting(a_pod(), "own:"), a_cluster(node("a"))).skipped


def resident_of(cluster: Table, pod: Pod, row: int) -> Resident:
    """Return a pod as if it ran on a row."""
    residents = cluster.residents
    return Resident(pod, Row(row), *residents.read(pod), is_assumed=True)


def test_pods_that_come_or_go_are_counted_by_their_claims_names_alone() -> None:
    """As upstream: a claim of another namespace counts, too."""
    user = mounting(a_pod("resident", on="a"), "data")
    cluster = a_cluster(node("a"), claim("data", modes=ALONE), user)
    rule, view = VolumeRestrictions(), View(cluster)
    found = rule.prepare(Reader(cluster).shape(mounting(a_pod(), "data")).part(VOLUMES), view)
    assert isinstance(found, Prepared)
    state: State = found.state
    more = resident_of(cluster, mounting(a_pod("more", within="elsewhere"), "data", "data"), 0)
    gone = next(iter(cluster.volumes.mounted_on(0)))

    assert rule.with_pods(state, view, 0, PodsMoved(added=[more])).uses == 3
    assert rule.with_pods(state, view, 0, PodsMoved(removed=[gone])).uses == 0
    assert state.uses == 1
