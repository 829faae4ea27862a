"""What a pod takes: its canonical requests, host ports and images.

Requests are summed exactly, in nanos, and rounded once, when they become the integers that a scheduler compares:
thousandths of a CPU, bytes of memory and storage, whole pieces of anything else.  Which of the ways to sum a caller
needs is upstream's choice, kept here by name: what fits, what is scored, what is balanced, what a node accounts for.
Not here: what a node has left (the columns of `cluster/`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from bayplan.api.names import key_faults
from bayplan.api.objects import Container, ContainerStatus, Node, Pod, Quantities, ResourceRequirements
from bayplan.api.quantity import NANO, ceil_milli, ceil_whole, nanos

Nanos: TypeAlias = dict[str, int]
HostPort: TypeAlias = tuple[str, str, int]  # (ip, protocol, port)

CPU: Final = "cpu"
MEMORY: Final = "memory"
EPHEMERAL_STORAGE: Final = "ephemeral-storage"
PODS: Final = "pods"
NATIVE: Final = (CPU, MEMORY, EPHEMERAL_STORAGE)

EVERY_IP: Final = "0.0.0.0"  # noqa: S104  # a host port's key, not an address we listen on

# What a container that names no request is taken to use where nodes are scored.
CPU_MILLI_ASSUMED: Final = 100
MEMORY_BYTES_ASSUMED: Final = 200 * 2**20
ASSUMED: Final[Mapping[str, int]] = MappingProxyType(
    {CPU: CPU_MILLI_ASSUMED * NANO // 1000, MEMORY: MEMORY_BYTES_ASSUMED * NANO}
)
NONE: Final[Mapping[str, int]] = MappingProxyType({})


class Accounted(NamedTuple):
    """What a node counts for a pod that it runs."""

    requested: dict[str, int]
    cpu_milli_nonzero: int
    memory_bytes_nonzero: int


# --- the canonical sum -----------------------------------------------------------------------------------------------


def pod_requests(
    pod: Pod,
    *,
    status: bool,
    pod_level: bool,
    in_place_pod_level: bool = True,
    missing: Mapping[str, int] = NONE,
) -> Nanos:
    """Sum what a pod requests, in nanos.

    `status` also looks at what the pod really has while it is being resized, `pod_level` at requests made for the
    pod as a whole, `in_place_pod_level` at both together; `missing` is what a container takes of what it does not name.
    """
    infeasible = status and _is_resize_infeasible(pod)
    total = _spec_sum(pod, missing)
    if status:
        total = _with_status(pod, total, missing, infeasible=infeasible, in_place_pod_level=in_place_pod_level)
    wanted = pod.spec.resources
    if pod_level and wanted is not None and any(is_pod_level(name) for name in wanted.requests or ()):
        effective = _nanos(wanted.requests)
        if status and in_place_pod_level and pod.status.resources is not None:
            effective = {} if infeasible else effective
            _raise_to(effective, _nanos(pod.status.resources.requests))
            _raise_to(effective, _nanos(pod.status.allocated_resources))
        total.update((name, value) for name, value in effective.items() if is_pod_level(name))
    if pod.spec.overhead:
        _add(total, _nanos(pod.spec.overhead))
    return total


def is_pod_level(name: str) -> bool:
    """Say whether a resource can be requested for a pod as a whole."""
    return name in {CPU, MEMORY} or name.startswith("hugepages-")


def container_sum(pod: Pod, of: Callable[[Container], Nanos]) -> Nanos:
    """Sum over containers; init containers raise it to their peak, sidecars count on from where they start."""
    steady: Nanos = {}
    for container in pod.spec.containers:
        _add(steady, of(container))
    sidecars: Nanos = {}
    peak: Nanos = {}
    for container in pod.spec.init_containers:
        own = of(container)
        if container.restart_policy == "Always":
            _add(steady, own)
            _add(sidecars, own)
            _raise_to(peak, sidecars)
        else:
            running = dict(own)
            _add(running, sidecars)
            _raise_to(peak, running)
    _raise_to(steady, peak)
    return steady


def _spec_sum(pod: Pod, missing: Mapping[str, int]) -> Nanos:
    return container_sum(pod, lambda container: {**missing, **_nanos(container.resources.requests)})


def _with_status(
    pod: Pod, spec: Nanos, missing: Mapping[str, int], *, infeasible: bool, in_place_pod_level: bool
) -> Nanos:
    """Raise the spec's sum to what was allocated and what is in force; an infeasible resize counts only those."""
    state = pod.status
    in_force = state.resources.requests if state.resources is not None else None
    if in_place_pod_level and state.allocated_resources is not None and in_force is not None:
        allocated, actual = _nanos(state.allocated_resources), _nanos(in_force)
    elif not any(found.resources or found.allocated_resources is not None for found in _statuses(pod)):
        if not infeasible:
            return spec
        allocated = actual = container_sum(pod, lambda _: dict(missing))
    else:
        statuses = {found.name: found for found in reversed(list(_statuses(pod)))}
        allocated = container_sum(
            pod, lambda container: {**missing, **_nanos(_allocated(container, statuses, infeasible=infeasible))}
        )
        actual = container_sum(
            pod, lambda container: {**missing, **_nanos(_actual(container, statuses, infeasible=infeasible))}
        )
    total = {} if infeasible else dict(spec)
    _raise_to(total, actual)
    _raise_to(total, allocated)
    return total


def _statuses(pod: Pod) -> Iterable[ContainerStatus]:
    """Go through container statuses in the order in which a name is looked up."""
    yield from pod.status.container_statuses
    yield from pod.status.init_container_statuses


def _allocated(container: Container, statuses: Mapping[str, ContainerStatus], *, infeasible: bool) -> Quantities | None:
    found = statuses.get(container.name)
    if found is not None and found.allocated_resources is not None:
        return found.allocated_resources
    return None if infeasible else container.resources.requests


def _actual(container: Container, statuses: Mapping[str, ContainerStatus], *, infeasible: bool) -> Quantities | None:
    found = statuses.get(container.name)
    if found is not None and found.resources is not None and found.resources.requests is not None:
        return found.resources.requests
    return _allocated(container, statuses, infeasible=infeasible)


def _is_resize_infeasible(pod: Pod) -> bool:
    """Ask the first condition about a pending resize."""
    for condition in pod.status.conditions:
        if condition.type == "PodResizePending":
            return condition.reason == "Infeasible"
    return False


def _nanos(quantities: Quantities | None) -> Nanos:
    return {name: nanos(value) for name, value in quantities.items()} if quantities else {}


def _add(total: Nanos, more: Mapping[str, int]) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0) + value


def _raise_to(total: Nanos, least: Mapping[str, int]) -> None:
    """Raise each value to the other's; what only the other has is taken over, whatever its sign."""
    for name, value in least.items():
        if name not in total or value > total[name]:
            total[name] = value


# --- as the scheduler counts -----------------------------------------------------------------------------------------


@lru_cache(maxsize=1 << 14)
def is_extended(name: str) -> bool:
    """Say whether a resource is one that Kubernetes itself knows nothing about."""
    foreign = "/" in name and "kubernetes.io/" not in name
    return foreign and not name.startswith("requests.") and not key_faults(f"requests.{name}")


@lru_cache(maxsize=1 << 14)
def is_scalar(name: str) -> bool:
    """Say whether a resource other than the native ones is counted at all."""
    return name.startswith(("hugepages-", "attachable-volumes-")) or "kubernetes.io/" in name or is_extended(name)


def rounded(name: str, value: int) -> int:
    """Round nanos of a resource to the integer in which it is compared."""
    return ceil_milli(value) if name == CPU else ceil_whole(value)


def as_scheduled(total: Mapping[str, int]) -> dict[str, int]:
    """Round nanos to the integers that are compared; drop what is not counted, keep explicit zeros."""
    return {name: rounded(name, value) for name, value in total.items() if name in NATIVE or is_scalar(name)}


def all_rounded(total: Mapping[str, int]) -> dict[str, int]:
    """Round nanos to integers and drop nothing, as the resource scorers do."""
    return {name: rounded(name, value) for name, value in total.items()}


def allocatable(node: Node) -> dict[str, int]:
    """Give what a node has to share out, `pods` among it, in the integers that are compared."""
    total = _nanos(node.status.allocatable)
    counted = as_scheduled(total)
    if PODS in total:
        counted[PODS] = ceil_whole(total[PODS])
    return counted


def fit_request(pod: Pod, *, pod_level: bool = True) -> dict[str, int]:
    """Give what an incoming pod needs to fit."""
    return as_scheduled(pod_requests(pod, status=False, pod_level=pod_level))


def score_request(pod: Pod) -> dict[str, int]:
    """Give what an incoming pod weighs where NodeResourcesFit scores: pod-level requests do not count there."""
    return all_rounded(pod_requests(pod, status=False, pod_level=False, missing=ASSUMED))


def balance_request(pod: Pod, *, pod_level: bool = True) -> dict[str, int]:
    """Give what an incoming pod weighs where balance is scored: its real requests."""
    return all_rounded(pod_requests(pod, status=True, pod_level=pod_level))


def accounted(pod: Pod, *, pod_level: bool = True, in_place_pod_level: bool = True) -> Accounted:
    """Give what a node counts for a pod that runs there, is assumed there, or is nominated to it."""
    total = pod_requests(pod, status=True, pod_level=pod_level, in_place_pod_level=in_place_pod_level)
    wanted: ResourceRequirements | None = pod.spec.resources if pod_level else None
    as_one = wanted is not None and any(is_pod_level(name) for name in wanted.requests or ())
    missing = {name: value for name, value in ASSUMED.items() if not as_one or name not in total}
    weighed = total
    if missing and not _names_all(pod, missing):
        weighed = pod_requests(
            pod, status=True, pod_level=pod_level, in_place_pod_level=in_place_pod_level, missing=missing
        )
    return Accounted(as_scheduled(total), ceil_milli(weighed.get(CPU, 0)), ceil_whole(weighed.get(MEMORY, 0)))


def _names_all(pod: Pod, missing: Mapping[str, int]) -> bool:
    """Say whether every container names all of these itself, in its spec and (having no other status) nowhere else."""
    if any(found.resources or found.allocated_resources is not None for found in _statuses(pod)):
        return False
    if any(condition.type == "PodResizePending" for condition in pod.status.conditions):
        return False
    every = (*pod.spec.containers, *pod.spec.init_containers)
    return all(
        container.resources.requests and missing.keys() <= container.resources.requests.keys() for container in every
    )


# --- ports and images ------------------------------------------------------------------------------------------------


def host_ports(pod: Pod) -> tuple[HostPort, ...]:
    """Give the ports of the node that a pod takes, as (ip, protocol, port): containers' and sidecars', no others'."""
    sidecars = [container for container in pod.spec.init_containers if container.restart_policy == "Always"]
    taken = (
        (port.host_ip or EVERY_IP, port.protocol or "TCP", port.host_port)
        for container in (*pod.spec.containers, *sidecars)
        for port in container.ports
        if port.host_port > 0
    )
    return tuple(dict.fromkeys(taken))


def image_names(pod: Pod) -> tuple[str, ...]:
    """Give the names of the images that a pod brings up, each as often as it is named."""
    spec = pod.spec
    named = [container.image for container in (*spec.init_containers, *spec.containers)]
    named += [volume.image.reference for volume in spec.volumes if volume.image is not None]
    return tuple(normal_image_name(name) for name in named)


def normal_image_name(name: str) -> str:
    """Give an image name its tag, if it has none.

    >>> normal_image_name("registry:5000/app"), normal_image_name("app:2")
    ('registry:5000/app:latest', 'app:2')
    """
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"
