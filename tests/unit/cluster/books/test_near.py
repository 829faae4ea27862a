"""Things found by the labels that reach them."""

from hypothesis import given
from hypothesis import strategies as st

from bayplan.cluster.books.near import Near

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
            near.put(name, large, spots, name.upper())
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


def test_the_version_is_that_of_the_places_looked_at() -> None:
    """What comes and goes elsewhere leaves it alone."""
    near: Near[str] = Near()
    near.put("a", 0, [("host", "n")], "")
    seen = near.version({"host": "n"})

    near.put("b", 0, [("host", "m")], "")
    assert near.version({"host": "n"}) == seen
    near.drop("a")
    assert near.version({"host": "n"}) != seen
