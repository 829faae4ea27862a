"""Which volumes the claims of a pod would take on a node."""

import pytest

from bayplan.api.claims import CSIStorageCapacity, PersistentVolume, PersistentVolumeClaim, StorageClass
from bayplan.cluster.books.stock import Pools, Stock, free_of
from bayplan.cluster.claims import volumes_of
from bayplan.cluster.matching import Match, Source, Want, match, want_of, wrong_selector
from tests.kit import a_cluster, a_pod, case
from tests.storage import claim, mounting, pool, storage_class, volume

HERE = {"host": "n", "zone": "a"}


def wants(
    *claims: PersistentVolumeClaim,
    volumes: list[PersistentVolume] = [],  # noqa: B006 never written to
    pools: list[CSIStorageCapacity] | None = None,
    of: StorageClass | None = None,
) -> tuple[Want, ...]:
    """Return what claims of one class want."""
    cluster = a_cluster(*claims, *volumes)
    part = volumes_of(mounting(a_pod(), *(one.metadata.name for one in claims)), cluster.volumes)
    stock, room = Stock(), None if pools is None else Pools()
    for one in volumes:
        stock.put(one)
    for capacity in pools or ():
        assert room is not None
        room.put(capacity.metadata.name, capacity)
    found = []
    for state in part.claims if part is not None else ():
        assert state.wish is not None
        kept = tuple((name, free_of(cluster.volumes.volumes.entries[name])) for name in state.wish.kept)
        found.append(want_of(state, state.wish, of or storage_class(), Source(stock, kept, room)))
    return tuple(found)


def taken(found: Match) -> list[str]:
    """Return the volumes that would be taken, and `+` for each that would be made."""
    return [*(given.volume for given in found.given), *("+" for _ in found.made)]


@pytest.mark.parametrize(
    ("volumes", "chosen"),
    [
        case(
            "the smallest that is large enough",
            [volume("small", size="5Gi"), volume("large", size="50Gi"), volume("fits", size="10Gi")],
            ["fits"],
        ),
        case("of equals the first by name", [volume("b"), volume("a")], ["a"]),
        case("not one that the node does not reach", [volume("a", reach="zone=b"), volume("b", reach="zone=a")], ["b"]),
        case("one of this host", [volume("other", reach="host=m"), volume("own", reach="host=n")], ["own"]),
        case("not one that is released", [volume("a", phase="Released")], ["+"]),
        case("not one that goes away", [volume("a", deleting=True)], ["+"]),
        case("not one that is kept for another", [volume("a", kept="default/other")], ["+"]),
        case("not one of another access mode", [volume("a", modes="ReadOnlyMany")], ["+"]),
        case("not one of another volume mode", [volume("a", volume_mode="Block")], ["+"]),
        case("not one of another attributes class", [volume("a", volume_attributes_class_name="gold")], ["+"]),
        case(
            "the one that is kept for it before a smaller one",
            [volume("free", size="10Gi"), volume("kept", size="50Gi", kept="default/data")],
            ["kept"],
        ),
        case(
            "the one that is kept for it even if it is not available",
            [volume("kept", kept="default/data", phase="Pending", modes="")],
            ["kept"],
        ),
        case(
            "nothing free where what is kept for it is out of reach",
            [volume("free"), volume("kept", kept="default/data", reach="zone=b")],
            ["+"],
        ),
    ],
)
def test_a_claim_takes(volumes: list[PersistentVolume], chosen: list[str]) -> None:
    """What suits it best; where nothing does, one is made."""
    assert taken(match(wants(claim("data"), volumes=volumes), "n", HERE)) == chosen


def test_claims_take_different_volumes_the_smallest_claim_first() -> None:
    """The small one gets the small volume though it is named last."""
    found = wants(
        claim("big", asks="8Gi"),
        claim("small", asks="1Gi"),
        volumes=[volume("a", size="9Gi"), volume("b", size="20Gi")],
    )

    assert [(given.want.claim.place, given.volume) for given in match(found, "n", HERE).given] == [(1, "a"), (0, "b")]


def test_a_selector_is_asked_of_labels() -> None:
    """A volume must match what the claim selects."""
    volumes = [volume("a", labels="kind=hdd"), volume("b", labels="kind=ssd")]

    assert taken(match(wants(claim("data", selects="kind=ssd"), volumes=volumes), "n", HERE)) == ["b"]


def test_a_selector_that_cannot_be_read_is_an_error_in_upstreams_words() -> None:
    """Unless the claim's volume is being made already."""
    bad = "kind=not/valid"
    text = wrong_selector(wants(claim("data", selects=bad)))

    assert text is not None
    assert text.startswith("error creating internal label selector for claim: default/data: ")
    assert wrong_selector(wants(claim("data", selects=bad, notes="volume.kubernetes.io/selected-node=n"))) is None


@pytest.mark.parametrize(
    ("asked", "of", "found"),
    [
        case("by a class that makes volumes", claim("data"), storage_class(), ["+"]),
        case(
            "not by one that makes none", claim("data"), storage_class(provisioner="kubernetes.io/no-provisioner"), []
        ),
        case("where the class allows it", claim("data"), storage_class(only="zone=b|zone=a"), ["+"]),
        case("not elsewhere", claim("data"), storage_class(only="zone=b"), []),
        case(
            "on the node that was chosen before",
            claim("data", notes="volume.kubernetes.io/selected-node=n"),
            storage_class(),
            ["+"],
        ),
        case("on no other", claim("data", notes="volume.kubernetes.io/selected-node=m"), storage_class(), []),
    ],
)
def test_a_volume_is_made(asked: PersistentVolumeClaim, of: StorageClass, found: list[str]) -> None:
    """A claim that finds no volume needs one to be made."""
    here = match(wants(asked, of=of), "n", HERE)

    assert taken(here) == found
    assert here.has_volumes is bool(found)


@pytest.mark.parametrize(
    ("pools", "fits"),
    [
        case("a pool of the zone with room", [pool("p", reach="zone=a")], True),
        case("a pool of another zone", [pool("p", reach="zone=b")], False),
        case("a pool without enough room", [pool("p", reach="zone=a", room="5Gi")], False),
        case("the largest volume counts before the room", [pool("p", reach="zone=a", largest="5Gi")], False),
        case("room that nobody knows is none", [pool("p", reach="zone=a", room=None)], False),
        case("any pool will do", [pool("p", reach="zone=a", room="5Gi"), pool("q", reach="zone")], True),
    ],
)
def test_a_volume_is_made_where_there_is_room(pools: list[CSIStorageCapacity], *, fits: bool) -> None:
    """Claims are asked about one by one, never their sum."""
    found = match(wants(claim("data"), claim("more"), pools=pools), "n", HERE)

    assert found.has_room is fits
