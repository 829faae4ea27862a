"""The simulator's number: a day of 100,000 jobs on 1,000 nodes, in CPU time, as a line of JSON.

The day has a rush: two thirds of the jobs arrive in its first half, and towards its end the nodes' memory runs out, so
that thousands of attempts find no node.  The limit holds where the bare minimum (bare.py) is what it was when the limit
was set, and grows on a slower machine.
Not here: other workloads (workloads.toml), and what the simulator does (`bayplan/sim`).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from random import Random
from typing import Final

from bayplan.api.objects import (
    Container,
    Node,
    NodeStatus,
    ObjectMeta,
    Pod,
    PodMeta,
    PodSpec,
    Quantities,
    ResourceRequirements,
)
from bayplan.config.profiles import profiles
from bayplan.framework.registry import Registry
from bayplan.sim.replay import Replay
from bayplan.sim.workloads import Job, Workload, in_order, mould
from bench.bare import Bare

SECONDS_MAX: Final = 60
BARE_PER_S: Final = 220_000
DAY_MS: Final = 86_400_000
JOBS: Final = 100_000
NODES: Final = 1_000
KINDS: Final = 50
RUSH: Final = 2 / 3
RUN_MS_MEAN: Final = 4_800_000


def cluster() -> list[Node]:
    """Return nodes that are alike, in three zones."""
    room: Quantities = {"cpu": "32", "memory": "128Gi", "pods": "110"}
    return [
        Node(
            metadata=ObjectMeta(
                name=f"n{number}",
                labels={"kubernetes.io/hostname": f"n{number}", "topology.kubernetes.io/zone": f"z{number % 3}"},
            ),
            status=NodeStatus(allocatable=room),
        )
        for number in range(NODES)
    ]


def day(luck: Random) -> Workload:
    """Draw a day's jobs."""
    moulds = [_mould(luck, number) for number in range(KINDS)]
    jobs = []
    for number in range(JOBS):
        share = luck.random() / 2 if luck.random() < RUSH else (1 + luck.random()) / 2
        run_ms = round(luck.expovariate(1 / RUN_MS_MEAN))
        jobs.append(Job(f"job-{number}", round(share * DAY_MS), run_ms, (luck.choice(moulds),)))
    return in_order(jobs)


def _mould(luck: Random, number: int) -> Pod:
    cpus = luck.choice((0.5, 1, 2, 4, 8))
    requests: Quantities = {"cpu": f"{round(cpus * 1000)}m", "memory": f"{round(cpus * luck.choice((2, 4, 8)))}Gi"}
    container = Container(name="main", resources=ResourceRequirements(requests=requests))
    meta = PodMeta(namespace="default", labels={"app": f"app-{number}"})
    return mould(f"app-{number}", Pod(metadata=meta, spec=PodSpec(containers=(container,))))


def main() -> int:
    """Measure; return 1 when it takes too long."""
    parser = argparse.ArgumentParser(prog="python -m bench.simulate", description="Simulate a day within its limit.")
    parser.add_argument("--floor-share", type=float, default=1.0, metavar="SHARE", help="hold to this share of it")
    given = parser.parse_args()
    nodes, workload = cluster(), day(Random(1))
    bare = Bare()
    bare.run()
    begin = time.process_time()
    replay = Replay(nodes, workload, profiles(None, Registry.installed()))
    for _ in replay.run():
        pass
    taken_s = time.process_time() - begin
    bare.run()
    limit_s = SECONDS_MAX * max(1, BARE_PER_S / bare.best_per_s) / given.floor_share
    line = {
        "workload": "simulate-day",
        "nodes": NODES,
        "jobs": JOBS,
        "jobs_placed": replay.placed,
        "attempts_failed": replay.attempts_failed,
        "value": round(taken_s, 1),
        "unit": "s",
        "value_max": round(limit_s, 1),
        "bare_per_s": round(bare.best_per_s),
    }
    print(json.dumps(line))
    if replay.placed < JOBS or replay.faults:
        print(f"bench: simulate-day: {JOBS - replay.placed:,} jobs were not placed; {replay.faults}", file=sys.stderr)
        return 1
    if taken_s > limit_s:
        print(f"bench: simulate-day: expected at most {limit_s:.1f} s, got {taken_s:.1f} s", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
