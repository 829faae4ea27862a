"""VolumeBinding: volumes within reach, volumes to be had, and the room they leave."""

import pytest

from bayplan.api.disks import AWSElasticBlockStore
from bayplan.api.objects import Object
from bayplan.cluster.claims import Reservation
from bayplan.cluster.reading import Reader
from bayplan.cluster.shapes import VOLUMES
from bayplan.cluster.view import View
from bayplan.framework.plugin import Code, Gates, Prepared, Rejected
from bayplan.framework.resources import ShapePoint
from bayplan.plugins.volume_binding import VolumeBinding, VolumeBindingArgs
from tests.kit import a_cluster, a_pod, case, judged, node, scored
from tests.storage import AT_ONCE, claim, csi_driver, csi_node, mounting, pool, storage_class, volume

POD = mounting(a_pod(), "data")
ELSEWHERE = "node(s) didn't match PersistentVolume's node affinity"
NOTHING_FREE = "node(s) didn't find available persistent volumes to bind"
NO_ROOM = "node(s) did not have enough free storage"
GONE = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
ZONE = "topology.kubernetes.io/zone"
NODES = (node("a", zone="a"), node("b", zone="b"))


@pytest.mark.parametrize(
    ("things", "text"),
    [
        case("a claim that is missing", [], 'persistentvolumeclaim "data" not found'),
        case(
            "a claim that is lost",
            [claim("data", volume="pv", phase="Lost")],
            'persistentvolumeclaim "data" bound to non-existent persistentvolume "pv"',
        ),
        case("a claim that goes away", [claim("data", deleting=True)], 'persistentvolumeclaim "data" is being deleted'),
        case(
            "a claim that should be bound by now",
            [claim("data"), storage_class(mode=AT_ONCE)],
            "pod has unbound immediate PersistentVolumeClaims",
        ),
        case(
            "a claim that is only half bound",
            [claim("data", volume="pv", bound=False), storage_class()],
            "pod has unbound immediate PersistentVolumeClaims",
        ),
        case("a claim of no class", [claim("data", of="")], "pod has unbound immediate PersistentVolumeClaims"),
        case(
            "a claim of a class that nobody knows", [claim("data")], "pod has unbound immediate PersistentVolumeClaims"
        ),
    ],
)
def test_a_claim_that_cannot_be_had_anywhere_rejects_the_pod(things: list[Object], text: str) -> None:
    """In kube-scheduler's words."""
    assert judged(VolumeBinding(), POD, a_cluster(*NODES, *things)).rejected == Rejected(Code.UNRESOLVABLE, (text,))


def test_a_class_without_a_mode_is_an_error() -> None:
    """Upstream cannot tell when to bind."""
    cluster = a_cluster(*NODES, claim("data"), storage_class(mode=None))

    assert judged(VolumeBinding(), POD, cluster).failed == 'VolumeBindingMode not set for StorageClass "late"'


def test_a_pod_without_claims_is_not_asked_about() -> None:
    """A disk of its own is other rules' business."""
    assert judged(VolumeBinding(), a_pod(), a_cluster(*NODES)).skipped
    assert judged(VolumeBinding(), mounting(a_pod(), "gce:d"), a_cluster(*NODES)).skipped


@pytest.mark.parametrize(
    ("things", "why"),
    [
        case(
            "its volume is reached from some nodes",
            [claim("data", volume="pv"), volume("pv", reach=f"{ZONE}=a")],
            {"b": (ELSEWHERE,)},
        ),
        case("its volume is gone", [claim("data", volume="pv")], {"a": (GONE,), "b": (GONE,)}),
        case(
            "a free volume is reached from some nodes",
            [claim("data"), storage_class(provisioner=""), volume("pv", reach=f"{ZONE}=b")],
            {"a": (NOTHING_FREE,)},
        ),
        case("one can be made on some nodes", [claim("data"), storage_class(only=f"{ZONE}=a")], {"b": (NOTHING_FREE,)}),
        case(
            "there is room on some nodes",
            [claim("data"), storage_class(), csi_driver(counts_room=True), pool("p", reach=f"{ZONE}=a")],
            {"b": (NO_ROOM,)},
        ),
        case("nobody counts room", [claim("data"), storage_class(), csi_driver(), pool("p", reach=f"{ZONE}=a")], {}),
        case(
            "a claim that asks for no storage needs no room",
            [claim("data", asks=""), storage_class(), csi_driver(counts_room=True)],
            {},
        ),
    ],
)
def test_a_claim_is_had_where_its_volume_is_reached_or_can_be(
    things: list[Object], why: dict[str, tuple[str, ...]]
) -> None:
    """No eviction helps where it is not."""
    found = judged(VolumeBinding(), POD, a_cluster(*NODES, *things))

    assert found.why == why
    assert set(found.code.values()) <= {Code.UNRESOLVABLE}


def test_reasons_of_bound_and_of_wanting_claims_come_together() -> None:
    """In upstream's order."""
    cluster = a_cluster(
        *NODES,
        storage_class(),
        csi_driver(counts_room=True),
        claim("data", volume="pv"),
        volume("pv", reach=f"{ZONE}=a", kept="default/data"),
        claim("more"),
        claim("gone", volume="nothing"),
    )

    assert judged(VolumeBinding(), mounting(a_pod(), "data", "more"), cluster).why == {
        "a": (NO_ROOM,),
        "b": (ELSEWHERE, NO_ROOM),
    }
    assert judged(VolumeBinding(), mounting(a_pod(), "more", "gone"), cluster).why["a"] == (NO_ROOM, GONE)


def test_nodes_that_migrated_are_asked_in_the_drivers_words() -> None:
    """They say so in an annotation of their CSINode."""
    source = AWSElasticBlockStore(volume_id="vol-1")
    migrated = "storage.alpha.kubernetes.io/migrated-plugins=kubernetes.io/gce-pd,kubernetes.io/aws-ebs"
    cluster = a_cluster(
        node("old", zone="a"),
        node("new", labels="topology.ebs.csi.aws.com/zone=a"),
        node("new-in-vain", zone="a"),
        csi_node("new", notes=migrated),
        csi_node("new-in-vain", notes=migrated),
        claim("data", volume="pv"),
        volume("pv", reach=f"{ZONE}=a", aws_elastic_block_store=source),
    )

    assert judged(VolumeBinding(), POD, cluster).names_that_fit == ["old", "new"]


def test_a_volume_whose_driver_cannot_be_told_is_an_error_on_nodes_that_migrated() -> None:
    """Elsewhere it is asked as it is."""
    source = AWSElasticBlockStore(volume_id="aws://x/y")
    cluster = a_cluster(
        *NODES,
        csi_node("a", notes="storage.alpha.kubernetes.io/migrated-plugins=kubernetes.io/aws-ebs"),
        claim("data", volume="pv"),
        volume("pv", aws_elastic_block_store=source),
    )
    found = judged(VolumeBinding(), POD, cluster)

    assert found.code == {"a": Code.ERROR}
    assert found.why["a"][0].startswith("could not translate pv: failed to translate Kubernetes ID")


def test_a_selector_that_cannot_be_read_is_an_error() -> None:
    """Except where the search does not come that far."""
    cluster = a_cluster(
        *NODES,
        storage_class(),
        claim("data", selects="a=not/valid"),
        claim("made", notes="volume.kubernetes.io/selected-node=b"),
    )
    found = judged(VolumeBinding(), mounting(a_pod(), "made", "data"), cluster)

    assert found.code == {"a": Code.UNRESOLVABLE, "b": Code.ERROR}


@pytest.mark.parametrize(
    ("asks", "shape", "score"),
    [
        case("nothing used scores all", "0", (), 100),
        case("thirty of a hundred", "30Gi", (), 70),
        case("all of it", "100Gi", (), 0),
        case("a shape of one's own", "50Gi", (ShapePoint(0, 0), ShapePoint(100, 10)), 50),
        case("beyond the shape's last point", "80Gi", (ShapePoint(10, 3), ShapePoint(20, 7)), 70),
        case("before its first", "5Gi", (ShapePoint(10, 3), ShapePoint(20, 7)), 30),
        case("falling, towards nought", "33Gi", (ShapePoint(0, 10), ShapePoint(70, 0)), 53),
    ],
)
def test_room_is_scored_by_the_shape(asks: str, shape: tuple[ShapePoint, ...], score: int) -> None:
    """How much of the volume, or of the pool, would be used."""
    taken = a_cluster(node("n"), storage_class(), claim("data", asks=asks), volume("pv", size="100Gi"))
    made = a_cluster(node("n"), storage_class(), claim("data", asks=asks), csi_driver(counts_room=True), pool("p"))
    rule = VolumeBinding(VolumeBindingArgs(shape=shape))

    for cluster in (taken, made):
        found = scored(rule, POD, cluster)
        assert found is not None
        assert found.raw == {"n": score}


def test_classes_are_averaged_and_rounded_half_up() -> None:
    """The room of a pool is not added up, what is asked of it is."""
    cluster = a_cluster(
        node("n"),
        storage_class(),
        storage_class("fast"),
        csi_driver(counts_room=True),
        pool("p"),
        pool("q", of="fast"),
        claim("data", asks="30Gi"),
        claim("more", asks="45Gi"),
        claim("other", of="fast", asks="50Gi"),
    )
    found = scored(VolumeBinding(), mounting(a_pod(), "data", "more", "other"), cluster)

    assert found is not None
    assert found.raw == {"n": 38}  # (25 + 50) / 2


def test_without_the_gate_nothing_is_scored() -> None:
    """And with it even pods without claims are."""
    cluster = a_cluster(node("n"))
    found = scored(VolumeBinding(), a_pod(), cluster)

    assert scored(VolumeBinding(None, Gates(storage_capacity_scoring=False)), a_pod(), cluster) is None
    assert found is not None
    assert found.raw == {"n": 0}


def test_what_a_node_would_take_is_what_two_pods_do_not_both_get() -> None:
    """The second pod finds what the first has left, as if it had been written."""
    cluster = a_cluster(node("n"), storage_class(provisioner=""), claim("one"), claim("two"), volume("pv"))
    rule, reader, view = VolumeBinding(), Reader(cluster), View(cluster)
    first, second = mounting(a_pod("one"), "one"), mounting(a_pod("two"), "two")
    found = rule.prepare(reader.shape(first).part(VOLUMES), view)
    assert isinstance(found, Prepared)
    reservation = rule.reservation(found.state, view, 0)
    assert reservation == Reservation(bind=((0, "pv"),), provision=())
    assert judged(rule, second, cluster).fits == {"n": True}

    reserved = cluster.volumes.reserve(first, reservation, "n")
    assert judged(rule, second, cluster).why == {"n": (NOTHING_FREE,)}
    assert judged(rule, first, cluster).fits == {"n": True}

    cluster.volumes.release(reserved)
    assert judged(rule, second, cluster).fits == {"n": True}


def test_a_pod_whose_claims_are_bound_takes_nothing() -> None:
    """There is nothing to write."""
    cluster = a_cluster(node("n"), claim("data", volume="pv"), volume("pv"))
    rule, view = VolumeBinding(), View(cluster)
    found = rule.prepare(Reader(cluster).shape(POD).part(VOLUMES), view)
    assert isinstance(found, Prepared)

    assert rule.reservation(found.state, view, 0) is None


def test_a_remembered_match_is_forgotten_when_what_it_read_changes() -> None:
    """The node's labels, or what it might reach."""
    cluster = a_cluster(
        node("n", zone="a"), storage_class(provisioner=""), claim("data"), volume("pv", reach=f"{ZONE}=a")
    )
    rule, view = VolumeBinding(), View(cluster)
    found = rule.prepare(Reader(cluster).shape(POD).part(VOLUMES), view)
    assert isinstance(found, Prepared)
    assert rule.fits(found.state, view).tolist() == [True]

    cluster.put_node(node("n", zone="b"))
    assert rule.fits(found.state, View(cluster)).tolist() == [False]
    cluster.volumes.put(volume("more", reach=f"{ZONE}=b"))
    assert rule.fits(found.state, View(cluster)).tolist() == [True]


@pytest.mark.parametrize(
    ("arguments", "problems"),
    [
        case("the defaults are right", VolumeBindingArgs(), 0),
        case("a time before now", VolumeBindingArgs(bind_timeout_seconds=-1), 1),
        case("points out of order", VolumeBindingArgs(shape=(ShapePoint(5, 1), ShapePoint(5, 2))), 1),
        case("a score out of range", VolumeBindingArgs(shape=(ShapePoint(5, 11),)), 1),
    ],
)
def test_arguments_are_validated(arguments: VolumeBindingArgs, problems: int) -> None:
    """Everything wrong is said at once."""
    assert len(arguments.problems()) == problems
