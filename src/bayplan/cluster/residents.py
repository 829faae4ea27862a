"""What runs: pods on rows, reduced to what they lay on their row.

A running pod's load (requests, ports, carried terms, volumes) and its label set (namespace, labels, "is terminating")
are interned apart from shapes.  A label set has a sparse row -> count of its pods, so a selector that becomes known is
asked once per label set and never once per pod.
Not here: adding them to the columns (table.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias

import msgspec
from msgspec.structs import replace

from bayplan.api.objects import Pod, uid_of
from bayplan.api.requests import accounted, host_ports
from bayplan.api.share import OWNERS_MAX
from bayplan.cluster.catalogues import CarriedTerms
from bayplan.cluster.claims import Mounts, mounts_of
from bayplan.cluster.tallies import Match, Tally
from bayplan.cluster.templates import is_alike, owner_key
from bayplan.cluster.terms import TermLists

if TYPE_CHECKING:
    from bayplan.api.objects import Labels
    from bayplan.cluster.columns import Columns, Row


Pair: TypeAlias = tuple[str, str]  # a label's key and value


class Load(msgspec.Struct, frozen=True):
    """What a pod lays on its row."""

    requested: tuple[tuple[int, int], ...]  # (place of the resource, amount)
    nonzero: tuple[int, int]  # cpu milli and memory bytes, with defaults
    ports: tuple[tuple[str, str, int], ...]
    carries: tuple[int, ...]  # numbers of carried terms, repeated as the pod repeats them
    mounts: Mounts | None  # None: no volume that any rule looks at


class LabelSet:
    """One namespace, labels and "is terminating" of pods that run; how many of them are on each row."""

    __slots__ = ("labels", "namespace", "rows", "tallies", "terminating")

    def __init__(self, namespace: str, labels: Labels, *, terminating: bool) -> None:
        self.namespace = namespace
        self.labels = labels
        self.terminating = terminating
        self.rows: dict[int, int] = {}
        self.tallies: list[Tally] = []

    def matches(self, match: Match) -> bool:
        """Say whether its pods are counted by a tally of this condition."""
        return match.holds(self.namespace, self.labels, terminating=self.terminating)

    def add(self, row: int, change: int) -> None:
        """Count pods in or out, here and in every tally that counts them."""
        number = self.rows.get(row, 0) + change
        if number:
            self.rows[row] = number
        else:
            del self.rows[row]
        for tally in self.tallies:
            tally.add(row, change)


class Resident:
    """A pod on a row: bound, or assumed to be."""

    __slots__ = ("is_assumed", "label_set", "load", "pod", "row", "uid")

    def __init__(self, pod: Pod, row: Row, load: Load, label_set: LabelSet, *, is_assumed: bool) -> None:
        self.pod = pod
        self.uid = uid_of(pod)
        self.row = row
        self.load = load
        self.label_set = label_set
        self.is_assumed = is_assumed


class Residents:
    """Interned loads and label sets, and the tallies that count the latter."""

    def __init__(self, columns: Columns, carried: CarriedTerms) -> None:
        self._columns = columns
        self._carried = carried
        self._loads: dict[Load, Load] = {}  # those without mounts
        self._last: dict[str, tuple[Pod, Load, LabelSet]] = {}  # by owner: the last pod read
        self._label_sets: dict[tuple[str, tuple[tuple[str, str], ...], bool], LabelSet] = {}
        self._tallies: dict[Match, Tally] = {}
        self._asking: dict[Pair | None, list[tuple[Match, Tally]]] = {}  # by a label that all of a tally's pods have
        self._having: dict[Pair, list[LabelSet]] = {}  # by each of its labels

    def read(self, pod: Pod) -> tuple[Load, LabelSet]:
        """Return what a pod lays on its row, and its label set; what its owner's last pod had is not read again."""
        key = owner_key(pod)
        last = self._last.get(key)
        if last is None or not is_alike(pod, last[0]):
            load, label_set = self._load(pod), self._label_set(pod)
        else:
            before, load, label_set = last
            if pod.spec.volumes or before.spec.volumes:
                mounts = mounts_of(pod)
                load = load if mounts is None and load.mounts is None else replace(load, mounts=mounts)
            if (
                pod.metadata.labels != before.metadata.labels
                or pod.metadata.deletion_timestamp != before.metadata.deletion_timestamp
            ):
                label_set = self._label_set(pod)
        if last is None and len(self._last) >= OWNERS_MAX:
            self._last.clear()  # costs nothing but some reading, and bounds what is kept of owners long gone
        self._last[key] = (pod, load, label_set)
        return load, label_set

    def _load(self, pod: Pod) -> Load:
        requested, cpu, memory = accounted(pod)
        lists = TermLists(pod)
        load = Load(
            requested=tuple((self._columns.resource(name), amount) for name, amount in requested.items() if amount),
            nonzero=(cpu, memory),
            ports=host_ports(pod),
            carries=tuple(self._carried.number(term) for term in lists.carried()),
            mounts=mounts_of(pod),
        )
        return load if load.mounts is not None else self._loads.setdefault(load, load)

    def _label_set(self, pod: Pod) -> LabelSet:
        meta = pod.metadata
        terminating = meta.deletion_timestamp is not None
        key = (meta.namespace, tuple(sorted(meta.labels.items())), terminating)
        found = self._label_sets.get(key)
        if found is None:
            found = self._label_sets[key] = LabelSet(meta.namespace, meta.labels, terminating=terminating)
            for pair in (None, *meta.labels.items()):
                found.tallies += [tally for match, tally in self._asking.get(pair, ()) if found.matches(match)]
            for pair in meta.labels.items():
                self._having.setdefault(pair, []).append(found)
        return found

    def tally(self, match: Match) -> Tally:
        """Return the tally of the pods that meet a condition, counting the label sets the first time."""
        tally = self._tallies.get(match)
        if tally is None:
            tally = self._tallies[match] = Tally()
            numbers: dict[int, int] = {}
            pair = match.pair
            self._asking.setdefault(pair, []).append((match, tally))
            for label_set in self._label_sets.values() if pair is None else self._having.get(pair, ()):
                if label_set.matches(match):
                    label_set.tallies.append(tally)
                    for row, number in label_set.rows.items():
                        numbers[row] = numbers.get(row, 0) + number
            tally.fill(numbers)
        return tally

    def all_tallies(self) -> Iterable[Tally]:
        """Return every tally of matching pods."""
        return self._tallies.values()

    def all_label_sets(self) -> Iterable[LabelSet]:
        """Return every label set known."""
        return self._label_sets.values()
