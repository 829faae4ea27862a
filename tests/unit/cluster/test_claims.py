"""What of a pod's volumes makes a part, and what does not."""

import pytest

from bayplan.api.objects import Object, Pod
from bayplan.cluster.claims import Claim, Disk, Reservation, Taking, Volumes, claim_name, mounts_of, volumes_of
from bayplan.cluster.table import Table
from tests.kit import a_cluster, a_pod, case, node
from tests.storage import claim, mounting, storage_class, volume

CLASS = storage_class()


def part(pod: Pod, cluster: Table) -> Volumes | None:
    """Return a waiting pod's part."""
    return volumes_of(pod, cluster.volumes)


def only_claim(pod: Pod, cluster: Table) -> Claim:
    """Return the one claim of a pod's part."""
    found = part(pod, cluster)
    assert found is not None
    (one,) = found.claims
    return one


def test_a_pod_without_volumes_that_rules_look_at_has_no_part() -> None:
    """An empty directory costs nothing."""
    assert part(mounting(a_pod(), "empty:"), a_cluster()) is None
    assert mounts_of(mounting(a_pod(), "empty:")) is None


def test_pods_of_a_stateful_set_share_a_part_though_each_has_a_claim_of_its_own() -> None:
    """Claims that wait for their first consumer alike are alike."""
    cluster = a_cluster(CLASS, claim("data-0"), claim("data-1"))

    assert part(mounting(a_pod("web-0"), "data-0"), cluster) == part(mounting(a_pod("web-1"), "data-1"), cluster)


def test_pods_whose_claims_have_volumes_that_are_alike_share_a_part() -> None:
    """Which volume it is matters to nobody while it is the only one of its handle."""
    cluster = a_cluster(
        *(claim(f"data-{number}", volume=f"pv-{number}") for number in range(2)),
        *(volume(f"pv-{number}", handle=f"h{number}", reach="zone=a") for number in range(2)),
    )

    assert part(mounting(a_pod("web-0"), "data-0"), cluster) == part(mounting(a_pod("web-1"), "data-1"), cluster)
    assert only_claim(mounting(a_pod(), "data-0"), cluster).held is not None


@pytest.mark.parametrize(
    "things",
    [
        case("another claim names it", [claim("other", volume="pv")]),
        case("another volume counts as the same", [volume("twin", handle="h")]),
        case(
            "a pod on a node names another claim to it",
            [claim("other", volume="pv"), mounting(a_pod("resident", on="n"), "other")],
        ),
        case("a pod on a node names the claim", [mounting(a_pod("resident", on="n"), "data")]),
        case("a pod nominated to a node names the claim", [mounting(a_pod("hopeful", nominated="n"), "data")]),
    ],
)
def test_a_volume_is_called_by_its_name_where_it_matters_which_one_it_is(things: list[Object]) -> None:
    """Whoever may count it a second time must recognise it."""
    cluster = a_cluster(node("n"), claim("data", volume="pv"), volume("pv", handle="h"), *things)

    assert only_claim(mounting(a_pod(), "data"), cluster).volume == "pv"


@pytest.mark.parametrize(
    ("thing", "text"),
    [
        case(
            "a claim that is lost",
            claim("data", volume="gone", phase="Lost"),
            'persistentvolumeclaim "data" bound to non-existent persistentvolume "gone"',
        ),
        case("a claim that goes away", claim("data", deleting=True), 'persistentvolumeclaim "data" is being deleted'),
        case("a claim that is not there", claim("other"), 'persistentvolumeclaim "data" not found'),
    ],
)
def test_a_claim_is_called_by_its_name_where_a_text_prints_it(thing: Object, text: str) -> None:
    """The texts are kube-scheduler's."""
    found = only_claim(mounting(a_pod(), "data"), a_cluster(thing))

    assert (found.key, found.refused) == ("default/data", text)


def test_a_claim_made_for_a_pod_must_be_owned_by_it() -> None:
    """A claim that merely has the name is foreign."""
    pod = mounting(a_pod("web"), "own:")
    text = "PVC default/web-v0 was not created for pod default/web (pod is not owner)"

    assert only_claim(pod, a_cluster(claim("web-v0", owner=pod))).foreign == ""
    assert only_claim(pod, a_cluster(claim("web-v0", owner=a_pod("other")))).foreign == text
    assert only_claim(pod, a_cluster()).refused == (
        'waiting for ephemeral volume controller to create the persistentvolumeclaim "web-v0"'
    )


def test_a_claim_knows_the_volumes_that_are_kept_for_it() -> None:
    """A volume may refer to a claim before the claim names it."""
    cluster = a_cluster(CLASS, claim("data"), claim("other"), volume("pv", kept="default/data"))
    wishes = [only_claim(mounting(a_pod(), name), cluster).wish for name in ("data", "other")]

    assert [wish.kept for wish in wishes if wish is not None] == [("pv",), ()]


def test_the_version_rises_when_a_part_may_be_another() -> None:
    """Whoever waits is read again then, and only then need be."""
    cluster = a_cluster(node("n"), CLASS, claim("data", volume="pv"), volume("pv", handle="h"))
    seen = [cluster.volumes.version]

    cluster.volumes.put(claim("data", volume="pv", notes="a=b"))
    seen.append(cluster.volumes.version)
    cluster.volumes.put(volume("pv", handle="h", labels="zone=b"))
    seen.append(cluster.volumes.version)
    cluster.place(mounting(a_pod(), "data"), cluster.row_of["n"])
    seen.append(cluster.volumes.version)

    assert seen == sorted(set(seen))


def test_a_reservation_is_read_in_the_names_of_any_pod_of_the_shape() -> None:
    """Claims are called by their place."""
    reservation = Reservation(bind=((0, "pv"),), provision=(1,))
    pod = mounting(a_pod("web-7"), "data-7", "own:")

    assert reservation.named(pod) == Taking({"data-7": "pv"}, ("web-7-v1",))
    assert claim_name(pod, 1) == "web-7-v1"


@pytest.mark.parametrize(
    ("one", "other", "clash"),
    [
        case("gce: the same disk", Disk("gce", "d", read_only=False), Disk("gce", "d", read_only=True), True),
        case("gce: both only read", Disk("gce", "d", read_only=True), Disk("gce", "d", read_only=True), False),
        case("ebs: even when both only read", Disk("ebs", "d", read_only=True), Disk("ebs", "d", read_only=True), True),
        case("another kind", Disk("ebs", "d", read_only=False), Disk("gce", "d", read_only=False), False),
        case(
            "rbd: a monitor in common",
            Disk("rbd", "i", read_only=False, pool="p", monitors=("a", "b")),
            Disk("rbd", "i", read_only=False, pool="p", monitors=("b", "c")),
            True,
        ),
        case(
            "rbd: no monitor in common",
            Disk("rbd", "i", read_only=False, pool="p", monitors=("a",)),
            Disk("rbd", "i", read_only=False, pool="p", monitors=("c",)),
            False,
        ),
        case(
            "rbd: another pool",
            Disk("rbd", "i", read_only=False, pool="p", monitors=("a",)),
            Disk("rbd", "i", read_only=False, pool="q", monitors=("a",)),
            False,
        ),
    ],
)
def test_disks_clash(one: Disk, other: Disk, *, clash: bool) -> None:
    """It does not matter who asks whom."""
    assert one.clashes(other) is other.clashes(one) is clash
