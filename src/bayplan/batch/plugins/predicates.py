"""predicates: where a task may run at all: rules about room, pods per node and conditions, beside the default rules.

Taints, node selectors, host ports and required pod affinity are asked of the rules of those names.
Not here: which node is best (nodeorder.py).
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from bayplan.batch.room import Room
from bayplan.batch.voting import Voter
from bayplan.cluster.columns import PODS, window
from bayplan.cluster.shapes import NOTHING, REQUESTS, Requests
from bayplan.framework.plugin import (
    NODE,
    ROW,
    SUCCESS,
    Mask,
    Plugin,
    Prepared,
    Ruling,
    unresolvable,
    unschedulable,
)

if TYPE_CHECKING:
    from bayplan.api.objects import Node
    from bayplan.cluster.columns import Int64s, Rows
    from bayplan.cluster.view import View

FIELDS: Final = ("node.status.conditions",)  # what is read of nodes and our structs lack
DEFAULT_RULES: Final = ("NodeAffinity", "NodePorts", "TaintToleration", "InterPodAffinity")
NO_ROOM: Final = (SUCCESS, unschedulable("node(s) didn't have enough room, idle or on its way out"))
TOO_MANY_PODS: Final = (SUCCESS, unschedulable("Too many pods"))
NOT_AVAILABLE: Final = (SUCCESS, unresolvable("node(s) were not available"))
PRESSURES: Final = {
    "predicate.MemoryPressureEnable": "MemoryPressure",
    "predicate.DiskPressureEnable": "DiskPressure",
    "predicate.PIDPressureEnable": "PIDPressure",
}


class Predicates(Voter):
    """Its say is in the rules that are asked; in a session itself it has none."""

    name = "predicates"


class Need(NamedTuple):
    """What a task needs, and where that is in the columns."""

    places: Rows  # (needs,)
    needed: Int64s  # (needs, 1), less what may be lacking


class Which(enum.Enum):
    """What room counts."""

    IDLE = "idle, and not kept for somebody who waits for more of it"
    EITHER = "idle, or being released, but not a bit of each"
    LATER = "idle and being released together"


class HasRoom(Plugin[Requests, Need]):
    """There is as much room as a task needs."""

    reads = REQUESTS
    depends = ROW

    def __init__(self, room: Room, which: Which, ignored: frozenset[str] = frozenset()) -> None:
        super().__init__()
        self._room = room
        self._which = which
        self._ignored = ignored

    def prepare(self, part: Requests, view: View) -> Prepared[Need]:
        """Look up where the resources are."""
        slack = self._room.slack
        lacking = {"cpu": max(int(slack.cpu) - 1, 0), "memory": max(int(slack.memory) - 1, 0)}
        wanted = [(name, amount) for name, amount in part.fit if amount and name not in self._ignored]
        if self._which is Which.LATER:
            wanted.append(("pods", 1))
        places = np.array([view.table.columns.resource(name) for name, _ in wanted], np.intp)
        needed = np.array([amount - lacking.get(name, 0) for name, amount in wanted], np.int64)
        return Prepared(Need(places, needed.reshape(-1, 1)))

    def fits(self, state: Need, view: View) -> Mask:
        """Compare what counts."""
        self._room.grow()
        at = np.ix_(state.places, view.rows)
        room = self._room.idle[at]  # (needs, rows)
        if self._which is Which.LATER:
            room += self._room.leaving[at]
        elif self._which is Which.IDLE:
            room += np.minimum(self._room.leaving[at], 0)  # who waits there for more than leaves has part of it
        fits: Mask = np.logical_and.reduce(room >= state.needed, axis=0)  # (rows,)
        if self._which is Which.EITHER:
            fits |= np.logical_and.reduce(self._room.leaving[at] >= state.needed, axis=0)
        return fits

    def filter(self, state: Need, view: View) -> Ruling:
        """Say where there is none."""
        return Ruling((~self.fits(state, view)).astype(np.int16), NO_ROOM)

    def row(self, state: Need, view: View) -> Callable[[int], int] | None:
        """Answer for one row."""
        room = self._room
        room.grow()
        needs = [
            (window(room.idle[place]), window(room.leaving[place]), need)
            for place, need in zip(state.places.tolist(), state.needed[:, 0].tolist(), strict=True)
        ]
        return _ANSWERS[self._which](needs)


Needs: TypeAlias = "list[tuple[memoryview[int], memoryview[int], int]]"  # (idle, leaving, how much)


def _when_idle(needs: Needs) -> Callable[[int], int]:
    return lambda row: -1 if any(idle[row] + min(leaving[row], 0) < need for idle, leaving, need in needs) else 0


def _when_either(needs: Needs) -> Callable[[int], int]:
    def answer(row: int) -> int:
        if all(idle[row] >= need for idle, _, need in needs):
            return 0
        return -1 if any(leaving[row] < need for _, leaving, need in needs) else 0

    return answer


def _when_later(needs: Needs) -> Callable[[int], int]:
    return lambda row: -1 if any(idle[row] + leaving[row] < need for idle, leaving, need in needs) else 0


_ANSWERS: Final = {Which.IDLE: _when_idle, Which.EITHER: _when_either, Which.LATER: _when_later}


class HasPlace(Plugin[None, None]):
    """A node takes only so many pods, those on their way included."""

    reads = NOTHING
    depends = ROW

    def fits(self, state: None, view: View) -> Mask:
        """Count."""
        columns, rows = view.table.columns, view.rows
        mask: Mask = columns.requested[PODS, rows] < columns.allocatable[PODS, rows]  # (rows,)
        return mask

    def filter(self, state: None, view: View) -> Ruling:
        """Say where there are too many."""
        return Ruling((~self.fits(state, view)).astype(np.int16), TOO_MANY_PODS)

    def row(self, state: None, view: View) -> Callable[[int], int] | None:
        """Answer for one row."""
        columns = view.table.columns
        used, whole = columns.requested_of[PODS], window(columns.allocatable[PODS])

        def answer(row: int) -> int:
            return 0 if used[row] < whole[row] else -1

        return answer


class IsAvailable(Plugin[Requests, bool]):
    """A node that is cordoned, not ready or without network takes nothing; one under pressure, if so configured."""

    reads = REQUESTS
    depends = NODE
    fields = FIELDS

    def __init__(self, pressures: frozenset[str] = frozenset()) -> None:
        super().__init__()
        self._pressures = pressures
        self._known: dict[int, tuple[Node, frozenset[str]]] = {}  # by row: what was read of which node

    def prepare(self, part: Requests, view: View) -> Prepared[bool]:
        """Say whether the pod asks for nothing: only then does pressure on memory matter."""
        return Prepared(not any(amount for name, amount in part.fit if name in {"cpu", "memory"}))

    def fits(self, state: bool, view: View) -> Mask:  # noqa: FBT001 the state is one truth
        """Look at each node's conditions, read once."""
        bad = self._pressures if state else self._pressures - {"MemoryPressure"}
        bad |= {"unavailable"}
        return np.array([not (self._wrong(view, row) & bad) for row in view.rows.tolist()], np.bool_)

    def filter(self, state: bool, view: View) -> Ruling:  # noqa: FBT001 as fits
        """Say which are not available."""
        return Ruling((~self.fits(state, view)).astype(np.int16), NOT_AVAILABLE)

    def _wrong(self, view: View, row: int) -> frozenset[str]:
        node = view.table.nodes[row]
        if node is None:
            return frozenset({"unavailable"})
        known = self._known.get(row)
        if known is None or known[0] is not node:
            known = self._known[row] = (node, _wrong_with(node))
        return known[1]


def _wrong_with(node: Node) -> frozenset[str]:
    """Return what is wrong with a node: unavailable, or under which pressures."""
    wrong = {"unavailable"} if node.spec.unschedulable else set()
    conditions = getattr(node.status, "conditions", None)
    for condition in conditions if isinstance(conditions, list) else []:
        if not isinstance(condition, dict):
            continue
        kind, status = condition.get("type"), condition.get("status")
        if (kind == "Ready" and status != "True") or (
            kind in {"OutOfDisk", "NetworkUnavailable"} and status != "False"
        ):
            wrong.add("unavailable")
        elif kind in PRESSURES.values() and status == "True":
            wrong.add(str(kind))
    return frozenset(wrong)
