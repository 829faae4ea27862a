"""What a class overrides says where it is asked; scales are kube-scheduler's, over feasible rows alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.cluster.view import View
from bayplan.framework.plugin import FEW, Mask, Plugin, Ruling, Scores, span, to_hundred

COLUMNS = st.lists(st.tuples(st.integers(0, 1 << 40), st.booleans()), max_size=2 * FEW)


def columns(rows: list[tuple[int, bool]]) -> tuple[Scores, Mask]:
    """Return scores, and which rows are feasible."""
    return np.array([score for score, _ in rows], np.int64), np.array([fits for _, fits in rows], np.bool_)


@given(rows=COLUMNS)
def test_a_span_is_that_of_the_feasible(rows: list[tuple[int, bool]]) -> None:
    """Whether there are few, which are looked at one by one, or many."""
    among = [score for score, fits in rows if fits]

    assert span(*columns(rows)) == ((min(among), max(among)) if among else (0, 0))


@pytest.mark.parametrize("reverse", [False, True])
@given(rows=COLUMNS)
def test_the_best_feasible_row_has_a_hundred(rows: list[tuple[int, bool]], *, reverse: bool) -> None:
    """Or, where less is better, nought; where all are nought, all are equally good or equally bad."""
    best = max((score for score, fits in rows if fits), default=0)
    scaled = [100 * score // best if best else 0 for score, _ in rows]

    found = to_hundred(*columns(rows), reverse=reverse).tolist()

    expected = [100 - score for score in scaled] if reverse else scaled
    assert [score for score, (_, fits) in zip(found, rows, strict=True) if fits] == [
        score for score, (_, fits) in zip(expected, rows, strict=True) if fits
    ]


def test_points_follow_from_what_is_overridden() -> None:
    """And so does a name that nobody gave; what is inherited counts."""

    class Filters(Plugin[object, object]):
        def filter(self, state: object, view: View) -> Ruling:
            raise NotImplementedError

    class Both(Filters):
        name = "Two"

        def score(self, state: object, view: View, feasible: Mask) -> Scores:
            raise NotImplementedError

    assert (Filters.name, Filters.points) == ("Filters", frozenset(("preFilter", "filter")))
    assert (Both.name, Both.points) == ("Two", frozenset(("preFilter", "filter", "score")))
    assert Both.overrides("filter")
    assert not Both.overrides("normalize")
