"""Run histories: `make histories N=... [SEED=...] [ONE=seed]`.

A failing history prints what was wrong, its seed and the command that replays it with everything checked at every turn.
Not here: what a history is (history.py).
"""

import argparse
import hashlib
import sys
import time
import traceback
from collections import Counter

from tests.histories.history import Told, live

COUNTED_FROM = 5000
SHOWN_MOST = 12


def tried(seed: str, *, every_turn: bool) -> Told:
    """Live through a history; whatever is raised is a finding."""
    try:
        return live(seed, every_turn=every_turn)
    except Exception:  # noqa: BLE001 - as the docstring says
        return Told(tuple(traceback.format_exc().splitlines()[-SHOWN_MOST:]), Counter(), b"")


def report(seed: str, told: Told) -> None:
    """Print what was wrong and how to see it again."""
    print(f"history {seed} failed:")
    for line in told.wrong[:SHOWN_MOST]:
        print(f"  {line}")
    print(f"  to see it again: make histories ONE={seed}", flush=True)


def main() -> int:
    """Run many, or one."""
    parser = argparse.ArgumentParser(description="Live through simulated histories.")
    parser.add_argument("--n", type=int, default=200, help="how many")
    parser.add_argument("--seed", default="", help="of them all; a fresh one by default")
    parser.add_argument("--one", default="", help="the seed of one history: it is checked at every turn")
    options = parser.parse_args()
    if options.one:
        told = tried(options.one, every_turn=True)
        if told.wrong:
            report(options.one, told)
        print(f"effects {hashlib.sha256(told.effects).hexdigest()}")
        return bool(told.wrong)
    seed = options.seed or str(int(time.time()))
    counts: Counter[str] = Counter()
    failed, digest = 0, hashlib.sha256()
    for number in range(options.n):
        one = f"{seed}.{number}"
        told = tried(one, every_turn=False)
        counts.update(told.counts)
        digest.update(told.effects)
        if told.wrong:
            failed += 1
            report(one, told)
    for what, how_often in sorted(counts.items()):
        print(f"  {how_often:>8} {what}")
    rare = [what for what, how_often in counts.items() if how_often * 1000 < options.n]
    if options.n >= COUNTED_FROM and rare:
        print(f"too rare to tell anything: {', '.join(sorted(rare))}")
        failed += 1
    print(f"effects {digest.hexdigest()}")
    print(f"histories {options.n} failed {failed} seed {seed}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
