"""NodeName: a pod that names its node goes there or nowhere."""

from __future__ import annotations

import numpy as np

from bayplan.cluster.shapes import NODE_NAME
from bayplan.cluster.view import View
from bayplan.framework.plugin import FITS, NODE, SUCCESS, Change, Plugin, Prepared, Ruling, unresolvable

OUTCOMES = (SUCCESS, unresolvable("node(s) didn't match the requested node name"))
ANOTHER_NAME = 1


class NodeName(Plugin[str, str]):
    """Compare names."""

    reads = NODE_NAME
    depends = NODE
    wakes = (Change.NODE_ADDED,)

    def prepare(self, part: str, view: View) -> Prepared[str]:
        """Narrow the search to the named node."""
        return Prepared(part, names=frozenset((part,)) if part else None)

    def filter(self, state: str, view: View) -> Ruling:
        """Rule out every other node."""
        if not state:
            return Ruling(np.full(len(view), FITS, np.int16), OUTCOMES)
        same = np.array([name == state for name in view.names], np.bool_)  # (rows,)
        return Ruling(np.where(same, FITS, ANOTHER_NAME).astype(np.int16), OUTCOMES)
