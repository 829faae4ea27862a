"""What a node counts a volume as."""

import pytest

from bayplan.api.claims import PersistentVolume, StorageClass
from bayplan.api.disks import AWSElasticBlockStore
from bayplan.cluster.books.identities import Identity, identity_of
from tests.kit import case
from tests.storage import DRIVER, storage_class, volume

EBS = volume("pv", aws_elastic_block_store=AWSElasticBlockStore(volume_id="vol-1"))


@pytest.mark.parametrize(
    ("one", "of_class", "migrates", "identity"),
    [
        case("a CSI volume as itself", volume("pv", handle="h"), None, False, Identity(DRIVER, "h")),
        case("a volume of no driver as nothing", volume("pv"), storage_class(), True, None),
        case(
            "an in-tree volume as its driver's where there is a CSINode",
            EBS,
            None,
            True,
            Identity("ebs.csi.aws.com", "vol-1"),
        ),
        case("and as nothing where there is none", EBS, None, False, None),
        case(
            "no volume as one that the class makes",
            None,
            storage_class(),
            False,
            Identity(DRIVER, "ns/c", is_claim=True),
        ),
        case(
            "an in-tree class's as its driver's",
            None,
            storage_class(provisioner="kubernetes.io/aws-ebs"),
            True,
            Identity("ebs.csi.aws.com", "ns/c", is_claim=True),
        ),
        case("but not without a CSINode", None, storage_class(provisioner="kubernetes.io/aws-ebs"), False, None),
        case("nor where nobody counts them", None, storage_class(provisioner="kubernetes.io/azure-file"), True, None),
        case("no volume and no class as nothing", None, None, True, None),
    ],
)
def test_a_claim_counts_as(
    one: PersistentVolume | None, of_class: StorageClass | None, identity: Identity | None, *, migrates: bool
) -> None:
    """The driver, and its name for the volume."""
    assert identity_of(one, of_class, "ns/c", migrates=migrates) == identity
