"""The core's benchmark: a process per measurement, a line of JSON each, and an exit status that holds the floors.

Not here: measuring (turns.py) and the limits (core.toml).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
BARE_PER_S: Final = 220_000  # of the machine that limits are written for
UNSCALED: Final = frozenset({"bytes", "MiB"})

Line = dict[str, object]


def main() -> int:
    """Measure what is asked for; return 1 if one fails or misses a limit."""
    limits = tomllib.loads((HERE / "core.toml").read_text(encoding="utf-8"))
    given = _arguments(list(limits))
    faults: list[str] = []
    for name in given.workloads or limits:
        done = _run(name)
        if done.returncode:
            faults.append(f"{name}: failed; see above")
            continue
        line = held_to(json.loads(done.stdout), limits[name], given.floor_share)
        print(json.dumps(line), flush=True)
        faults += shortfalls(line)
    for fault in faults:
        print(f"bench: {fault}", file=sys.stderr)
    return 1 if faults else 0


def held_to(line: Line, limits: Mapping[str, object], share: float) -> Line:
    """Put the limits beside what was measured, as they are on this machine."""
    bare = line["bare_per_s"]
    assert isinstance(bare, int | float)  # noqa: S101 - turns.py writes it
    speed = 1.0 if line.get("unit") in UNSCALED else share * bare / BARE_PER_S
    held = dict(line)
    for name, limit in limits.items():
        if isinstance(limit, int | float):
            held[name] = round(limit / speed if name.endswith("max") else limit * speed, 3)
    return held


def shortfalls(line: Line) -> list[str]:
    """Say which limits were missed, and by how much."""
    numbers = {name: value for name, value in line.items() if isinstance(value, int | float)}
    name, value = line["workload"], numbers.get("pods_per_s", numbers.get("value", 0.0))
    missed = []
    if value < numbers.get("floor", value):
        missed.append(f"{name}: expected at least {numbers['floor']}, got {value}")
    if value > numbers.get("max", value):
        missed.append(f"{name}: expected at most {numbers['max']} {line['unit']}, got {value}")
    if "longest_ms_max" in numbers and numbers["longest_ms"] > numbers["longest_ms_max"]:
        missed.append(f"{name}: expected none longer than {numbers['longest_ms_max']} ms, got {numbers['longest_ms']}")
    return missed


def _arguments(known: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.core", description="Measure the core against its limits.")
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=f"all when none is named: {', '.join(known)}")
    parser.add_argument("--floor-share", type=float, default=1.0, metavar="SHARE", help="hold to this share of each")
    given = parser.parse_args()
    unknown = [name for name in given.workloads if name not in known]
    if unknown:
        parser.error(f"expected workloads among {', '.join(known)}; got {', '.join(unknown)}")
    return given


def _run(name: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench.turns", name]
    return subprocess.run(command, check=False, cwd=HERE.parent, text=True, stdout=subprocess.PIPE)  # noqa: S603 our own


if __name__ == "__main__":
    sys.exit(main())
