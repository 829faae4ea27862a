"""Choosing: which nodes a task may run on, and which is best, asked of the rules like any other pod.

The rules are asked in several ways: with idle room, with what is being released as well, or whatever room there is; and
each way with or without soft pod affinity, which costs more and is asked only about tasks that it concerns.
Invariant: the same table, task and start give the same row; equals take turns.
Not here: the rules themselves (plugins/predicates.py, plugins/nodeorder.py).
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

import numpy as np

from bayplan.cluster.columns import Row
from bayplan.cluster.shapes import NEIGHBOURS, PORTS
from bayplan.framework.evaluate import Attempt
from bayplan.framework.plan import Unplanned
from bayplan.framework.run import first_best

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayplan.batch.tasks import Kin, Task
    from bayplan.cluster.columns import Int64s
    from bayplan.cluster.reading import Reader
    from bayplan.cluster.shapes import Shape
    from bayplan.framework.profile import Profile
    from bayplan.framework.run import Rules


class Way(enum.Enum):
    """How the rules are asked."""

    NOW = "with idle room"
    EITHER = "with idle room, or room that is being released"
    LATER = "with idle room and what is being released"
    ANYWHERE = "whatever room there is"


class Chooser:
    """Asks the rules about tasks."""

    def __init__(self, rules: Rules, reader: Reader, profiles: Mapping[tuple[Way, bool], Profile]) -> None:
        self._rules = rules
        self._reader = reader
        self._profiles = profiles  # by way, and whether soft pod affinity is asked
        self._known = -1  # the version of all that shapes depend on besides pods
        self._shapes: dict[Kin, Shape] = {}
        self._hopeless: set[tuple[Way, Shape]] = set()  # what fitted nowhere, and nothing was freed since

    def forget(self, task: Task) -> None:
        """Let go of a task that waits no more."""
        self._reader.forget(task.uid)

    def freed(self) -> None:
        """Hear that room was freed, or may have been."""
        self._hopeless.clear()

    def shape(self, task: Task) -> Shape:
        """Return what the rules tell a task by; what was read of one of its kin is not read again."""
        table = self._rules.table
        known = table.meanings.value + table.avoided.version
        if known != self._known:
            self._known = known
            self._shapes.clear()
        found = self._shapes.get(task.kin)
        if found is None:
            found = self._reader.shape(task.pod)
            if not task.pod.spec.volumes:
                self._shapes[task.kin] = found
        return found

    def is_social(self, task: Task) -> bool:
        """Say whether any rule besides those about room looks at who else is on a node, for a task."""
        shape = self.shape(task)
        part = shape.part(NEIGHBOURS)
        return bool(shape.part(PORTS) or part.near or part.far or part.meant_by)

    def best(self, task: Task, way: Way) -> Row | None:
        """Return the best node for a task; None: there is none."""
        shape = self.shape(task)
        if (way, shape) in self._hopeless:
            return None
        row = self._chosen(task, self._profiles[way, _is_social(shape)], shape)
        if row is None and not shape.part(NEIGHBOURS).near:  # who wants neighbours may get them yet
            self._hopeless.add((way, shape))
        return row

    def _chosen(self, task: Task, profile: Profile, shape: Shape) -> Row | None:
        rules = self._rules
        try:
            totals = rules.plan_totals(task.pod, profile, shape)
        except Unplanned:
            return rules.ask(task.pod, profile).row
        if totals is None:
            return None
        row = first_best(totals, rules.start % len(totals))
        if totals[row] < 0:
            return None
        rules.start = row + 1  # equals take turns
        return row

    def ranked(self, task: Task) -> list[Row]:
        """Return every node that a task may run on, the best first, of equals the last by name."""
        totals = self.totals(task, Way.ANYWHERE)
        rows = np.flatnonzero(totals >= 0).tolist()
        nodes = self._rules.table.nodes
        names = {row: "" if (node := nodes[row]) is None else node.metadata.name for row in rows}
        return [Row(row) for row in sorted(rows, key=lambda row: (int(totals[row]), names[row]), reverse=True)]

    def possible(self, task: Task) -> list[Row]:
        """Return every node that a task may run on, in the order of rows."""
        return [Row(row) for row in np.flatnonzero(self.totals(task, Way.ANYWHERE) >= 0).tolist()]

    def totals(self, task: Task, way: Way) -> Int64s:
        """Return each row's total, negative where the rules say no."""
        shape = self.shape(task)
        profile = self._profiles[way, _is_social(shape)]
        rows = self._rules.table.columns.rows
        try:
            totals = self._rules.plan_totals(task.pod, profile, shape)
            return np.full(rows, -1, np.int64) if totals is None else totals.astype(np.int64)
        except Unplanned:
            evaluation = Attempt(self._rules.table, profile, task.pod, shape).evaluate()
            if evaluation.error is not None or not evaluation.feasible.any():
                return np.full(rows, -1, np.int64)
            return np.where(evaluation.feasible, evaluation.totals, -1)


def _is_social(shape: Shape) -> bool:
    """Say whether soft pod affinity may tell nodes apart for a pod."""
    part = shape.part(NEIGHBOURS)
    return bool(part.liked or part.disliked or part.meant_by)
