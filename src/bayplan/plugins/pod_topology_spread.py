"""PodTopologySpread: spread matching pods evenly over the domains of a topology, strictly or as far as possible.

A hard constraint filters; soft ones score.  A pod without constraints gets the defaults, spread among the pods of its
services and owner.  The rule never sees a node or a domain's id: it asks for numbers by key, within a scope.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import msgspec
import numpy as np

from bayplan.api.selectors import NOTHING, RequiredAffinity, Selector
from bayplan.cluster.columns import Floats, Row
from bayplan.cluster.residents import Resident
from bayplan.cluster.shapes import SPREAD, Constraint, Spread, Tolerations
from bayplan.cluster.tallies import Match, Scope, Tally
from bayplan.cluster.view import View
from bayplan.framework.plugin import (
    FITS,
    KEYS,
    NO_GATES,
    SCORE_MAX,
    SKIP,
    SUCCESS,
    Change,
    Failed,
    Gates,
    Mask,
    Plugin,
    PodsMoved,
    Prepared,
    Ruling,
    Scores,
    Skip,
    span,
    unresolvable,
    unschedulable,
)

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
TEXT = "node(s) didn't match pod topology spread constraints"
OUTCOMES = (SUCCESS, unresolvable(f"{TEXT} (missing required label)"), unschedulable(TEXT))
NO_LABEL, TOO_SKEWED = 1, 2
SYSTEM, LIST = "System", "List"
OBTAINING = "obtaining pod's {} topology spread constraints"
HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"


class DefaultConstraint(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A constraint for pods that name none."""

    max_skew: int = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    label_selector: dict[str, object] | None = None
    match_label_keys: tuple[str, ...] = ()


class PodTopologySpreadArgs(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Which constraints a pod has that names none."""

    default_constraints: tuple[DefaultConstraint, ...] = ()
    defaulting_type: str = SYSTEM

    def problems(self) -> list[str]:
        """List what is wrong, as upstream validates."""
        problems = []
        if self.defaulting_type not in {SYSTEM, LIST}:
            problems.append(f"defaultingType: {self.defaulting_type!r} is not one of {SYSTEM}, {LIST}")
        if self.defaulting_type == SYSTEM and self.default_constraints:
            problems.append("defaultConstraints: must be empty when defaultingType is System")
        seen = set()
        for place, constraint in enumerate(self.default_constraints):
            where = f"defaultConstraints[{place}]"
            if constraint.max_skew <= 0:
                problems.append(f"{where}.maxSkew: {constraint.max_skew} must be greater than zero")
            if not constraint.topology_key:
                problems.append(f"{where}.topologyKey: can not be empty")
            if constraint.when_unsatisfiable not in {HARD, SOFT}:
                problems.append(f"{where}.whenUnsatisfiable: {constraint.when_unsatisfiable!r} is not {HARD} or {SOFT}")
            if constraint.label_selector is not None:
                problems.append(f"{where}.labelSelector: must not be set, it follows from the pod's services and owner")
            if (constraint.topology_key, constraint.when_unsatisfiable) in seen:
                problems.append(f"{where}: {constraint.topology_key}, {constraint.when_unsatisfiable} is there twice")
            seen.add((constraint.topology_key, constraint.when_unsatisfiable))
        return problems


SYSTEM_DEFAULTS = (
    DefaultConstraint(max_skew=3, topology_key=HOSTNAME, when_unsatisfiable=SOFT),
    DefaultConstraint(max_skew=5, topology_key=ZONE, when_unsatisfiable=SOFT),
)


class Rule(NamedTuple):
    """One constraint, ready to be asked."""

    key: str
    skew_max: int
    domains_min: int
    itself: int  # 1 if the pod would count itself
    tally: Tally
    match: Match
    scope: Scope
    extra: int = 0  # pods thought of as added on the one row of the view


class State(NamedTuple):
    """A pod's constraints; soft ones with what weighs their domains, once that is known."""

    hard: tuple[Rule, ...]
    soft: tuple[Rule, ...]
    keys: tuple[str, ...] = ()  # a node must have all of these to be scored
    weights: tuple[float, ...] = ()
    ignored: Mask | None = None
    error: str | None = None  # why the soft ones cannot be read


class PodTopologySpread(Plugin[Spread, State]):
    """Count matching pods by domain."""

    reads = SPREAD
    depends = KEYS
    wakes = (
        Change.NODE_ADDED,
        Change.NODE_LABELS,
        Change.NODE_TAINTS,
        Change.NODE_GONE,
        Change.POD_ADDED,
        Change.POD_LABELS,
        Change.POD_GONE,
        Change.OWN_TOLERATIONS,
        Change.OWN_LABELS,
    )
    Arguments: ClassVar[type[PodTopologySpreadArgs] | None] = PodTopologySpreadArgs

    def __init__(self, arguments: PodTopologySpreadArgs | None = None, gates: Gates = NO_GATES) -> None:
        """Choose the defaults once."""
        super().__init__(arguments, gates)
        arguments = arguments or PodTopologySpreadArgs()
        self.is_system = arguments.defaulting_type == SYSTEM
        self.defaults = SYSTEM_DEFAULTS if self.is_system else arguments.default_constraints

    def prepare(self, part: Spread, view: View) -> Prepared[State] | Failed:
        """Look up the tallies and scopes of the constraints."""
        constraints = self._constraints(part)
        hard = [constraint for constraint in constraints if constraint.hard]
        soft = [constraint for constraint in constraints if not constraint.hard]
        hard_keys = tuple(sorted({constraint.key for constraint in hard}))
        needs_all = part.own or not self.is_system
        soft_keys = tuple(sorted({constraint.key for constraint in soft})) if needs_all else ()
        state = State(
            hard=tuple(self._rule(constraint, part, hard_keys, view) for constraint in hard),
            soft=tuple(self._rule(constraint, part, soft_keys, view) for constraint in soft),
            keys=soft_keys,
            error=part.soft_error,
        )
        if part.hard_error is not None:
            return Failed(f"get constraints from pod: {OBTAINING.format('hard')}: {part.hard_error}", state)
        return Prepared(state, filters=bool(hard))

    def _constraints(self, part: Spread) -> tuple[Constraint, ...]:
        """Return the pod's own constraints, else the defaults."""
        if part.own:
            return part.constraints
        if part.default is None:
            return ()
        return tuple(
            Constraint(
                key=default.topology_key,
                skew_max=default.max_skew,
                hard=default.when_unsatisfiable == HARD,
                selector=part.default,
                counts_itself=part.default_counts_itself,
                domains_min=1 if default.min_domains is None else default.min_domains,
                honours_affinity=default.node_affinity_policy in {None, "Honor"},
                honours_taints=default.node_taints_policy == "Honor",
            )
            for default in self.defaults
        )

    def _rule(self, constraint: Constraint, part: Spread, keys: tuple[str, ...], view: View) -> Rule:
        compares = self.gates.toleration_comparison
        affinity: RequiredAffinity | None = part.affinity if constraint.honours_affinity else None
        tolerations = Tolerations(part.tolerations.all, compares=compares) if constraint.honours_taints else None
        selector: Selector = NOTHING if constraint.selector.is_empty else constraint.selector  # `{}` counts nobody
        match = Match(((frozenset((part.namespace,)), selector),), terminating=False)
        return Rule(
            constraint.key,
            constraint.skew_max,
            constraint.domains_min,
            int(constraint.counts_itself),
            view.tally(match),
            Match(((frozenset((part.namespace,)), constraint.selector),)),
            view.scope(affinity, tolerations, keys),
        )

    def filter(self, state: State, view: View) -> Ruling:
        """Rule out domains that would be too full; the first constraint that fails is named."""
        codes = np.full(len(view), FITS, np.int16)  # (rows,)
        for rule in state.hard:
            number = view.count(rule.tally, rule.key, rule.scope) + rule.extra
            skew = number + rule.itself - self._least(rule, view)
            has, still = view.has(rule.key), codes == FITS
            codes[still & ~has] = NO_LABEL
            codes[still & has & (skew > rule.skew_max)] = TOO_SKEWED
        return Ruling(codes, OUTCOMES)

    def fits(self, state: State, view: View) -> Mask:
        """Say where every constraint holds, without naming the one that does not."""
        fits: Mask | None = None  # (rows,)
        for rule in state.hard:
            most = rule.skew_max - rule.itself + self._least(rule, view) - rule.extra
            mine = view.count(rule.tally, rule.key, rule.scope) <= most
            mine &= view.has(rule.key)
            fits = mine if fits is None else fits & mine
        return np.ones(len(view), np.bool_) if fits is None else fits

    def _least(self, rule: Rule, view: View) -> int:
        """Return the smallest number of a domain, or nought while there are fewer domains than asked for."""
        if view.domains(rule.key, rule.scope) < rule.domains_min:
            return 0
        if rule.extra:
            row = Row(int(view.rows[0]))
            here = int(view.count(rule.tally, rule.key, rule.scope)[0]) + rule.extra
            others = view.least(rule.tally, rule.key, rule.scope, besides=row)
            return here if others is None else min(here, others)
        least = view.least(rule.tally, rule.key, rule.scope)
        return 0 if least is None else least

    def with_pods(self, state: State, view: View, row: Row, pods: PodsMoved) -> State:
        """Count added and removed pods in the row's domains; here terminating pods and `{}` count, as upstream."""

        def moved(rule: Rule, residents: Sequence[Resident]) -> int:
            if not rule.scope.holds(row):
                return 0
            return sum(
                rule.match.holds(pod.label_set.namespace, pod.label_set.labels, terminating=False) for pod in residents
            )

        hard = tuple(rule._replace(extra=moved(rule, pods.added) - moved(rule, pods.removed)) for rule in state.hard)
        return state._replace(hard=hard)

    def prepare_score(self, state: State, view: View, feasible: Mask) -> State | Skip | Failed:
        """Weigh each soft constraint by how many domains the feasible nodes have."""
        if state.error is not None:
            return Failed(f"calculating preScoreState: {OBTAINING.format('soft')}: {state.error}")
        if not state.soft or not view.many(feasible):
            return SKIP
        ignored, counted = None, feasible
        if state.keys:
            ignored = np.zeros(len(view), np.bool_)  # (rows,)
            for key in state.keys:
                ignored |= ~view.has(key)
            counted = feasible & ~ignored
        weights = tuple(
            math.log(
                (
                    view.many(counted)
                    if rule.key == HOSTNAME
                    else view.distinct(rule.key, counted, absent=not state.keys)
                )
                + 2
            )
            for rule in state.soft
        )
        return State(state.hard, state.soft, state.keys, weights, ignored)

    def score(self, state: State, view: View, feasible: Mask) -> Scores:
        """Add up the weighted numbers of the node's domains."""
        total: Floats | None = None  # (rows,)
        for rule, weight in zip(state.soft, state.weights, strict=True):
            number = view.count(rule.tally) if rule.key == HOSTNAME else view.count(rule.tally, rule.key, rule.scope)
            part = np.multiply(number, weight, dtype=np.float64)
            part += rule.skew_max - 1
            has = view.has(rule.key)
            if has is not feasible:  # they are the same where all have it, and then all are feasible
                part *= has  # nothing where the label is absent
            total = part if total is None else total + part
        assert total is not None  # noqa: S101 without soft ones, scoring is skipped
        total += 0.5
        scores = total.astype(np.int64)  # rounds half away from zero; never negative
        if state.ignored is not None:
            scores[state.ignored] = 0
        return scores

    def normalize(self, state: State, view: View, scores: Scores, feasible: Mask) -> Scores:
        """Give the emptiest domains the most."""
        ignored = state.ignored
        low, high = span(scores, feasible & ~ignored if ignored is not None else feasible)
        if high <= 0:
            result = np.full(len(view), SCORE_MAX, np.int64)
        else:
            result = (high + low) - scores
            result *= SCORE_MAX
            result //= high
        if ignored is not None:
            result[ignored] = 0
        return result


class SelectorSpread(PodTopologySpread):
    """Score by the system's defaults alone: a pod that names constraints itself is left to the rule above."""

    points = frozenset({"preScore", "score"})
    Arguments = None

    def __init__(self, arguments: None = None, gates: Gates = NO_GATES) -> None:
        """Take no arguments."""
        super().__init__(None, gates)

    def prepare(self, part: Spread, view: View) -> Prepared[State] | Failed:
        """Look away from the pod's own constraints, readable or not."""
        return super().prepare(msgspec.structs.replace(part, hard_error=None, soft_error=None), view)

    def _constraints(self, part: Spread) -> tuple[Constraint, ...]:
        return () if part.own else super()._constraints(part)
