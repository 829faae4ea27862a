"""Reach: what a pretend kubelet sees of a cluster, and what it may write there.

Two things fulfil it: the verbs of a store of our own (`verbs.py`), and an API server at the other end of a connection
(`remote.py`).  In both, what was written can be read at once.
Not here: what kubelets do with it (`kubelets.py`, `machines.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from bayplan.playground.kinds import Kind, Kinds
from bayplan.playground.store import Key, Store
from bayplan.playground.trees import Map
from bayplan.playground.verbs import Deletion


class Reach(Protocol):
    """A cluster within reach."""

    store: Store
    kinds: Kinds
    clock: Callable[[], float]

    def create(self, kind: Kind, namespace: str, tree: Map) -> object:
        """Make an object."""

    def amend(self, kind: Kind, key: Key, change: Callable[[Map], None]) -> object:
        """Change a copy of an object and write it; where it has a status of its own, that alone."""

    def delete(self, kind: Kind, key: Key, how: Deletion) -> object:
        """Delete an object."""
