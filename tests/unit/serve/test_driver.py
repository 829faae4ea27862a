"""The driver: turns made of what is heard, when somebody may be tried, and when to sleep."""

import asyncio
import gc
from collections.abc import Iterator, Sequence

import pytest

from bayplan.api.messages import AnyEffect, Bind, Event, Listed, Seen, Stop
from bayplan.api.objects import Node, Pod
from bayplan.config.profiles import profiles
from bayplan.core.scheduler import Core, Turn
from bayplan.framework.registry import Registry
from bayplan.serve.driver import Clock, Driver
from bayplan.serve.metrics import Metrics
from bayplan.serve.observer import Observer
from tests.kit import a_pod, node


@pytest.fixture(autouse=True)
def _collecting() -> Iterator[None]:
    """Leave the garbage collector as it was found."""
    yield
    gc.unfreeze()
    gc.enable()


class Driven:
    """A driver whose effects are kept."""

    def __init__(self, kinds: Sequence[str] = ("Node", "Pod")) -> None:
        self.effects: list[AnyEffect] = []
        self.core = Core(profiles(None, Registry.installed()))
        self.driver = Driver(self.core, kinds, self.effects.extend, Observer(Metrics()), Clock())

    def hears(self, *events: Event) -> Turn:
        """Tell it something and let it make turns until it has nothing to do."""
        for event in events:
            self.driver.hear(event)
        turn = self.driver.turn()
        while not turn.is_idle:
            turn = self.driver.turn()
        return turn

    @property
    def bound(self) -> list[str]:
        """Who is to be bound."""
        return [effect.name for effect in self.effects if isinstance(effect, Bind)]


def listed(*things: Node | Pod) -> Listed:
    """Return a list of things of one kind."""
    return Listed(kind=type(things[0]).__name__, things=things)


def test_nobody_is_tried_before_everything_is_listed() -> None:
    """A pod placed on half of what runs would overcommit a node."""
    driven = Driven()
    driven.driver.leads = True
    driven.hears(listed(node("a")), Seen(thing=a_pod("early")))
    before = list(driven.bound)
    driven.hears(listed(a_pod("early"), a_pod("late")))

    assert (before, sorted(driven.bound)) == ([], ["early", "late"])


def test_nobody_is_tried_by_one_who_does_not_lead() -> None:
    """It takes in what happens, and is ready when its time comes."""
    driven = Driven()
    driven.hears(listed(node("a")), listed(a_pod("web")))
    before = list(driven.bound)
    driven.driver.leads = True
    driven.hears()

    assert (before, driven.bound) == ([], ["web"])
    assert not driven.driver.is_quiet


def test_nobody_new_is_tried_by_one_who_is_ending() -> None:
    """Those on their way go on."""
    driven = Driven()
    driven.driver.leads = driven.driver.is_ending = True
    driven.hears(listed(node("a")), listed(a_pod("web")))

    assert driven.bound == []
    assert driven.driver.is_quiet


class Failing(Core):
    """A core that asks to be stopped."""

    def turn(self, events: Sequence[Event], now_ms: int, budget: int) -> Turn:
        """Stop at once."""
        turn = super().turn(events, now_ms, budget)
        fields = {name: getattr(turn, name) for name in turn.__struct_fields__}
        return Turn(**{**fields, "effects": (*turn.effects, Stop(cause="too much"))})


def test_it_ends_when_the_core_asks_to_be_stopped() -> None:
    """With why; nothing of that is carried out."""
    effects: list[AnyEffect] = []
    core = Failing(profiles(None, Registry.installed()))
    driver = Driver(core, (), effects.extend, Observer(Metrics()), Clock())
    asyncio.run(asyncio.wait_for(driver.run(), 10))

    assert (driver.stopped, effects) == ("too much", [])


def test_it_sleeps_until_something_is_heard() -> None:
    """No turn is made without a reason, and one at once with it."""

    async def lived() -> tuple[int, list[str]]:
        driven = Driven()
        driven.driver.leads = True
        task = asyncio.create_task(driven.driver.run())
        driven.driver.hear(listed(node("a")))
        driven.driver.hear(Listed(kind="Pod", things=()))
        for _ in range(100):
            await asyncio.sleep(0)
        turns = driven.core.turns
        for _ in range(100):
            await asyncio.sleep(0)
        slept = driven.core.turns - turns
        driven.driver.hear(Seen(thing=a_pod("web")))
        for _ in range(100):
            await asyncio.sleep(0)
        task.cancel()
        return slept, driven.bound

    assert asyncio.run(lived()) == (0, ["web"])


def test_the_clock_does_not_go_back() -> None:
    """Whatever the machine's does."""
    clock = Clock()
    times = [clock.now_ms() for _ in range(1000)]

    assert times == sorted(times)
