"""The driver: the core's turns, one after another, fed with what was heard, its effects handed on.

Nobody is tried before everything has been listed and we lead; until then what happens is taken in all the same, so that
a copy that waits knows everything when its time comes.  Between two turns the event loop serves whoever else has
something to do; when nothing is left, the driver sleeps until something is heard or the core wants to be called.
Invariant: turns follow each other in one task; the core is touched by nobody else.
Not here: hearing and carrying out (`kube/`), and starting and ending (daemon.py).
"""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections.abc import Callable, Collection, Sequence
from typing import Final

from bayplan.api.messages import AnyEffect, Event, Listed, Stop
from bayplan.core.scheduler import Core, Turn
from bayplan.serve.logs import fields
from bayplan.serve.observer import Observer
from bayplan.serve.pace import Pace

YOUNG_MAX: Final = 25_000  # objects made since the last look for rings of them: to look at more takes too long
FULL_EVERY_S: Final = 600.0
SLEEP_S_MIN: Final = 0.001  # whatever the core says, an idle daemon does not spin
SLEEP_S_MAX: Final = 60.0

logger = logging.getLogger(__name__)


class Clock:
    """Milliseconds since 1970 that never go back, whatever becomes of the machine's clock."""

    def __init__(self) -> None:
        self._began_ns = time.time_ns() - time.monotonic_ns()

    def now_ms(self) -> int:
        """Return the time."""
        return (self._began_ns + time.monotonic_ns()) // 1_000_000


class Driver:
    """Drives a core."""

    def __init__(
        self,
        core: Core,
        kinds: Collection[str],
        carry_out: Callable[[Sequence[AnyEffect]], None],
        observer: Observer,
        clock: Clock,
    ) -> None:
        self.core = core
        self.pace = Pace()
        self.inbox: list[Event] = []
        self.leads = False
        self.is_ending = False  # nobody new is tried
        self.stopped = ""  # why the core asked to be stopped
        self._unlisted = set(kinds)
        self._carry_out = carry_out
        self._observer = observer
        self._clock = clock
        self._news = asyncio.Event()
        self._full_at = time.monotonic() + FULL_EVERY_S
        core.may_try = False

    # -- what others tell it

    def hear(self, event: Event) -> None:
        """Take in something that happened."""
        self.inbox.append(event)
        self._news.set()

    def take(self, events: Sequence[Event]) -> None:
        """Take in what happened, in order."""
        self.inbox += events
        self._news.set()

    def wake(self) -> None:
        """Have a turn made now: whether pods may be tried has changed."""
        self._news.set()

    @property
    def unlisted(self) -> Collection[str]:
        """The kinds of which the list has not been heard."""
        return self._unlisted

    @property
    def is_listed(self) -> bool:
        """Whether everything has been listed."""
        return not self._unlisted

    @property
    def is_quiet(self) -> bool:
        """Whether no write is waited for, and nothing was heard that is not taken in."""
        return not self.inbox and not any(flight.writes for flight in self.core.binding.flights.values())

    # -- turns

    def turn(self) -> Turn:
        """Make one turn."""
        events, self.inbox = self.inbox, []
        for event in events:
            if isinstance(event, Listed):
                self._unlisted.discard(event.kind)
        core = self.core
        core.may_try = self.leads and not self._unlisted and not self.is_ending
        began_ns = time.thread_time_ns()
        turn = core.turn(events, self._clock.now_ms(), self.pace.budget)
        took_ns = time.thread_time_ns() - began_ns
        self.pace.took(turn.spent, took_ns)
        self._observer.turned(turn, events, took_ns)
        if turn.effects:
            self._act(turn.effects)
        return turn

    def _act(self, effects: Sequence[AnyEffect]) -> None:
        last = effects[-1]
        if isinstance(last, Stop):
            self.stopped = last.cause
            effects = effects[:-1]
        self._carry_out(effects)

    async def run(self) -> None:
        """Make turns until the core asks to be stopped; cancel it to end it."""
        was_listed = False
        while not self.stopped:
            self._news.clear()
            turn = self.turn()
            if self.is_listed and turn.is_idle and not was_listed:
                was_listed = True
                self._settle()
            self._tidy(is_idle=turn.is_idle)
            if self.stopped or not turn.is_idle or self.inbox:
                await asyncio.sleep(0)
            else:
                await self._sleep(turn.wake_at_ms)

    async def _sleep(self, wake_at_ms: int | None) -> None:
        """Wait for news, or for the time that the core has named."""
        seconds = SLEEP_S_MAX
        if wake_at_ms is not None:
            seconds = min(seconds, max(SLEEP_S_MIN, (wake_at_ms - self._clock.now_ms()) / 1000))
        handle = asyncio.get_running_loop().call_later(seconds, self._news.set)
        try:
            await self._news.wait()
        finally:
            handle.cancel()

    # -- memory

    def _settle(self) -> None:
        """Take what was listed out of the garbage collector's sight: it stays, and looking at it takes long."""
        gc.freeze()  # without looking first: what garbage there is in it stays, and is little
        logger.info(
            "everything is listed",
            extra=fields(nodes=self.core.table.count, pods=len(self.core.table.pods), waiting=len(self.core.queue)),
        )

    def _tidy(self, *, is_idle: bool) -> None:
        """Look for rings of garbage between turns, since it is not done within them."""
        if gc.isenabled():
            return
        if gc.get_count()[0] > YOUNG_MAX:
            gc.collect(1)
        elif is_idle and time.monotonic() > self._full_at:
            self._full_at = time.monotonic() + FULL_EVERY_S
            gc.collect()
