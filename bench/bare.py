"""The bare minimum: what no decision over all rows can do without, on this machine, now.

A total is a row's own part plus its group's bonus; the best row is found, and nine numbers are written on it.
Machines differ twofold, so floors are shares of this.
Not here: anything of the engine; it must not become faster or slower with it.
"""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt

ROWS = 5000
GROUPS = 10
DECISIONS = 20_000
WRITES = 9

Int16s = npt.NDArray[np.int16]


class Bare:
    """Columns of the sizes that a decision over 5,000 nodes goes through."""

    def __init__(self) -> None:
        luck = np.random.default_rng(1)
        self.bonus: Int16s = luck.integers(0, 500, GROUPS).astype(np.int16)  # (groups,)
        self.group = luck.integers(0, GROUPS, ROWS).astype(np.intp)  # (rows,)
        self.own: Int16s = luck.integers(0, 200, ROWS).astype(np.int16)  # (rows,)
        self.written = [_window(np.zeros(ROWS)) for _ in range(WRITES)]
        self.best_per_s = 0.0

    def run(self) -> None:
        """Make the decisions once more, and keep the best rate so far."""
        bonus, group, own, written = self.bonus, self.group, self.own, self.written
        total = np.empty(ROWS, np.int16)
        begin = time.process_time()
        for _ in range(DECISIONS):
            np.take(bonus, group, out=total, mode="wrap")
            total += own
            row = int(total.argmax())
            for column in written:
                column[row] += 1.0
        self.best_per_s = max(self.best_per_s, DECISIONS / (time.process_time() - begin))


def _window(column: npt.NDArray[np.float64]) -> memoryview[float]:
    """Return a scalar window onto a column: writing one element costs a third of what NumPy's does."""
    return memoryview(column)  # type: ignore[arg-type]  # an ndarray is a buffer, this one of floats
