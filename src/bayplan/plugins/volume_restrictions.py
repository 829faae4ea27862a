"""VolumeRestrictions: keep a pod from disks and claims that its neighbours have to themselves.

Some disks that pods name themselves cannot be had twice on a node, or only for reading.  A claim that may be used by
one pod alone keeps every other pod off all nodes while a pod that names it runs anywhere.
Not here: claims made for a pod itself, which upstream does not look at in this rule.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from bayplan.api.names import go_quoted
from bayplan.cluster.claims import Disk, Volumes
from bayplan.cluster.columns import Row
from bayplan.cluster.residents import Resident
from bayplan.cluster.shapes import VOLUMES
from bayplan.cluster.view import View
from bayplan.framework.plugin import (
    ROW,
    SUCCESS,
    Change,
    Code,
    Plugin,
    PodsMoved,
    Prepared,
    Rejected,
    Ruling,
    unschedulable,
)

NO_DISK, IN_USE = 1, 2
OUTCOMES = (
    SUCCESS,
    unschedulable("node(s) had no available disk"),
    unschedulable(
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
        "already in-use by another pod"
    ),
)


class State(NamedTuple):
    """The pod's disks, and its claims for one pod alone with how often they are in use."""

    disks: tuple[Disk, ...]
    names: frozenset[str] = frozenset()
    uses: int = 0


class VolumeRestrictions(Plugin[Volumes | None, State]):
    """Compare disks with those on the row; count uses of claims anywhere."""

    reads = VOLUMES
    depends = ROW
    wakes = (Change.NODE_ADDED, Change.POD_GONE, Change.CLAIM)

    def prepare(self, part: Volumes | None, view: View) -> Prepared[State] | Rejected:
        """Look for claims that one pod alone may use; skip pods with no such claim in use and no such disk."""
        if part is None:
            return Prepared(State(()), filters=False)
        lone = set()
        for claim in part.claims:
            if claim.is_ephemeral:
                continue
            if claim.is_missing:
                return Rejected(Code.UNRESOLVABLE, (f"persistentvolumeclaim {go_quoted(claim.name)} not found",))
            if claim.one_pod and claim.key is not None:
                lone.add(claim.key)
        uses = sum(view.recorded(lambda key=key: view.volumes.mounted.watch(key)) for key in lone)  # type: ignore[misc]
        state = State(part.disks, frozenset(key.partition("/")[2] for key in lone), uses)
        return Prepared(state, filters=bool(state.disks or uses))

    def filter(self, state: State, view: View) -> Ruling:
        """Name the disk before the claim, as upstream does."""
        codes = np.full(len(view), IN_USE if state.uses > 0 else 0, np.int16)  # (rows,)
        if state.disks:
            codes[[_clashes(state.disks, view, row) for row in view.rows.tolist()]] = NO_DISK
        return Ruling(codes, OUTCOMES)

    def with_pods(self, state: State, view: View, row: int, pods: PodsMoved) -> State:
        """Count uses by name alone, whatever the namespace, as upstream does."""
        return state._replace(uses=state.uses + _namings(state.names, pods.added) - _namings(state.names, pods.removed))


def _clashes(disks: tuple[Disk, ...], view: View, row: int) -> bool:
    return any(
        mine.clashes(theirs)
        for resident in view.residents(Row(row))
        if resident.load.mounts is not None
        for theirs in resident.load.mounts.disks
        for mine in disks
    )


def _namings(names: frozenset[str], residents: Iterable[Resident]) -> int:
    """Count how often pods name one of some claims."""
    return sum(
        key.partition("/")[2] in names
        for resident in residents
        if resident.load.mounts is not None
        for key in resident.load.mounts.claims
    )
