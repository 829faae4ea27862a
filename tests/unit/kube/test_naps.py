"""Naps: as long as the server needs for a few answers, and never in vain twice."""

from bayplan.kube.naps import SECONDS_MIN, Naps


def napped(answers_per_s: float, count: int = 50) -> tuple[Naps, list[float]]:
    """Nap again and again while a server answers so many calls a second."""
    slept: list[float] = []
    naps = Naps(0.005, slept.append)
    naps.take(1)
    for _ in range(count):
        naps.take(1 + round(sum(slept) * answers_per_s))
    return naps, slept


def test_naps_are_as_long_as_a_few_answers_take() -> None:
    """At 2,000 a second some two to four milliseconds."""
    _, slept = napped(2000)

    assert all(0.0015 <= length <= 0.0045 for length in slept[5:])


def test_a_fast_server_is_not_held_up() -> None:
    """Naps get short, not shorter than is worth it."""
    naps, _ = napped(100_000)

    assert naps.seconds == SECONDS_MIN


def test_a_slow_server_is_given_no_more_than_the_longest_nap() -> None:
    """Five milliseconds: others may want the event loop."""
    naps, slept = napped(300)

    assert naps.seconds == 0.005
    assert max(slept) == 0.005


def test_a_silent_server_is_not_napped_at() -> None:
    """The event loop's own wait is better: it ends when something comes."""
    slept: list[float] = []
    naps = Naps(0.005, slept.append)

    assert naps.take(3)
    assert not naps.take(3)
    assert len(slept) == 1
