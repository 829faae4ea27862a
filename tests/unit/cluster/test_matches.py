"""What rows have is what a search of each would find, whatever came and went."""

from hypothesis import given, settings
from hypothesis import strategies as st

from bayplan.cluster.claims import volumes_of
from bayplan.cluster.matches import Matches
from bayplan.cluster.matching import Match, Source, keys_of, match, want_of
from bayplan.cluster.table import Table
from bayplan.cluster.view import View
from tests.kit import a_cluster, a_pod, node
from tests.storage import claim, csi_driver, mounting, pool, storage_class, volume

NAMES = ("m", "n", "o")
VOLUMES = st.builds(
    lambda name, size, reach: volume(name, size=size, reach=reach),
    st.sampled_from(["pv-1", "pv-2", "pv-3"]),
    st.sampled_from(["5Gi", "10Gi", "20Gi"]),
    st.sampled_from(["", "zone=a", "zone=a,b", "kubernetes.io/hostname=m", "disk=ssd zone=b", "zone!=a", "name=m"]),
)
NODES = st.builds(
    lambda name, zone, disk: node(name, labels=f"zone={zone} disk={disk}"),
    st.sampled_from(NAMES),
    st.sampled_from("ab"),
    st.sampled_from(["ssd", "hdd"]),
)
POOLS = st.builds(
    lambda name, reach, room: pool(name, reach=reach, room=room),
    st.sampled_from(["p", "q"]),
    st.sampled_from(["zone=a", "zone=b", "disk=ssd", ""]),
    st.sampled_from(["5Gi", "50Gi"]),
)
STEPS = st.lists(st.one_of(VOLUMES, NODES, POOLS, st.sampled_from(["drop pv-1", "drop pv-2"])), max_size=12)
CLAIMS = st.sampled_from(
    [
        [claim("x")],
        [claim("x", asks="1Gi"), claim("y")],
        [claim("x", notes="volume.kubernetes.io/selected-node=n"), claim("y")],
    ]
)


def agree(matches: Matches, table: Table, names: tuple[str, ...]) -> None:
    """Ask both ways about some nodes."""
    rows = [int(table.row_of[name]) for name in names]
    view = View(table, View(table).rows[rows])
    found = matches.ask(view)
    for place, name in enumerate(names):
        one = table.nodes[table.row_of[name]]
        assert one is not None
        alone = match(matches.wants, name, one.metadata.labels)
        assert bool(found.no_volumes[place]) is not alone.has_volumes
        assert bool(found.no_room[place]) is not alone.has_room
        assert found.worth[place] == (len(alone.given) + 10 * len(alone.made))


@settings(max_examples=60)
@given(claims=CLAIMS, steps=STEPS, is_made=st.booleans(), data=st.data())
def test_what_is_remembered_is_what_a_search_would_find(
    claims: list[object],
    steps: list[object],
    data: st.DataObject,
    *,
    is_made: bool,
) -> None:
    """Of any rows, after any change."""
    of = storage_class(provisioner="disk.example.com" if is_made else "", only="zone=a" if is_made else "")
    table = a_cluster(*map(node, NAMES), of, csi_driver(counts_room=True), *claims)  # type: ignore[arg-type]
    pod = mounting(a_pod(), *(one.metadata.name for one in claims))  # type: ignore[attr-defined]
    part, books = volumes_of(pod, table.volumes), table.volumes
    assert part is not None
    source = Source(books.stock_of("late"), (), books.pools_of("late"))
    wants = tuple(want_of(one, one.wish, of, source) for one in part.claims if one.wish is not None)
    matches = Matches(wants, lambda found: len(found.given) + 10 * len(found.made))
    agree(matches, table, NAMES)
    for step in steps:
        if isinstance(step, str):
            books.drop(volume(step.removeprefix("drop ")))
        elif hasattr(step, "node_topology") or hasattr(step.spec, "capacity"):  # type: ignore[attr-defined]
            books.put(step)  # type: ignore[arg-type]
        else:
            table.put_node(step)  # type: ignore[arg-type]
        agree(matches, table, data.draw(st.sampled_from([NAMES, ("n",), ("o", "m")])))


def test_rows_that_look_alike_are_searched_once() -> None:
    """The search looks at no label but those that something speaks of."""
    table = a_cluster(
        *(node(f"n{number}", zone="ab"[number % 2]) for number in range(10)),
        storage_class(provisioner=""),
        claim("x"),
        volume("pv", reach="topology.kubernetes.io/zone=a"),
    )
    part, books = volumes_of(mounting(a_pod(), "x"), table.volumes), table.volumes
    assert part is not None
    (one,) = part.claims
    assert one.wish is not None
    want = want_of(one, one.wish, storage_class(provisioner=""), Source(books.stock_of("late"), (), None))
    searched: list[Match] = []

    def worth(found: Match) -> int:
        searched.append(found)
        return 7

    matches = Matches((want,), worth)
    found = matches.ask(View(table))

    assert keys_of((want,)) == {"topology.kubernetes.io/zone"}
    assert found.worth.tolist() == [7, 0] * 5
    assert len(searched) == 1
