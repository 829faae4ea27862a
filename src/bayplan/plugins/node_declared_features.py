"""NodeDeclaredFeatures: a pod that needs a feature goes only to nodes that declare it."""

from __future__ import annotations

import numpy as np

from bayplan.cluster.shapes import FEATURES
from bayplan.cluster.view import View
from bayplan.framework.plugin import NODE, SUCCESS, Change, Codes, Plugin, Prepared, Ruling, unresolvable

MISSING = (SUCCESS, unresolvable("node(s) didn't match Pod's required features"))


class NodeDeclaredFeatures(Plugin[frozenset[str], Codes]):
    """Judge each set of declared features once."""

    reads = FEATURES
    depends = NODE
    wakes = (Change.NODE_ADDED, Change.NODE_FEATURES, Change.OWN_OBJECT)

    def prepare(self, part: frozenset[str], view: View) -> Prepared[Codes]:
        """Skip pods that need nothing."""
        codes = np.array([not part <= declared for declared in view.feature_sets], np.int16)  # (feature sets,)
        return Prepared(codes, filters=bool(part))

    def filter(self, state: Codes, view: View) -> Ruling:
        """Give every row the verdict of its set."""
        return Ruling(state[view.feature_set], MISSING)  # (rows,)
