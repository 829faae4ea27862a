"""NodeAffinity: nodeSelector, required and preferred node affinity, and what the administrator adds to every pod's."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import numpy as np

from bayplan.api import objects
from bayplan.api.selectors import NodeTerms, PreferredTerms, RequiredAffinity
from bayplan.cluster.shapes import NODE_CHOICE, NodeChoice
from bayplan.cluster.view import View
from bayplan.framework.plugin import (
    NO_GATES,
    NODE,
    SKIP,
    SUCCESS,
    Change,
    Code,
    Failed,
    Gates,
    Mask,
    Plugin,
    Prepared,
    Rejected,
    Ruling,
    Scores,
    Skip,
    to_hundred,
    unresolvable,
)

OUTCOMES = (
    SUCCESS,
    unresolvable("node(s) didn't match scheduler-enforced node affinity"),
    unresolvable("node(s) didn't match Pod's node affinity/selector"),
)
NOT_ADDED, NOT_OWN = 1, 2


class NodeAffinityArgs(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What the administrator adds to the node affinity of every pod."""

    added_affinity: objects.NodeAffinity | None = None

    def problems(self) -> list[str]:
        """List what is wrong with the added terms."""
        if self.added_affinity is None:
            return []
        required = self.added_affinity.required_during_scheduling_ignored_during_execution
        preferred = self.added_affinity.preferred_during_scheduling_ignored_during_execution or ()
        errors = [NodeTerms.of(required).error if required is not None else None, PreferredTerms.of(preferred).error]
        return [f"addedAffinity: {error}" for error in errors if error is not None]


class State(NamedTuple):
    """What a pod asks for of a node's labels and name."""

    required: RequiredAffinity
    preferred: PreferredTerms | None


class NodeAffinity(Plugin[NodeChoice, State]):
    """Ask labels, once per distinct value."""

    reads = NODE_CHOICE
    depends = NODE
    wakes = (Change.NODE_ADDED, Change.NODE_LABELS)
    Arguments = NodeAffinityArgs

    def __init__(self, arguments: NodeAffinityArgs | None = None, gates: Gates = NO_GATES) -> None:
        """Read the added terms once."""
        super().__init__(arguments, gates)
        added = arguments.added_affinity if arguments is not None else None
        required = added.required_during_scheduling_ignored_during_execution if added is not None else None
        preferred = added.preferred_during_scheduling_ignored_during_execution if added is not None else None
        self.added = None if required is None else NodeTerms.of(required)
        self.added_wishes = PreferredTerms.of(preferred) if preferred else None

    def prepare(self, part: NodeChoice, view: View) -> Prepared[State] | Rejected:
        """Narrow the search when every term names its nodes."""
        state = State(part.required, part.preferred)
        names = part.required.names()
        if names is not None and not names:
            return Rejected(Code.UNRESOLVABLE, ("pod affinity terms conflict",), state)
        return Prepared(state, names=names, filters=part.required.is_given or self.added is not None)

    def filter(self, state: State, view: View) -> Ruling:
        """Rule out by the added terms first."""
        codes = np.where(view.judged(state.required), 0, NOT_OWN).astype(np.int16)  # (rows,)
        if self.added is not None:
            codes[~view.judged(self.added)] = NOT_ADDED
        return Ruling(codes, OUTCOMES)

    def prepare_score(self, state: State, view: View, feasible: Mask) -> State | Skip | Failed:
        """Do not score when nobody prefers anything."""
        if state.preferred is None and self.added_wishes is None:
            return SKIP
        if state.preferred is not None and state.preferred.error is not None:
            return Failed(state.preferred.error)
        return state

    def score(self, state: State, view: View, feasible: Mask) -> Scores:
        """Sum the weights of what each node meets."""
        scores = np.zeros(len(view), np.int64)
        for wishes in (self.added_wishes, state.preferred):
            if wishes is not None:
                scores += view.liked(wishes)  # (rows,)
        return scores

    def normalize(self, state: State, view: View, scores: Scores, feasible: Mask) -> Scores:
        """Give the most liked node a hundred."""
        return to_hundred(scores, feasible)
