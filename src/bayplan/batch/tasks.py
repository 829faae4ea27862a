"""Tasks: pods as a session sees them, and what each asks for.

What a pod is charged with (its node, queue and job pay it while it runs) and what it needs to start may differ in
`kube-batch` behaviour, where init containers are needed to start but charged to nobody; pods of a template share both.
Invariant: a task's status follows from its pod, but for what a session decided and nobody has confirmed yet.
Not here: which job a task is of (jobs.py) and changing its status (session.py).
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from bayplan.api.objects import uid_of
from bayplan.api.requests import EPHEMERAL_STORAGE, accounted, fit_request
from bayplan.batch.amounts import Amount
from bayplan.cluster.templates import is_alike, owner_key

if TYPE_CHECKING:
    from bayplan.api.objects import Pod
    from bayplan.batch.jobs import Job
    from bayplan.cluster.columns import Columns, Row


class Status(enum.StrEnum):
    """Where a task is on its way."""

    PENDING = "pending"
    ALLOCATED = "allocated"  # it has room in the session, but its gang is not ready
    PIPELINED = "pipelined"  # it has room in the session that others still have to leave
    BINDING = "binding"
    BOUND = "bound"
    RUNNING = "running"
    RELEASING = "releasing"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"


CHARGED: Final = frozenset({Status.ALLOCATED, Status.BINDING, Status.BOUND, Status.RUNNING})
GOING: Final = frozenset({Status.BOUND, Status.RUNNING})  # who can be made to leave


class Charge:
    """What pods of one template ask for; equal ones are one object."""

    __slots__ = ("nonzero", "places", "request", "start")

    def __init__(
        self, request: Amount, start: Amount, places: tuple[tuple[int, int], ...], nonzero: tuple[int, int]
    ) -> None:
        self.request = request  # what their queue and job are charged with
        self.start = start  # what they need to start
        self.places = places  # what their node is charged with: (place of the resource, amount)
        self.nonzero = nonzero  # cpu milli and memory bytes, with defaults


class Kin:
    """Pods that follow each other and are alike in all that any rule reads: what was found out of one holds of all."""

    __slots__ = ()


class Task:
    """A pod in the lane."""

    __slots__ = ("charge", "created", "job", "kin", "pod", "priority", "row", "status", "uid")

    def __init__(self, pod: Pod, charge: Charge, kin: Kin, status: Status) -> None:
        self.pod = pod
        self.kin = kin
        self.uid = uid_of(pod)
        self.charge = charge
        self.status = status
        self.priority = 1 if pod.spec.priority is None else pod.spec.priority
        self.created = pod.metadata.creation_timestamp or ""
        self.job: Job | None = None
        self.row: Row | None = None  # where a session put it; where its pod is, says the table

    @property
    def key(self) -> str:
        """Its pod's namespace and name."""
        return self.pod.key

    def __repr__(self) -> str:
        return f"{self.key} ({self.status})"


class Charges:
    """Reads what pods ask for, once a template."""

    def __init__(self, columns: Columns, *, as_kube_batch: bool) -> None:
        self._columns = columns
        self._as_kube_batch = as_kube_batch
        self._last: dict[str, tuple[Pod, Charge, Kin]] = {}  # by owner: the last pod read
        self._known: dict[tuple[tuple[tuple[str, int], ...], ...], Charge] = {}

    def read(self, pod: Pod) -> tuple[Charge, Kin]:
        """Return what a pod asks for, and whose kin it is."""
        key = owner_key(pod)
        last = self._last.get(key)
        if last is not None and is_alike(pod, last[0]):
            before, charge, kin = last
            if not _is_kin(pod, before):
                kin = Kin()
        else:
            charge, kin = self._read(pod), Kin()
        self._last[key] = (pod, charge, kin)
        return charge, kin

    def charge(self, pod: Pod) -> Charge:
        """Return what a pod asks for."""
        return self.read(pod)[0]

    def _read(self, pod: Pod) -> Charge:
        counted, cpu, memory = accounted(_without_init_containers(pod) if self._as_kube_batch else pod)
        needed = fit_request(pod)
        if self._as_kube_batch:
            counted.pop(EPHEMERAL_STORAGE, None)
            needed.pop(EPHEMERAL_STORAGE, None)
        key = (tuple(counted.items()), tuple(needed.items()), (("cpu", cpu), ("memory", memory)))
        found = self._known.get(key)
        if found is None:
            places = tuple((self._columns.resource(name), amount) for name, amount in counted.items() if amount)
            found = Charge(Amount.of(counted.items()), Amount.of(needed.items()), places, (cpu, memory))
            self._known[key] = found
        return found


def status_of(pod: Pod) -> Status:
    """Read a task's status off its pod."""
    phase, is_leaving = pod.status.phase or "Pending", pod.metadata.deletion_timestamp is not None
    if phase == "Running":
        return Status.RELEASING if is_leaving else Status.RUNNING
    if phase == "Pending":
        if is_leaving:
            return Status.RELEASING
        return Status.BOUND if pod.spec.node_name else Status.PENDING
    return {"Succeeded": Status.SUCCEEDED, "Failed": Status.FAILED}.get(phase, Status.UNKNOWN)


def _is_kin(one: Pod, other: Pod) -> bool:
    """Say of two pods that are alike whether any rule could tell them apart while they wait."""
    return (
        one.metadata.labels == other.metadata.labels
        and one.metadata.owner_references == other.metadata.owner_references
        and one.spec.node_name == other.spec.node_name
        and not one.spec.volumes
        and not other.spec.volumes
        and one.status.nominated_node_name == other.status.nominated_node_name
    )


def _without_init_containers(pod: Pod) -> Pod:
    """Return a pod without what only runs before it; sidecars stay."""
    if not pod.spec.init_containers:
        return pod
    sidecars = tuple(one for one in pod.spec.init_containers if one.restart_policy == "Always")
    return replace(pod, spec=replace(pod.spec, init_containers=sidecars))
