"""Jobs and queues: what is heard of pods, PodGroups, Queues and budgets, as a session wants it.

A job is a PodGroup with its pods; or, of pods without one, what their controller made, or the pod alone (a shadow
group, which nobody is told of); or what a PodDisruptionBudget with a controller protects.
Invariant: a task is in one job and, there, under one status; objects may come in any order.
Not here: what becomes of them (session.py) and where pods are (cluster/table.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from bayplan.api.groups import group_min_of, group_of
from bayplan.batch.amounts import Amount
from bayplan.batch.tasks import CHARGED, Charges, Status, Task, status_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayplan.api.objects import OwnerReference, Pod


class Condition(NamedTuple):
    """A condition of a PodGroup."""

    type: str
    status: str
    reason: str
    message: str


class GroupStatus(NamedTuple):
    """What a session says of a PodGroup."""

    phase: str = ""
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    conditions: tuple[Condition, ...] = ()


class Group(NamedTuple):
    """A PodGroup, of either of kube-batch's APIs."""

    namespace: str
    name: str
    queue: str
    min_member: int
    priority_class: str = ""
    created: str = ""
    status: GroupStatus = GroupStatus()
    is_shadow: bool = False


class Queue(NamedTuple):
    """Who is promised a share."""

    name: str
    weight: int
    created: str = ""
    capability: tuple[tuple[str, int], ...] = ()  # (resource, amount as compared); empty: no limit


class Budget(NamedTuple):
    """A PodDisruptionBudget that has a controller: its pods are a job."""

    namespace: str
    name: str
    controller: str
    created: str = ""
    least: int = 0  # how many must run
    least_percent: int | None = None  # or which share of them
    most_gone: int | None = None  # or how many may be gone
    most_gone_percent: int | None = None

    def least_of(self, pods: int) -> int:
        """Return how many of so many pods must run."""
        if self.least_percent is not None:
            return -(-pods * self.least_percent // 100)
        if self.most_gone is not None:
            return max(pods - self.most_gone, 0)
        if self.most_gone_percent is not None:
            return max(pods - (-(-pods * self.most_gone_percent // 100)), 0)
        return self.least


class Job:
    """Tasks that start together."""

    __slots__ = (
        "asked",
        "budget",
        "by_status",
        "created",
        "group",
        "held",
        "min_available",
        "missing",
        "name",
        "namespace",
        "priority",
        "queue",
        "ready",
        "tasks",
        "uid",
    )

    def __init__(self, uid: str) -> None:
        self.uid = uid
        self.name = ""
        self.namespace = ""
        self.queue = ""
        self.min_available = 0
        self.created = ""
        self.priority = 0  # as of when the session was opened
        self.tasks: dict[str, Task] = {}
        self.by_status: dict[Status, dict[str, Task]] = {}
        self.ready = 0  # how many tasks have room or are done
        self.held = Amount()  # by tasks that are charged for
        self.asked = Amount()  # by tasks that wait
        self.group: Group | None = None
        self.budget: Budget | None = None
        self.missing: dict[str, tuple[str, ...]] = {}  # by node: what a task that was put there had to wait for

    def __repr__(self) -> str:
        return f"job {self.uid}"

    def having(self, status: Status) -> Mapping[str, Task]:
        """Return the tasks of a status, by uid."""
        return self.by_status.get(status, {})

    def count(self, status: Status) -> int:
        """Return how many tasks have a status."""
        found = self.by_status.get(status)
        return len(found) if found else 0

    @property
    def valid(self) -> int:
        """How many tasks have room, are done, or may yet be given room."""
        return self.ready + self.count(Status.PIPELINED) + self.count(Status.PENDING)

    @property
    def is_ready(self) -> bool:
        """Whether enough of them have."""
        return self.ready >= self.min_available

    @property
    def is_pipelined(self) -> bool:
        """Whether enough of them have, or will have once others have left."""
        return self.ready + self.count(Status.PIPELINED) >= self.min_available

    def put(self, task: Task) -> None:
        """Take a task in."""
        task.job = self
        self.tasks[task.uid] = task
        self._enter(task, task.status)

    def drop(self, task: Task) -> None:
        """Let a task go."""
        del self.tasks[task.uid]
        self._leave(task)
        task.job = None

    def move(self, task: Task, status: Status) -> None:
        """Give a task another status."""
        self._leave(task)
        task.status = status
        self._enter(task, status)

    def _enter(self, task: Task, status: Status) -> None:
        self.by_status.setdefault(status, {})[task.uid] = task
        self.ready += status in _READY
        if status in CHARGED:
            self.held.add(task.charge.request)
        elif status is Status.PENDING:
            self.asked.add(task.charge.request)

    def _leave(self, task: Task) -> None:
        status = task.status
        del self.by_status[status][task.uid]
        self.ready -= status in _READY
        if status in CHARGED:
            self.held.take(task.charge.request).forget_noughts()
        elif status is Status.PENDING:
            self.asked.take(task.charge.request).forget_noughts()


_READY: Final = CHARGED | {Status.SUCCEEDED}


class Terms(NamedTuple):
    """How pods, groups and budgets become jobs."""

    scheduler_name: str
    default_queue: str
    namespace_as_queue: bool


class Jobs:
    """All jobs, queues and tasks, kept up to date."""

    def __init__(self, terms: Terms, charges: Charges) -> None:
        self.terms = terms
        self.charges = charges
        self.jobs: dict[str, Job] = {}
        self.tasks: dict[str, Task] = {}  # by uid
        self._budgets: dict[tuple[str, str], str] = {}  # which job each is of, by namespace and name
        self.queues: dict[str, Queue] = {}
        self.namespaces: dict[str, Queue] = {}  # each a queue, where they stand for queues
        self.priorities: dict[str, int] = {}  # by PriorityClass
        self.default_priority: tuple[str, int] | None = None  # (its class, its value)
        self.version = 0  # raised with every change

    # -- pods

    def put_pod(self, pod: Pod) -> Task | None:
        """Take over a pod, new or changed; None: it is none of ours, though it may occupy a node."""
        self.drop_pod(pod.metadata.uid or pod.key)
        status = status_of(pod)
        is_ours = pod.spec.scheduler_name == self.terms.scheduler_name
        if not is_ours and (pod.status.phase or "Pending") == "Pending":
            return None
        name = group_of(pod)
        if not name and not is_ours:
            return None
        task = Task(pod, *self.charges.read(pod), status)
        self.tasks[task.uid] = task
        job = self._job(f"{pod.metadata.namespace}/{name}") if name else self._shadow(pod)
        job.put(task)
        self._refresh_budget(job)
        self.version += 1
        return task

    def drop_pod(self, uid: str) -> None:
        """Forget a pod."""
        task = self.tasks.pop(uid, None)
        if task is None or task.job is None:
            return
        job = task.job
        job.drop(task)
        self._forget_if_empty(job)
        self._refresh_budget(job)
        self.version += 1

    def _job(self, uid: str) -> Job:
        found = self.jobs.get(uid)
        if found is None:
            found = self.jobs[uid] = Job(uid)
        return found

    def _shadow(self, pod: Pod) -> Job:
        """Return the job of a pod without a PodGroup: its controller's, or its own."""
        uid = controller_of(pod.metadata.owner_references) or pod.metadata.uid or pod.key
        job = self._job(uid)
        if job.group is None and job.budget is None:
            self._adopt(
                job,
                Group(
                    namespace=pod.metadata.namespace,
                    name=uid,
                    queue=self.terms.default_queue,
                    min_member=group_min_of(pod),
                    priority_class=pod.spec.priority_class_name,
                    created=pod.metadata.creation_timestamp or "",
                    is_shadow=True,
                ),
            )
        return job

    def _forget_if_empty(self, job: Job) -> None:
        is_shadow = job.group is not None and job.group.is_shadow
        if not job.tasks and job.budget is None and (job.group is None or is_shadow):
            del self.jobs[job.uid]

    # -- groups and budgets

    def put_group(self, group: Group) -> Job:
        """Take over a PodGroup, new or changed."""
        job = self._job(f"{group.namespace}/{group.name}")
        self._adopt(job, group)
        self.version += 1
        return job

    def _adopt(self, job: Job, group: Group) -> None:
        job.group = group
        job.name, job.namespace = group.name, group.namespace
        job.min_available = group.min_member
        job.created = group.created
        queue = group.queue or self.terms.default_queue
        job.queue = group.namespace if self.terms.namespace_as_queue else queue

    def drop_group(self, namespace: str, name: str) -> None:
        """Forget a PodGroup; its pods wait for it to come back."""
        job = self.jobs.get(f"{namespace}/{name}")
        if job is not None:
            job.group = None
            self._forget_if_empty(job)
            self.version += 1

    def put_budget(self, budget: Budget) -> None:
        """Take over a budget that has a controller."""
        self._budgets[budget.namespace, budget.name] = budget.controller
        job = self._job(budget.controller)
        job.budget = budget
        job.name, job.namespace = budget.name, budget.namespace
        job.created = budget.created
        job.queue = budget.namespace if self.terms.namespace_as_queue else self.terms.default_queue
        self._refresh_budget(job)
        self.version += 1

    def drop_budget(self, namespace: str, name: str) -> None:
        """Forget a budget; its pods are a shadow group again, if they were one."""
        job = self.jobs.get(self._budgets.pop((namespace, name), ""))
        if job is not None:
            job.budget = None
            if job.group is not None:
                self._adopt(job, job.group)
            elif job.tasks:
                self._shadow(next(iter(job.tasks.values())).pod)
            self._forget_if_empty(job)
            self.version += 1

    def _refresh_budget(self, job: Job) -> None:
        if job.budget is not None:
            job.min_available = job.budget.least_of(len(job.tasks))

    # -- queues and priorities

    def put_queue(self, queue: Queue) -> None:
        """Take over a Queue, new or changed."""
        self.queues[queue.name] = queue
        self.version += 1

    def drop_queue(self, name: str) -> None:
        """Forget a Queue; its jobs wait for it to come back."""
        self.queues.pop(name, None)
        self.version += 1

    def put_namespace(self, name: str, created: str) -> None:
        """Take over a namespace: a queue of weight one, where namespaces stand for queues."""
        self.namespaces[name] = Queue(name, 1, created)
        self.version += 1

    def drop_namespace(self, name: str) -> None:
        """Forget a namespace."""
        self.namespaces.pop(name, None)
        self.version += 1

    def put_priority(self, name: str, value: int, *, is_default: bool) -> None:
        """Take over a PriorityClass."""
        self.priorities[name] = value
        if is_default:
            self.default_priority = (name, value)
        elif self.default_priority is not None and self.default_priority[0] == name:
            self.default_priority = None
        self.version += 1

    def drop_priority(self, name: str) -> None:
        """Forget a PriorityClass."""
        self.priorities.pop(name, None)
        if self.default_priority is not None and self.default_priority[0] == name:
            self.default_priority = None
        self.version += 1

    # -- what a session is opened with

    def open_queues(self) -> dict[str, Queue]:
        """Return the queues that there are."""
        return dict(self.namespaces if self.terms.namespace_as_queue else self.queues)

    def open_jobs(self) -> Iterator[Job]:
        """Yield the jobs that are known and have a queue, their priorities as they are now."""
        queues = self.namespaces if self.terms.namespace_as_queue else self.queues
        usual = 0 if self.default_priority is None else self.default_priority[1]
        for job in self.jobs.values():
            if (job.group is None and job.budget is None) or job.queue not in queues:
                continue
            if job.group is not None:
                job.priority = self.priorities.get(job.group.priority_class, usual)
            job.missing = {}
            yield job


def controller_of(owners: tuple[OwnerReference, ...]) -> str:
    """Return the uid of what made a pod, empty if nobody did."""
    return next((owner.uid for owner in owners if owner.controller), "")
