"""NodePorts: keep pods off nodes where a host port they need is taken."""

from __future__ import annotations

import numpy as np

from bayplan.cluster.books.ports import HostPort
from bayplan.cluster.shapes import PORTS
from bayplan.cluster.view import View
from bayplan.framework.plugin import ROW, SUCCESS, Change, Mask, Plugin, Prepared, Ruling, unschedulable

TAKEN = (SUCCESS, unschedulable("node(s) didn't have free ports for the requested pod ports"))

Ports = tuple[HostPort, ...]


class NodePorts(Plugin[Ports, Ports]):
    """Look the ports up in the book of host ports."""

    reads = PORTS
    depends = ROW
    wakes = (Change.NODE_ADDED, Change.POD_GONE)

    def prepare(self, part: Ports, view: View) -> Prepared[Ports]:
        """Skip pods that need no host port."""
        return Prepared(part, filters=bool(part))

    def fits(self, state: Ports, view: View) -> Mask:
        """Say where every port is free."""
        free = np.ones(len(view), np.bool_)  # (rows,)
        for port in state:
            free &= ~view.port_taken(port)
        return free

    def filter(self, state: Ports, view: View) -> Ruling:
        """Rule out rows where a port is taken."""
        return Ruling((~self.fits(state, view)).astype(np.int16), TAKEN)
