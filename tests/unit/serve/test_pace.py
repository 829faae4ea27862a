"""How many units a turn gets, from what recent turns cost."""

from bayplan.serve.pace import BUDGET_MAX, BUDGET_MIN, TURN_NS, Pace


def test_a_turn_gets_what_it_can_do_in_its_time() -> None:
    """At a steady cost, budget times cost is the time of a turn."""
    pace = Pace()
    for _ in range(200):
        pace.took(1000, 1000 * 2000)

    assert pace.budget * 2000 <= TURN_NS < pace.budget * 2100


def test_a_dear_turn_is_followed_at_once_and_a_cheap_one_slowly() -> None:
    """One long turn shortens the next; one cheap turn does not make it ten times as long."""
    pace = Pace()
    for _ in range(200):
        pace.took(1000, 1000 * 1000)
    usual = pace.budget
    pace.took(1000, 1000 * 10_000)
    after_a_dear_one = pace.budget
    pace.took(1000, 1000 * 1000)

    assert after_a_dear_one <= usual / 9
    assert after_a_dear_one < pace.budget < usual / 5


def test_a_budget_has_bounds() -> None:
    """Whatever a unit costs, something is done, and not everything."""
    pace = Pace()
    pace.took(1000, 10**12)
    least = pace.budget
    for _ in range(500):
        pace.took(10**6, 1)

    assert (least, pace.budget) == (BUDGET_MIN, BUDGET_MAX)


def test_a_turn_that_did_nothing_says_nothing() -> None:
    """No units, no lesson."""
    pace = Pace()
    before = pace.budget
    pace.took(0, 5_000_000)

    assert pace.budget == before
