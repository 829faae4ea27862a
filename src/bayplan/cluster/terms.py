"""The parts of a shape that name other pods: affinity terms and spread constraints, in canonical form.

Whatever depends on more than the pod itself (which carried terms mean it, which Services and owner select it) is handed
in, so a pod can be read again when that changes.
Not here: what the rules make of it (plugins) and the tallies of the pods that match (tallies.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bayplan.api.objects import Pod, PodAffinityTerm, TopologySpreadConstraint, WeightedPodAffinityTerm
from bayplan.api.selectors import RequiredAffinity, Selector, SelectorError
from bayplan.cluster.catalogues import Carried, Kind, Term
from bayplan.cluster.shapes import Constraint, Neighbours, Spread, Tolerations, Weighted

HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"


def term_of(term: PodAffinityTerm, namespace: str) -> Term:
    """Read one term; without namespaces and selector it means the pod's own namespace."""
    named = frozenset(term.namespaces)
    if not named and term.namespace_selector is None:
        named = frozenset((namespace,))
    selector = Selector.of(term.label_selector)  # first, so that the first error is upstream's
    return Term(
        namespaces=named,
        namespace_selector=Selector.of(term.namespace_selector),
        selector=selector,
        key=term.topology_key,
    )


class TermLists:
    """A pod's four lists of terms, and what cannot be read of them."""

    __slots__ = ("disliked", "error", "far", "liked", "near", "prefers")

    def __init__(self, pod: Pod) -> None:
        """Read in upstream's order, so that the first error is upstream's."""
        self.near: tuple[Term, ...] = ()
        self.far: tuple[Term, ...] = ()
        self.liked: tuple[Weighted, ...] = ()
        self.disliked: tuple[Weighted, ...] = ()
        self.prefers = False
        self.error: str | None = None
        affinity, namespace = pod.spec.affinity, pod.metadata.namespace
        if affinity is None:
            return
        to, off = affinity.pod_affinity, affinity.pod_anti_affinity
        errors: list[str] = []
        if to is not None:
            self.near = _read(
                to.required_during_scheduling_ignored_during_execution, namespace, "requiredAffinityTerms", errors
            )
        if off is not None:
            self.far = _read(
                off.required_during_scheduling_ignored_during_execution, namespace, "requiredAntiAffinityTerms", errors
            )
        if to is not None:
            self.liked = _weighed(
                to.preferred_during_scheduling_ignored_during_execution, namespace, "preferredAffinityTerms", errors
            )
        if off is not None:
            self.disliked = _weighed(
                off.preferred_during_scheduling_ignored_during_execution,
                namespace,
                "preferredAntiAffinityTerms",
                errors,
            )
        self.prefers = any(
            one is not None and one.preferred_during_scheduling_ignored_during_execution for one in (to, off)
        )
        if errors:
            self.error = errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"

    def carried(self) -> tuple[Carried, ...]:
        """Return the terms as a running pod carries them."""
        return (
            *(Carried(Kind.REQUIRED, term) for term in self.near),
            *(Carried(Kind.ANTI, term) for term in self.far),
            *(Carried(Kind.PREFERRED, wish.term, wish.weight) for wish in self.liked),
            *(Carried(Kind.AVOIDED, wish.term, wish.weight) for wish in self.disliked),
        )


def _read(terms: Sequence[PodAffinityTerm], namespace: str, what: str, errors: list[str]) -> tuple[Term, ...]:
    try:
        return tuple(term_of(term, namespace) for term in terms)
    except SelectorError as bad:
        errors.append(f"{what}: {bad}")
        return ()


def _weighed(
    wishes: Sequence[WeightedPodAffinityTerm], namespace: str, what: str, errors: list[str]
) -> tuple[Weighted, ...]:
    try:
        return tuple(Weighted(term_of(wish.pod_affinity_term, namespace), wish.weight) for wish in wishes)
    except SelectorError as bad:
        errors.append(f"{what}: {bad}")
        return ()


def neighbours_of(pod: Pod, meant_by: tuple[int, ...]) -> Neighbours:
    """Read which pods a pod wants near or far."""
    lists = TermLists(pod)
    return Neighbours(
        namespace=pod.metadata.namespace,
        near=lists.near,
        near_itself=tuple(term.selector.matches(pod.metadata.labels) for term in lists.near),
        far=lists.far,
        liked=lists.liked,
        disliked=lists.disliked,
        meant_by=meant_by,
        prefers=lists.prefers,
        error=lists.error,
    )


def spread_of(pod: Pod, default: Selector | None) -> Spread:
    """Read how a pod wants to be spread; `default` is whose pods it would be spread among without constraints."""
    labels = pod.metadata.labels
    hard, hard_error = _constraints(pod, HARD)
    soft, soft_error = _constraints(pod, SOFT)
    own = bool(pod.spec.topology_spread_constraints)
    default = None if own else default
    node_affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    needs = own or default is not None
    required = RequiredAffinity.of(pod.spec.node_selector, node_affinity) if needs else RequiredAffinity()
    return Spread(
        namespace=pod.metadata.namespace if needs else "",
        constraints=hard + soft,
        own=own,
        default=default,
        default_counts_itself=default is not None and default.matches(labels),
        affinity=required,
        tolerations=Tolerations(pod.spec.tolerations if needs else ()),
        hard_error=hard_error,
        soft_error=soft_error,
    )


def _constraints(pod: Pod, action: str) -> tuple[tuple[Constraint, ...], str | None]:
    """Read the constraints of one kind; one that cannot be read spoils its kind."""
    listed = (one for one in pod.spec.topology_spread_constraints if one.when_unsatisfiable == action)
    try:
        return tuple(_constraint(one, pod.metadata.labels) for one in listed), None
    except SelectorError as bad:
        return (), str(bad)


def _constraint(constraint: TopologySpreadConstraint, labels: Mapping[str, str]) -> Constraint:
    selector = Selector.of(constraint.label_selector)
    pairs = {key: labels[key] for key in constraint.match_label_keys if key in labels}
    if pairs:
        selector = selector.and_equal(pairs)
    return Constraint(
        key=constraint.topology_key,
        skew_max=constraint.max_skew,
        hard=constraint.when_unsatisfiable == HARD,
        selector=selector,
        counts_itself=selector.matches(labels),
        domains_min=1 if constraint.min_domains is None else constraint.min_domains,
        honours_affinity=constraint.node_affinity_policy in {None, "Honor"},
        honours_taints=constraint.node_taints_policy == "Honor",
    )
