"""The cluster is divided as water finds its level."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.batch.amounts import Amount
from bayplan.batch.jobs import Queue
from bayplan.batch.plugins.proportion import Portion, divide, levels
from tests.kit import case

GIB = 2**30


def portion(weight: int, cpu: float, gib: float) -> Portion:
    """Return what a queue of some weight asks for."""
    made = Portion(Queue("q", weight))
    made.request = Amount(cpu, gib * GIB)
    return made


@pytest.mark.parametrize(
    ("whole", "asked", "deserved"),
    [
        case("what one leaves goes to the other", (10000, 20), [(1, 8000, 16), (1, 2000, 4)], [(8000, 16), (2000, 4)]),
        case("skewed requests leave what they do not ask for", (10000, 20), [(1, 9000, 2), (1, 9000, 18)],
             [(5000, 2), (5000, 18)]),
        case("weights count", (12000, 24), [(1, 12000, 24), (2, 3000, 6), (3, 12000, 24)],
             [(2250, 4.5), (3000, 6), (6750, 13.5)]),
        case("no weight gets what is left", (10, 10), [(1, 4, 4), (0, 9, 9)], [(4, 4), (6, 6)]),
    ],
)  # fmt: skip
def test_divide(
    whole: tuple[float, float], asked: list[tuple[int, float, float]], deserved: list[tuple[float, float]]
) -> None:
    """Each resource is divided by weight among those who ask for it."""
    portions = {str(place): portion(*one) for place, one in enumerate(asked)}

    divide(Amount(whole[0], whole[1] * GIB), portions)

    assert [(one.deserved.cpu, one.deserved.memory / GIB) for one in portions.values()] == deserved


@given(
    whole=st.integers(0, 1000),
    parts=st.lists(st.tuples(st.integers(1, 9), st.integers(0, 500)), min_size=1, max_size=8),
)
def test_levels_are_those_of_poured_water(whole: int, parts: list[tuple[int, int]]) -> None:
    """Poured drop by drop, in exact fractions, it comes to the same."""
    poured = [Fraction(0)] * len(parts)
    left = Fraction(whole)
    while left and (open_ := [place for place, (_, wanted) in enumerate(parts) if poured[place] < wanted]):
        weights = sum(parts[place][0] for place in open_)
        step = min(*((parts[place][1] - poured[place]) / parts[place][0] for place in open_), left / weights)
        for place in open_:
            poured[place] += step * parts[place][0]
        left -= step * weights

    assert levels(whole, parts) == pytest.approx([float(one) for one in poured])
