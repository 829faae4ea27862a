"""The course of a simulation: levels over virtual time, kept as exact averages over a few hundred equal stretches.

Nobody knows beforehand how long a simulation lasts.  It begins with stretches of a second; when they run out, each two
become one of twice the length.
Invariant: however often that happens, an average times its length is the sum of level times time, exactly.
Not here: what the levels mean (replay.py) and showing them (report.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

STRETCHES: Final = 512  # an even number; at the end at least half of them are in use, unless it is over in a moment
SHORTEST_MS: Final = 1000


class Course:
    """Some levels, each a number that changes now and then."""

    def __init__(self, count: int) -> None:
        self.levels = [0] * count  # to be changed by whoever has called `until`
        self.peaks = [0] * count
        self.now_ms = 0
        self.stretch_ms = SHORTEST_MS
        self._sums = [[0] * count]  # per stretch: level times milliseconds

    def until(self, now_ms: int) -> None:
        """Let the time pass that lies before a change of the levels."""
        while self.now_ms < now_ms:
            place = self.now_ms // self.stretch_ms
            if place >= STRETCHES:
                self._halve()
                continue
            if place == len(self._sums):
                self._sums.append([0] * len(self.levels))
            here = min(now_ms, (place + 1) * self.stretch_ms)
            passed, sums = here - self.now_ms, self._sums[place]
            for which, level in enumerate(self.levels):
                sums[which] += level * passed
            self.peaks = list(map(max, self.peaks, self.levels))
            self.now_ms = here

    def _halve(self) -> None:
        """Make one stretch of each two."""
        pairs = zip(self._sums[::2], self._sums[1::2], strict=True)
        self._sums = [[one + other for one, other in zip(*pair, strict=True)] for pair in pairs]
        self.stretch_ms *= 2

    def averages(self, which: int) -> Sequence[float]:
        """Return a level's average in each stretch so far; the last may be shorter than the others."""
        last = self.now_ms - (len(self._sums) - 1) * self.stretch_ms
        lengths = [*[self.stretch_ms] * (len(self._sums) - 1), max(last, 1)]
        return [sums[which] / length for sums, length in zip(self._sums, lengths, strict=True)]

    def average(self, which: int) -> float:
        """Return a level's average over all the time."""
        return sum(sums[which] for sums in self._sums) / max(self.now_ms, 1)
