"""The engine's benchmark: a process per workload, a line of JSON each, and an exit status that holds the floors.

Not here: measuring (one.py), the workloads (workloads.py) and their limits (workloads.toml).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
MEGABYTES_ARE: Final = "peak_mib"  # a limit that a slower machine does not widen

Line = dict[str, object]
Limits = Mapping[str, float]


def main() -> int:
    """Measure the workloads asked for; return 1 if one fails or falls below its floor."""
    limits = tomllib.loads((HERE / "workloads.toml").read_text(encoding="utf-8"))
    given = _arguments(list(limits))
    if given.profile:
        return _run(given.profile, "--profile").returncode
    faults: list[str] = []
    for name in given.workloads or limits:
        done = _run(name, "--nodes", str(given.nodes), "--rounds", str(given.rounds), capture=True)
        if done.returncode:
            faults.append(f"{name}: failed; see above")
            continue
        line = held_to(json.loads(done.stdout), limits[name], given.floor_share)
        print(json.dumps(line), flush=True)
        faults += shortfalls(line)
        if given.history:
            with given.history.open("a", encoding="utf-8") as history:
                history.write(json.dumps({"at": _now(), "commit": _commit(), **line}) + "\n")
    for fault in faults:
        print(f"bench: {fault}", file=sys.stderr)
    return 1 if faults else 0


def held_to(line: Line, limits: Mapping[str, object], share: float) -> Line:
    """Put the limits beside what was measured; what depends on the machine's speed is held to a share of its limit."""
    held = dict(line)
    for name, limit in limits.items():
        if not isinstance(limit, int | float):
            continue
        if name == "floor":
            held[name] = round(limit * share, 6)
        elif name.endswith("_max") and not name.startswith(MEGABYTES_ARE):
            held[name] = round(limit / share, 6)
        else:
            held[name] = limit
    return held


def shortfalls(line: Line) -> list[str]:
    """Say which limits were missed, and by how much."""
    numbers = {name: value for name, value in line.items() if isinstance(value, int | float)}
    missed = []
    if numbers["of_bare"] < numbers["floor"]:
        missed.append(f"{line['workload']}: expected at least {numbers['floor']} of bare, got {numbers['of_bare']}")
    for name, limit in numbers.items():
        figure = name.removesuffix("_max")
        if figure != name and numbers[figure] > limit:
            missed.append(f"{line['workload']}: expected {figure} of at most {limit}, got {numbers[figure]}")
    return missed


def _arguments(known: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.engine", description="Measure decisions against their floors."
    )
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=f"all when none is named: {', '.join(known)}")
    parser.add_argument(
        "--floor-share", type=float, default=1.0, metavar="SHARE", help="hold to this share of each floor"
    )
    parser.add_argument("--history", type=Path, metavar="FILE", help="append each line, with the time and the commit")
    parser.add_argument("--nodes", type=int, default=5000, help="floors are for 5,000")
    parser.add_argument("--rounds", type=int, default=3, help="the best of these counts")
    parser.add_argument(
        "--profile", metavar="WORKLOAD", choices=known, help="print where one round's time goes instead"
    )
    given = parser.parse_args()
    unknown = [name for name in given.workloads if name not in known]
    if unknown:
        parser.error(f"expected workloads among {', '.join(known)}; got {', '.join(unknown)}")
    return given


def _run(name: str, *options: str, capture: bool = False) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench.one", name, *options]
    return subprocess.run(command, check=False, cwd=HERE.parent, text=True, stdout=subprocess.PIPE if capture else None)  # noqa: S603 our own


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty"]
    found = subprocess.run(command, check=False, cwd=HERE.parent, capture_output=True, text=True)  # noqa: S603 our own
    return found.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
