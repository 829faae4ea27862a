"""What waits: attempts that are over, and waiting without being tried."""

from bayplan.api.messages import Ended, Ending, Seen
from bayplan.core.waiting import Attempt, Result
from bayplan.framework.profile import DEFAULT_SCHEDULER
from tests.kit import a_pod, node
from tests.unit.core.test_scheduler import ALL, DAY_MS, a_core, binds, the_bind


def test_a_core_that_may_not_try_takes_in_and_waits() -> None:
    """Another leads: what happens is known at once when it is our turn, and until then nobody is tried."""
    core = a_core()
    core.may_try = False
    quiet = core.turn([Seen(thing=node("a")), Seen(thing=a_pod("web"))], DAY_MS, ALL)
    core.may_try = True

    assert (quiet.effects, quiet.is_idle) == ((), True)
    assert binds(core.turn([], DAY_MS + 1, ALL).effects) == [("web", "a")]


def test_a_turn_says_which_attempts_are_over() -> None:
    """Result, number and times of each, so that whoever counts need not guess."""
    core = a_core()
    turn = core.turn([Seen(thing=node("a", cpu=1)), Seen(thing=a_pod("whale", cpu=9))], DAY_MS, ALL)
    grown = core.turn([Seen(thing=node("a", cpu=10))], DAY_MS + 5000, ALL)
    done = core.turn([Ended(write=the_bind(grown.effects).write, ending=Ending.DONE)], DAY_MS + 5002, ALL)

    assert turn.over == (Attempt(DEFAULT_SCHEDULER, Result.UNSCHEDULABLE, 1, DAY_MS, DAY_MS),)
    assert grown.over == ()
    assert done.over == (Attempt(DEFAULT_SCHEDULER, Result.SCHEDULED, 2, DAY_MS + 5000, DAY_MS),)
