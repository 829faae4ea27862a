"""SchedulingGates: hold back a pod while any of its scheduling gates stands."""

from __future__ import annotations

from bayplan.api.objects import Pod
from bayplan.cluster.view import View
from bayplan.framework.plugin import Change, Outcome, Plugin, unresolvable


class SchedulingGates(Plugin[None, None]):
    """Wait until whoever set the gates has removed them all."""

    wakes = (Change.OWN_GATES,)

    def pre_enqueue(self, pod: Pod, view: View) -> Outcome | None:
        """Name the gates that stand."""
        gates = " ".join(gate.name for gate in pod.spec.scheduling_gates)
        return unresolvable(f"waiting for scheduling gates: [{gates}]") if gates else None
