"""Label keys as columns: per key one small integer a row, the id of the row's value there.

A key's column is made when somebody first asks for it and kept up to date afterwards.  Whatever is asked about labels
is asked once per distinct value and gathered, so a thousand nodes of three zones cost three questions.
Invariant: `ids[row]` is ABSENT or indexes `values`; an id keeps its value for good.
Not here: how many pods there are in a domain (tallies.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NewType

import numpy as np
import numpy.typing as npt

DomainId = NewType("DomainId", int)
Ids = npt.NDArray[np.intp]

ABSENT: Final = -1


class Key:
    """One label key: the id of each row's value, and how many rows have each."""

    def __init__(self, name: str, capacity: int) -> None:
        self.name = name
        self.ids: Ids = np.full(capacity, ABSENT, np.intp)  # (rows,)
        self.values: list[str] = []
        self.rows_of: list[list[int]] = []  # by id: the rows that have the value
        self._id_of: dict[str, int] = {}
        self._answers: dict[object, npt.NDArray[np.bool_]] = {}

    def id_of(self, value: str) -> int:
        """Return a value's id, making one for a value not seen before."""
        found = self._id_of.get(value)
        if found is None:
            found = self._id_of[value] = len(self.values)
            self.values.append(value)
            self.rows_of.append([])
        return found

    def known(self, value: str) -> int:
        """Return a value's id, or ABSENT when no row ever had it."""
        return self._id_of.get(value, ABSENT)

    def write(self, row: int, labels: Mapping[str, str]) -> None:
        """Take over a row's value."""
        if row >= len(self.ids):
            grown = np.full(max(2 * len(self.ids), row + 1), ABSENT, np.intp)
            grown[: len(self.ids)] = self.ids
            self.ids = grown
        value = labels.get(self.name)
        new, old = ABSENT if value is None else self.id_of(value), int(self.ids[row])
        if new == old:
            return
        if old != ABSENT:
            self.rows_of[old].remove(row)
        if new != ABSENT:
            self.rows_of[new].append(row)
        self.ids[row] = new

    def where(self, question: object, holds: Callable[[str | None], bool], rows: int) -> npt.NDArray[np.bool_]:
        """Ask a question once per value (None: no such label) and return each row's answer."""
        answers = self._answers.get(question)
        if answers is None or len(answers) != len(self.values) + 1:
            answers = np.array([*map(holds, self.values), holds(None)], np.bool_)  # (values and absent,)
            self._answers[question] = answers
        return answers[self.ids[:rows]]  # absent is -1: the last   (rows,)


class Keys:
    """All label keys that were asked for."""

    def __init__(self) -> None:
        self.known: dict[str, Key] = {}

    def make(self, name: str, labels_of_rows: Iterable[tuple[int, Mapping[str, str]]], capacity: int) -> Key:
        """Make a key's column, reading it off all nodes."""
        key = self.known[name] = Key(name, capacity)
        for row, labels in labels_of_rows:
            key.write(row, labels)
        return key

    def write(self, row: int, labels: Mapping[str, str]) -> None:
        """Take over a row's labels in every key that somebody asked for."""
        for key in self.known.values():
            key.write(row, labels)
