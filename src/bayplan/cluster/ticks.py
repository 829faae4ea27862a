"""Ticks: one number that rises with every change that somebody might have to look at.

Whoever remembers an answer compares the number first, and looks at what exactly changed only when it has risen.
Invariant: it rises at least once for every change told to it or to those that are part of it.
"""

from __future__ import annotations


class Ticks:
    """A counter, and a wider one that counts along."""

    __slots__ = ("value", "wider")

    def __init__(self, wider: Ticks | None = None) -> None:
        self.value = 0
        self.wider = wider

    def tick(self) -> None:
        """Note that something changed."""
        self.value += 1
        if self.wider is not None:
            self.wider.tick()
