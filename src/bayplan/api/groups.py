"""Pod groups and queues of kube-batch, in both of its API groups, read into one form.

`scheduling.incubator.k8s.io/v1alpha1` and `scheduling.sigs.dev/v1alpha2` have the same shapes; `api_version` remembers
which it was, for whoever writes the object back.
Invariant: a number that makes no sense is kept as it was written, and has a property that says what it counts as.
Not here: which pods belong to a group, and what a queue deserves (the batch lane).
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from bayplan.api.annotations import annotations_of
from bayplan.api.objects import Int32, Object, ObjectMeta, Pod, Quantities

API_GROUPS: Final = ("scheduling.incubator.k8s.io", "scheduling.sigs.dev")
_COUNT: Final = re.compile(r"[0-9]{1,9}", re.ASCII)


class PodGroupCondition(Object, frozen=True, kw_only=True):
    """One statement about a group's state; the transition is the session that made it."""

    type: str = ""
    status: str = ""
    transition_id: str = msgspec.field(name="transitionID", default="")
    last_transition_time: str | None = None
    reason: str = ""
    message: str = ""


class PodGroupSpec(Object, frozen=True, kw_only=True):
    """How many members must run together, and in whose queue."""

    min_member: Int32 = 0
    queue: str = ""
    priority_class_name: str = ""


class PodGroupStatus(Object, frozen=True, kw_only=True):
    """What has become of a group."""

    phase: str = ""
    conditions: tuple[PodGroupCondition, ...] = ()
    running: Int32 = 0
    succeeded: Int32 = 0
    failed: Int32 = 0


class PodGroup(Object, frozen=True, kw_only=True):
    """Pods that start together or not at all."""

    api_version: str = ""
    metadata: ObjectMeta = ObjectMeta()
    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()

    @property
    def key(self) -> str:
        """Give the name by which messages call it: namespace/name."""
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def members_min(self) -> int:
        """Return how many members must run together; below nought counts as nought."""
        return max(0, self.spec.min_member)


class QueueSpec(Object, frozen=True, kw_only=True):
    """What a queue is promised in proportion, and what it may take at most."""

    weight: Int32 = 0
    capability: Quantities = {}


class QueueStatus(Object, frozen=True, kw_only=True):
    """How many groups of a queue are in which phase."""

    unknown: Int32 = 0
    pending: Int32 = 0
    running: Int32 = 0


class Queue(Object, frozen=True, kw_only=True):
    """A holder of a share of the cluster."""

    api_version: str = ""
    metadata: ObjectMeta = ObjectMeta()
    spec: QueueSpec = QueueSpec()
    status: QueueStatus = QueueStatus()

    @property
    def weight(self) -> int:
        """Return its weight among queues; below nought counts as nought, which is promised nothing."""
        return max(0, self.spec.weight)


def group_of(pod: Pod) -> str:
    """Return the name of the group that a pod's annotation names, in the pod's own namespace; empty: none."""
    return annotations_of(pod.metadata.annotations).group_name


def group_min_of(pod: Pod) -> int:
    """Return how many members a group that is made for a pod must have: 1, unless the pod's annotation says more."""
    given = annotations_of(pod.metadata.annotations).group_min_member
    return int(given) if _COUNT.fullmatch(given) else 1


def odd(thing: Object) -> list[str]:
    """Say which numbers of a group or a queue were probably not meant, and what they count as."""
    match thing:
        case PodGroup(spec=spec) if spec.min_member <= 0:
            return [f"spec.minMember is {spec.min_member}: its pods are no gang, each starts alone"]
        case Queue(spec=spec) if spec.weight <= 0:
            return [f"spec.weight is {spec.weight}: it is promised nothing and takes what others leave idle"]
        case _:
            return []
