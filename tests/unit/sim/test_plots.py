"""Plots: axes with round marks, and lines that hold every value."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.sim.plots import Axis, Plot, Series, lines, numbers, shares, times, waits
from tests.kit import case

AMOUNTS = st.floats(0, 1e9)


@pytest.mark.parametrize(("axis", "texts"), [
    case("a moment", times(0.5), "0s 1s"),
    case("a day", times(86400), "0s 3h 6h 9h 12h 15h 18h 21h 1d"),
    case("ten weeks", times(70 * 86400), "0s 14d 28d 42d 56d 70d"),
    case("a small share", shares(0.04), "0% 1% 2% 3% 4% 5%"),
    case("most of a share", shares(0.7), "0% 25% 50% 75% 100%"),
    case("nothing counted", numbers(0), "0 1"),
    case("hundreds", numbers(816), "0 200 400 600 800 1,000"),
    case("waits of hours", waits(20_000), "1s 10s 1m 10m 1h"),
])  # fmt: skip
def test_marks_are_round_and_few(axis: Axis, texts: str) -> None:
    """As a person would choose them."""
    assert " ".join(text for _, text in axis.ticks) == texts


@given(AMOUNTS)
def test_every_value_lies_on_its_axis(highest: float) -> None:
    """From nought to one, the marks as well, and there are some of them."""
    for axis in (times(highest), numbers(highest), waits(highest), shares(highest)):
        assert 0 <= axis.place(highest) <= 1.000001
        assert 2 <= len(axis.ticks) <= 12
        assert all(0 <= axis.place(value) <= 1.000001 for value, _ in axis.ticks)


def test_what_a_pointer_shows_is_each_lines_last_value() -> None:
    """Lines with points at other times are read at the same time."""
    one, other = Series("one", 0, [(0, 1), (10, 2)]), Series("other", 1, [(0, 5), (4, 6), (10, 6)])
    drawn = lines(Plot("p", "n", times(10), numbers(6), [one, other]))

    assert "&quot;text&quot;:[&quot;1&quot;,&quot;1&quot;,&quot;2&quot;]" in drawn
    assert "&quot;text&quot;:[&quot;5&quot;,&quot;6&quot;,&quot;6&quot;]" in drawn


def test_a_line_goes_level_until_the_next_value() -> None:
    """Every change is drawn, and nothing between."""
    drawn = lines(Plot("p", "n", times(4), numbers(4), [Series("s", 0, [(0, 0), (1, 4), (2, 4), (4, 0)])]))
    path = re.search(r'class="line" d="(.*?)"', drawn)

    assert path is not None
    assert re.findall("[MHV]", path[1]) == ["M", "H", "V", "H", "H", "V"]
