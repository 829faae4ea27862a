"""Workloads: what a simulation is given: the objects of a cluster, and jobs that arrive, run and end.

A job is some pods of few moulds.  Pods of one mould share everything but their names, so that whoever interns shapes
sees the mould and not the pods.
Invariant: jobs are in order of arrival, and no two have the same name.
Not here: reading them from files (formats.py, traces.py) and letting them happen (replay.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from bayplan.api.objects import Object, Pod
from bayplan.api.wider import Kinds, as_wide

PODS_MAX: Final = 5_000_000  # of all jobs: some 10 GB


class Job(NamedTuple):
    """Some pods that arrive together."""

    name: str
    at_ms: int
    run_ms: int | None  # how long each pod runs from its start; None: for ever
    moulds: tuple[Pod, ...]  # one for each pod


class Workload(NamedTuple):
    """Jobs in order of arrival."""

    jobs: tuple[Job, ...]
    cluster: tuple[Object, ...] = ()  # on which they run unless another is given

    @property
    def pods(self) -> int:
        """How many pods all jobs have."""
        return sum(len(job.moulds) for job in self.jobs)

    def widened(self, kinds: Kinds) -> Workload:
        """Return the workload of pods that carry the fields that rules declare."""
        wide = {id(pod): as_wide(pod, kinds) for job in self.jobs for pod in job.moulds}
        moulds = {key: pod for key, pod in wide.items() if isinstance(pod, Pod)}
        jobs = (job._replace(moulds=tuple(moulds[id(pod)] for pod in job.moulds)) for job in self.jobs)
        return self._replace(jobs=tuple(jobs))

    def first(self, number: int) -> Workload:
        """Return the workload of the first jobs to arrive."""
        return self._replace(jobs=self.jobs[:number])


def in_order(jobs: Sequence[Job], cluster: Sequence[Object] = ()) -> Workload:
    """Make a workload: jobs by arrival, the first at nought; those that arrive together as they were given."""
    begin = min((job.at_ms for job in jobs), default=0)
    moved = (job._replace(at_ms=job.at_ms - begin) for job in jobs)
    return Workload(tuple(sorted(moved, key=lambda job: job.at_ms)), tuple(cluster))


def mould(name: str, pod: Pod) -> Pod:
    """Make a mould of a pod: what is made from it is known by its name as made from one template."""
    meta = replace(pod.metadata, name="", uid="", generate_name=f"{name}-", resource_version="")
    return replace(pod, metadata=meta)


def made(job: Job, place: int, uid: str) -> Pod:
    """Make one of a job's pods, under a name that no pod of a cluster can have."""
    pod = job.moulds[place]
    return replace(pod, metadata=replace(pod.metadata, name=f"{job.name}#{place}", uid=uid))
