"""Naps: while a server is the slower one, its answers are let gather, so that one look at the sockets finds several.

Each look costs a system call, a wake-up and a round of the event loop, whether it finds one answer or ten: with naps of
a few milliseconds a call costs a third less CPU time, and nobody waits longer who is not already waiting for others.
Invariant: after a nap in which nothing came there is no other until something does.
Not here: when there is reason to nap (`transport.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

GATHERED: Final = 4  # answers: fewer in a nap, and the next is longer; twice as many, and it is shorter
FACTOR: Final = 1.5
SECONDS_MIN: Final = 0.0005


class Naps:
    """Naps of a length that suits the server."""

    def __init__(self, seconds_max: float, sleep: Callable[[float], None] = time.sleep) -> None:
        """Begin in the middle."""
        self.seconds = seconds_max / 2
        self._max = seconds_max
        self._sleep = sleep
        self._count = 0

    def take(self, count: int) -> bool:
        """Nap, unless nothing has come since the last time; count is of all that has ever come."""
        gathered, self._count = count - self._count, count
        if not gathered:
            return False
        if gathered < GATHERED:
            self.seconds = min(self._max, self.seconds * FACTOR)
        elif gathered > 2 * GATHERED:
            self.seconds = max(SECONDS_MIN, self.seconds / FACTOR)
        self._sleep(self.seconds)
        return True
