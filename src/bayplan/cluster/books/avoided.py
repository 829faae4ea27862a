"""Avoided controllers: whose pods a node asks, by an old annotation, to be spared.

Invariant: only controllers that some node names are known here, so pods of all others stay alike.
Not here: what that costs a node (plugins).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from bayplan.api.objects import Pod

Controller: TypeAlias = tuple[str, str]  # kind and uid

ANNOTATION: Final = "scheduler.alpha.kubernetes.io/preferAvoidPods"
NOBODY: Final[frozenset[Controller]] = frozenset()


class Avoided:
    """The controllers that each row's node names."""

    def __init__(self) -> None:
        self.version = 0  # rises when a controller becomes known, or nobody names it any more
        self._of_row: dict[int, frozenset[Controller]] = {}
        self._rows: dict[Controller, set[int]] = {}

    def put(self, row: int, annotations: Mapping[str, str]) -> None:
        """Take over what a row's node names."""
        found = named(annotations) if ANNOTATION in annotations else NOBODY
        old = self._of_row.get(row, NOBODY)
        if found == old:
            return
        for controller in old - found:
            self._rows[controller].discard(row)
            if not self._rows[controller]:
                del self._rows[controller]
                self.version += 1
        for controller in found - old:
            if controller not in self._rows:
                self._rows[controller] = set()
                self.version += 1
            self._rows[controller].add(row)
        if found:
            self._of_row[row] = found
        else:
            del self._of_row[row]

    def rows(self, controller: Controller) -> frozenset[int]:
        """Return the rows whose node names a controller."""
        return frozenset(self._rows.get(controller, ()))

    def controller_of(self, pod: Pod) -> Controller | None:
        """Return a pod's controller if any node names it."""
        if not self._rows:
            return None
        owner = next((one for one in pod.metadata.owner_references if one.controller), None)
        found = None if owner is None else (owner.kind, owner.uid)
        return found if found in self._rows else None


def named(annotations: Mapping[str, str]) -> frozenset[Controller]:
    """Read which controllers an annotation names; what cannot be read names nobody, as it did in Kubernetes."""
    try:
        tree: object = json.loads(annotations.get(ANNOTATION, "{}"))
    except (ValueError, RecursionError):
        return NOBODY
    return frozenset(_controllers(tree))


def _controllers(tree: object) -> Iterator[Controller]:
    entries = tree.get("preferAvoidPods") if isinstance(tree, dict) else None
    for entry in entries if isinstance(entries, list) else ():
        found: object = entry
        for step in ("podSignature", "podController"):
            found = found.get(step) if isinstance(found, dict) else None
        if isinstance(found, dict):
            kind, uid = found.get("kind"), found.get("uid")
            if isinstance(kind, str) and isinstance(uid, str):
                yield kind, uid
