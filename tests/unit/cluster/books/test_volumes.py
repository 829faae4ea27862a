"""The books of volumes: what is kept, what is taken, what an object's change concerns."""

from bayplan.api.objects import Object
from bayplan.cluster.books.volumes import VolumeBooks
from bayplan.cluster.claims import Reservation
from bayplan.cluster.table import Table
from tests.kit import a_cluster, a_pod, node
from tests.storage import attachment, claim, csi_node, mounting, storage_class, volume

POD = mounting(a_pod("web"), "data", "more")
RESERVATION = Reservation(bind=((0, "pv"),), provision=(1,))


def filled() -> Table:
    """Return a cluster in which there is something to take."""
    return a_cluster(node("n"), storage_class(), claim("data"), claim("more"), volume("pv", reach="host=n"))


def contents(books: VolumeBooks) -> object:
    """Return all that rules can look up."""
    free = {name: sorted(found for found, _ in books.stock_of(name).of({"host": "n"}, 0)) for name in ("late", "other")}
    return dict(books.claims.entries), dict(books.volumes.entries), free, dict(books._kept)


def test_what_is_reserved_is_taken() -> None:
    """The volume refers to the claim, and the claim names the node where its volume is made."""
    books = filled().volumes
    books.reserve(POD, RESERVATION, "n")
    reference = books.volumes.entries["pv"].spec.claim_ref

    assert reference is not None
    assert (reference.namespace, reference.name) == ("default", "data")
    assert books.volumes.entries["pv"].metadata.annotations == {"pv.kubernetes.io/bound-by-controller": "yes"}
    assert books.claims.entries["default/more"].metadata.annotations["volume.kubernetes.io/selected-node"] == "n"
    assert list(books.stock_of("late").of({"host": "n"}, 0)) == []
    assert books.kept_for(books.claims.entries["default/data"]) == ("pv",)


def test_what_is_released_is_as_it_was() -> None:
    """Only versions have risen."""
    books = filled().volumes
    before, version = contents(books), books.version
    reserved = books.reserve(POD, RESERVATION, "n")
    assert contents(books) != before

    books.release(reserved)
    assert contents(books) == before
    assert books.version > version


def test_reservations_are_released_in_any_order() -> None:
    """Each takes back its own."""
    cluster = filled()
    cluster.volumes.put(claim("data-2"))
    cluster.volumes.put(volume("pv-2"))
    before = contents(cluster.volumes)
    first = cluster.volumes.reserve(POD, RESERVATION, "n")
    second = cluster.volumes.reserve(mounting(a_pod("two"), "data-2"), Reservation(((0, "pv-2"),), ()), "n")
    cluster.volumes.release(first)
    cluster.volumes.release(second)

    assert contents(cluster.volumes) == before


def test_what_the_api_server_says_since_is_not_taken_back() -> None:
    """An object that came after the reservation stays."""
    books = filled().volumes
    reserved = books.reserve(POD, RESERVATION, "n")
    bound = volume("pv", kept="default/data", phase="Bound")
    books.put(bound)
    books.release(reserved)

    assert books.volumes.entries["pv"] is bound


def test_a_volume_that_moves_to_another_class_is_found_there_alone() -> None:
    """A stock holds its own class's volumes."""
    books = filled().volumes
    books.put(volume("pv", of="other"))

    assert [len(list(books.stock_of(name).of({}, 0))) for name in ("late", "other")] == [0, 1]


def test_a_change_names_the_rows_that_it_concerns() -> None:
    """Only what pods there mount, or what is attached there, concerns a row alone."""
    resident = mounting(a_pod("resident", on="n"), "data")
    cluster = a_cluster(
        node("m"),
        node("n"),
        claim("data", volume="pv"),
        volume("pv", handle="h"),
        resident,
        attachment("va", to="m", of="pv"),
    )
    books, n = cluster.volumes, cluster.row_of["n"]

    def touched(thing: Object) -> tuple[list[str], list[int]]:
        found = books.put(thing)  # type: ignore[arg-type]  # each is one that books take
        return list(found.nodes), list(found.rows)

    assert touched(csi_node("m")) == (["m"], [])
    assert touched(claim("data", volume="pv", notes="a=b")) == ([], [n])
    assert touched(claim("other")) == ([], [])
    assert touched(volume("pv", handle="other")) == (["m"], [n])
    assert touched(volume("pv", handle="other", phase="Bound")) == ([], [])
    assert touched(storage_class()) == ([], [n])
    assert touched(attachment("va", to="n", of="pv")) == (["m", "n"], [])
