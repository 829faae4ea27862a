"""Mounted: which pods on which rows have volumes, and which claims pods name.

Invariant: a row's pods are those with mounts that lie there; a claim's counts are what these pods, and the nominated
ones, name; tests/unit/cluster/books/test_mounted.py recounts them.
Not here: what the claims are (`books/volumes.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, KeysView
from typing import TYPE_CHECKING, TypeVar

from bayplan.cluster.books.identities import Identity
from bayplan.cluster.claims import MountedClaim, Mounts
from bayplan.cluster.migration import Inline

if TYPE_CHECKING:
    from bayplan.cluster.residents import Resident


K = TypeVar("K", str, int)


class Mounted:
    """Pods with volumes by row, rows by claim."""

    def __init__(self) -> None:
        self.version = 0  # rises when a claim is named or used first, or no more
        self.inline = 0  # rises when a volume that pods name themselves is named first, or no more
        self.versions: dict[str, int] = {}  # claim -> rises when it is named or used first, or no more
        self.answers = 0  # rises when a claim that a rule watches is used first, or no more
        self._on_row: dict[int, dict[str, Resident]] = {}  # row -> uid -> resident with mounts
        self._rows_of: dict[str, dict[int, int]] = {}  # claim -> row -> how often pods there name it or had it made
        self._uses: dict[str, int] = {}  # claim -> how often pods on rows name it themselves
        self._doubtful: dict[int, int] = {}  # row -> pods there with volumes that a node may fail to count
        self._watched: set[str] = set()  # claims that a rule asked about
        self._namings: dict[str, int] = {}  # likewise, or had it made; nominated pods too

    def add(self, resident: Resident, mounts: Mounts, sign: int) -> None:
        """Count a pod in on its row (1), or out (-1)."""
        row = resident.row
        if sign > 0:
            self._on_row.setdefault(row, {})[resident.uid] = resident
        else:
            there = self._on_row[row]
            del there[resident.uid]
            if not there:
                del self._on_row[row]
        for key in mounts.claims:
            was_used = key in self._uses
            _count(self._uses, key, sign)
            if was_used != (key in self._uses):
                self._changed(key)
                self.answers += key in self._watched
        if any(_is_doubtful(volume) for volume in mounts.volumes):
            _count(self._doubtful, row, sign)
        for volume in mounts.volumes:
            if isinstance(volume, MountedClaim):
                rows = self._rows_of.setdefault(volume.key, {})
                _count(rows, row, sign)
                if not rows:
                    del self._rows_of[volume.key]
        self.name(mounts, sign)

    def name(self, mounts: Mounts, sign: int) -> None:
        """Count what a pod names: one on a row, or one that may be thought of as on a row."""
        for volume in mounts.volumes:
            name = volume.key if isinstance(volume, MountedClaim) else _inline_name(volume.driver, volume.handle)
            was_named = name in self._namings
            _count(self._namings, name, sign)
            if was_named != (name in self._namings):
                self._changed(name)
                self.inline += not isinstance(volume, MountedClaim)

    def _changed(self, name: str) -> None:
        self.version += 1
        self.versions[name] = self.versions.get(name, 0) + 1

    def on(self, row: int) -> Iterable[Resident]:
        """Return the pods on a row that have volumes a rule looks at."""
        there = self._on_row.get(row)
        return there.values() if there is not None else ()

    def doubtful(self) -> KeysView[int]:
        """Return the rows that have pods of whose volumes it may be impossible to say what they are."""
        return self._doubtful.keys()

    def is_doubtful(self, row: int) -> bool:
        """Say whether a row is one of these."""
        return row in self._doubtful

    def rows(self) -> Iterable[int]:
        """Return the rows that have such pods."""
        return self._on_row.keys()

    def rows_of(self, claim: str) -> Iterable[int]:
        """Return the rows whose pods name a claim or had it made."""
        return self._rows_of.get(claim, {}).keys()

    def is_used(self, claim: str) -> bool:
        """Say whether a pod on some row names a claim itself."""
        return claim in self._uses

    def watch(self, claim: str) -> bool:
        """Say whether a pod on some row names a claim itself, and count it among the `answers` from now on."""
        self._watched.add(claim)
        return self.is_used(claim)

    def has_inline(self, volume: Identity) -> bool:
        """Say whether such a pod has given itself what counts as a volume."""
        return _inline_name(volume.driver, volume.handle) in self._namings

    def is_named(self, claim: str) -> bool:
        """Say whether a pod on a row, or one nominated to a node, names a claim or had it made."""
        return claim in self._namings


def _inline_name(driver: str, handle: str) -> str:
    return f"{driver} {handle}"  # a claim's key has no space


def _count(counts: dict[K, int], key: K, change: int) -> None:
    """Change a count; one that is nought is no entry."""
    number = counts.get(key, 0) + change
    if number:
        counts[key] = number
    else:
        del counts[key]


def _is_doubtful(volume: MountedClaim | Inline) -> bool:
    """Say whether a node may fail to count a volume: nameless, made for a pod but perhaps not this one, or faulty."""
    if isinstance(volume, MountedClaim):
        return volume.is_ephemeral or volume.key.endswith("/")
    return bool(volume.error)
