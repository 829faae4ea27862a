"""Trials: try a plan on the table, then keep it or take it back.

place(), hold(), evict(), take_off(), nominate() and reserve() write the live columns, tallies and books and push the
inverse on a journal.  rollback(mark) pops it; commit() empties it and returns effects.  Gangs, preemption, statements,
what-if and explain are all trials.  What is interned on the way (a resource's name, a label set, a carried term) stays
known: it counts nobody.
Invariant: after rollback(mark) every column, tally, scope and book is equal to its copy at mark(), versions and the
order of dictionaries apart (hypothesis, tests/unit/cluster/test_trial.py); one trial is open at a time, and no event is
folded in meanwhile.
Not here: choosing rows (core, batch), telling the API server (kube), and writing what was reserved (binding).
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, NewType, Self

from bayplan.api.messages import Bind, Effect, Evict, Nominate
from bayplan.api.objects import uid_of

if TYPE_CHECKING:
    from bayplan.api.objects import Pod
    from bayplan.cluster.books.volumes import Reserved
    from bayplan.cluster.claims import Reservation
    from bayplan.cluster.columns import Row
    from bayplan.cluster.residents import Resident
    from bayplan.cluster.table import Table

Mark = NewType("Mark", int)


class TrialMisused(Exception):
    """A bug of ours: a second trial was opened on a table, or one was used after it had ended."""


class _Step(NamedTuple):
    undo: Callable[[], object]
    effect: Effect | None = None


class Trial:
    """A what-if layer on a table; leaving its `with` block without commit() rolls everything back."""

    def __init__(self, table: Table, cause: str) -> None:
        if table.has_trial:
            raise TrialMisused(f"a trial is open on this table already; end it before one is opened for {cause}")
        table.has_trial = True
        self._table = table
        self._cause = cause
        self._journal: list[_Step] = []
        self._is_open = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_open:
            self.close()

    # -- what may be tried

    def place(self, pod: Pod, row: Row) -> Resident:
        """Lay a waiting pod on a row, as assumed; it is nominated nowhere any more."""
        uid, node = uid_of(pod), self._node(row)
        if uid in self._table.pods or any(uid in strays for strays in self._table.strays.values()):
            raise TrialMisused(f"{pod.key} is on a node already; evict it before it is placed for {self._cause}")
        self._unnominate(uid)
        resident = self._table.place(pod, row, is_assumed=True)
        self._note(
            lambda: self._table.remove(uid),
            Bind(uid=uid, namespace=pod.metadata.namespace, name=pod.metadata.name, node=node, cause=self._cause),
        )
        return resident

    def hold(self, pod: Pod, row: Row) -> Resident:
        """Lay a waiting pod on a row, as assumed, and tell nobody: whoever holds it binds it or takes it off."""
        uid = uid_of(pod)
        self._node(row)
        if uid in self._table.pods:
            raise TrialMisused(f"{pod.key} is on a node already; evict it before it is placed for {self._cause}")
        self._unnominate(uid)
        resident = self._table.place(pod, row, is_assumed=True)
        self._note(lambda: self._table.remove(uid))
        return resident

    def note(self, undo: Callable[[], object]) -> None:
        """Have something of the asker's own taken back with the trial, in order with the rest."""
        self._must_be_open()
        self._note(undo)

    def evict(self, uid: str) -> Resident:
        """Take a pod off its row."""
        self._must_be_open()
        resident = self._table.remove(uid)
        meta = resident.pod.metadata
        self._note(
            lambda: self._table.seat(resident),
            Evict(uid=uid, namespace=meta.namespace, name=meta.name, node=self._node(resident.row), cause=self._cause),
        )
        return resident

    def take_off(self, uid: str) -> Resident:
        """Take a pod off its row, and tell nobody: it is thought of as gone."""
        self._must_be_open()
        resident = self._table.remove(uid)
        self._note(lambda: self._table.seat(resident))
        return resident

    def nominate(self, pod: Pod, row: Row) -> None:
        """Have a waiting pod thought of as on a row."""
        uid, node = uid_of(pod), self._node(row)
        self._unnominate(uid)
        self._table.nominate(pod, row)
        self._note(
            lambda: self._table.drop_nomination(uid),
            Nominate(uid=uid, namespace=pod.metadata.namespace, name=pod.metadata.name, node=node, cause=self._cause),
        )

    def reserve(self, pod: Pod, reservation: Reservation, row: Row) -> Reserved:
        """Take the volumes that a pod would be given on a row; it has no effect of its own: binding writes it."""
        volumes, node = self._table.volumes, self._node(row)
        reserved = volumes.reserve(pod, reservation, node)
        self._note(lambda: volumes.release(reserved))
        return reserved

    # -- taking back, keeping

    def mark(self) -> Mark:
        """Return the point that rollback() may be asked to go back to."""
        return Mark(len(self._journal))

    def rollback(self, mark: Mark = Mark(0)) -> None:
        """Take back everything since a mark, the last first."""
        self._must_be_open()
        while len(self._journal) > mark:
            self._journal.pop().undo()

    def commit(self) -> tuple[Effect, ...]:
        """Keep everything, end the trial and return what is to be told to the API server, in order."""
        self._must_be_open()
        effects = [step.effect for step in self._journal if step.effect is not None]
        self._journal.clear()
        self._end()
        return _net(effects)

    def close(self) -> None:
        """Take back everything and end the trial."""
        self.rollback()
        self._end()

    def _end(self) -> None:
        self._is_open = False
        self._table.has_trial = False

    def _must_be_open(self) -> None:
        if not self._is_open:
            raise TrialMisused(f"the trial for {self._cause} has ended; open another")

    def _note(self, undo: Callable[[], object], effect: Effect | None = None) -> None:
        self._journal.append(_Step(undo, effect))

    def _unnominate(self, uid: str) -> None:
        """Drop a pod's nomination, wherever it is, so that it can be put back."""
        table = self._table
        away = [(name, pods[uid]) for name, pods in table.nominated_away.items() if uid in pods]
        before = table.drop_nomination(uid)
        if before is not None:
            self._note(lambda: table.nominate(before.pod, before.row))
        for name, pod in away:
            self._note(lambda name=name, pod=pod: table.nominate_away(pod, name))  # type: ignore[misc]

    def _node(self, row: Row) -> str:
        """Return the name of a row's node: what is asked before anything is written."""
        self._must_be_open()
        node = self._table.nodes[row]
        if node is None:
            raise TrialMisused(f"row {row} has no node; place, evict and nominate only on live rows")
        return node.metadata.name


def _net(effects: list[Effect]) -> tuple[Effect, ...]:
    """Leave out what a later step made void: a pod placed and taken off again, a nomination followed by another."""
    kept: list[Effect] = []
    for effect in effects:
        before = [other for other in kept if other.uid == effect.uid]
        if isinstance(effect, Evict) and any(isinstance(other, Bind) for other in before):
            kept = [other for other in kept if other.uid != effect.uid or isinstance(other, Evict)]
            continue
        if not isinstance(effect, Evict):
            kept = [other for other in kept if other.uid != effect.uid or not isinstance(other, Nominate)]
        kept.append(effect)
    return tuple(kept)
