"""What is broken on purpose must be caught: each break, and after how many histories one fails.

A break is a patch of one method, for as long as histories are lived.
Not here: what a history checks (history.py).
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

from bayplan.api.messages import Ending
from bayplan.api.objects import Object, Pod
from bayplan.cluster.books.volumes import Reserved, VolumeBooks
from bayplan.cluster.claims import Reservation
from bayplan.cluster.table import Table
from bayplan.cluster.tallies import Tally
from bayplan.core.binding import Binding, Flight
from bayplan.core.intake import Intake
from bayplan.core.lookouts import Alike, Lookout
from bayplan.core.wakeups import Looks
from bayplan.framework.lane import Rejection
from tests.histories.run import tried

TRIED_MOST: Final = 200
SELDOM: Final = 40

Real: TypeAlias = Callable[..., Any]
Make: TypeAlias = Callable[[Real], Real]


@contextmanager
def patched(owner: type, name: str, make: Make) -> Iterator[None]:
    """Have a method replaced by what is made of it."""
    real = getattr(owner, name)
    setattr(owner, name, make(real))
    try:
        yield
    finally:
        setattr(owner, name, real)


def forget_dropped(real: Real) -> Real:
    """A failed placement's room is never given back."""

    def undo(self: Binding, uid: str) -> Flight | None:
        flight = self._drop(uid)
        if flight is not None:
            self._give_back(flight)
        return flight

    return undo


def confirm_twice(real: Real) -> Real:
    """A pod that is confirmed is counted in once more."""

    def confirm(self: Binding, pod: Pod, uid: str) -> Flight | None:
        found = self.table.pods.get(uid)
        if found is not None and uid in self.flights:
            self.table._account(found, 1)
        flight: Flight | None = real(self, pod, uid)
        return flight

    return confirm


def event_lost(real: Real) -> Real:
    """One object in so many is not taken in."""
    seen = 0

    def take(self: Intake, thing: Object) -> bool:
        nonlocal seen
        seen += 1
        if seen % SELDOM == 0:
            return False
        news: bool = real(self, thing)
        return news

    return take


def wakeup_missing(real: Real) -> Real:
    """Whoever waits for room is not woken."""

    def at(self: Looks, lookout: Lookout) -> Iterator[list[Alike]]:
        return iter(()) if lookout.instance.name == "NodeResourcesFit" else real(self, lookout)

    return at


def tally_off(real: Real) -> Real:
    """One count in so many is one too high."""
    told = 0

    def add(self: Tally, row: int, number: int) -> None:
        nonlocal told
        told += 1
        real(self, row, number + (told % SELDOM == 0))

    return add


def result_ignored(real: Real) -> Real:
    """A write that was refused is taken for one that was done."""

    def ended(self: Binding, flight: Flight, write: int, ending: Ending, text: str) -> Rejection | None:
        found: Rejection | None = real(self, flight, write, Ending.DONE if ending is Ending.REFUSED else ending, text)
        return found

    return ended


def nomination_leaked(real: Real) -> Real:
    """A nomination that is over is kept."""

    def drop(self: Table, uid: str) -> None:
        return None

    return drop


def volume_twice(real: Real) -> Real:
    """A reserved volume stays free for others."""

    def reserve(self: VolumeBooks, pod: Pod, reservation: Reservation, node: str) -> Reserved:
        reserved: Reserved = real(self, pod, reservation, node)
        self.release(reserved)
        return reserved

    return reserve


def timeout_forgotten(real: Real) -> Real:
    """A permit is waited for as long as it takes."""

    def permit(self: Binding, flight: Flight, now_ms: int) -> Rejection | None:
        found: Rejection | None = real(self, flight, now_ms)
        flight.permits = {rule: (1 << 60, seconds) for rule, (_, seconds) in flight.permits.items()}
        return found

    return permit


BREAKS: Final[dict[str, tuple[type, str, Make]]] = {
    "a forget dropped": (Binding, "undo", forget_dropped),
    "a confirm counted twice": (Binding, "confirm", confirm_twice),
    "an event lost": (Intake, "_seen", event_lost),
    "a wake-up missing": (Looks, "at", wakeup_missing),
    "a tally off by one": (Tally, "add", tally_off),
    "a write result ignored": (Binding, "ended", result_ignored),
    "a nomination leaked": (Table, "drop_nomination", nomination_leaked),
    "a volume reserved twice": (VolumeBooks, "reserve", volume_twice),
    "a permit timeout forgotten": (Binding, "_permit", timeout_forgotten),
}


def caught_after(name: str) -> tuple[int, str] | None:
    """Return after how many histories a break was caught, and by what."""
    owner, method, make = BREAKS[name]
    with patched(owner, method, make):
        for number in range(TRIED_MOST):
            told = tried(f"broken.{number}", every_turn=False)
            if told.wrong:
                return number + 1, told.wrong[0]
    return None


def main() -> int:
    """Try every break."""
    missed = 0
    for name in sys.argv[1:] or BREAKS:
        found = caught_after(name)
        missed += found is None
        print(f"{name}: {'NOT CAUGHT' if found is None else f'caught by history {found[0]}: {found[1]}'}", flush=True)
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
