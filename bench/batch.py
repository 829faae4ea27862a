"""Sessions of the batch lane against their floors: `python -m bench.batch`, one line of JSON per workload.

Each workload runs in a process of its own, best of three, in CPU time; the collector is off while it is measured.
Limits hold on a machine whose bare minimum (bare.py) is 220,000 decisions a second, and scale with it.
Not here: single pods (engine.py).
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from bayplan.api.annotations import PodAnnotations
from bayplan.api.objects import Container, Node, NodeStatus, ObjectMeta, Pod, PodMeta, PodSpec, PodStatus, Quantities
from bayplan.api.objects import ResourceRequirements as Requirements
from bayplan.batch.jobs import Group, Queue
from bayplan.batch.lane import BatchLane
from bayplan.batch.session import Session
from bayplan.batch.tasks import Status
from bayplan.cluster.fold import drop, put_pod
from bayplan.cluster.reading import Reader
from bayplan.cluster.table import Table
from bayplan.framework.registry import Registry
from bayplan.framework.run import Rules
from bayplan.framework.tiers import BatchConfiguration, Tier, TierPlugin
from bench.bare import Bare

BARE_PER_S = 220_000  # of the machine on which the limits hold
ROUNDS = 3
TIERS = (("priority", "gang", "conformance"), ("drf", "predicates", "proportion", "nodeorder"))


class Limit(NamedTuple):
    """What a workload may take."""

    most_ms: float
    aim_ms: float


LIMITS = {
    "session": Limit(500, 100),
    "idle": Limit(20, 20),
    "gangs": Limit(1000, 200),
    "reclaim": Limit(500, 500),
}
MEMORY_MIB_MAX = 800  # for the first state of `session`


class Made(NamedTuple):
    """A lane before a session, and what a session must do to count."""

    lane: BatchLane
    verb: Status
    least: int


# --- worlds ----------------------------------------------------------------------------------------------------------


def a_group(name: str, queue: str, least: int) -> Group:
    """Return a gang; its name says when it came."""
    return Group("ns", name, queue, least, created=name)


class Builder:
    """Makes a lane and tells it of many objects that differ in little."""

    def __init__(self, actions: str, *, nodes: int, cpu: int, memory_gib: int) -> None:
        tiers = tuple(Tier(tuple(TierPlugin(name=name) for name in tier)) for tier in TIERS)
        given = BatchConfiguration(form="tiers", actions=tuple(actions.split()), tiers=tiers, namespace_as_queue=False)
        table = Table()
        self.lane = BatchLane(Rules(table, Reader(table)), given, Registry.installed())
        amounts: Quantities = {"cpu": str(cpu), "memory": f"{memory_gib}Gi", "pods": "110"}
        for number in range(nodes):
            name = f"node-{number}"
            meta = ObjectMeta(name=name, uid=name, labels={"kubernetes.io/hostname": name})
            self.lane.table.put_node(Node(metadata=meta, status=NodeStatus(allocatable=amounts, capacity=amounts)))

    def queues(self, number: int) -> None:
        """Make queues of equal weight."""
        for place in range(number):
            self.lane.jobs.put_queue(Queue(f"queue-{place}", 1))

    def job(self, group: Group, waits: int, runs: Iterator[int] | None = None) -> None:
        """Make a job with waiting tasks, and one that runs on each of some nodes."""
        name = group.name
        self.lane.jobs.put_group(group)
        containers = (Container(name="c", resources=Requirements(requests={"cpu": "1", "memory": "1Gi"})),)
        note = PodAnnotations(group_name=name)
        for number, node in enumerate([*(runs or ()), *[None] * waits]):
            uid = f"{name}-{number}"
            pod = Pod(
                metadata=PodMeta(name=uid, namespace="ns", uid=uid, generate_name=name, annotations=note),
                spec=PodSpec(
                    scheduler_name="kube-batch",
                    containers=containers,
                    node_name="" if node is None else f"node-{node}",
                ),
                status=PodStatus(phase="Pending" if node is None else "Running"),
            )
            put_pod(self.lane.table, pod)
            self.lane.jobs.put_pod(pod)


def _full_house() -> Made:
    """5,000 full nodes, 155,000 running and 50,000 waiting tasks of 2,000 jobs in 50 queues; one ends on each node."""
    built = Builder("reclaim allocate backfill preempt", nodes=5000, cpu=31, memory_gib=128)
    built.queues(50)
    places = (place % 5000 for place in range(155_000))
    for number in range(2000):
        runs = (next(places) for _ in range(77 + number // 50 % 2))
        built.job(a_group(f"job-{number:04}", f"queue-{number % 50}", 25), 25, runs)
    built.lane.room.catch_up()
    built.lane.run()  # nobody starts; what is waiting has been looked at
    for resident in [next(iter(there.values())) for there in built.lane.table.on_row if there]:
        drop(built.lane.table, resident.pod)
        built.lane.jobs.drop_pod(resident.uid)
    built.lane.room.catch_up()  # as with each event that is heard of
    return Made(built.lane, Status.BINDING, 5000)


def _gangs() -> Made:
    """10,000 tasks in gangs of 100 onto 2,000 empty nodes."""
    built = Builder("allocate", nodes=2000, cpu=8, memory_gib=32)
    built.queues(10)
    for number in range(100):
        built.job(a_group(f"gang-{number:03}", f"queue-{number % 10}", 100), 100)
    return Made(built.lane, Status.BINDING, 10_000)


def _reclaim() -> Made:
    """Ten queues, of which two hold everything: the others take the room of 1,000 tasks back."""
    built = Builder("reclaim", nodes=500, cpu=8, memory_gib=32)
    built.queues(10)
    places = (place % 500 for place in range(4000))
    for number in range(80):
        runs = (next(places) for _ in range(50))
        built.job(a_group(f"job-{number:03}", f"queue-{number % 2}", 1), 0, runs)
    for number in range(100):
        built.job(a_group(f"late-{number:03}", f"queue-{2 + number % 8}", 10), 10)
    return Made(built.lane, Status.RELEASING, 1000)


WORLDS: dict[str, Callable[[], Made]] = {
    "session": _full_house,
    "idle": _full_house,
    "gangs": _gangs,
    "reclaim": _reclaim,
}


# --- measuring -------------------------------------------------------------------------------------------------------


def figures(name: str) -> dict[str, object]:
    """Return a workload's line."""
    bare, best, done = Bare(), float("inf"), 0
    bare.run()
    memory_mib = 0
    for _ in range(ROUNDS):
        made = WORLDS[name]()
        made.lane.room.catch_up()
        memory_mib = memory_mib or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        if name == "idle":
            _settle(made.lane)
        gc.collect()
        gc.disable()
        begin = time.process_time()
        session = made.lane.run()
        taken_s = time.process_time() - begin
        gc.enable()
        best = min(best, taken_s)
        done = 0 if session is None else sum(step.verb is made.verb for step in session.steps)
        if name != "idle" and done < made.least:
            raise SystemExit(f"{name}: {done} tasks {made.verb}, {made.least} were to be")
        del made, session
        gc.collect()
        bare.run()
    limit = LIMITS[name]
    scale = BARE_PER_S / bare.best_per_s
    return {
        "workload": name,
        "ms": round(best * 1000, 1),
        "limit_ms": round(limit.most_ms * scale, 1),
        "aim_ms": round(limit.aim_ms * scale, 1),
        "tasks": done,
        "memory_mib": memory_mib,
        "bare_per_s": round(bare.best_per_s),
        "is_within": best * 1000 <= limit.most_ms * scale and (name != "session" or memory_mib < MEMORY_MIB_MAX),
    }


def _settle(lane: BatchLane) -> None:
    """Run sessions until one changes nothing: what it bound is seen to run."""
    while (session := lane.run()) is not None and session.effects:
        confirm(lane, session)


def confirm(lane: BatchLane, session: Session) -> None:
    """Have the lane hear that what was bound runs."""
    for step in session.steps:
        if step.verb is Status.BINDING:
            old = step.task.pod
            spec = PodSpec(
                scheduler_name="kube-batch", containers=old.spec.containers, node_name=session.node_name(step.row)
            )
            pod = Pod(metadata=old.metadata, spec=spec, status=PodStatus(phase="Running"))
            put_pod(lane.table, pod)
            lane.jobs.put_pod(pod)


def main(arguments: list[str]) -> int:
    """Measure workloads, each in a process of its own; exit with 1 when one is beyond its limit."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("workloads", nargs="*", help=f"some of {', '.join(WORLDS)}")
    parser.add_argument("--here", action="store_true", help="measure in this process")
    given = parser.parse_args(arguments)
    is_within = True
    for name in given.workloads or WORLDS:
        if given.here:
            line = json.dumps(figures(name))
        else:
            command = [sys.executable, "-m", "bench.batch", "--here", name]
            line = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True).stdout.strip()  # noqa: S603 our own
        print(line, flush=True)
        is_within = is_within and json.loads(line)["is_within"]
    return 0 if is_within else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
