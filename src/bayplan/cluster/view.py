"""What a rule sees: read-only columns of some rows, tallies, scopes, catalogues and books; what it reads is recorded.

A view of rows answers for all rows of the table, or for some of them, or for one with a delta: pods to be thought of as
added.  `framework/groups.py` gives the same answers for groups of rows, so a rule must use nothing but these methods.
Invariant: nothing here writes; every answer that can change is recorded with a way to ask it again.
Not here: choosing rows and remembering answers (framework).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from bayplan.cluster.columns import PODS, Bools, Floats, Int32s, Int64s, Row, Rows
from bayplan.cluster.keys import ABSENT
from bayplan.cluster.rows import NodeQuestion, judged, judged_row
from bayplan.cluster.tallies import Scope, Tally
from bayplan.cluster.topology import Topology

if TYPE_CHECKING:
    from bayplan.api.objects import Node, Taint
    from bayplan.api.selectors import PreferredTerms
    from bayplan.cluster.books.ports import HostPort
    from bayplan.cluster.residents import Resident
    from bayplan.cluster.table import Table

Places = slice | Rows  # where resources are in the blocks
N = TypeVar("N", bound=np.generic)


class View(Topology):
    """Rows of the table, all of them unless some are named."""

    def __init__(self, table: Table, rows: Rows | None = None) -> None:
        super().__init__(table)
        self._some = rows  # None: all, and columns need no gathering
        self._used = table.columns.rows
        self._allocatable: Int64s | None = None  # gathered once, when rows are named
        self._requested: Int64s | None = None
        self._gathered: Floats | None = None

    def __len__(self) -> int:
        return self._used if self._some is None else len(self._some)

    @property
    def rows(self) -> Rows:
        """The numbers of the view's rows."""
        return np.arange(self._used) if self._some is None else self._some

    def every_row(self) -> Rows:
        """Return the numbers of all rows that have a node, whichever rows this view shows."""
        return np.flatnonzero(self.table.columns.live[: self._used])

    @property
    def is_small(self) -> bool:
        """Whether a hundred times any amount here is exact in float64, so that dividing there is exact, and fast."""
        return self.table.columns.is_small

    def _of(self, column: npt.NDArray[N]) -> npt.NDArray[N]:
        if self._some is not None:
            return column[self._some]
        shown = column[: self._used]
        shown.flags.writeable = False
        return shown

    # -- columns of the node itself

    @property
    def live(self) -> Bools:
        """Which rows have a node."""
        return self._of(self.table.columns.live)

    @property
    def unschedulable(self) -> Bools:
        """Which nodes are cordoned."""
        return self._of(self.table.columns.unschedulable)

    @property
    def taint_set(self) -> Int32s:
        """The number of each row's taint set."""
        return self._of(self.table.columns.taint_set)

    @property
    def taint_sets(self) -> Sequence[tuple[Taint, ...]]:
        """All taint sets known."""
        self.recorded(lambda: self.table.taint_sets.version)
        return self.table.taint_sets.entries

    @property
    def feature_set(self) -> Int32s:
        """The number of each row's set of declared features."""
        return self._of(self.table.columns.feature_set)

    @property
    def feature_sets(self) -> Sequence[frozenset[str]]:
        """All sets of declared features known."""
        self.recorded(lambda: self.table.feature_sets.version)
        return self.table.feature_sets.entries

    def places(self, resources: Sequence[str]) -> Places:
        """Return where some resources are in the blocks: as a slice where they lie side by side."""
        return self.table.columns.places(tuple(resources))

    def allocatable(self, places: Places) -> Int64s:
        """Return what each node has of some resources, 0 where it has none, as (resources, rows)."""
        if self._some is None:
            return self.table.columns.allocatable[places, : self._used]
        if self._allocatable is None:
            self._allocatable = self.table.columns.allocatable.take(self._some, axis=1, mode="wrap")
        return self._allocatable[places]

    def whole(self, places: Places) -> Floats:
        """Return the same as float64, which divides faster, as (resources, rows)."""
        return self._floats()[: len(self.table.columns.whole)][places]

    def _floats(self) -> Floats:
        if self._some is None:
            return self.table.columns.floats[:, : self._used]
        if self._gathered is None:
            self._gathered = self.table.columns.floats.take(self._some, axis=1, mode="wrap")
        return self._gathered

    def room(self, *shape: int) -> Floats:
        """Lend a rule memory to compute in until it returns, or anybody asks again; what is there is left over."""
        return self.table.columns.desk.lend(*shape)

    def node(self, row: Row) -> Node:
        """Return a row's node."""
        node = self.table.nodes[row]
        if node is None:
            message = f"row {row} has no node; ask only about live rows"
            raise LookupError(message)
        return node

    @property
    def names(self) -> list[str]:
        """The name of each row's node; empty where there is none."""
        nodes = self.table.nodes
        return ["" if (node := nodes[row]) is None else node.metadata.name for row in self.rows.tolist()]

    @property
    def nodes_version(self) -> int:
        """Rises whenever a node comes, goes or changes."""
        return self.table.node_log.position

    @property
    def node_count(self) -> int:
        """How many nodes there are in all."""
        return self.recorded(lambda: self.table.count)

    def judged(self, affinity: NodeQuestion) -> Bools:
        """Say of every row whether its node passes a node selector or node terms."""
        if self._some is not None and len(self._some) <= 8:  # fewer than it pays to gather
            return np.array([judged_row(affinity, self.table, row) for row in self._some.tolist()], np.bool_)
        mask = judged(affinity, self.table)  # fresh: the asker may write into it
        return mask if self._some is None else mask[self._some]

    def liked(self, wishes: PreferredTerms) -> Int64s:
        """Return the sum of the weights of the preferred terms that each row's node meets."""
        total = np.zeros(len(self), np.int64)
        for weight, term in wishes.terms:
            total += np.where(self.judged(term), weight, 0)  # (rows,)
        return total

    def has_image(self, name: str) -> Bools:
        """Which rows report an image."""
        mask = np.zeros(self.table.columns.rows, np.bool_)
        mask[list(self.recorded(lambda: tuple(self.table.images.rows(name))))] = True
        return mask if self._some is None else mask[self._some]

    def image(self, name: str) -> tuple[int, int]:
        """Return an image's size and the number of nodes that report it; (0, 0) when none does."""

        def ask() -> tuple[int, int]:
            number = len(self.table.images.rows(name))
            return (self.table.images.size(name), number) if number else (0, 0)

        return self.recorded(ask)

    def avoids(self, controller: tuple[str, str]) -> Bools:
        """Which nodes ask to be spared a controller's pods."""
        mask = np.zeros(self.table.columns.rows, np.bool_)
        mask[list(self.recorded(lambda: self.table.avoided.rows(controller)))] = True
        return mask if self._some is None else mask[self._some]

    # -- columns of what runs on the row

    def requested(self, places: Places) -> Int64s:
        """Return what the pods of each row ask for of some resources, as (resources, rows)."""
        if self._some is None:
            return self.table.columns.requested[places, : self._used]
        if self._requested is None:
            self._requested = self.table.columns.requested.take(self._some, axis=1, mode="wrap")
        return self._requested[places]

    @property
    def nonzero(self) -> Int64s:
        """What the pods of each row ask for of cpu and memory, with defaults where a container asks for nothing."""
        if self._some is None:
            return self.table.columns.nonzero[:, : self._used]
        return self.table.columns.nonzero.take(self._some, axis=1, mode="wrap")

    def taken(self, places: Places) -> Floats:
        """Return what `requested` does, as float64."""
        resources = len(self.table.columns.whole)
        return self._floats()[resources : 2 * resources][places]

    @property
    def counted(self) -> Floats:
        """What `nonzero` is, as float64."""
        return self._floats()[2 * len(self.table.columns.whole) :]

    def all_have(self, places: Places) -> bool:
        """Say whether every row of the table has some of each of some resources."""
        return self.table.all_have(places)

    def port_taken(self, port: HostPort) -> Bools:
        """On which rows a host port cannot be taken."""
        mask = np.zeros(self.table.columns.rows, np.bool_)
        mask[self.table.ports.rows_in_conflict(port)] = True
        return mask if self._some is None else mask[self._some]

    def residents(self, row: Row) -> Iterable[Resident]:
        """Return the pods on a row that have volumes a rule looks at."""
        return self.table.volumes.mounted_on(row)

    # -- pods by topology

    def has(self, key: str) -> Bools:
        """Which rows have a label key."""
        present: Bools = self._ids(key) != ABSENT
        return present

    def count(self, tally: Tally, key: str | None = None, scope: Scope | None = None) -> Int64s:
        """Return the number of each row or, with a key, of its domain there (0 where it has none)."""
        if key is None:
            numbers = tally.column(self._used)
            if scope is not None:
                numbers = np.where(scope.of_rows(self._used), numbers, 0)
            return numbers if self._some is None else numbers[self._some]
        numbers = tally.domains(self._key(key), scope).of_rows(self._used)
        return numbers if self._some is None else numbers[self._some]

    def any(self, tally: Tally, key: str | None = None, scope: Scope | None = None) -> Bools:
        """Which rows (or their domains) have any."""
        return self.count(tally, key, scope) > 0

    def many(self, feasible: Bools) -> int:
        """Count the nodes among the feasible."""
        return int(np.count_nonzero(feasible))

    def distinct(self, key: str, feasible: Bools, *, absent: bool) -> int:
        """Count the domains of a key among the feasible; `absent` says whether "no such label" counts as one."""
        ids = self._ids(key)[feasible]
        found = np.unique(ids)
        return len(found) - (not absent and len(found) > 0 and found[0] == ABSENT)

    def _ids(self, key: str) -> Rows:
        return self._of(self._key(key).ids)


class RowWith(View):
    """One row, as if pods were added to it."""

    def __init__(self, table: Table, row: Row, added: Sequence[Resident]) -> None:
        super().__init__(table, np.array([row], np.intp))
        self.row = row
        self.added = added

    def requested(self, places: Places) -> Int64s:
        """As on the row, with the added pods' requests."""
        more = np.zeros((len(self.table.columns.resources), 1), np.int64)  # (resources, 1)
        for resident in self.added:
            for place, amount in resident.load.requested:
                more[place] += amount
        more[PODS] += len(self.added)
        total: Int64s = super().requested(places) + more[places]
        return total

    @property
    def nonzero(self) -> Int64s:
        """As on the row, with the added pods'."""
        more = np.array([resident.load.nonzero for resident in self.added], np.int64).sum(axis=0)
        total: Int64s = super().nonzero + more[:, np.newaxis]
        return total

    def taken(self, places: Places) -> Floats:
        """As requested."""
        return self.requested(places).astype(np.float64)

    @property
    def counted(self) -> Floats:
        """As nonzero."""
        return self.nonzero.astype(np.float64)

    def port_taken(self, port: HostPort) -> Bools:
        """As on the row, or taken by an added pod."""
        mine = any(_clash(port, taken) for resident in self.added for taken in resident.load.ports)
        return super().port_taken(port) | mine

    def residents(self, row: Row) -> Iterable[Resident]:
        """As on the row, with the added pods that have volumes."""
        return [*super().residents(row), *(resident for resident in self.added if resident.load.mounts is not None)]


def _clash(one: HostPort, other: HostPort) -> bool:
    anywhere = "0.0.0.0"  # noqa: S104 a host port's wildcard
    return one[1:] == other[1:] and (one[0] == other[0] or anywhere in {one[0], other[0]})
