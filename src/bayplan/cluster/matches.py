"""Matches: what rows have for some wants, searched once for all nodes that look alike to the search.

A search looks at few labels: those that the volumes, pools and classes in question speak of.  Rows whose nodes agree in
these are a group, and a group is searched again only when something that it might reach came or went.
Invariant: `ask` says of every row what `match` would, whatever came and went in between.
Not here: the search itself (`matching.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from bayplan.api.objects import Node
from bayplan.cluster.books.near import LOOSE, Spot
from bayplan.cluster.columns import Bools, Int64s, Row, Rows
from bayplan.cluster.matching import Match, Want, is_elsewhere, keys_of, match_here, parts_of

if TYPE_CHECKING:
    from bayplan.cluster.view import View

NO_VOLUMES: Final = 1
NO_ROOM: Final = 2
ELSEWHERE: Final = Match(has_volumes=False)
Looks: TypeAlias = tuple[str | None, ...]


class Found(NamedTuple):
    """What each of some rows has."""

    no_volumes: Bools  # (rows,)
    no_room: Bools  # (rows,)
    worth: Int64s  # (rows,) of what would be taken, 0 where it cannot


class Matches:
    """What rows have for the wants of one shape."""

    def __init__(self, wants: tuple[Want, ...], worth: Callable[[Match], int]) -> None:
        self.wants = wants
        self._worth = worth
        self._parts = parts_of(wants)
        self._start_over()

    def _start_over(self) -> None:
        self._keys = tuple(sorted(keys_of(self.wants)))
        self._keys_seen = self._keys_now()
        self._positions = [part.near.changes for part in self._parts]
        self._nodes: list[Node | None] = []  # by row, as they were grouped
        self._group: Rows = np.zeros(0, np.intp)  # (rows,)
        self._checked: Bools = np.zeros(0, np.bool_)  # (rows,) the node is still the same
        self._nodes_version = -1
        self._number: dict[Looks | None, int] = {}  # None: elsewhere
        self._labels: list[Mapping[str, str] | None] = []  # by group: those of one of its nodes; None: elsewhere
        self._found: list[Match] = []  # by group, where it is not stale
        self._at: dict[Spot, list[int]] = {}  # groups by what they reach
        self._stale: Bools = np.zeros(0, np.bool_)  # (groups,)
        self._lacks: Int64s = np.zeros(0, np.int64)  # (groups,)
        self._value: Int64s = np.zeros(0, np.int64)  # (groups,)

    def _keys_now(self) -> int:
        return sum(part.near.keys_version for part in self._parts)

    def ask(self, view: View) -> Found:
        """Say what the rows of a view have, searching where that is not known."""
        self._catch_up()
        groups = self._groups_of(view)
        for group in np.unique(groups[self._stale[groups]]).tolist():
            self._search(group)
        lacks = self._lacks[groups]
        return Found(lacks == NO_VOLUMES, lacks == NO_ROOM, self._value[groups])

    def at(self, view: View) -> Match:
        """Return what the one row of a view has."""
        self._catch_up()
        group = self._groups_of(view).item()
        if self._stale[group]:
            self._search(group)
        return self._found[group]

    def _catch_up(self) -> None:
        """Mark the groups that might reach what came or went."""
        if self._keys_seen != self._keys_now():
            self._start_over()
            return
        for place, part in enumerate(self._parts):
            if part.near.changes == self._positions[place]:
                continue
            spots = part.near.since(self._positions[place])
            self._positions[place] = part.near.changes
            if spots is None or LOOSE in spots:
                self._stale[:] = True
                continue
            for spot in spots:
                self._stale[self._at.get(spot, [])] = True

    def _groups_of(self, view: View) -> Rows:
        """Return the groups of rows; a row whose node is another belongs where that belongs."""
        rows = view.rows
        most = int(rows.max(initial=-1)) + 1
        if most > len(self._nodes):
            more = 2 * most - len(self._nodes)
            self._nodes.extend([None] * more)
            self._group = np.concatenate((self._group, np.zeros(more, np.intp)))
            self._checked = np.concatenate((self._checked, np.zeros(more, np.bool_)))
        if self._nodes_version != view.nodes_version:
            self._nodes_version = view.nodes_version
            self._checked[:] = False
        unchecked = rows[~self._checked[rows]]
        for row in unchecked.tolist():
            node = view.node(Row(row))
            if self._nodes[row] is not node:
                self._nodes[row] = node
                self._group[row] = self._group_of(node)
        self._checked[unchecked] = True
        groups: Rows = self._group[rows]
        return groups

    def _group_of(self, node: Node) -> int:
        labels = node.metadata.labels
        looks = None if is_elsewhere(self.wants, node.metadata.name) else tuple(map(labels.get, self._keys))
        number = self._number.get(looks)
        if number is None:
            number = self._number[looks] = len(self._labels)
            self._labels.append(None if looks is None else labels)
            self._found.append(ELSEWHERE)
            for key in self._keys if looks is not None else ():
                if key in labels:
                    self._at.setdefault((key, labels[key]), []).append(number)
            if number >= len(self._stale):
                self._grow(2 * number + 16)
            self._stale[number] = True
        return number

    def _grow(self, length: int) -> None:
        more = length - len(self._stale)
        self._stale = np.concatenate((self._stale, np.zeros(more, np.bool_)))
        self._lacks = np.concatenate((self._lacks, np.zeros(more, np.int64)))
        self._value = np.concatenate((self._value, np.zeros(more, np.int64)))

    def _search(self, group: int) -> None:
        labels = self._labels[group]
        found = self._found[group] = ELSEWHERE if labels is None else match_here(self.wants, labels)
        self._lacks[group] = NO_VOLUMES * (not found.has_volumes) + NO_ROOM * (not found.has_room)
        self._value[group] = 0 if self._lacks[group] else self._worth(found)
        self._stale[group] = False
