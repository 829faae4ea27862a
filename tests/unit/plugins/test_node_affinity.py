"""NodeAffinity: nodeSelector, required and preferred terms, and what the administrator adds."""

import pytest

from bayplan.api.objects import Affinity
from bayplan.plugins.node_affinity import NodeAffinity, NodeAffinityArgs
from tests.kit import a_cluster, a_pod, case, judged, needs, node, scored

CLUSTER = a_cluster(
    node("a", zone="west", labels="disk=ssd cores=8"),
    node("b", zone="east", labels="disk=ssd cores=16"),
    node("c", zone="west", labels="disk=hdd cores=many"),
    node("bare"),
)


@pytest.mark.parametrize(
    ("selects", "affinity", "fits"),
    [
        case("labels must be equal", "disk=ssd", None, "a b"),
        case("all of them", "disk=ssd cores=16", None, "b"),
        case("a label that nobody has fits nowhere", "gone=yes", None, ""),
        case("one of several values", "", needs("disk=ssd,tape"), "a b"),
        case("none of several values, and absence is none of them", "", needs("disk!=ssd,tape"), "c bare"),
        case("a key that must be there", "", needs("disk"), "a b c"),
        case("or must not", "", needs("!disk"), "bare"),
        case("more than a number; what is no number is not", "", needs("cores>8"), "b"),
        case("less than a number", "", needs("cores<9"), "a"),
        case("one of two terms is enough", "", needs("cores<9", "disk=hdd"), "a c"),
        case("but all of a term", "", needs("cores<9 disk=hdd"), ""),
        case("selector and terms together", "disk=ssd", needs("cores>8"), "b"),
        case("a node by its name", "", needs("name=c"), "c"),
        case("every node but one", "", needs("name!=c"), "a b bare"),
        case("an empty term matches nothing", "", needs(""), ""),
    ],
)
def test_filter(selects: str, affinity: Affinity | None, fits: str) -> None:
    """A node fits when its labels and name are what the pod asks for."""
    ruling = judged(NodeAffinity(), a_pod(selects=selects, affinity=affinity), CLUSTER)

    assert ruling.names_that_fit == fits.split()
    assert set(ruling.why.values()) <= {("node(s) didn't match Pod's node affinity/selector",)}


def test_a_pod_that_asks_for_nothing_is_not_filtered() -> None:
    """Preferences alone rule nothing out."""
    assert judged(NodeAffinity(), a_pod(), CLUSTER).skipped
    assert judged(NodeAffinity(), a_pod(affinity=needs(likes={"disk=ssd": 1})), CLUSTER).skipped


def test_terms_that_name_nodes_narrow_the_search() -> None:
    """Each term's names count, and only those nodes are looked at."""
    ruling = judged(NodeAffinity(), a_pod(affinity=needs("name=a", "name=b disk=hdd")), CLUSTER)

    assert ruling.names_that_fit == ["a"]


def test_names_that_exclude_each_other_reject_the_pod() -> None:
    """A term that asks for two names at once is met by no node that could ever be."""
    ruling = judged(NodeAffinity(), a_pod(affinity=needs("name=a name=b")), CLUSTER)

    assert ruling.rejected is not None
    assert ruling.rejected.texts == ("pod affinity terms conflict",)


@pytest.mark.parametrize(
    ("likes", "scores"),
    [
        case("weights add up, the best node has a hundred", {"disk=ssd": 2, "cores>8": 3}, [40, 100, 0, 0]),
        case("an empty preference likes nobody", {"": 5, "disk=hdd": 1}, [0, 0, 100, 0]),
        case("what nobody meets is worth nothing", {"gone": 7}, [0, 0, 0, 0]),
    ],
)
def test_score(likes: dict[str, int], scores: list[int]) -> None:
    """The sum of the weights of what a node meets, scaled to a hundred."""
    found = scored(NodeAffinity(), a_pod(affinity=needs(likes=likes)), CLUSTER)

    assert found is not None
    assert list(found.normal.values()) == scores


def test_a_pod_without_preferences_is_not_scored() -> None:
    """There is nothing to add up."""
    assert scored(NodeAffinity(), a_pod(affinity=needs("disk")), CLUSTER) is None


def test_what_the_administrator_adds_is_asked_of_every_pod() -> None:
    """It is named first where both say no, and its preferences count beside the pod's own."""
    added = needs("disk", likes={"disk=hdd": 1}).node_affinity
    rule = NodeAffinity(NodeAffinityArgs(added_affinity=added))
    ruling = judged(rule, a_pod(selects="disk=ssd"), CLUSTER)
    found = scored(rule, a_pod(affinity=needs(likes={"disk=ssd": 3})), CLUSTER)

    assert ruling.names_that_fit == ["a", "b"]
    assert ruling.why == {
        "c": ("node(s) didn't match Pod's node affinity/selector",),
        "bare": ("node(s) didn't match scheduler-enforced node affinity",),
    }
    assert found is not None
    assert found.raw == {"a": 3, "b": 3, "c": 1, "bare": 0}
