"""What rules see of a volume that a claim has."""

from bayplan.api.disks import AWSElasticBlockStore
from bayplan.cluster.held import Place, held
from tests.storage import volume

ZONE = "topology.kubernetes.io/zone"


def test_volumes_that_differ_in_name_and_handle_are_held_alike() -> None:
    """Rules cannot tell them apart."""
    assert held(volume("a", handle="1", reach="zone=a")) == held(volume("b", handle="2", reach="zone=a"))
    assert held(volume("a", handle="1")) != held(volume("a", handle="1", driver="other"))


def test_places_are_the_values_of_each_label() -> None:
    """A label with an empty value among its values counts for nothing."""
    beta = "failure-domain.beta.kubernetes.io/region"

    assert held(volume("a", labels=f"{ZONE}=b__a {beta}=r__")).places == (Place(ZONE, ("a", "b")),)


def test_an_in_tree_volume_is_seen_both_ways() -> None:
    """It counts only on nodes with a CSINode, and says why its driver cannot be told."""
    good = held(volume("a", aws_elastic_block_store=AWSElasticBlockStore(volume_id="vol-1"), labels=f"{ZONE}=a"))
    bad = held(volume("a", aws_elastic_block_store=AWSElasticBlockStore(volume_id="aws://x/y")))

    assert (good.driver, good.driver_migrated) == ("", "ebs.csi.aws.com")
    assert good.reach is None
    assert good.reach_migrated is not None
    assert bad.error.startswith("could not translate pv: failed to translate")
    assert bad.driver_migrated == ""
