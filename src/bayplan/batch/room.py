"""Room: what each node has idle and what is being released there, as columns of a batch profile's own.

The table counts what Kubernetes counts.  A session also has to know what is about to be free: tasks on their way out
hold room that others may already be given (they are pipelined), and in `kube-batch` behaviour init containers are
charged to nobody.  So these columns stand beside the table's, and catch up from its log of dirty rows.
Invariant: after `catch_up` each row equals its recount from the pods that are there and their tasks' statuses.
Not here: choosing a row (choosing.py) and the table's own columns (cluster/columns.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bayplan.batch.amounts import EXACT, MILLI, Amount, Slack
from bayplan.batch.tasks import Charge, Charges, Status, Task
from bayplan.cluster.columns import CPU, MEMORY, PODS, Int64s, Row, window

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayplan.cluster.table import Table

IDLE, LEAVING = 0, 1
TAKES: Final[Mapping[Status, tuple[int, int]]] = {
    Status.RELEASING: (-1, 1),
    Status.PIPELINED: (0, -1),
}  # of idle room, and of what is being released; any other status takes idle room


class Room:
    """What nodes have, and will have, left."""

    def __init__(self, table: Table, charges: Charges, tasks: Mapping[str, Task], slack: Slack) -> None:
        self.table = table
        self.charges = charges
        self.slack = slack
        self._tasks = tasks
        self._epoch = -1
        self._position = -1
        self.refused: dict[Row, set[str]] = {}  # by row: who is there beyond what there is, and is not counted
        self.idle: Int64s = np.zeros((0, 0), np.int64)  # (resources, rows)
        self.leaving: Int64s = np.zeros((0, 0), np.int64)  # (resources, rows)
        self.nonzero: Int64s = np.zeros((0, 0), np.int64)  # (cpu and memory, rows)
        self.catch_up()

    # -- keeping up with the table

    def grow(self) -> None:
        """Have room for every row and resource of the table; what was counted stays."""
        columns = self.table.columns
        if self._epoch == columns.epoch:
            return
        self._epoch = columns.epoch
        resources, rows = columns.allocatable.shape
        for name, height in (("idle", resources), ("leaving", resources), ("nonzero", 2)):
            old: Int64s = getattr(self, name)
            fresh = np.zeros((height, rows), np.int64)
            fresh[: old.shape[0], : old.shape[1]] = old
            setattr(self, name, fresh)
        self._idle_of = [window(column) for column in self.idle]
        self._leaving_of = [window(column) for column in self.leaving]
        self._nonzero_of = [window(column) for column in self.nonzero]

    def catch_up(self) -> None:
        """Recount the rows that were dirtied by others."""
        log = self.table.row_log
        if self._position == log.position:
            return
        self.grow()
        since = None if self._position < 0 else log.since(self._position)
        rows = range(self.table.columns.rows) if since is None else sorted(set(since.tolist()))
        for row in rows:
            self._recount(Row(row))
        self._position = log.position

    def _recount(self, row: Row) -> None:
        self.idle[:, row] = self.table.columns.allocatable[:, row]
        self.leaving[:, row] = 0
        self.nonzero[:, row] = 0
        self.refused.pop(row, None)
        for resident in self.table.on_row[row].values():
            task = self._tasks.get(resident.uid)
            charge = self.charges.charge(resident.pod) if task is None else task.charge
            status = Status.RUNNING if task is None else task.status
            if task is None and resident.pod.metadata.deletion_timestamp is not None:
                status = Status.RELEASING
            self.grow()  # a resource that nobody named before has its place from now on
            if self._is_too_much(row, charge, status):
                self.refused.setdefault(row, set()).add(resident.uid)
            else:
                self._count(row, charge, status, 1)

    def _is_too_much(self, row: Row, charge: Charge, status: Status) -> bool:
        """Say whether a node of kube-batch's would not take a task: it counts nobody beyond what there is."""
        return self.slack != EXACT and status is not Status.PIPELINED and not self.fits(charge.request, row)

    # -- what a session does

    def put(self, row: Row, charge: Charge, status: Status) -> None:
        """Charge a row with a task; the table has just placed it, or its status has just changed."""
        self._count(row, charge, status, 1)
        self._told(row)

    def drop(self, row: Row, charge: Charge, status: Status) -> None:
        """Take a task's charge off a row."""
        self._count(row, charge, status, -1)
        self._told(row)

    def _told(self, row: Row) -> None:
        """Have whoever remembers answers ask again about a row; what we did ourselves needs no recount."""
        self.table.row_log.append(row)
        self.knows()

    def knows(self) -> None:
        """Take what was just logged as known: the session that did it keeps count itself."""
        self._position = self.table.row_log.position

    def _count(self, row: Row, charge: Charge, status: Status, sign: int) -> None:
        takes_idle, takes_leaving = TAKES.get(status, (-1, 0))
        for place, amount in charge.places:
            if takes_idle:
                self._idle_of[place][row] += sign * takes_idle * amount
            if takes_leaving:
                self._leaving_of[place][row] += sign * takes_leaving * amount
        self._idle_of[PODS][row] += sign * takes_idle
        self._leaving_of[PODS][row] += sign * takes_leaving
        self._nonzero_of[CPU][row] += sign * charge.nonzero[CPU]
        self._nonzero_of[MEMORY][row] += sign * charge.nonzero[MEMORY]

    # -- asking

    @property
    def is_anything_leaving(self) -> bool:
        """Whether some node will have more than it has idle."""
        return bool((self.leaving[:, : self.table.columns.rows] > 0).any())

    def fits(self, needs: Amount, row: Row, which: int = IDLE) -> bool:
        """Say whether a row has what a task needs, idle or on its way out."""
        return needs.fits(self.amount(row, which), self.slack)

    def has_now(self, charge: Charge, row: Row) -> bool:
        """Say whether a row has what a task is charged with idle, and keeps it for nobody who waits there for more."""
        return all(
            self.idle[place, row] + min(self.leaving[place, row], 0) >= amount for place, amount in charge.places
        )

    def amount(self, row: Row, which: int = IDLE) -> Amount:
        """Return what a row has idle, or on its way out."""
        columns = self.idle if which == IDLE else self.leaving
        return self._amount(columns[:, row])

    def _amount(self, column: Int64s) -> Amount:
        found = Amount(int(column[CPU]), int(column[MEMORY]))
        for name, place in self.table.columns.resources.items():
            if name not in _NATIVE:
                others = found.others = found.others if found.others is not None else {}
                others[name] = int(column[place]) * MILLI
        return found

    def whole(self) -> Amount:
        """Return what all nodes have together; it names what some node names."""
        columns, rows = self.table.columns, self.table.columns.rows
        total = columns.allocatable[:, :rows][:, columns.live[:rows]].sum(axis=1)  # (resources,)
        found = Amount(int(total[CPU]), int(total[MEMORY]))
        named = {name for node in self.table.nodes if node is not None for name in node.status.allocatable}
        for name, place in columns.resources.items():
            if name not in _NATIVE and name in named:
                others = found.others = found.others if found.others is not None else {}
                others[name] = int(total[place]) * MILLI
        return found


_NATIVE: Final = frozenset({"cpu", "memory", "pods", "ephemeral-storage"})
