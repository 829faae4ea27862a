"""Those who wait for the same reason are looked at once, however many they are."""

from bayplan.api.messages import Seen
from tests.kit import a_pod, node
from tests.unit.core.test_scheduler import ALL, DAY_MS, a_core, binds, told


def test_one_look_answers_for_all_that_wait_alike() -> None:
    """Three hundred pods of two shapes cost two looks, and nobody is tried in vain."""
    core = a_core()
    pods = [a_pod(f"p{number}", cpu=4 + number % 2) for number in range(300)]
    told(core, node("a", cpu=1), *pods)
    turn = core.turn([Seen(cause="watch", thing=node("b", cpu=2))], DAY_MS + 9000, ALL)

    assert not turn.effects
    assert turn.spent <= 8


def test_an_event_costs_the_same_however_many_wait() -> None:
    """Two thousand pods of two hundred shapes wait for room: a node that is too small for all is looked at once."""
    core = a_core()
    pods = [a_pod(f"p{number}", cpu=10 + number % 200) for number in range(2000)]
    told(core, node("a", cpu=1), *pods)
    grown = core.turn([Seen(cause="watch", thing=node("a", cpu=9))], DAY_MS + 9000, ALL)
    tainted = core.turn([Seen(cause="watch", thing=node("a", cpu=9, taints="x:NoSchedule"))], DAY_MS + 9001, ALL)
    enough = core.turn([Seen(cause="watch", thing=node("b", cpu=10))], DAY_MS + 20_000, ALL)

    assert (len(core.queue), grown.effects, tainted.effects) == (2000, (), ())
    assert max(grown.spent, tainted.spent) <= 8
    assert binds(enough.effects) == [("p0", "b")]
