"""InterPodAffinity: near some pods, far from others, as this pod asks and as the pods that run ask of it.

The pod's own terms are tallies of the pods that match them; what running pods ask is the tallies of the terms they
carry.  Both are asked by topology key, so the rule never sees a node.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from bayplan.api.selectors import NOTHING, Selector
from bayplan.cluster.catalogues import Kind, Term
from bayplan.cluster.columns import Row
from bayplan.cluster.residents import Resident
from bayplan.cluster.shapes import NEIGHBOURS, Neighbours
from bayplan.cluster.tallies import Match, Tally
from bayplan.cluster.view import View
from bayplan.framework.plugin import (
    FITS,
    KEYS,
    NO_GATES,
    SKIP,
    SUCCESS,
    Change,
    Code,
    Failed,
    Gates,
    Mask,
    Plugin,
    PodsMoved,
    Prepared,
    Rejected,
    Ruling,
    Scores,
    Skip,
    span,
    unresolvable,
    unschedulable,
)

HOSTNAME = "kubernetes.io/hostname"
OUTCOMES = (
    SUCCESS,
    unresolvable("node(s) didn't match pod affinity rules"),
    unschedulable("node(s) didn't match pod anti-affinity rules"),
    unschedulable("node(s) didn't satisfy existing pods anti-affinity rules"),
)
NOT_NEAR, NOT_FAR, NOT_WELCOME = 1, 2, 3


class InterPodAffinityArgs(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """How much a running pod's required affinity attracts, and whether its preferences count for pods without any."""

    hard_pod_affinity_weight: int = 1
    ignore_preferred_terms_of_existing_pods: bool = False

    def problems(self) -> list[str]:
        """List what is wrong, as upstream validates."""
        if 0 <= self.hard_pod_affinity_weight <= 100:
            return []
        return [f"hardPodAffinityWeight: {self.hard_pod_affinity_weight} is not in the range 0..100"]


class Asked(NamedTuple):
    """A topology key and the tally of the pods that matter there; `more` of them thought of as added on a row."""

    key: str
    tally: Tally
    match: Match | None = None
    carried: int | None = None
    more: int = 0
    is_local: bool = False  # counted on the row itself, whoever shares its hostname


class State(NamedTuple):
    """What is asked about where the pod would run."""

    near: tuple[Asked, ...]  # all with the tally of the pods that match every term
    near_possible: bool  # the pod matches its own terms: it may be the first
    far: tuple[Asked, ...]
    unwelcome: tuple[Asked, ...]
    wishes: tuple[Asked, ...]  # what attracts or repels, weighted into one tally per key
    grounds: tuple[Asked, ...]  # the tallies that it is made of
    more_near: bool = False  # an added pod matches, on a row with one of the keys
    error: str | None = None  # why the pod's terms cannot be read


class InterPodAffinity(Plugin[Neighbours, State]):
    """Count pods that match and pods that carry, by topology."""

    reads = NEIGHBOURS
    depends = KEYS
    wakes = (
        Change.NODE_ADDED,
        Change.NODE_LABELS,
        Change.POD_ADDED,
        Change.POD_LABELS,
        Change.POD_GONE,
        Change.OWN_LABELS,
        Change.NAMESPACE_LABELS,
    )
    Arguments = InterPodAffinityArgs

    def __init__(self, arguments: InterPodAffinityArgs | None = None, gates: Gates = NO_GATES) -> None:
        """Keep the arguments."""
        super().__init__(arguments, gates)
        arguments = arguments or InterPodAffinityArgs()
        self.hard_weight = arguments.hard_pod_affinity_weight
        self.only_own = arguments.ignore_preferred_terms_of_existing_pods

    def prepare(self, part: Neighbours, view: View) -> Prepared[State] | Rejected:
        """Look up the tallies; nothing to filter by if no required term is near."""
        if part.error is not None:
            unread = State((), False, (), (), (), (), error=None if self._scores_not(part) else part.error)
            return Rejected(Code.UNRESOLVABLE, (f"parsing pod: {part.error}",), unread)
        match = Match(tuple(self._pair(term, view) for term in part.near))
        only_local = all(self._is_local(term.key) for term in part.near)
        near = tuple(Asked(term.key, view.tally(match), match, is_local=only_local) for term in part.near)
        far = tuple(self._matching(term, view) for term in part.far)
        unwelcome = tuple(
            Asked(carried.term.key, tally, carried=number, is_local=self._is_local(carried.term.key))
            for number in part.meant_by
            for carried, tally in [view.carried(number)]
            if carried.kind is Kind.ANTI
        )
        itself = all(
            matches and (namespaces is None or part.namespace in namespaces)
            for matches, (namespaces, _) in zip(part.near_itself, match.terms, strict=True)
        )
        welcome = [view.none(asked.tally, asked.key) for asked in unwelcome]  # all asked, so that all are recorded
        filters = bool(near or far) or not all(welcome)
        if self.gates.hostname_fast_path and not filters:
            filters = self._anybody_minds_hostnames(view)
        wishes, grounds = self._wishes(part, view)
        return Prepared(State(near, itself, far, unwelcome, wishes, grounds), filters=filters)

    def _is_local(self, key: str) -> bool:
        """Say whether a term is judged on the row itself: by hostname, with the gate for it."""
        return self.gates.hostname_fast_path and key == HOSTNAME

    def _anybody_minds_hostnames(self, view: View) -> bool:
        """Say whether any running pod has a required anti-affinity term by hostname; upstream then skips nothing."""
        found = [
            view.anywhere(tally)
            for carried, tally in view.all_carried()
            if carried.kind is Kind.ANTI and carried.term.key == HOSTNAME
        ]
        return any(found)

    def _pair(self, term: Term, view: View) -> tuple[frozenset[str] | None, Selector]:
        """Resolve a term's namespaces to names; an empty namespace selector means all."""
        if term.namespace_selector.is_empty:
            return None, term.selector
        if term.namespace_selector == NOTHING:
            return term.namespaces, term.selector
        return term.namespaces | view.namespaces_matching(term.namespace_selector), term.selector

    def _matching(self, term: Term, view: View) -> Asked:
        match = Match((self._pair(term, view),))
        return Asked(term.key, view.tally(match), match, is_local=self._is_local(term.key))

    def filter(self, state: State, view: View) -> Ruling:
        """Rule out by the pod's affinity, then its anti-affinity, then the running pods'."""
        codes = np.full(len(view), FITS, np.int16)  # (rows,)
        for asked in state.unwelcome:
            codes[view.has(asked.key) & self._any(asked, view)] = NOT_WELCOME
        for asked in state.far:
            codes[view.has(asked.key) & self._any(asked, view)] = NOT_FAR
        if state.near:
            labelled, there = np.ones(len(view), np.bool_), np.ones(len(view), np.bool_)
            for asked in state.near:
                labelled &= view.has(asked.key)
                there &= self._any(asked, view)
            codes[~(labelled & (there | self._first(state, view)))] = NOT_NEAR
        return Ruling(codes, OUTCOMES)

    def fits(self, state: State, view: View) -> Mask:
        """Say where nothing keeps the pod off, without naming what does."""
        kept_off: Mask | None = None  # (rows,)
        for asked in (*state.unwelcome, *state.far):
            there = self._any(asked, view)  # nowhere where the key is absent, but for those counted on the row itself
            if asked.is_local or asked.more:
                there = there & view.has(asked.key)
            kept_off = there if kept_off is None else kept_off | there
        fits = np.ones(len(view), np.bool_) if kept_off is None else ~kept_off
        if state.near:
            there = np.ones(len(view), np.bool_)
            for asked in state.near:
                fits &= view.has(asked.key)
                there &= self._any(asked, view)
            fits &= there | self._first(state, view)
        return fits

    def _any(self, asked: Asked, view: View) -> Mask:
        key = None if asked.is_local else asked.key
        if not asked.more:
            return view.any(asked.tally, key)
        found: Mask = view.count(asked.tally, key) + asked.more > 0
        return found

    def _first(self, state: State, view: View) -> bool:
        """Say whether the pod may be the first of its kind: it matches its own terms, and nobody else does anywhere."""
        found = [
            view.anywhere(asked.tally) if asked.is_local else not view.none(asked.tally, asked.key)
            for asked in state.near
        ]
        return state.near_possible and not state.more_near and not any(found)

    def with_pods(self, state: State, view: View, row: Row, pods: PodsMoved) -> State:
        """Count added and removed pods in the row's domains."""
        labels = view.node(row).metadata.labels

        def moved(asked: Asked) -> Asked:
            if asked.key not in labels:
                return asked
            return asked._replace(more=self._number(asked, pods.added) - self._number(asked, pods.removed))

        near = tuple(moved(asked) for asked in state.near)
        return state._replace(
            near=near,
            far=tuple(map(moved, state.far)),
            unwelcome=tuple(map(moved, state.unwelcome)),
            more_near=any(asked.more > 0 for asked in near),
        )

    def _number(self, asked: Asked, residents: Sequence[Resident]) -> int:
        number = 0
        for resident in residents:
            if asked.match is not None:
                own = resident.label_set
                number += asked.match.holds(own.namespace, own.labels, terminating=own.terminating)
            else:
                number += resident.load.carries.count(asked.carried)
        return number

    def prepare_score(self, state: State, view: View, feasible: Mask) -> State | Skip | Failed:
        """Skip when there is nowhere anything that attracts or repels; a sum of nought does not skip."""
        if state.error is not None:
            return Failed(f"failed to parse pod: {state.error}")
        for asked in state.grounds:
            if not view.none(asked.tally, asked.key):
                return state
        return SKIP

    def _wishes(self, part: Neighbours, view: View) -> tuple[tuple[Asked, ...], tuple[Asked, ...]]:
        """Weigh everything that attracts or repels into one tally per key, and return also what it is made of."""
        if self._scores_not(part):
            return (), ()
        parts = [*self._own(part, view), *self._others(part, view)]
        wishes = tuple(
            Asked(key, view.sum_of((tally, weight) for at, tally, weight in parts if at == key))
            for key in sorted({key for key, _, _ in parts})
        )
        return wishes, tuple(Asked(key, tally) for key, tally in dict.fromkeys((key, tally) for key, tally, _ in parts))

    def _scores_not(self, part: Neighbours) -> bool:
        """Say whether the arguments keep a pod without preferences from being scored at all."""
        return self.only_own and not part.prefers

    def _own(self, part: Neighbours, view: View) -> Iterable[tuple[str, Tally, int]]:
        """Return what the pod's own preferences count."""
        for wish in part.liked:
            yield wish.term.key, self._matching(wish.term, view).tally, wish.weight
        for wish in part.disliked:
            yield wish.term.key, self._matching(wish.term, view).tally, -wish.weight

    def _others(self, part: Neighbours, view: View) -> Iterable[tuple[str, Tally, int]]:
        """Return what running pods ask of this one."""
        for number in part.meant_by:
            carried, tally = view.carried(number)
            if carried.kind is Kind.REQUIRED:
                if self.hard_weight:
                    yield carried.term.key, tally, self.hard_weight
            elif carried.kind is not Kind.ANTI:
                yield carried.term.key, tally, carried.weight if carried.kind is Kind.PREFERRED else -carried.weight

    def score(self, state: State, view: View, feasible: Mask) -> Scores:
        """Add up what is in the node's domains."""
        total = np.zeros(len(view), np.int64)  # (rows,)
        for asked in state.wishes:
            total += view.count(asked.tally, asked.key)
        return total

    def normalize(self, state: State, view: View, scores: Scores, feasible: Mask) -> Scores:
        """Stretch the feasible scores over 0..100; all equal, all get nothing."""
        low, high = span(scores, feasible)
        if high <= low:
            return np.zeros(len(view), np.int64)
        return (100.0 * ((scores - low) / float(high - low))).astype(np.int64)  # divided first, then truncated
