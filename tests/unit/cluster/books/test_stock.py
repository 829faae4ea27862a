"""Which volumes are free, and which pools have room."""

import pytest
from msgspec.structs import replace

from bayplan.api.claims import PersistentVolume
from bayplan.cluster.books.stock import Pools, Stock
from tests.kit import case
from tests.storage import pool, volume


@pytest.mark.parametrize(
    ("one", "is_free"),
    [
        case("available and without a claim", volume("pv"), True),
        case("kept for a claim", volume("pv", kept="default/data"), False),
        case("released", volume("pv", phase="Released"), False),
        case("going away", volume("pv", deleting=True), False),
    ],
)
def test_a_stock_holds_what_is_free(one: PersistentVolume, *, is_free: bool) -> None:
    """Others are left out."""
    stock = Stock()
    stock.put(one)

    assert [name for name, _ in stock.of({}, 0)] == ["pv"] * is_free


def test_a_stock_shows_no_volume_that_is_too_small() -> None:
    """Sizes are exact."""
    stock = Stock()
    for name, size in (("a", "1Gi"), ("b", "1073741825"), ("c", "2Gi")):
        stock.put(volume(name, size=size))

    assert [name for name, _ in stock.of({}, (2**30 + 1) * 10**9)] == ["b", "c"]


def test_pools_that_reach_no_node_are_left_out() -> None:
    """A pool without a topology is for nobody."""
    pools = Pools()
    pools.put("a", replace(pool("a"), node_topology=None))
    pools.put("b", pool("b", reach="zone=a"))
    pools.put("c", pool("c"))

    assert len(list(pools.of({"zone": "a"}))) == 2
    assert len(list(pools.of({"zone": "b"}))) == 1
    pools.drop("c")
    assert list(pools.of({})) == []
