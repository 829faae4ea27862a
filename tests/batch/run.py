"""Histories of the batch lane: `python -m tests.batch.run --n N --seed SEED` prints what broke."""

import argparse
import sys

from tests.batch.history import lived


def main(arguments: list[str]) -> int:
    """Live through histories; return the exit status."""
    parser = argparse.ArgumentParser(description="Live through random histories of the batch lane.")
    parser.add_argument("--n", type=int, default=200, help="how many")
    parser.add_argument("--seed", type=int, default=1, help="the first one's seed")
    given = parser.parse_args(arguments)
    broken = 0
    for seed in range(given.seed, given.seed + given.n):
        for fault in lived(seed):
            broken += 1
            print(f"seed {seed}: {fault}")  # noqa: T201 a report is lines on standard output
    print(f"{given.n} histories of the batch lane, {broken} faults")  # noqa: T201 as above
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
