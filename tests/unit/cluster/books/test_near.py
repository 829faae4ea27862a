"""Things found by the labels that reach them."""

from hypothesis import given
from hypothesis import strategies as st

from bayplan.cluster.books.near import CHANGES_KEPT, LOOSE, Near, Where

SPOTS = st.lists(st.tuples(st.sampled_from(["host", "zone"]), st.sampled_from("abc")), max_size=2)
STEPS = st.lists(st.tuples(st.sampled_from("pqrst"), st.integers(0, 3), st.one_of(st.none(), SPOTS)), max_size=20)


@given(STEPS, st.dictionaries(st.sampled_from(["host", "zone"]), st.sampled_from("abc")), st.integers(0, 3))
def test_labels_are_shown_what_they_might_reach_the_smallest_first(
    steps: list[tuple[str, int, list[tuple[str, str]] | None]], labels: dict[str, str], size: int
) -> None:
    """As a look at all things would find them; what has two places of theirs is shown for each."""
    near: Near[str] = Near()
    known: dict[str, tuple[int, list[tuple[str, str]]]] = {}
    for name, large, spots in steps:
        if spots is None:
            near.drop(name)
            known.pop(name, None)
        else:
            near.put(name, large, Where(tuple(spots)), name.upper())
            known[name] = large, spots
    shown = list(near.of(labels, size))
    expected = {
        name
        for name, (large, spots) in known.items()
        if large >= size and (not spots or any(labels.get(key) == value for key, value in spots))
    }

    assert {name for name, _ in shown} == expected
    assert [(known[name][0], name) for name, _ in shown] == sorted((known[name][0], name) for name, _ in shown)
    assert all(thing == name.upper() for name, thing in shown)
    assert len(near) == len(known)


def test_changes_are_told_by_their_place() -> None:
    """As long as they are remembered."""
    near: Near[str] = Near()
    near.put("a", 0, Where((("host", "n"),)), "")
    seen = near.changes

    near.put("b", 0, Where((("host", "m"),)), "")
    near.put("c", 0, Where(), "")
    assert near.since(seen) == [("host", "m"), LOOSE]
    assert near.since(near.changes) == []
    for number in range(CHANGES_KEPT + 1):
        near.put(f"x{number}", 0, Where(), "")
    assert near.since(seen) is None


def test_the_keys_that_things_speak_of_are_known() -> None:
    """Their version rises only when another key comes, or one goes."""
    near: Near[str] = Near()
    near.put("a", 0, Where(keys=frozenset({"host", "zone"})), "")
    seen = near.keys_version
    near.put("b", 0, Where(keys=frozenset({"zone"})), "")
    assert (set(near.keys), near.keys_version) == ({"host", "zone"}, seen)

    near.drop("a")
    assert set(near.keys) == {"zone"}
    assert near.keys_version > seen
