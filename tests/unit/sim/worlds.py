"""Clusters and workloads for the simulator's tests, in a line.

Not here: what is claimed of them (the tests beside this module).
"""

from collections.abc import Mapping, Sequence

from bayplan.api.objects import Container, Object, Pod, PodMeta, PodSpec, ResourceRequirements
from bayplan.config.profiles import profiles
from bayplan.framework.profile import Profile
from bayplan.framework.registry import Registry
from bayplan.sim.replay import Replay
from bayplan.sim.workloads import Job, in_order, mould
from tests.kit import node

SECOND = 1000


def asking(cpu: object, *, namespace: str = "default", **spec: object) -> Pod:
    """Return a mould that asks for some CPUs."""
    ask = ResourceRequirements(requests={"cpu": str(cpu)})
    made = PodSpec(containers=(Container(name="main", resources=ask),), **spec)  # type: ignore[arg-type]
    return mould("m", Pod(metadata=PodMeta(namespace=namespace), spec=made))


def job(name: str, at_s: float, run_s: float | None, *moulds: Pod) -> Job:
    """Return a job."""
    return Job(name, round(at_s * SECOND), None if run_s is None else round(run_s * SECOND), moulds)


def nodes(number: int, **room: object) -> list[Object]:
    """Return nodes that are alike."""
    return [node(f"n{place}", **room) for place in range(number)]  # type: ignore[arg-type]


def usual() -> Mapping[str, Profile]:
    """Return kube-scheduler's default profile."""
    return profiles(None, Registry.installed())


def replayed(cluster: Sequence[Object], jobs: Sequence[Job], *, seed: int = 0) -> Replay:
    """Let jobs happen."""
    replay = Replay(cluster, in_order(jobs), usual(), seed=seed)
    for _ in replay.run():
        pass
    assert replay.faults == []
    return replay
