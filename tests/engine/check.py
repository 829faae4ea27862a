"""The engine check: `python -m tests.engine.check --n N [--seed S] [--only HISTORY] [--oracle]`.

Random histories of a cluster; after each change the live table is asked what a table built afresh from the objects is
asked, and both must answer alike, node by node.  The first difference of each history is printed with the command that
shows it again and the steps that it needs.  Exit status 0 only when nothing differs and every way was taken often
enough.
Not here: what happens (changes.py), what is compared (asking.py) and the oracle's part (witness.py).
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import Final

from tests.engine.constants import all_paths
from tests.engine.history import Failure, History, Step, Witness, steps_of
from tests.engine.witness import EVERY, KUBE_SCHEDULER, OracleWitness
from tests.parity.oracle_process import Oracle

SHOWN: Final = 5
TRIES_MOST: Final = 80
TOLD_EVERY_S: Final = 30
LONG_RUN: Final = 5_000
SHARE_LEAST: Final = 0.05
REMEMBERED_LEAST: Final = 0.2


def lived(seed: int, number: int, witness: Witness | None = None) -> tuple[Failure | None, Counter[str]]:
    """Live through one history; return what went wrong, and what was counted."""
    name = f"{seed}:{number}"
    history = History(name, steps_of(name), witness=witness)
    return history.live(), history.counts


def shrunk(name: str, steps: Sequence[Step]) -> list[Step]:
    """Leave out steps that a difference does not need, in ever smaller pieces."""
    kept, size, tries = list(steps), len(steps) // 2, 0
    while size and tries < TRIES_MOST:
        start = 0
        while start < len(kept) and tries < TRIES_MOST:
            fewer = kept[:start] + kept[start + size :]
            tries += 1
            if fewer and History(name, fewer).live() is not None:
                kept = fewer
            else:
                start += size
        size //= 2
    return kept


def report(seed: int, number: int, failure: Failure, witness: Witness | None) -> None:
    """Print a difference, the command that shows it again, and the fewest steps found that still show one."""
    name = f"{seed}:{number}"
    print(f"history {number}, step {failure.step} ({failure.word}): {failure.about}")
    for one in failure.differences[:SHOWN]:
        print(f"    {one}")
    oracle = "" if witness is None else " --oracle"
    print(f"    again: python -m tests.engine.check --seed {seed} --only {number}{oracle}", flush=True)
    if any(one.startswith(KUBE_SCHEDULER) for one in failure.differences):
        return  # it is asked too seldom for steps to be left out
    steps = shrunk(name, steps_of(name)[: failure.step + 1])
    again = History(name, steps).live()
    if again is not None:
        print(
            f"    with {len(steps)} steps: {', '.join(word for word, _ in steps)}: {again.differences[0]}", flush=True
        )


def main(arguments: list[str]) -> int:
    """Run the check and report; return the exit status."""
    chosen = _arguments(arguments)
    print(f"seed {chosen.seed}: python -m tests.engine.check --n {chosen.n} --seed {chosen.seed}", flush=True)
    if not chosen.oracle:
        return _run(chosen, None)
    with Oracle() as oracle:
        witness = OracleWitness(oracle, every=1 if chosen.only is not None else EVERY)
        status = _run(chosen, witness)
        print(f"oracle: {witness.asked} asked, {witness.excused} excused, {witness.refused} refused")
        return status


def _run(chosen: argparse.Namespace, witness: Witness | None) -> int:
    numbers = range(chosen.n) if chosen.only is None else [chosen.only]
    counts: Counter[str] = Counter()
    failed, began, told = 0, time.monotonic(), 0.0
    for done, number in enumerate(numbers, 1):
        failure, counted = lived(chosen.seed, number, witness)
        counts += counted
        if failure is not None:
            failed += 1
            if failed <= SHOWN:
                report(chosen.seed, number, failure, witness)
        if time.monotonic() - began > told + TOLD_EVERY_S:
            told = time.monotonic() - began
            print(f"{done} histories, {counts['decisions']} decisions, {failed} failed", flush=True)
    return _sum_up(len(numbers), counts, failed)


def _sum_up(histories: int, counts: Counter[str], failed: int) -> int:
    decisions = counts["decisions"]
    print(f"{histories} histories, {decisions} decisions, {failed} histories with a difference")
    for path in sorted(counts.keys() - {"decisions"}):
        print(f"{counts[path]:8}  {counts[path] / max(decisions, 1):6.1%}  {path}")
    low = [path for path in all_paths() if counts[path] < SHARE_LEAST * decisions]
    if counts["answered from a remembered plan"] < REMEMBERED_LEAST * decisions:
        low.append("answered from a remembered plan")
    low = low if decisions >= LONG_RUN else []  # a short run cannot take every way
    for path in low:
        print(f"FAILED: too few decisions: {path}")
    return 1 if failed or low else 0


def _arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.engine.check", description="Compare over histories.")
    parser.add_argument("--n", type=int, default=20, help="how many histories")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000_000, help="gives the same ones again")
    parser.add_argument("--only", type=int, metavar="HISTORY", help="one history of the run")
    parser.add_argument("--oracle", action="store_true", help="have kube-scheduler judge one state in fifty")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
