"""nodeorder: which of the possible nodes is best, by kube-batch's formulas: whole scores from 0 to 10, weighted.

Least or most requested, balance between CPU and memory, preferred node affinity and soft pod affinity.
What a node has in use counts a container that names nothing as 100m and 200Mi.
Not here: soft pod affinity as kube-batch counts it (nearness.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from bayplan.batch.room import Room
from bayplan.batch.voting import Voter
from bayplan.cluster.columns import CPU, MEMORY, window
from bayplan.cluster.shapes import REQUESTS, Requests
from bayplan.framework.plugin import (
    ROW,
    AnyPlugin,
    Failed,
    Mask,
    Plugin,
    Prepared,
    Rejected,
    Scores,
    Skip,
)

if TYPE_CHECKING:
    from bayplan.cluster.columns import Int64s
    from bayplan.cluster.view import View

BEST: Final = 10
WEIGHTS: Final = {
    "leastrequested.weight": 1,
    "mostrequested.weight": 0,
    "balancedresource.weight": 1,
    "nodeaffinity.weight": 1,
    "podaffinity.weight": 1,
}  # the arguments, and what each is when it is not given


class Nodeorder(Voter):
    """Its say is in the rules that are asked; in a session itself it has none."""

    name = "nodeorder"


class More(NamedTuple):
    """What a pod weighs, with defaults."""

    cpu: int
    memory: int


class _ByUse(Plugin[Requests, More]):
    """What scores by how much of a node is in use."""

    reads = REQUESTS
    depends = ROW

    def __init__(self, room: Room) -> None:
        super().__init__()
        self._room = room

    def prepare(self, part: Requests, view: View) -> Prepared[More]:
        """Read what the pod weighs."""
        weighs = dict(part.scored)
        return Prepared(More(weighs.get("cpu", 0), weighs.get("memory", 0)))

    def score(self, state: More, view: View, feasible: Mask) -> Scores:
        """Score by what would be in use, and what there is."""
        self._room.grow()
        rows = view.rows
        whole = view.table.columns.allocatable[: MEMORY + 1, rows]  # (cpu and memory, rows)
        used = self._room.nonzero[:, rows] + np.array(state, np.int64).reshape(2, 1)
        return self.of(used, whole)

    def of(self, used: Int64s, whole: Int64s) -> Scores:
        """Score columns, as (cpu and memory, rows)."""
        raise NotImplementedError

    def one(self, cpu: int, memory: int, cpu_whole: int, memory_whole: int) -> int:
        """Score one node."""
        raise NotImplementedError

    def row(self, state: More, view: View) -> Callable[[int], int] | None:
        """Answer for one row."""
        room, columns, one = self._room, view.table.columns, self.one
        room.grow()
        used_cpu, used_memory = window(room.nonzero[CPU]), window(room.nonzero[MEMORY])
        cpu, memory = window(columns.allocatable[CPU]), window(columns.allocatable[MEMORY])
        more_cpu, more_memory = state

        def answer(row: int) -> int:
            return one(used_cpu[row] + more_cpu, used_memory[row] + more_memory, cpu[row], memory[row])

        return answer


class LeastRequested(_ByUse):
    """The emptier the better."""

    def of(self, used: Int64s, whole: Int64s) -> Scores:
        """Average what would be left."""
        left = np.maximum(whole - used, 0) * BEST // np.maximum(whole, 1)  # (cpu and memory, rows)
        mean: Scores = (left[CPU] + left[MEMORY]) // 2
        return mean

    def one(self, cpu: int, memory: int, cpu_whole: int, memory_whole: int) -> int:
        """Average what would be left."""
        left_cpu = (cpu_whole - cpu) * BEST // cpu_whole if cpu <= cpu_whole and cpu_whole else 0
        left_memory = (memory_whole - memory) * BEST // memory_whole if memory <= memory_whole and memory_whole else 0
        return (left_cpu + left_memory) // 2


class MostRequested(_ByUse):
    """The fuller the better."""

    def of(self, used: Int64s, whole: Int64s) -> Scores:
        """Average what would be in use."""
        share = np.where(used > whole, 0, used * BEST // np.maximum(whole, 1))  # (cpu and memory, rows)
        mean: Scores = (share[CPU] + share[MEMORY]) // 2
        return mean

    def one(self, cpu: int, memory: int, cpu_whole: int, memory_whole: int) -> int:
        """Average what would be in use."""
        share_cpu = cpu * BEST // cpu_whole if cpu <= cpu_whole and cpu_whole else 0
        share_memory = memory * BEST // memory_whole if memory <= memory_whole and memory_whole else 0
        return (share_cpu + share_memory) // 2


class BalancedResource(_ByUse):
    """CPU and memory in use alike."""

    def of(self, used: Int64s, whole: Int64s) -> Scores:
        """Take the difference of the two shares from one."""
        share = np.where(whole == 0, 1.0, used / np.maximum(whole, 1))  # (cpu and memory, rows)
        even = ((1 - np.abs(share[CPU] - share[MEMORY])) * float(BEST)).astype(np.int64)
        return np.where((share >= 1).any(axis=0), 0, even)

    def one(self, cpu: int, memory: int, cpu_whole: int, memory_whole: int) -> int:
        """Take the difference of the two shares from one."""
        if cpu >= cpu_whole or memory >= memory_whole:
            return 0
        return int((1 - abs(cpu / cpu_whole - memory / memory_whole)) * float(BEST))


class Tenth(Plugin[Any, Any]):
    """A rule's score, normalised to a hundred, on the scale that ends at ten."""

    def __init__(self, inner: AnyPlugin) -> None:
        super().__init__()
        self._inner = inner
        self.reads = inner.reads  # type: ignore[misc]  # as the rule within, whichever it is
        self.depends = inner.depends  # type: ignore[misc]  # as reads

    def prepare(self, part: Any, view: View) -> Prepared[Any] | Rejected | Failed:  # noqa: ANN401 the inner rule's
        """Ask the rule within."""
        return self._inner.prepare(part, view)

    def prepare_score(self, state: Any, view: View, feasible: Mask) -> Any | Skip | Failed:  # noqa: ANN401 as prepare
        """Ask the rule within."""
        return self._inner.prepare_score(state, view, feasible)

    def score(self, state: Any, view: View, feasible: Mask) -> Scores:  # noqa: ANN401 as prepare
        """Ask the rule within."""
        return self._inner.score(state, view, feasible)

    def normalize(self, state: Any, view: View, scores: Scores, feasible: Mask) -> Scores:  # noqa: ANN401 as prepare
        """Ask the rule within, and take a tenth of it."""
        return self._inner.normalize(state, view, scores, feasible) // BEST
