"""Services and the workloads that make pods: what spreading, ownership and expansion read of them.

A class has the name of its kind, a field the name Kubernetes gives it in snake case, as in `api/objects.py`.
Not here: making the pods (`api/expand.py`).
"""

from __future__ import annotations

from bayplan.api.objects import ClaimTemplate, Int32, Labels, LabelSelector, Object, ObjectMeta, PodMeta, PodSpec


class PodTemplateSpec(Object, frozen=True, kw_only=True):
    """The mould of a workload's pods."""

    metadata: PodMeta = PodMeta()
    spec: PodSpec = PodSpec()


class ServiceSpec(Object, frozen=True, kw_only=True):
    """Whose pods a service speaks for; no selector at all is not an empty one."""

    selector: Labels | None = None


class Service(Object, frozen=True, kw_only=True):
    """A service; the pods it selects are spread by default."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ServiceSpec = ServiceSpec()


class ReplicationControllerSpec(Object, frozen=True, kw_only=True):
    """How many pods of which mould; None replicas is one."""

    replicas: Int32 | None = None
    selector: Labels | None = None
    template: PodTemplateSpec | None = None


class ReplicationController(Object, frozen=True, kw_only=True):
    """The oldest owner of pods."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ReplicationControllerSpec = ReplicationControllerSpec()


class ReplicaSetSpec(Object, frozen=True, kw_only=True):
    """How many pods of which mould; None replicas is one."""

    replicas: Int32 | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()


class ReplicaSet(Object, frozen=True, kw_only=True):
    """Pods that are alike, usually for a Deployment."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ReplicaSetSpec = ReplicaSetSpec()


class Deployment(Object, frozen=True, kw_only=True):
    """Pods that are alike, by way of ReplicaSets."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ReplicaSetSpec = ReplicaSetSpec()


class StatefulSetOrdinals(Object, frozen=True, kw_only=True):
    """Where a StatefulSet's numbering begins."""

    start: Int32 = 0


class StatefulSetSpec(Object, frozen=True, kw_only=True):
    """How many numbered pods of which mould, and the claims made for each; None replicas is one."""

    replicas: Int32 | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()
    volume_claim_templates: tuple[ClaimTemplate, ...] = ()
    ordinals: StatefulSetOrdinals | None = None


class StatefulSet(Object, frozen=True, kw_only=True):
    """Pods with a number and claims of their own."""

    metadata: ObjectMeta = ObjectMeta()
    spec: StatefulSetSpec = StatefulSetSpec()


class DaemonSetSpec(Object, frozen=True, kw_only=True):
    """The mould of the pods of which every node gets one."""

    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()


class DaemonSet(Object, frozen=True, kw_only=True):
    """One pod for every node."""

    metadata: ObjectMeta = ObjectMeta()
    spec: DaemonSetSpec = DaemonSetSpec()


class JobSpec(Object, frozen=True, kw_only=True):
    """How many pods must succeed, how many may run at once, and their mould."""

    parallelism: Int32 | None = None
    completions: Int32 | None = None
    completion_mode: str = ""
    suspend: bool = False
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()


class JobStatus(Object, frozen=True, kw_only=True):
    """How far a job has come."""

    succeeded: Int32 = 0
    completion_time: str | None = None


class Job(Object, frozen=True, kw_only=True):
    """Pods that run to an end."""

    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


class CronJob(Object, frozen=True, kw_only=True):
    """Jobs by the clock; it makes no pods itself."""

    metadata: ObjectMeta = ObjectMeta()
