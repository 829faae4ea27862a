"""PrioritySort: try the pod of higher priority first, and among equals the one that has waited longer."""

from __future__ import annotations

from bayplan.api.objects import Pod
from bayplan.framework.plugin import Plugin


class PrioritySort(Plugin[None, None]):
    """Order the queue."""

    points = frozenset({"queueSort"})

    def queue_key(self, pod: Pod, since: float) -> tuple[int, float]:
        """Return what pods are ordered by, smallest first."""
        return -(pod.spec.priority or 0), since
