"""Making a scene's decisions, one after the other, and checking that they were sound.

A round begins with a fresh table, fresh rules and a fresh profile; objects are folded in and waiting pods are read as
they arrive, before the clock starts.  The clock then runs over every decision: what happens before it, the question
with all default plugins over all nodes, and placing the pod or, when nothing fits, the whole text.
Not here: what is in a scene (workloads.py).
"""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence
from typing import Final

import numpy as np

from bayplan.api.objects import Object, Pod
from bayplan.cluster.claims import Reservation
from bayplan.cluster.columns import Row
from bayplan.cluster.fold import drop, put
from bayplan.cluster.reading import Reader
from bayplan.cluster.table import Table
from bayplan.config.profiles import profiles
from bayplan.framework.profile import DEFAULT_SCHEDULER
from bayplan.framework.registry import Registry
from bayplan.framework.run import Rules
from bayplan.framework.verdict import Verdict
from bench.scenes import Scene

NOTHING_FITS: Final = "0/{} nodes are available: "


class UnsoundError(Exception):
    """What was decided is wrong, so how fast says nothing."""


class Round:
    """One run through a scene."""

    def __init__(self, objects: Sequence[Object], waiting: Sequence[Pod] = ()) -> None:
        """Fold in what is there, and read who waits."""
        self.table = Table()
        for thing in objects:
            put(self.table, thing)
        self.reader = Reader(self.table)
        self.rules = Rules(self.table, self.reader)
        self.profile = profiles(None, Registry.installed())[DEFAULT_SCHEDULER]
        for pod in waiting:
            self.reader.shape(pod)

    def run(self, scene: Scene) -> float:
        """Make the decisions; return the CPU seconds that they took."""
        gc.collect()
        gc.disable()  # collections come when they like, and would be counted in one round and not in the next
        begin = time.process_time()
        refusals = self._with_changes(scene) if scene.changes else self._in_turn(scene.waiting)
        taken_s = time.process_time() - begin
        gc.enable()
        self._check(scene, refusals)
        return taken_s

    def _in_turn(self, waiting: Sequence[Pod]) -> list[str]:
        decide = self.decide
        return [message for pod in waiting if (message := decide(pod)) is not None]

    def _with_changes(self, scene: Scene) -> list[str]:
        table, decide, refusals = self.table, self.decide, []
        for change, pod in zip(scene.changes, scene.waiting, strict=True):
            if change.is_gone:
                drop(table, change.thing)
            else:
                put(table, change.thing)
            message = decide(pod)
            if message is not None:
                refusals.append(message)
        return refusals

    def decide(self, pod: Pod) -> str | None:
        """Place one pod, or return why it fits nowhere."""
        verdict = self.rules.ask(pod, self.profile)
        row = verdict.row
        if row is None:
            return verdict.message
        if pod.spec.volumes:
            self._reserve(pod, row, verdict)
        self.table.place(pod, row, is_assumed=True)
        return None

    def _reserve(self, pod: Pod, row: Row, verdict: Verdict) -> None:
        for reservation in verdict.reservations():
            node = self.table.nodes[row]
            if isinstance(reservation, Reservation) and node is not None:
                self.table.volumes.reserve(pod, reservation, node.metadata.name)

    def _check(self, scene: Scene, refusals: Sequence[str]) -> None:
        """Raise unless everybody found a place, or nobody did and was told why, and no node is overcommitted."""
        expected = 0 if scene.fits else len(scene.waiting)
        if len(refusals) != expected:
            told = f"; the first: {refusals[0]}" if refusals else ""
            raise UnsoundError(
                f"expected {expected:,} of {len(scene.waiting):,} pods to fit nowhere, got {len(refusals):,}{told}"
            )
        opening = NOTHING_FITS.format(self.table.count)
        if not all(message.startswith(opening) for message in refusals):
            raise UnsoundError(f"expected every text to begin with {opening!r}")
        columns = self.table.columns
        over = columns.requested[:, : columns.rows] > columns.allocatable[:, : columns.rows]  # (resources, rows)
        if over.any():
            raise UnsoundError(f"{int(np.count_nonzero(over.any(axis=0)))} nodes were given more than they have")
