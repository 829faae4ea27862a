"""In-tree volumes in the words of the drivers that took their place."""

import pytest
from msgspec.structs import replace

from bayplan.api.claims import PersistentVolume
from bayplan.api.disks import AWSElasticBlockStore, AzureDisk, AzureFile, GCEPersistentDisk
from bayplan.api.objects import Volume
from bayplan.cluster.migration import Untranslatable, handle_of, inline_of, plugin_of, reach_of
from bayplan.cluster.reach import reach_in
from tests.kit import case
from tests.storage import volume

ZONE, ZONE_BETA = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"


def ebs(volume_id: str = "vol-1", *, reach: str = "", labels: str = "") -> PersistentVolume:
    """Return a volume on an EBS disk."""
    source = AWSElasticBlockStore(volume_id=volume_id)
    return volume("pv", aws_elastic_block_store=source, reach=reach, labels=labels)


def gce(labels: str) -> PersistentVolume:
    """Return a volume on a Google disk."""
    return volume("pv", gce_persistent_disk=GCEPersistentDisk(pd_name="d"), labels=labels)


def handle(found: PersistentVolume) -> str:
    """Return the driver's name for a volume."""
    plugin = plugin_of(found)
    assert plugin is not None
    return handle_of(found, plugin)


@pytest.mark.parametrize(
    ("found", "name"),
    [
        case("an EBS volume by its id", ebs("vol-1"), "vol-1"),
        case("an EBS volume by its address", ebs("aws://zone-a/vol-1"), "vol-1"),
        case("an EBS volume whose address names no zone", ebs("aws:///vol-1"), "vol-1"),
        case("a Google disk somewhere", gce(""), "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d"),
        case("a Google disk in a zone", gce(f"{ZONE}=us-a1-a"), "projects/UNSPECIFIED/zones/us-a1-a/disks/d"),
        case(
            "a Google disk in two zones of a region",
            gce(f"{ZONE_BETA}=us-a1-a__us-a1-b"),
            "projects/UNSPECIFIED/regions/us-a1/disks/d",
        ),
    ],
)
def test_a_volume_has_its_drivers_name(found: PersistentVolume, name: str) -> None:
    """Drivers tell volumes apart by these."""
    assert handle(found) == name


@pytest.mark.parametrize(
    ("found", "text"),
    [
        case(
            "an EBS address without a volume",
            ebs("aws://zone-a/disk"),
            "failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://zone-a/disk)",
        ),
        case(
            "zones of two regions",
            gce(f"{ZONE}=us-a1-a__us-a2-b"),
            "failed to get region from zones: multiple or no regions gotten from zones, got: map[us-a1:{} us-a2:{}]",
        ),
        case(
            "zones of no region",
            gce(f"{ZONE}=a__b"),
            "failed to get region from zones: zone in unexpected format, expected: {locale}-{region}-{zone}, got: a",
        ),
        case(
            "an Azure disk that nobody manages",
            volume("pv", azure_disk=AzureDisk(disk_uri="/d", kind="Dedicated")),
            "kind(Dedicated) is not supported in csi migration",
        ),
    ],
)
def test_what_a_driver_cannot_be_told_is_refused_in_upstreams_words(found: PersistentVolume, text: str) -> None:
    """The text ends up in events."""
    with pytest.raises(Untranslatable) as refusal:
        handle(found)

    assert str(refusal.value) == text


@pytest.mark.parametrize(
    ("found", "labels", "reached"),
    [
        case("the zone key becomes the driver's", ebs(reach=f"{ZONE}=a"), {"topology.ebs.csi.aws.com/zone": "a"}, True),
        case("and is asked no more", ebs(reach=f"{ZONE}=a"), {ZONE: "a"}, False),
        case("labels speak where the affinity does not", ebs(labels=f"{ZONE}=a"), {ZONE: "a"}, False),
        case(
            "the beta region becomes the present one",
            ebs(reach=f"{ZONE_BETA}=a failure-domain.beta.kubernetes.io/region=r"),
            {"topology.ebs.csi.aws.com/zone": "a", "topology.kubernetes.io/region": "r"},
            True,
        ),
        case("a node's name counts for nothing", ebs(reach="name=other"), {}, True),
    ],
)
def test_a_volume_is_reached_in_its_drivers_words(
    found: PersistentVolume, labels: dict[str, str], *, reached: bool
) -> None:
    """Nodes that migrated are asked with the driver's topology key."""
    plugin = plugin_of(found)
    assert plugin is not None
    required = reach_of(found, plugin)
    assert required is not None
    terms = reach_in(required)

    assert (terms is None or terms.matches(labels)) is reached


def test_a_volume_given_in_the_pod_is_the_drivers_too() -> None:
    """Those that no scheduler counts have no name."""
    share = inline_of(Volume(name="v", azure_file=AzureFile(share_name="s")))
    disk = Volume(name="v", aws_elastic_block_store=AWSElasticBlockStore(volume_id="vol-1"))
    wrong = replace(disk, aws_elastic_block_store=AWSElasticBlockStore(volume_id="aws://x/y"))
    found, failed = inline_of(disk), inline_of(wrong)

    assert share is not None
    assert not share.counts
    assert found is not None
    assert (found.driver, found.handle) == ("ebs.csi.aws.com", "vol-1")
    assert failed is not None
    assert failed.error.startswith("converting volume(v) from inline to csi: failed to translate Kubernetes ID")
    assert inline_of(Volume(name="v")) is None
