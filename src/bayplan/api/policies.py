"""What an administrator decrees for pods: priorities, runtimes and disruption budgets.

A class has the name of its kind, a field the name Kubernetes gives it in snake case, as in `api/objects.py`.
Not here: applying priorities and runtimes to pods (`api/defaults.py`) and counting evictions.
"""

from __future__ import annotations

from bayplan.api.objects import Int32, Labels, LabelSelector, Object, ObjectMeta, Quantities, Toleration


class PriorityClass(Object, frozen=True, kw_only=True):
    """A name for a priority."""

    metadata: ObjectMeta = ObjectMeta()
    value: Int32 = 0
    global_default: bool = False
    preemption_policy: str | None = None


class RuntimeOverhead(Object, frozen=True, kw_only=True):
    """What running a pod costs besides its containers."""

    pod_fixed: Quantities = {}


class RuntimeScheduling(Object, frozen=True, kw_only=True):
    """Where pods of a runtime may run."""

    node_selector: Labels = {}
    tolerations: tuple[Toleration, ...] = ()


class RuntimeClass(Object, frozen=True, kw_only=True):
    """A way to run containers; admission copies its overhead and its nodes into the pods."""

    metadata: ObjectMeta = ObjectMeta()
    overhead: RuntimeOverhead | None = None
    scheduling: RuntimeScheduling | None = None


class PodDisruptionBudgetSpec(Object, frozen=True, kw_only=True):
    """Whose pods a budget protects, and how many of them must stay; a text is a percentage."""

    selector: LabelSelector | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None


class PodDisruptionBudgetStatus(Object, frozen=True, kw_only=True):
    """How many more pods may go, and which are on their way out already."""

    disruptions_allowed: Int32 = 0
    disrupted_pods: dict[str, str] = {}


class PodDisruptionBudget(Object, frozen=True, kw_only=True):
    """A limit on how many pods may be evicted at once."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()
