"""Our own files: a Cluster of many like nodes, and a Workload of jobs that are written down or drawn from a seed.

Both are YAML or JSON, strict: what is unknown or mistyped is a complaint with file, line, column and field.
Invariant: any bytes come to a cluster, a workload, or a ConfigError; the same seed draws the same jobs.
Not here: CSV (traces.py) and Kubernetes' own manifests (whoever reads files).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Annotated, Final, Literal, NamedTuple

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from bayplan.api.decode import KINDS, DecodeError, decode_tree
from bayplan.api.defaults import AdmissionError, admitted, completed
from bayplan.api.durations import Duration
from bayplan.api.objects import Node, Object, Pod
from bayplan.api.validate import faults_of
from bayplan.api.wider import Kinds
from bayplan.config import source, strict
from bayplan.config.complaints import Complaints, Path, meant, shown
from bayplan.config.ours import API_VERSION
from bayplan.sim.workloads import PODS_MAX, Job, Workload, in_order, mould

CLUSTER, WORKLOAD = "Cluster", "Workload"
HOSTNAME: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
NODES_MAX: Final = 100_000
PODS_PER_NODE: Final = "110"  # a kubelet's default, where nothing else is said
HEAVY: Final = 1.5  # the spread of "lognormal" run times: half of them end within a third of the mean
_OURS: Final = re.compile(rb"""apiVersion["']?\s*:\s*["']?bayplan\.dev/""")

Tree = dict[str, object]
Count = Annotated[int, Meta(ge=1, le=PODS_MAX)]


class NodeMould(msgspec.Struct, frozen=True):
    """What a node of a pool is like: Kubernetes' own fields."""

    metadata: Tree = {}
    spec: Tree = {}
    status: Tree = {}


class Pool(msgspec.Struct, frozen=True):
    """Nodes that are alike."""

    name: str
    count: Annotated[int, Meta(ge=1, le=NODES_MAX)]
    template: NodeMould
    zones: tuple[str, ...] = ()  # dealt out in turn


class ClusterFile(msgspec.Struct, frozen=True, rename="camel"):
    """A cluster of pools."""

    api_version: str
    kind: str
    nodes: tuple[Pool, ...]


class PodMould(msgspec.Struct, frozen=True):
    """What a pod is like: Kubernetes' own fields."""

    spec: Tree
    metadata: Tree = {}


class Stream(msgspec.Struct, frozen=True, rename="camel"):
    """Jobs that are alike."""

    name: str
    template: str
    count: Count = 1
    pods: Count = 1  # of each job
    at: Duration = Duration(0)  # when the first may arrive
    within: Duration = Duration(0)  # from then on
    arrivals: Literal["even", "random"] = "even"
    runs: Duration | None = None  # on average; None: for ever
    run_times: Literal["equal", "exponential", "lognormal"] = "equal"


class WorkloadFile(msgspec.Struct, frozen=True, rename="camel"):
    """Jobs, and the templates of their pods."""

    api_version: str
    kind: str
    templates: dict[str, PodMould]
    jobs: tuple[Stream, ...]


def is_ours(raw: bytes) -> bool:
    """Say whether a file says of itself that it is one of ours."""
    return _OURS.search(raw) is not None


# --- clusters --------------------------------------------------------------------------------------------------------


def read_cluster(file: str, raw: bytes, kinds: Kinds = KINDS) -> tuple[Node, ...]:
    """Read a cluster of ours."""
    tree, complaints = source.of_text(raw, file)
    _is_a(CLUSTER, tree, complaints)
    read = strict.decoded(tree, ClusterFile, complaints)
    pools = () if read is None else read.nodes
    if sum(pool.count for pool in pools) > NODES_MAX:
        complaints.add(("nodes",), f"expected at most {NODES_MAX:,} nodes in all")
        complaints.settle()
    nodes = [
        node for place, pool in enumerate(pools) for node in _nodes(pool, Reading(complaints, ("nodes", place), kinds))
    ]
    _once((pool.name for pool in pools), complaints, "nodes")
    complaints.settle()
    return tuple(nodes)


def _nodes(pool: Pool, reading: Reading) -> Iterator[Node]:
    tree = {**msgspec.to_builtins(pool.template), "apiVersion": "v1", "kind": "Node"}
    first = reading.below("template").object(tree, pool.name)
    if not isinstance(first, Node):
        return
    first = completed(first)
    assert isinstance(first, Node)  # noqa: S101 - what was given
    room = {"pods": PODS_PER_NODE, **first.status.allocatable}
    first = replace(first, status=replace(first.status, allocatable=room))
    digits = len(str(pool.count - 1))
    for number in range(pool.count):
        name = f"{pool.name}-{number:0{digits}}"
        labels = {**first.metadata.labels, HOSTNAME: name}
        if pool.zones:
            labels[ZONE] = pool.zones[number % len(pool.zones)]
        yield replace(first, metadata=replace(first.metadata, name=name, labels=labels))


# --- workloads -------------------------------------------------------------------------------------------------------


def read_workload(file: str, raw: bytes, seed: int, kinds: Kinds = KINDS) -> Workload:
    """Read a workload of ours, and draw what is to be drawn."""
    tree, complaints = source.of_text(raw, file)
    _is_a(WORKLOAD, tree, complaints)
    read = strict.decoded(tree, WorkloadFile, complaints)
    if read is None:
        complaints.settle()
        return Workload(())
    moulds = {
        name: _mould(name, given, Reading(complaints, ("templates", name), kinds))
        for name, given in read.templates.items()
    }
    _once((stream.name for stream in read.jobs), complaints, "jobs")
    if sum(stream.count * stream.pods for stream in read.jobs) > PODS_MAX:
        complaints.add(("jobs",), f"expected at most {PODS_MAX:,} pods in all")
    for place, stream in enumerate(read.jobs):
        _check(stream, read.templates, complaints, ("jobs", place))
    complaints.settle()
    return in_order(
        [
            job
            for stream in read.jobs
            for job in _drawn(stream, moulds[stream.template], Random(f"{seed} {stream.name}"))
        ]
    )


def _mould(name: str, given: PodMould, reading: Reading) -> Pod:
    """Make a template's mould as the API server would store its pods."""
    tree = {**msgspec.to_builtins(given), "apiVersion": "v1", "kind": "Pod"}
    read = reading.object(tree, name)
    if not isinstance(read, Pod):
        return Pod()
    if read.spec.node_name:
        reading.complain(("spec", "nodeName"), "expected none: where a pod goes is what is simulated")
    try:
        return mould(name, admitted(replace(read, metadata=replace(read.metadata, uid=""))))
    except AdmissionError as error:
        reading.complain(error.path, error.problem)
        return Pod()


def _check(stream: Stream, templates: Mapping[str, PodMould], complaints: Complaints, path: Path) -> None:
    if stream.template not in templates:
        known = meant(stream.template, templates)
        complaints.add((*path, "template"), f"expected a template of this file, got {shown(stream.template)}; {known}")
    for field in ("at", "within", "runs"):
        duration = getattr(stream, field)
        if duration is not None and duration < 0:
            complaints.add((*path, field), f"expected a length of time of at least 0, got {shown(str(duration))}")


def _drawn(stream: Stream, pod: Pod, luck: Random) -> Iterator[Job]:
    """Make a stream's jobs; those that arrive at random do so as many who do not know of each other."""
    begin_ms, within_ms = stream.at / 1e6, stream.within / 1e6
    lasts = _RUN_TIMES[stream.run_times]
    for number in range(stream.count):
        share = luck.random() if stream.arrivals == "random" else number / stream.count
        run_ms = None if stream.runs is None else round(lasts(luck, stream.runs / 1e6))
        name = stream.name if stream.count == 1 else f"{stream.name}-{number}"
        yield Job(name, round(begin_ms + share * within_ms), run_ms, (pod,) * stream.pods)


_RUN_TIMES: Final[Mapping[str, Callable[[Random, float], float]]] = {
    "equal": lambda _, mean: mean,
    "exponential": lambda luck, mean: mean * luck.expovariate(1.0),
    "lognormal": lambda luck, mean: mean * math.exp(luck.gauss(-(HEAVY**2) / 2, HEAVY)),
}


# --- both ------------------------------------------------------------------------------------------------------------


def _is_a(kind: str, tree: Mapping[str, object], complaints: Complaints) -> None:
    for field, wanted in (("apiVersion", API_VERSION), ("kind", kind)):
        if tree.get(field) != wanted:
            given = tree.get(field)
            complaints.unreadable((field,), f'expected "{wanted}", got {"nothing" if given is None else shown(given)}')
    complaints.settle()


class Reading(NamedTuple):
    """One of Kubernetes' objects inside a file of ours being read."""

    complaints: Complaints
    path: Path
    kinds: Kinds

    def below(self, field: str) -> Reading:
        """Return the reading of a field."""
        return self._replace(path=(*self.path, field))

    def complain(self, path: Path, problem: str) -> None:
        """Say what is wrong with a field of the object."""
        self.complaints.add((*self.path, *path), problem)

    def object(self, tree: Tree, name: str) -> Object | None:
        """Read the object under a name, as from a manifest."""
        meta = tree["metadata"]
        tree = {**tree, "metadata": {**(meta if isinstance(meta, dict) else {}), "name": name}}
        try:
            read = decode_tree(tree, self.kinds)
        except DecodeError as error:
            self.complain(error.path, error.problem)
            return None
        faults = faults_of(read)
        for fault in faults:
            self.complain(fault.path, fault.message)
        return None if faults else read


def _once(names: Iterator[str], complaints: Complaints, field: str) -> None:
    seen = set[str]()
    for place, name in enumerate(names):
        if name in seen:
            complaints.add((field, place, "name"), f"expected a name of its own, got {shown(name)} a second time")
        seen.add(name)
