"""ServiceAffinity: keep the pods of a Service together on nodes that have the same values of some labels.

The rule that a Policy file spelled as a predicate with `serviceAffinity`; Kubernetes dropped it with that file.  A
pod's nodeSelector says which values; those it leaves open are taken from the first node, by name, that runs a pod of
the pod's first Service, by name.  A value that nobody gives is left open.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import numpy as np

from bayplan.api.selectors import RequiredAffinity
from bayplan.cluster.columns import Row
from bayplan.cluster.shapes import SERVICE, OfService
from bayplan.cluster.tallies import Match, Tally
from bayplan.cluster.view import View
from bayplan.framework.plugin import (
    NO_GATES,
    NODE,
    SUCCESS,
    Change,
    Gates,
    Plugin,
    PodsMoved,
    Prepared,
    Ruling,
    unschedulable,
)

OUTCOMES = (SUCCESS, unschedulable("node(s) didn't match service affinity"))


class ServiceAffinityArgs(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The labels that a Service's pods share."""

    labels: tuple[str, ...] = ()

    def problems(self) -> list[str]:
        """List what is wrong."""
        return [] if self.labels else ["labels: name at least one"]


class State(NamedTuple):
    """What a node must have, and what that was taken from."""

    pairs: RequiredAffinity
    known: tuple[tuple[str, str], ...]  # from the nodeSelector
    missing: tuple[str, ...]  # labels that the nodeSelector leaves open
    match: Match | None = None  # the Service's pods
    tally: Tally | None = None


class ServiceAffinity(Plugin[OfService, State]):
    """Ask for the labels of where the Service runs."""

    reads = SERVICE
    depends = NODE
    wakes = (
        Change.NODE_ADDED,
        Change.NODE_LABELS,
        Change.NODE_GONE,
        Change.POD_ADDED,
        Change.POD_LABELS,
        Change.POD_GONE,
        Change.SERVICE,
        Change.OWN_LABELS,
    )
    Arguments = ServiceAffinityArgs

    def __init__(self, arguments: ServiceAffinityArgs | None = None, gates: Gates = NO_GATES) -> None:
        """Keep the labels."""
        super().__init__(arguments, gates)
        self.labels = (arguments or ServiceAffinityArgs()).labels

    def prepare(self, part: OfService, view: View) -> Prepared[State]:
        """Find the values, and where the Service runs if some are missing."""
        wanted = dict(part.wanted)
        known = tuple((label, wanted[label]) for label in self.labels if label in wanted)
        missing = tuple(label for label in self.labels if label not in wanted)
        state = State(RequiredAffinity(pairs=known), known, missing)
        if not missing or part.selector is None:
            return Prepared(state)
        match = Match(((frozenset((part.namespace,)), part.selector),))
        state = state._replace(match=match, tally=view.tally(match))
        return Prepared(self._taken_from(view.first_host(view.tally(match)), state, view))

    @staticmethod
    def _taken_from(host: str | None, state: State, view: View) -> State:
        """Take the missing values from a node, as far as it has them."""
        if host is None:
            return state._replace(pairs=RequiredAffinity(pairs=state.known))
        found = ((label, view.label(host, label)) for label in state.missing)
        taken = tuple((label, value) for label, value in found if value is not None)
        return state._replace(pairs=RequiredAffinity(pairs=(*state.known, *taken)))

    def filter(self, state: State, view: View) -> Ruling:
        """Rule out nodes with other values."""
        return Ruling(np.where(view.judged(state.pairs), 0, 1).astype(np.int16), OUTCOMES)  # (rows,)

    def with_pods(self, state: State, view: View, row: Row, pods: PodsMoved) -> State:
        """Take the values from the row itself if the moved pods make it the first that runs the Service, or not."""
        if state.match is None or state.tally is None:
            return state
        match = state.match

        def counted(residents: PodsMoved) -> int:
            return sum(
                sign * match.holds(pod.label_set.namespace, pod.label_set.labels, terminating=False)
                for sign, some in ((1, residents.added), (-1, residents.removed))
                for pod in some
            )

        hosts = [view.first_host(state.tally, besides=row)]
        if state.tally.rows.get(row, 0) + counted(pods) > 0:
            hosts.append(view.node(row).metadata.name)
        return self._taken_from(min((host for host in hosts if host is not None), default=None), state, view)
