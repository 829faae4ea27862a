"""NodeUnschedulable: keep pods off cordoned nodes, unless they tolerate the taint that cordoning means."""

from __future__ import annotations

import numpy as np

from bayplan.api.objects import Taint
from bayplan.api.selectors import tolerates
from bayplan.cluster.shapes import TOLERATIONS, Tolerations
from bayplan.cluster.view import View
from bayplan.framework.plugin import FITS, NODE, SUCCESS, Change, Plugin, Prepared, Ruling, unresolvable

CORDONED = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
OUTCOMES = (SUCCESS, unresolvable("node(s) were unschedulable"))
IS_CORDONED = 1


class NodeUnschedulable(Plugin[Tolerations, bool]):
    """Read the node's own switch; the taint of that name is TaintToleration's."""

    reads = TOLERATIONS
    depends = NODE
    wakes = (Change.NODE_ADDED, Change.NODE_TAINTS, Change.OWN_TOLERATIONS)

    def prepare(self, part: Tolerations, view: View) -> Prepared[bool]:
        """Ask once whether the pod may go to cordoned nodes."""
        compares = self.gates.toleration_comparison
        return Prepared(any(tolerates(toleration, CORDONED, compares=compares) for toleration in part.all))

    def filter(self, state: bool, view: View) -> Ruling:  # noqa: FBT001 the state is what prepare found
        """Rule out cordoned nodes."""
        if state:
            return Ruling(np.full(len(view), FITS, np.int16), OUTCOMES)
        return Ruling(np.where(view.unschedulable, IS_CORDONED, FITS).astype(np.int16), OUTCOMES)
