"""LabelPreference: prefer nodes that have a label, or that do not have it, whatever its value.

The rule that a Policy file spelled as a priority with `labelPreference`; Kubernetes dropped it with that file.
"""

from __future__ import annotations

import msgspec
import numpy as np

from bayplan.cluster.shapes import NOTHING
from bayplan.cluster.view import View
from bayplan.framework.plugin import NO_GATES, NODE, SCORE_MAX, Gates, Mask, Plugin, Scores


class LabelPreferenceArgs(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Which label, and whether it is better to have it or not."""

    label: str = ""
    presence: bool = True

    def problems(self) -> list[str]:
        """List what is wrong."""
        return [] if self.label else ["label: is required"]


class LabelPreference(Plugin[None, None]):
    """All or nothing."""

    reads = NOTHING
    depends = NODE
    wakes = ()
    points = frozenset({"score"})
    Arguments = LabelPreferenceArgs

    def __init__(self, arguments: LabelPreferenceArgs | None = None, gates: Gates = NO_GATES) -> None:
        """Keep the label."""
        super().__init__(arguments, gates)
        arguments = arguments or LabelPreferenceArgs()
        self.label, self.presence = arguments.label, arguments.presence

    def score(self, state: None, view: View, feasible: Mask) -> Scores:
        """Give everything where the label is as it should be."""
        return np.where(view.has(self.label) == self.presence, SCORE_MAX, 0).astype(np.int64)  # (rows,)
