"""Nodes: what a user's first rule sees, the columns of some nodes and nothing else.

A rule that scores is given the nodes that fit, one that filters all of them; every column has one element for each, in
the same order as `names`.  Amounts are whole numbers in the unit in which Kubernetes counts: thousandths of a cpu,
bytes of memory and storage, pieces of anything else.
Invariant: nothing here writes; a column is the reader's own copy.
Not here: what a whole plugin sees (`cluster/view.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from bayplan.cluster.columns import Bools, Int64s, Row, Rows

if TYPE_CHECKING:
    from bayplan.api.objects import Node
    from bayplan.cluster.view import View

A = TypeVar("A")
T = TypeVar("T", bound=np.generic)

Floats = npt.NDArray[np.float64]
Texts = npt.NDArray[np.str_]


class Nodes:
    """Columns of nodes."""

    def __init__(self, view: View, places: Rows) -> None:
        self._view = view
        self._places = places  # of these nodes among the view's rows

    def __len__(self) -> int:
        """Count the nodes."""
        return len(self._places)

    def __iter__(self) -> Iterator[OneNode]:
        """Give one node after the other."""
        return (OneNode(self, place) for place in range(len(self)))

    def __getitem__(self, place: int) -> OneNode:
        """Return one node; the place is its place in the columns."""
        return OneNode(self, range(len(self))[place])

    @property
    def names(self) -> list[str]:
        """The nodes' names."""
        return [self.object(place).metadata.name for place in range(len(self))]

    def object(self, place: int) -> Node:
        """Return a node as it was decoded."""
        return self._view.node(Row(int(self._view.rows[self._places[place]])))

    # -- labels

    def label(self, key: str, default: str = "") -> Texts:
        """Return each node's value of a label, or the default where there is none."""
        return np.array(self._labels(key, str, default), np.str_)

    def label_float(self, key: str, default: float = math.nan) -> Floats:
        """Return each node's value of a label as a number, or the default where there is none or it is no number."""
        return np.array(self._labels(key, lambda text: _number(text, default), default), np.float64)

    def has_label(self, key: str) -> Bools:
        """Say which nodes have a label."""
        return self._some(self._view.has(key))

    def _labels(self, key: str, read: Callable[[str], A], default: A) -> list[A]:
        """Read each distinct value once."""
        known: dict[str | None, A] = {None: default}
        found: list[A] = []
        for place in range(len(self)):
            text = self.object(place).metadata.labels.get(key)
            if text not in known and text is not None:
                known[text] = read(text)
            found.append(known[text])
        return found

    # -- amounts

    def allocatable(self, resource: str) -> Int64s:
        """Return what each node has of a resource for pods; 0 where it has none."""
        return self._some(self._view.allocatable(self._view.places((resource,)))[0])

    def requested(self, resource: str) -> Int64s:
        """Return what the pods on each node ask for of a resource."""
        return self._some(self._view.requested(self._view.places((resource,)))[0])

    def free(self, resource: str) -> Int64s:
        """Return what is left on each node of a resource; negative where more is asked for than there is."""
        return self.allocatable(resource) - self.requested(resource)

    @property
    def pods(self) -> Int64s:
        """How many pods each node has."""
        return self.requested("pods")

    @property
    def pods_allowed(self) -> Int64s:
        """How many pods each node may have."""
        return self.allocatable("pods")

    def _some(self, column: npt.NDArray[T]) -> npt.NDArray[T]:
        return column[self._places]


class OneNode:
    """One node, for rules that are asked about one at a time."""

    def __init__(self, nodes: Nodes, place: int) -> None:
        self._nodes = nodes
        self._place = place

    @property
    def object(self) -> Node:
        """The node as it was decoded."""
        return self._nodes.object(self._place)

    @property
    def name(self) -> str:
        """The node's name."""
        return self.object.metadata.name

    @property
    def labels(self) -> dict[str, str]:
        """The node's labels."""
        return self.object.metadata.labels

    def label(self, key: str, default: str = "") -> str:
        """Return the value of a label, or the default."""
        return self.labels.get(key, default)

    def label_float(self, key: str, default: float = math.nan) -> float:
        """Return the value of a label as a number, or the default where there is none or it is no number."""
        text = self.labels.get(key)
        return default if text is None else _number(text, default)

    def has_label(self, key: str) -> bool:
        """Say whether the node has a label."""
        return key in self.labels

    def allocatable(self, resource: str) -> int:
        """Return what the node has of a resource for pods."""
        return int(self._nodes.allocatable(resource)[self._place])

    def requested(self, resource: str) -> int:
        """Return what the pods on the node ask for of a resource."""
        return int(self._nodes.requested(resource)[self._place])

    def free(self, resource: str) -> int:
        """Return what is left on the node of a resource."""
        return self.allocatable(resource) - self.requested(resource)


def _number(text: str, default: float) -> float:
    try:
        number = float(text)
    except ValueError:
        return default
    return number if math.isfinite(number) else default
