"""Pace: how many work units a turn gets, from what recent turns cost.

The core counts work, never time; here is the exchange rate.  It follows a dear turn at once and a cheap one slowly, so
that a turn is rather too short than too long.
Invariant: a budget lies between BUDGET_MIN and BUDGET_MAX.
Not here: reading the clock.
"""

from __future__ import annotations

from typing import Final

TURN_NS: Final = 8_000_000  # what a turn is to take: the health check and the lease never wait for much longer
BUDGET_MIN: Final = 16
BUDGET_MAX: Final = 1_000_000
COST_NS_FIRST: Final = 50_000  # a unit on a slow machine, before anything is known
KEEPS: Final = 0.9  # of what was known, when a turn was cheaper


class Pace:
    """What a unit of work costs."""

    def __init__(self, turn_ns: int = TURN_NS) -> None:
        self._turn_ns = turn_ns
        self._cost_ns = float(COST_NS_FIRST)

    @property
    def budget(self) -> int:
        """How many units the next turn gets."""
        return max(BUDGET_MIN, min(BUDGET_MAX, int(self._turn_ns / self._cost_ns)))

    def took(self, units: int, cpu_ns: int) -> None:
        """Learn from a turn: what was spent, and the thread's own time for it."""
        if units <= 0 or cpu_ns <= 0:
            return
        cost_ns = cpu_ns / units
        if units < BUDGET_MIN:  # a few units say little: they cannot be dearer than the whole turn may be
            cost_ns = min(cost_ns, self._turn_ns / BUDGET_MIN)
        self._cost_ns = max(cost_ns, KEEPS * self._cost_ns + (1 - KEEPS) * cost_ns)
