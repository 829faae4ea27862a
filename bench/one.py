"""One workload in this process: `python -m bench.one NAME` prints what it measured as a line of JSON.

Best of three rounds in CPU time.  Garbage is collected before each round, and collection is off during it.  The bare
minimum is measured before, between and after the rounds, so that both see the machine as busy as it is.
Not here: floors, and running one process per workload (engine.py).
"""

from __future__ import annotations

import argparse
import cProfile
import math
import pstats
import resource
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from bench.bare import Bare
from bench.decisions import Round
from bench.warm_start import PODS, start, warm
from bench.workloads import scene

NODES = 5000
ROUNDS = 3
WARM_START = "warm-start"


class Measured(NamedTuple):
    """What came out of a round, or the best of several."""

    pods: int
    taken_s: float
    first_decision_ms: float = math.inf  # of a warm start
    decode_us: float = math.inf  # likewise, of one pod


def measure(name: str, nodes: int, rounds: int, bare: Bare) -> Measured:
    """Run a workload's rounds and keep the best."""
    best = Measured(0, math.inf)
    for one in _rounds(name, nodes, rounds):
        bare.run()
        best = Measured(one.pods, *map(min, best[1:], one[1:]))
    return best


def _rounds(name: str, nodes: int, rounds: int) -> Iterator[Measured]:
    if name == WARM_START:
        given = start(nodes)
        for _ in range(rounds):
            yield Measured(PODS, *warm(given))
    else:
        made = scene(name, nodes)
        for _ in range(rounds):
            yield Measured(len(made.waiting), Round(made.objects, made.waiting).run(made))


def figures(name: str, nodes: int, rounds: int) -> dict[str, object]:
    """Return a workload's line."""
    bare = Bare()
    bare.run()
    found = measure(name, nodes, rounds, bare)
    bare.run()
    per_s = found.pods / found.taken_s
    line: dict[str, object] = {
        "workload": name,
        "nodes": nodes,
        "pods": found.pods,
        "decisions_per_s": round(per_s),
        "bare_per_s": round(bare.best_per_s),
        "of_bare": round(per_s / bare.best_per_s, 4),
        "peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    }
    if found.first_decision_ms < math.inf:
        line["first_decision_ms"] = round(found.first_decision_ms, 2)
        line["decode_us"] = round(found.decode_us, 2)
    return line


def profiled(name: str, nodes: int) -> None:
    """Print where one round's time goes; the profiler's own share is large, so read it by rank."""
    profiler = cProfile.Profile()
    if name == WARM_START:
        given = start(nodes)
        profiler.runcall(warm, given)
    else:
        made = scene(name, nodes)
        ready = Round(made.objects, made.waiting)
        profiler.runcall(ready.run, made)
    pstats.Stats(profiler).sort_stats("tottime").print_stats(40)


def main() -> None:
    """Measure, or profile, what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("workload")
    parser.add_argument("--nodes", type=int, default=NODES)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--profile", action="store_true", help="print a profile of one round instead")
    given = parser.parse_args()
    if given.profile:
        profiled(given.workload, given.nodes)
    else:
        print(msgspec.json.encode(figures(given.workload, given.nodes, given.rounds)).decode())


if __name__ == "__main__":
    main()
