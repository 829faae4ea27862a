"""Parity over random cases: `python -m tests.parity.fuzz --n N [--seed S] [--family F]`.

Each case goes to kube-scheduler's own plugins (the oracle) and to bayplan; the first difference is shrunk and stored
under `found/`.  A difference is excused only where kube-scheduler itself answers otherwise when the same objects come
in reverse order, or when it is merely asked again.  Exit status 0 only when nothing differs that is not excused, the
oracle took nearly every case, and a long run reached all that is expected.
"""

import argparse
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from tests.parity.asking import unlike
from tests.parity.case import Case, Result, write_case
from tests.parity.compare import differences, kind_of
from tests.parity.coverage import LEAST, LONG_RUN, countables
from tests.parity.expected import EXPECTED
from tests.parity.generator import FAMILIES, case, cases
from tests.parity.oracle_process import ERROR, Oracle
from tests.parity.shrink import shrink

FOUND = Path(__file__).parent / "found"
BATCH = 50
ERRORS_MOST = 0.05
EXCUSED_MOST = 0.01
SHOWN = 20
ASKED_AGAIN = 64
"""Of two entries of a small Go map the later one comes first once in eight times: hidden once in 5,000 times."""


@dataclass
class Run:
    """What a run has seen so far."""

    compares: bool
    shrinks: int
    done: int = 0
    oracle_errors: Counter[str] = field(default_factory=Counter)
    excused: Counter[str] = field(default_factory=Counter)
    sorts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    different: int = 0
    reached: Counter[str] = field(default_factory=Counter)

    def take(self, asked: Case, result: Result, oracle: Oracle) -> None:
        """Count what the case reached, and compare our answer with the oracle's."""
        self.done += 1
        if ERROR in result:
            self.oracle_errors[result[ERROR].split("\n")[0][:160]] += 1
            return
        self.reached.update(countables(asked, result))
        if not self.compares:
            return
        found = unlike(asked | {"result": result})
        if not found:
            return
        excuse = unsteady(asked, result, oracle)
        if excuse is not None:
            self.excused[excuse] += 1
            return
        self._differs(asked | {"result": result}, found, oracle)

    def _differs(self, asked: Case, found: list[str], oracle: Oracle) -> None:
        self.different += 1
        if self.different <= SHOWN:
            print(f"{asked['id']}: {found[0]}", flush=True)
        sort = sort_of(found[0])
        self.sorts[sort] += 1
        if self.sorts[sort] == 1:
            self.examples[sort] = asked["id"]
            if self.shrinks > 0:
                self.shrinks -= 1
                store(asked, sort, oracle)


def sort_of(difference: str) -> str:
    """Return a difference without names and numbers: those of one sort are likely to have one cause."""
    text = kind_of(difference) + difference[difference.find(": ") :]
    return re.sub(r"\d+", "#", re.sub(r'"[^"]*"', '"…"', text))[:240]


def unsteady(asked: Case, result: Result, oracle: Oracle) -> str | None:
    """Return why the oracle's answer is no measure: it changes by itself, or with the order of the objects."""
    known = asked | {"result": result}
    if any(differences(known, oracle.ask(asked)) for _ in range(ASKED_AGAIN)):
        return "random"
    if differences(known, oracle.ask(asked | {"objects": asked["objects"][::-1]})):
        return "order-sensitive"
    return None


def store(asked: Case, sort: str, oracle: Oracle) -> Path:
    """Shrink a case that shows this sort of difference and write it where it can be asked again."""

    def still_differs(smaller: Case) -> bool:
        result = oracle.ask(smaller)
        return ERROR not in result and sort in map(sort_of, unlike(smaller | {"result": result}))

    small = shrink(asked, still_differs)
    small["result"] = oracle.ask(small)
    path = FOUND / f"{asked['id']}.jsonl"
    write_case(small, path)
    print(f"    shrunk to {len(small['objects'])} objects: make parity CASES={_shown(path)}", flush=True)
    for one in unlike(small)[:3]:
        print(f"    {one}", flush=True)
    return path


def _shown(path: Path) -> Path:
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def answered(asked: Iterator[Case], oracle: Oracle) -> Iterator[tuple[Case, Result]]:
    """Yield cases with the oracle's results, the next batch being asked while this one is looked at."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        batch = list(islice(asked, BATCH))
        waiting = pool.submit(oracle.ask_all, batch)
        while batch:
            results = waiting.result()
            following = list(islice(asked, BATCH))
            waiting = pool.submit(oracle.ask_all, following)
            yield from zip(batch, results, strict=True)
            batch = following


def report(run: Run, *, long: bool) -> int:
    """Print what the run reached and found; return the exit status."""
    low = [name for name in EXPECTED if run.reached[name] < LEAST]
    print("\nreached, in cases:")
    for name in sorted({*EXPECTED, *run.reached}):
        mark = "" if name in EXPECTED else "  (not on the list)"
        print(f"{run.reached[name]:8}  {name}{mark}{'  LOW' if name in low else ''}")
    for text, count in run.oracle_errors.most_common():
        print(f"oracle error, {count} times: {text}")
    for sort, count in run.sorts.most_common():
        print(f"differs in {count} cases, first {run.examples[sort]}: {sort}")
    errors, excused = run.oracle_errors.total(), run.excused.total()
    print(f"{run.done} cases, {run.different} different, {excused} excused {dict(run.excused)}, {errors} oracle errors")
    complaints = [
        f"{run.different} cases differ" if run.different else "",
        "the oracle refused too many cases" if errors > ERRORS_MOST * run.done else "",
        "kube-scheduler's own answers were unsteady too often" if excused > EXCUSED_MOST * run.done else "",
        f"{len(low)} things were reached in fewer than {LEAST} cases" if long and low else "",
    ]
    for complaint in filter(None, complaints):
        print(f"FAILED: {complaint}")
    return 1 if any(complaints) else 0


def main(arguments: list[str]) -> int:
    """Run the fuzz and report; return the exit status."""
    chosen = _arguments(arguments)
    family = f" --family {chosen.family}" if chosen.family else ""
    print(f"seed {chosen.seed}: python -m tests.parity.fuzz --n {chosen.n} --seed {chosen.seed}{family}")
    print(f"one case of it again: python -m tests.parity.fuzz --seed {chosen.seed}{family} --only NUMBER", flush=True)
    run = Run(compares=not chosen.counts_only, shrinks=chosen.shrink)
    asked = cases(chosen.seed, chosen.n, chosen.family)
    if chosen.only is not None:
        asked = iter([case(chosen.seed, chosen.only, chosen.family)])
    began, told = time.monotonic(), 0.0
    with Oracle() as oracle, Oracle() as second:
        for one, result in answered(asked, oracle):
            run.take(one, result, second)
            if time.monotonic() - began > told + 30:
                told = time.monotonic() - began
                print(f"{run.done} cases, {run.different} different, {run.done / told:.0f} a second", flush=True)
    return report(run, long=chosen.n >= LONG_RUN and chosen.family is None and chosen.only is None)


def _arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.parity.fuzz", description="Compare on random cases.")
    parser.add_argument("--n", type=int, default=200, help="how many cases")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000_000, help="gives the same cases again")
    parser.add_argument("--family", choices=FAMILIES, help="cases of this family alone")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="one case of the run: the last number of its id")
    parser.add_argument(
        "--shrink", type=int, default=1, metavar="K", help="shrink and store the first K sorts of difference"
    )
    parser.add_argument("--counts-only", action="store_true", help="ask the oracle alone: what do the cases reach?")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
