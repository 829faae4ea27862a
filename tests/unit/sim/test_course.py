"""A course keeps exact averages, however long it lasts."""

from hypothesis import given
from hypothesis import strategies as st

from bayplan.sim.course import SHORTEST_MS, STRETCHES, Course

STEPS = st.lists(st.tuples(st.integers(0, 10_000_000), st.integers(0, 1000)), max_size=30)


@given(STEPS)
def test_averages_times_their_lengths_are_the_whole(steps: list[tuple[int, int]]) -> None:
    """Whatever the pace of changes, nothing of level times time is lost or counted twice."""
    course, whole = Course(1), 0
    for passed, level in steps:
        whole += course.levels[0] * passed
        course.until(course.now_ms + passed)
        course.levels[0] = level

    found = course.averages(0)
    last = course.now_ms - (len(found) - 1) * course.stretch_ms
    lengths = [course.stretch_ms] * (len(found) - 1) + [last]

    assert round(sum(average * length for average, length in zip(found, lengths, strict=True))) == whole
    assert len(found) <= STRETCHES
    assert course.stretch_ms == SHORTEST_MS or course.now_ms > STRETCHES // 2 * course.stretch_ms


def test_each_stretch_has_its_own_average() -> None:
    """A level counts in the stretches in which it held, for as long as it did."""
    course = Course(1)
    course.until(500)
    course.levels[0] = 8
    course.until(2250)

    assert course.averages(0) == [4, 8, 8]
    assert course.average(0) == 8 * 1750 / 2250


def test_a_level_that_never_lasted_is_no_peak() -> None:
    """What comes and goes at one moment was never there."""
    course = Course(1)
    course.levels[0] = 5
    course.levels[0] = 2
    course.until(10)

    assert course.peaks == [2]
