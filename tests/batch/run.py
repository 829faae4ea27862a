"""Histories of the batch lane: `python -m tests.batch.run --n N --seed SEED` prints what broke."""

import argparse
import sys
from collections import Counter

from tests.batch.history import lived
from tests.batch.served import lived as lived_through_the_core


def main(arguments: list[str]) -> int:
    """Live through histories; return the exit status."""
    parser = argparse.ArgumentParser(description="Live through random histories of the batch lane.")
    parser.add_argument("--n", type=int, default=200, help="how many")
    parser.add_argument("--seed", type=int, default=1, help="the first one's seed")
    given = parser.parse_args(arguments)
    broken, counts = 0, Counter[str]()
    for seed in range(given.seed, given.seed + given.n):
        for fault in (*lived(seed), *lived_through_the_core(seed, counts)):
            broken += 1
            print(f"seed {seed}: {fault}")  # noqa: T201 a report is lines on standard output
    print(", ".join(f"{name}: {number}" for name, number in sorted(counts.items())))  # noqa: T201 as above
    print(f"{given.n} histories of the batch lane, {broken} faults")  # noqa: T201 as above
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
