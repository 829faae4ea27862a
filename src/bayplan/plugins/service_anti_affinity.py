"""ServiceAntiAffinity: spread the pods of a Service over the values of a label.

The rule that a Policy file spelled as a priority with `serviceAntiAffinity`; Kubernetes dropped it with that file, and
topology spread constraints do it better.  The Service is the pod's first, by name.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import numpy as np

from bayplan.cluster.shapes import SERVICE, OfService
from bayplan.cluster.tallies import Match, Tally
from bayplan.cluster.view import View
from bayplan.framework.plugin import KEYS, NO_GATES, SCORE_MAX, Gates, Mask, Plugin, Prepared, Scores


class ServiceAntiAffinityArgs(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The label whose values the pods are spread over."""

    label: str = ""

    def problems(self) -> list[str]:
        """List what is wrong."""
        return [] if self.label else ["label: is required"]


class State(NamedTuple):
    """The pods of the Service."""

    tally: Tally | None  # None: the pod has no Service


class ServiceAntiAffinity(Plugin[OfService, State]):
    """Count the Service's pods by value."""

    reads = SERVICE
    depends = KEYS
    wakes = ()
    points = frozenset({"score"})
    Arguments = ServiceAntiAffinityArgs

    def __init__(self, arguments: ServiceAntiAffinityArgs | None = None, gates: Gates = NO_GATES) -> None:
        """Keep the label."""
        super().__init__(arguments, gates)
        self.label = (arguments or ServiceAntiAffinityArgs()).label

    def prepare(self, part: OfService, view: View) -> Prepared[State]:
        """Look up the tally of the Service's pods."""
        if part.selector is None:
            return Prepared(State(None), filters=False)
        match = Match(((frozenset((part.namespace,)), part.selector),))
        return Prepared(State(view.tally(match)), filters=False)

    def score(self, state: State, view: View, feasible: Mask) -> Scores:
        """Give the share of the Service's pods that are elsewhere; a node without the label earns nothing."""
        everywhere = 0 if state.tally is None else view.everywhere(state.tally)
        if state.tally is None or not everywhere:
            scores = np.full(len(view), SCORE_MAX, np.int64)  # (rows,)
        else:
            scores = SCORE_MAX * (everywhere - view.count(state.tally, self.label)) // everywhere
        return np.where(view.has(self.label), scores, 0)
