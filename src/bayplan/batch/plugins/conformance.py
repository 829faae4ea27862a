"""conformance: what the cluster cannot do without is nobody's victim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from bayplan.batch.voting import Voter

if TYPE_CHECKING:
    from bayplan.batch.tasks import Task

CRITICAL: Final = frozenset({"system-cluster-critical", "system-node-critical"})
SYSTEM: Final = "kube-system"


class Conformance(Voter):
    """Spare critical pods and those of the system's namespace."""

    name = "conformance"
    protects = True

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> list[Task]:
        """Spare them from their own queue."""
        return [task for task in candidates if not _is_critical(task)]

    def reclaimable(self, reclaimer: Task, candidates: Sequence[Task]) -> list[Task]:
        """Spare them from other queues."""
        return self.preemptable(reclaimer, candidates)


def _is_critical(task: Task) -> bool:
    pod = task.pod
    return pod.spec.priority_class_name in CRITICAL or pod.metadata.namespace == SYSTEM
