"""VolumeZone: bound volumes that say where they are."""

import pytest

from bayplan.framework.plugin import Code, Rejected
from bayplan.plugins.volume_zone import VolumeZone
from tests.kit import a_cluster, a_pod, case, judged, node
from tests.storage import AT_ONCE, claim, mounting, storage_class, volume

ZONE, ZONE_BETA = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
POD = mounting(a_pod(), "data")


@pytest.mark.parametrize(
    ("labels", "fits"),
    [
        case("one zone", f"{ZONE}=a", "a nowhere"),
        case("several zones", f"{ZONE}=a__b", "a b nowhere"),
        case("the old name of a node's present label", f"{ZONE_BETA}=a", "a nowhere"),
        case("zone and region", f"{ZONE}=a topology.kubernetes.io/region=r", "nowhere"),
    ],
)
def test_a_pod_stays_with_its_volumes(labels: str, fits: str) -> None:
    """A node that says nothing passes; no eviction helps elsewhere."""
    cluster = a_cluster(
        node("a", zone="a"),
        node("b", zone="b"),
        node("nowhere"),
        claim("data", volume="pv"),
        volume("pv", labels=labels),
    )
    found = judged(VolumeZone(), POD, cluster)

    assert found.names_that_fit == fits.split()
    assert set(found.why.values()) <= {("node(s) had no available volume zone",)}
    assert set(found.code.values()) <= {Code.UNRESOLVABLE}


@pytest.mark.parametrize(
    "labels",
    [
        case("no label", ""),
        case("a label with an empty value in it", f"{ZONE}=a__"),
        case("a label about something else", "zone=a"),
    ],
)
def test_a_volume_that_does_not_say_is_not_asked_about(labels: str) -> None:
    """The filter is skipped."""
    cluster = a_cluster(node("a", zone="a"), claim("data", volume="pv"), volume("pv", labels=labels))

    assert judged(VolumeZone(), POD, cluster).skipped


@pytest.mark.parametrize(
    ("things", "text"),
    [
        case("no claim", [], 'persistentvolumeclaim "data" not found'),
        case("no volume", [claim("data", volume="pv")], 'persistentvolume "pv" not found'),
        case("no class", [claim("data")], 'storageclass.storage.k8s.io "late" not found'),
        case(
            "a claim without a class",
            [claim("data", of="")],
            "PersistentVolumeClaim had no pv name and storageClass name",
        ),
        case(
            "a class without a mode",
            [claim("data"), storage_class(mode=None)],
            'VolumeBindingMode not set for StorageClass "late"',
        ),
        case(
            "a claim that should have a volume by now",
            [claim("data"), storage_class(mode=AT_ONCE)],
            "PersistentVolume had no name",
        ),
    ],
)
def test_a_claim_without_its_volume_rejects_the_pod(things: list[object], text: str) -> None:
    """In kube-scheduler's words."""
    cluster = a_cluster(node("a"), *things)  # type: ignore[arg-type]

    assert judged(VolumeZone(), POD, cluster).rejected == Rejected(Code.UNRESOLVABLE, (text,))


def test_a_claim_without_a_name_rejects_the_pod() -> None:
    """It can be no claim at all."""
    assert judged(VolumeZone(), mounting(a_pod(), ""), a_cluster(node("a"))).rejected == Rejected(
        Code.UNRESOLVABLE, ("PersistentVolumeClaim had no name",)
    )


def test_claims_that_wait_and_claims_made_for_the_pod_are_left_alone() -> None:
    """Nobody knows their zone yet."""
    assert judged(VolumeZone(), POD, a_cluster(node("a"), claim("data"), storage_class())).skipped
    assert judged(VolumeZone(), mounting(a_pod(), "own:"), a_cluster(node("a"))).skipped
