"""VolumeBinding: keep a pod where its volumes can be reached or, where it has none yet, can be had.

Claims that have their volume ask one column each.  Claims that wait for their first consumer are a search per row: for
a free volume, or else for a place to make one (`cluster/matching.py`).  The score prefers nodes where the volumes
taken, or the pools that volumes would be made in, are used as the configured shape likes.
Not here: writing what was chosen to the API server, and waiting for it to happen.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np

from bayplan.api.names import go_quoted
from bayplan.api.quantity import ceil_whole
from bayplan.api.selectors import NodeTerms
from bayplan.cluster.books.stock import Pools, Stock, free_of
from bayplan.cluster.books.volumes import class_of_volume
from bayplan.cluster.claims import WAIT_FOR_CONSUMER, Claim, Reservation, Volumes
from bayplan.cluster.columns import Row
from bayplan.cluster.held import Held, held
from bayplan.cluster.matches import Matches
from bayplan.cluster.matching import (
    Match,
    Source,
    Want,
    changes_of,
    is_elsewhere,
    parts_of,
    want_of,
    wrong_selector,
)
from bayplan.cluster.shapes import VOLUMES
from bayplan.cluster.view import View
from bayplan.framework.plugin import (
    NO_ROWS,
    NODE,
    SKIP,
    SUCCESS,
    Change,
    Code,
    Codes,
    Failed,
    Gates,
    Mask,
    Outcome,
    Plugin,
    Prepared,
    Rejected,
    Rows,
    Ruling,
    Scores,
    Skip,
    error,
    unresolvable,
)
from bayplan.framework.resources import ShapePoint, shape_problems

ELSEWHERE: Final = "node(s) didn't match PersistentVolume's node affinity"
NOTHING_FREE: Final = "node(s) didn't find available persistent volumes to bind"
NO_ROOM: Final = "node(s) did not have enough free storage"
GONE: Final = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
UNBOUND: Final = "pod has unbound immediate PersistentVolumeClaims"
MIGRATED: Final = "storage.alpha.kubernetes.io/migrated-plugins"
MORE_IS_BETTER: Final = (ShapePoint(0, 10), ShapePoint(100, 0))
FULL: Final = 100
MATCHES_KEPT: Final = 8


class VolumeBindingArgs(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """How long binding may take, and the score by how much of a volume or pool is used."""

    bind_timeout_seconds: int = 600
    shape: tuple[ShapePoint, ...] = ()  # empty: more room is better

    def problems(self) -> list[str]:
        """List what is wrong, as upstream validates."""
        problems = shape_problems(self.shape) if self.shape else []
        if self.bind_timeout_seconds < 0:
            problems.insert(0, f"bindTimeoutSeconds: {self.bind_timeout_seconds} is negative")
        return problems


class State(NamedTuple):
    """The pod's claims: those with a volume, and those that want one."""

    bound: tuple[Held | None, ...] = ()  # None: there is no such volume
    wants: tuple[Want, ...] = ()
    parts: tuple[Stock | Pools, ...] = ()  # where these may come from


class VolumeBinding(Plugin[Volumes | None, State]):
    """Ask columns for what is bound and search rows for what is not."""

    reads = VOLUMES
    depends = NODE
    searches = True
    wakes = (
        Change.STORAGE_CLASS,
        Change.CLAIM,
        Change.VOLUME,
        Change.NODE_ADDED,
        Change.NODE_LABELS,
        Change.CSI_NODE,
        Change.CSI_DRIVER,
        Change.CSI_CAPACITY,
    )
    Arguments = VolumeBindingArgs
    points = frozenset({"preFilter", "filter", "preScore", "score", "reserve", "preBind"})

    def __init__(self, arguments: VolumeBindingArgs | None = None, gates: Gates = Gates()) -> None:  # noqa: B008 frozen
        """Read the shape once."""
        super().__init__(arguments, gates)
        points = (arguments.shape if arguments is not None else ()) or MORE_IS_BETTER
        self.curve = tuple((point.utilization, 10 * point.score) for point in points)
        self._matches: dict[int, Matches] = {}  # by the id of the wants, which they hold

    # -- before any row

    def prepare(self, part: Volumes | None, view: View) -> Prepared[State] | Rejected | Failed:
        """Sort the claims into bound and wanting; one that should have been bound by now ends the attempt."""
        claims = tuple(part.claims) if part is not None else ()
        refused = next((claim.refused for claim in claims if claim.refused), None)
        if refused is not None:
            return Rejected(Code.UNRESOLVABLE, (refused,))
        bound, wants, is_waiting = [], [], False
        for claim in claims:
            if claim.is_bound:
                bound.append(_held_by(claim, view))
                continue
            want = self._want(claim, view)
            if isinstance(want, Failed):
                return want
            if want is None:
                is_waiting = True
            else:
                wants.append(want)
        if is_waiting:
            return Rejected(Code.UNRESOLVABLE, (UNBOUND,))
        return Prepared(State(tuple(bound), tuple(wants), tuple(parts_of(wants))), filters=bool(claims))

    def _want(self, claim: Claim, view: View) -> Want | Failed | None:
        """Return what a claim wants, or None if its volume should have been there by now."""
        books = view.volumes
        storage_class = view.looked_up(books.classes, claim.class_name) if claim.class_name else None
        if storage_class is None:
            return None
        if storage_class.volume_binding_mode is None:
            return Failed(f"VolumeBindingMode not set for StorageClass {go_quoted(claim.class_name)}")
        if storage_class.volume_binding_mode != WAIT_FOR_CONSUMER or claim.wish is None:
            return None
        driver = view.looked_up(books.csi_drivers, storage_class.provisioner)
        pools = books.pools_of(claim.class_name) if driver is not None and driver.spec.storage_capacity else None
        kept = ((name, view.looked_up(books.volumes, name)) for name in claim.wish.kept)
        mine = tuple(
            (name, free_of(volume))
            for name, volume in kept
            if volume is not None
            and class_of_volume(volume) == claim.class_name
            and volume.metadata.deletion_timestamp is None
        )
        return want_of(claim, claim.wish, storage_class, Source(books.stock_of(claim.class_name), mine, pools))

    # -- rows

    def filter(self, state: State, view: View) -> Ruling:
        """Say of each row what is out of reach, what is not to be had, and what does not exist."""
        outcomes = Outcomes()
        away, gone, codes = self._ask_bound(state.bound, view, outcomes)
        reasons = [(ELSEWHERE, away), (GONE, gone)]
        if state.wants:
            no_volumes, no_room = self._ask_wants(state.wants, view, outcomes, codes)
            reasons[1:1] = [(NOTHING_FREE, no_volumes), (NO_ROOM, no_room)]
        word = np.zeros(len(view), np.int64)  # (rows,)
        for bit, (_, mask) in enumerate(reasons):
            word |= mask.astype(np.int64) << bit
        for bits in np.unique(word[codes == 0]).tolist():
            if bits:
                why = [text for bit, (text, _) in enumerate(reasons) if bits >> bit & 1]
                codes[(codes == 0) & (word == bits)] = outcomes.code(unresolvable(*why))
        return Ruling(codes, outcomes.all)

    def shared(self, state: State, view: View) -> Hashable:
        """Answers read what is free and what room there is, for each claim."""
        return changes_of(state.parts)

    def may_fail_on(self, state: State, view: View) -> Rows:
        """Anywhere if a claim's selector or a volume's source cannot be read."""
        is_wrong = wrong_selector(state.wants) is not None or any(held and held.error for held in state.bound)
        return view.every_row() if is_wrong else NO_ROWS

    def _ask_bound(self, bound: Sequence[Held | None], view: View, outcomes: Outcomes) -> tuple[Mask, Mask, Codes]:
        """Ask bound claims in order; the first that fails on a row decides there."""
        away, gone = np.zeros(len(view), np.bool_), np.zeros(len(view), np.bool_)  # (rows,)
        codes = np.zeros(len(view), np.int16)
        for volume in bound:
            left = ~away & ~gone & (codes == 0)
            if volume is None:
                gone |= left
                continue
            reached = _reached(volume.reach, view)
            if volume.migrates:
                knows = _knows(volume.migrates, view)
                if volume.error and (left & knows).any():
                    codes[left & knows] = outcomes.code(error(volume.error))
                    left &= ~knows
                reached = np.where(knows, _reached(volume.reach_migrated, view), reached)
            away |= left & ~reached
        return away, gone, codes

    def _ask_wants(self, wants: tuple[Want, ...], view: View, outcomes: Outcomes, codes: Codes) -> tuple[Mask, Mask]:
        """Search each row: say where there are no volumes, and where there is no room."""
        wrong = wrong_selector(wants)
        if wrong is not None:
            here = [not is_elsewhere(wants, view.node(Row(row)).metadata.name) for row in view.rows.tolist()]
            codes[np.array(here, np.bool_) & (codes == 0)] = outcomes.code(error(wrong))
        found = self._matches_of(wants).ask(view)
        return found.no_volumes, found.no_room

    def _matches_of(self, wants: tuple[Want, ...]) -> Matches:
        """Return where to ask what rows have; what the last wants found is remembered."""
        matches = self._matches.pop(id(wants), None)
        if matches is None:
            matches = Matches(wants, self._worth)
        self._matches[id(wants)] = matches
        if len(self._matches) > MATCHES_KEPT:
            del self._matches[next(iter(self._matches))]
        return matches

    # -- scores

    def prepare_score(self, state: State, view: View, feasible: Mask) -> State | Skip:
        """Score always, or never where the gate is off."""
        return state if self.gates.storage_capacity_scoring else SKIP

    def score(self, state: State, view: View, feasible: Mask) -> Scores:
        """Score what each row would take."""
        if not state.wants:
            return np.zeros(len(view), np.int64)  # (rows,)
        return self._matches_of(state.wants).ask(view).worth

    def _worth(self, found: Match) -> int:
        """Average over the classes how much of their volumes, or of their pools, would be used."""
        classes: dict[str, tuple[int, int]] = {}  # class -> (asked for, there), in bytes
        for given in found.given:
            name = given.free.volume.spec.storage_class_name
            asked, there = classes.get(name, (0, 0))
            classes[name] = (asked + _storage(given.want), there + ceil_whole(given.free.storage))
        for made in found.made if not found.given else ():
            if made.pool is not None and made.pool.room is not None:
                name = made.want.wish.spec_class
                classes[name] = (classes.get(name, (0, 0))[0] + _storage(made.want), made.pool.room)
        if not classes:
            return 0
        total = sum(
            self._at(asked * FULL // there if asked <= there > 0 else FULL) for asked, there in classes.values()
        )
        return (2 * total + len(classes)) // (2 * len(classes))  # rounded half up; never negative

    def _at(self, used: int) -> int:
        """Read the shape, dividing toward zero as Go does."""
        before = self.curve[0]
        for point in self.curve:
            if used <= point[0]:
                if point is self.curve[0]:
                    return point[1]
                rise = (point[1] - before[1]) * (used - before[0])
                step = abs(rise) // (point[0] - before[0])
                return before[1] + (step if rise >= 0 else -step)
            before = point
        return self.curve[-1][1]

    # -- a chosen row

    def reservation(self, state: State, view: View, row: int) -> Reservation | None:
        """Say which volumes the claims would take there and which would be made; None when all are bound."""
        if not state.wants:
            return None
        found = self._matches_of(state.wants).at(view)
        return Reservation(
            tuple((given.want.claim.place, given.volume) for given in found.given),
            tuple(made.want.claim.place for made in found.made),
        )


class Outcomes:
    """The outcomes of one call, each once."""

    def __init__(self) -> None:
        self.all: list[Outcome] = [SUCCESS]
        self._codes: dict[Outcome, int] = {}

    def code(self, outcome: Outcome) -> int:
        """Return an outcome's number."""
        found = self._codes.get(outcome)
        if found is None:
            found = self._codes[outcome] = len(self.all)
            self.all.append(outcome)
        return found


def _storage(want: Want) -> int:
    return ceil_whole(want.wish.storage or 0)


def _held_by(claim: Claim, view: View) -> Held | None:
    """Return a bound claim's volume, if there is one."""
    if claim.held is not None:
        return claim.held
    volume = view.looked_up(view.volumes.volumes, claim.volume)
    return None if volume is None else held(volume)


def _reached(reach: NodeTerms | None, view: View) -> Mask:
    return np.ones(len(view), np.bool_) if reach is None else view.judged(reach)


def _knows(plugin: str, view: View) -> Mask:
    """Which rows say that they know an in-tree plugin's volumes by its driver."""
    book = view.volumes.csi_nodes
    found = np.zeros(len(view), np.bool_)  # (rows,)
    for place, row in enumerate(view.rows.tolist()):
        csi_node = book.get(view.node(Row(row)).metadata.name)
        if csi_node is not None:
            found[place] = plugin in csi_node.metadata.annotations.get(MIGRATED, "").split(",")
    return found
