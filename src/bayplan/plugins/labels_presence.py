"""LabelsPresence: only nodes that have all of some labels, or none of them, whatever their values.

The rule that a Policy file spelled as a predicate with `labelsPresence`; Kubernetes dropped it with that file.
"""

from __future__ import annotations

import msgspec
import numpy as np

from bayplan.cluster.shapes import NOTHING
from bayplan.cluster.view import View
from bayplan.framework.plugin import NO_GATES, NODE, SUCCESS, Change, Gates, Plugin, Ruling, unresolvable

OUTCOMES = (SUCCESS, unresolvable("node(s) didn't have the requested labels"))


class LabelsPresenceArgs(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Which labels, and whether they must be there or must not."""

    labels: tuple[str, ...] = ()
    presence: bool = True

    def problems(self) -> list[str]:
        """List what is wrong."""
        return [] if self.labels else ["labels: name at least one"]


class LabelsPresence(Plugin[None, None]):
    """Look whether labels are there."""

    reads = NOTHING
    depends = NODE
    wakes = (Change.NODE_ADDED, Change.NODE_LABELS)
    Arguments = LabelsPresenceArgs

    def __init__(self, arguments: LabelsPresenceArgs | None = None, gates: Gates = NO_GATES) -> None:
        """Keep the labels."""
        super().__init__(arguments, gates)
        arguments = arguments or LabelsPresenceArgs()
        self.labels, self.presence = arguments.labels, arguments.presence

    def filter(self, state: None, view: View) -> Ruling:
        """Rule out nodes where one label is not as it must be."""
        wrong = np.zeros(len(view), np.bool_)  # (rows,)
        for label in self.labels:
            wrong |= view.has(label) != self.presence
        return Ruling(wrong.astype(np.int16), OUTCOMES)
