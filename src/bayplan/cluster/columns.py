"""Columns: how the node table stores numbers, grows, frees rows and remembers which rows changed.

A column is one fact about all rows; `rows` is how many rows were ever used, freed ones included (`live` tells them
apart).  Every write goes through the table, which appends the row to a log; whoever remembers answers keeps a position
in that log and catches up.  Invariant: a column is never longer than `capacity` and never shrinks, so a closure over
its memory stays right until `epoch` changes.
Not here: what the numbers mean (schema.py) and who writes them (table.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Final, NewType

import numpy as np
import numpy.typing as npt

from bayplan.cluster.schema import COLUMNS

Row = NewType("Row", int)
Int64s = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.intp]

CPU: Final = 0
MEMORY: Final = 1
PODS: Final = 2  # how many there are, and may be: a resource like any other
FIRST_RESOURCES: Final = ("cpu", "memory", "pods", "ephemeral-storage")
ROWS_AT_FIRST: Final = 64
LENT_LEAST: Final = 1024  # rows; less comes as quickly from whoever gave it last
SMALL: Final = 1 << 46  # a hundred times less is exact in float64


def window(column: npt.NDArray[np.signedinteger[Any]]) -> memoryview[int]:
    """Return a scalar window onto a column: reading and writing one element costs a third of what NumPy's costs."""
    return memoryview(column)  # type: ignore[arg-type]  # an ndarray is a buffer; NumPy's stubs say so from 3.12 on


def float_window(column: Floats) -> memoryview[float]:
    """Return a scalar window onto a column of floats."""
    return memoryview(column)  # type: ignore[arg-type]  # as above


class Columns:
    """The numbers of all rows, with room to grow in both directions: more rows, more named resources."""

    allocatable: Int64s  # (resources, rows)
    requested: Int64s  # (resources, rows)
    nonzero: Int64s  # (cpu and memory, rows)
    floats: Floats  # the next three, one after the other
    whole: Floats  # (resources, rows)
    taken: Floats  # (resources, rows)
    counted: Floats  # (cpu and memory, rows)
    live: Bools  # (rows,)
    unschedulable: Bools  # (rows,)
    taint_set: Int32s  # (rows,)
    feature_set: Int32s  # (rows,)
    arrival: Int64s  # (rows,)

    def __init__(self) -> None:
        self.rows = 0
        self.desk = Desk()
        self._places: dict[tuple[str, ...], slice | Rows] = {}  # see places
        self.epoch = 0  # raised whenever memory moves
        self.is_small = True  # no node ever had SMALL or more of anything
        self.resources: dict[str, int] = {name: place for place, name in enumerate(FIRST_RESOURCES)}
        self._allocate(ROWS_AT_FIRST, len(FIRST_RESOURCES))

    def _allocate(self, capacity: int, resources: int) -> None:
        """Make every column that the schema declares; those of float64 lie in one block."""
        self.capacity = capacity
        length = {"rows": capacity, "resources": resources, "cpu and memory": 2}
        shapes = {column: tuple(length[axis] for axis in column.axes) for column in COLUMNS}
        self.floats = np.zeros((sum(shapes[column][0] for column in COLUMNS if column.dtype is np.float64), capacity))
        taken = 0
        for column, shape in shapes.items():
            if column.dtype is np.float64:
                setattr(self, column.name, self.floats[taken : taken + shape[0]])
                taken += shape[0]
            else:
                setattr(self, column.name, np.zeros(shape, column.dtype))
        self._map()

    def _map(self) -> None:
        """Make the scalar windows onto the columns that are written a row at a time."""
        self.requested_of = [window(column) for column in self.requested]
        self.nonzero_of = [window(column) for column in self.nonzero]
        self.taken_of = [float_window(column) for column in self.taken]
        self.counted_of = [float_window(column) for column in self.counted]
        self.pods_of = self.requested_of[PODS]
        self.epoch += 1

    def resource(self, name: str) -> int:
        """Return a resource's place in the blocks, making one for a name not seen before."""
        place = self.resources.get(name)
        if place is None:
            place = self.resources[name] = len(self.resources)
            self._grow(self.capacity, place + 1)
            for column in (self.allocatable, self.whole):
                column[place, : self.rows][~self.live[: self.rows]] = 1  # as a row that is free has of any other
        return place

    def places(self, names: tuple[str, ...]) -> slice | Rows:
        """Return the places of some resources: as a slice where they lie side by side."""
        found = self._places.get(names)
        if found is None:
            places = [self.resource(name) for name in names]
            first = places[0] if places else 0
            side_by_side = bool(places) and places == list(range(first, first + len(places)))
            found = slice(first, first + len(places)) if side_by_side else np.array(places, np.intp)
            self._places[names] = found  # for good: a resource keeps its place
        return found

    def account(self, row: Row, requested: Iterable[tuple[int, int]], nonzero: tuple[int, int], sign: int) -> None:
        """Add what a pod asks for to a row, or take it off again; the same numbers are kept twice, as declared."""
        requested_of, taken_of = self.requested_of, self.taken_of
        for place, amount in requested:
            numbers = requested_of[place]
            taken_of[place][row] = numbers[row] = numbers[row] + sign * amount
        pods = requested_of[PODS]
        taken_of[PODS][row] = pods[row] = pods[row] + sign
        cpu, memory = self.nonzero_of
        counted_cpu, counted_memory = self.counted_of
        counted_cpu[row] = cpu[row] = cpu[row] + sign * nonzero[CPU]
        counted_memory[row] = memory[row] = memory[row] + sign * nonzero[MEMORY]

    def add_row(self) -> Row:
        """Return a new row at the end."""
        if self.rows == self.capacity:
            self._grow(2 * self.capacity, len(self.allocatable))
        self.rows += 1
        return Row(self.rows - 1)

    def _grow(self, capacity: int, resources: int) -> None:
        old = {column.name: getattr(self, column.name) for column in COLUMNS}
        used = self.rows
        self._allocate(capacity, resources)
        for name, column in old.items():
            mine: npt.NDArray[np.generic] = getattr(self, name)
            if column.ndim == 1:
                mine[:used] = column[:used]
            else:
                mine[: len(column), :used] = column[:, :used]

    def clear(self, row: Row) -> None:
        """Forget everything about a row."""
        for column in COLUMNS:
            getattr(self, column.name)[..., row] = 0


class Desk:
    """Memory to compute in, lent again and again: to be given fresh memory costs more than computing in it."""

    def __init__(self) -> None:
        self._memory: Floats = np.zeros(0)

    def lend(self, *shape: int) -> Floats:
        """Lend an array of a shape, rows last, until somebody else asks; what is in it is left over."""
        if shape[-1] <= LENT_LEAST:
            return np.empty(shape)
        size = math.prod(shape)
        if size > len(self._memory):
            self._memory = np.empty(size)
        return self._memory[:size].reshape(shape)


class RowLog:
    """Which rows were dirtied, in order; readers keep a position and ask for what came since."""

    def __init__(self, length: int = 1 << 14) -> None:
        self.length = length
        self.position = 0  # how many entries were ever appended
        self._ring = np.zeros(length, np.intp)
        self.append_at = window(self._ring)

    def append(self, row: int) -> None:
        """Note that a row changed."""
        self.append_at[self.position % self.length] = row
        self.position += 1

    def last(self) -> int:
        """Return the row dirtied last."""
        return self.append_at[(self.position - 1) % self.length]

    def since(self, position: int) -> Rows | None:
        """Return the rows dirtied since a position, or None when that is too long ago to be known."""
        lag = self.position - position
        if lag > self.length:
            return None
        start = position % self.length
        end = start + lag
        if end <= self.length:
            return self._ring[start:end]
        return np.concatenate((self._ring[start:], self._ring[: end - self.length]))
