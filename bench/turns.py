"""One measurement of the whole core in this process: `python -m bench.turns NAME` prints a line of JSON.

Rates count the CPU time within `Core.turn`, from events in to effects out: taken in, tried, assumed, told, bound,
confirmed.  The bare minimum is measured before and after, so that both see the machine as busy as it is.
Not here: floors, and running one process per measurement (core.py).
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import math
import pstats
import resource
import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from bayplan.api.messages import Seen
from bayplan.api.objects import Node, Object, Pod, Taint
from bayplan.core.settings import CoreSettings
from bench.bare import Bare
from bench.driving import Clocked, Driven, UnsoundError
from bench.nodes import HOSTNAME, machines, nodes
from bench.placing import Placing
from bench.scenes import Scene
from bench.templates import owners, waiting
from bench.workloads import (
    GIB,
    MIB,
    Spec,
    deployment,
    job,
    liking,
    one_shape,
    running,
    services_of,
    spread_apart,
    thousand_shapes,
    vectors,
)
from tests.histories.run import tried

USUAL: Final = CoreSettings()

Line = dict[str, object]

NODES: Final = 5000
ARRIVING: Final = 100  # before each turn
WAITING: Final = 100_000
SHAPES: Final = 1000
RUNNING: Final = 50_000
HISTORIES: Final = 60
TURN_MS: Final = 10.0
REPEATS: Final = 20
ROUNDS: Final = 3


# --- pods per second --------------------------------------------------------------------------------------------------


def mixed(rows: int) -> Scene:
    """Plain, spread over zones, one to a node, and near another service, in turn."""
    drawn = machines(rows)
    kinds = [job(number, vector, _of_kind(number)) for number, vector in enumerate(vectors(20, 21))]
    called = [replace(kind, labels={**kind.labels, "app": f"a{number}"}) for number, kind in enumerate(kinds)]
    return Scene(nodes(drawn), waiting(called, 20_000))


def _of_kind(number: int) -> Spec:
    apart = spread_apart(number)
    match number % 4:
        case 0:
            return {}
        case 1:
            return {"topologySpreadConstraints": apart["topologySpreadConstraints"]}
        case 2:
            alike = {"matchLabels": {"app": f"a{number}"}}
            even: Spec = {
                "maxSkew": 2,
                "topologyKey": HOSTNAME,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": alike,
            }
            return {"topologySpreadConstraints": [even]}
        case _:
            return liking(number - 1)


SCENES: Final[Mapping[str, Callable[[int], Scene]]] = {
    "one-shape": lambda rows: one_shape(machines(rows)),
    "thousand-shapes": lambda rows: thousand_shapes(machines(rows)),
    "mixed": mixed,
}


def rate(scene: Scene) -> Line:
    """Return how many pods go through the core in a CPU second."""
    best_s = math.inf
    for _ in range(ROUNDS):
        driven = ready(scene.objects)
        driven.runs(scene.waiting, ARRIVING)
        if driven.bound != len(scene.waiting):
            raise UnsoundError(f"expected all of {len(scene.waiting):,} pods to be bound, got {driven.bound:,}")
        best_s = min(best_s, driven.cpu_s)
    return {"pods": len(scene.waiting), "pods_per_s": round(len(scene.waiting) / best_s)}


def ready(objects: Sequence[Object], with_settings: CoreSettings = USUAL) -> Driven:
    """Return a core that knows some objects."""
    driven = Driven(with_settings)
    driven.lists(objects)
    driven.turns.clear()
    return driven


# --- those who wait ---------------------------------------------------------------------------------------------------


def too_large(number: int) -> list[Pod]:
    """Return pods of a thousand shapes that fit on no node."""
    jobs = [job(which, (20_000 + which, 100 * GIB)) for which in range(SHAPES)]
    return waiting(jobs, number)


def with_waiting(with_settings: CoreSettings = USUAL) -> Driven:
    """Return a core in which many pods wait for room, and for nothing else."""
    driven = ready([*nodes(machines(NODES))], with_settings)
    pods = too_large(WAITING)
    for begin in range(0, len(pods), ARRIVING):
        driven.turn([Seen(cause="watch", thing=pod) for pod in pods[begin : begin + ARRIVING]])
    if len(driven.core.queue) != WAITING:
        raise UnsoundError(f"expected {WAITING:,} pods to wait, got {len(driven.core.queue):,}")
    return driven


def node_event() -> Line:
    """Return how long a change of a node takes that helps nobody who waits."""
    driven = with_waiting()
    drawn = nodes(machines(NODES))
    driven.turns.clear()
    for place in range(REPEATS):
        node = drawn[place]
        if isinstance(node, Node):
            taints = (*node.spec.taints, Taint(key="away", effect="NoSchedule"))
            driven.turn([Seen(cause="watch", thing=replace(node, spec=replace(node.spec, taints=taints)))])
    return {"waiting": WAITING, "value": round(_mean(driven.turns), 4), "unit": "ms"}


def node_grows() -> Line:
    """Return how long a change of a node takes that a thousand shapes wait for, though it is too little for any."""
    driven = with_waiting()
    drawn = nodes(machines(NODES))
    driven.turns.clear()
    for place in range(REPEATS):
        node = drawn[place]
        if isinstance(node, Node):
            room = {**node.status.allocatable, "cpu": "17"}
            driven.turn([Seen(cause="watch", thing=replace(node, status=replace(node.status, allocatable=room)))])
    return {"waiting": WAITING, "value": round(_mean(driven.turns), 4), "unit": "ms"}


def _mean(turns: Sequence[Clocked]) -> float:
    return sum(turn.cpu_ms for turn in turns) / len(turns)


def waiting_bytes() -> Line:
    """Return what a waiting pod costs beyond its object and its story."""
    driven = ready([*nodes(machines(NODES))], CoreSettings(story_bytes_max=0))
    pods = too_large(WAITING)
    driven.turn([Seen(cause="watch", thing=pod) for pod in pods[:SHAPES]])  # shapes and plans are not a pod's own
    tracemalloc.start()
    for begin in range(SHAPES, len(pods), ARRIVING):
        driven.turn([Seen(cause="watch", thing=pod) for pod in pods[begin : begin + ARRIVING]])
        driven.turns.clear()
    gc.collect()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return {"waiting": WAITING, "value": round(held / (WAITING - SHAPES), 1), "unit": "bytes"}


def memory() -> Line:
    """Return how large the process is with many pods running, none of them read twice."""
    drawn = machines(NODES)
    kinds = [deployment(number, vector) for number, vector in enumerate(vectors(200, 22))]
    there = running(kinds, RUNNING, Placing(drawn))
    driven = ready([*nodes(drawn), *owners(kinds, services_of(kinds)), *there])
    del there
    driven.runs(waiting(kinds, 2000), ARRIVING)
    if len(driven.core.table.pods) != RUNNING + driven.bound:
        raise UnsoundError(f"expected {RUNNING:,} running pods, got {len(driven.core.table.pods):,}")
    return {"running": RUNNING, "value": round(_resident_mib(), 1), "unit": "MiB"}


def _resident_mib() -> float:
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 - a number, not a path
        return int(file.read().split()[1]) * resource.getpagesize() / MIB


# --- how long a turn is -----------------------------------------------------------------------------------------------


def longest(name: str) -> Line:
    """Find the budget that takes so long on average, then return how long turns at it take."""
    scene = SCENES[name](NODES)
    driven = ready(scene.objects)
    driven.runs(scene.waiting, ARRIVING)
    budget = int(TURN_MS * sum(turn.spent for turn in driven.turns) / sum(turn.cpu_ms for turn in driven.turns))
    turns: list[Clocked] = []
    for _ in range(ROUNDS):
        gc.collect()  # what the last round and reading the scene left behind
        gc.freeze()
        driven = Driven()
        driven.lists(scene.objects, budget)
        driven.runs(scene.waiting, len(scene.waiting), budget)
        turns += driven.turns
    by_cpu, by_wall = sorted(turn.cpu_ms for turn in turns), sorted(turn.wall_ms for turn in turns)
    at = min(len(turns) - 1, int(0.999 * len(turns)))
    return {
        "turns": len(turns),
        "budget": budget,
        "value": round(by_cpu[at], 2),
        "unit": "ms",
        "longest_ms": round(by_cpu[-1], 2),
        "wall_ms": round(by_wall[at], 2),
    }


# --- histories --------------------------------------------------------------------------------------------------------


def histories() -> Line:
    """Return how many simulated histories are lived through in a CPU minute."""
    begin = time.process_time()
    for number in range(HISTORIES):
        told = tried(f"bench.{number}", every_turn=False)
        if told.wrong:
            raise UnsoundError(told.wrong[0])
    return {"value": round(60 * HISTORIES / (time.process_time() - begin), 1), "unit": "histories/min"}


MEASURED: Final[Mapping[str, Callable[[], Line]]] = {
    **{name: lambda name=name: rate(SCENES[name](NODES)) for name in SCENES},  # type: ignore[misc]
    **{f"turns-{name}": lambda name=name: longest(name) for name in SCENES},  # type: ignore[misc]
    "node-event": node_event,
    "node-grows": node_grows,
    "waiting-bytes": waiting_bytes,
    "memory": memory,
    "histories": histories,
}


def figures(name: str) -> Line:
    """Return a measurement's line."""
    bare = Bare()
    bare.run()
    found = MEASURED[name]()
    bare.run()
    return {"workload": name, "nodes": NODES, **found, "bare_per_s": round(bare.best_per_s)}


def main() -> None:
    """Measure, or profile, what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("workload", choices=list(MEASURED))
    parser.add_argument("--profile", action="store_true", help="print where the time goes instead")
    given = parser.parse_args()
    if given.profile:
        profiler = cProfile.Profile()
        profiler.runcall(MEASURED[given.workload])
        pstats.Stats(profiler).sort_stats("tottime").print_stats(40)
    else:
        print(msgspec.json.encode(figures(given.workload)).decode())


if __name__ == "__main__":
    main()
