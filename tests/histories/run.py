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

from bayplan.core.queue import WAITED_LONG
from bayplan.core.waiting import Place
from bayplan.framework.plugin import Change
from tests.histories.history import STAGES, Told, live

COUNTED_FROM = 5000
SHOWN_MOST = 12
STEPS_MOST = 120
EXPECTED = (
    *(f"event: {kind}" for kind in ("Seen", "Gone", "Listed", "Ended", "Answered")),
    *(f"effect: {kind}" for kind in ("Bind", "BindVolume", "SelectNode", "Nominate", "PatchStatus", "Record", "Ask")),
    *(f"effect: {kind}" for kind in ("Evict", "Stop")),
    *(f"fault: write {how}" for how in ("refused", "lost before", "lost after")),
    *(f"fault: {what}" for what in ("crash", "events lost", "events repeated", "read failed", "result told twice")),
    "fault: exception of our own",
    "deed: rival_leads",
    "everybody woken",
    *(f"queue: {place}" for place in Place if place not in {Place.IN_FLIGHT, Place.SESSION}),
    *(f"failed: {what}" for what in STAGES.values()),
    *(
        f"turned down by: {rule}"
        for rule in (
            "InterPodAffinity",
            "NodeAffinity",
            "NodePorts",
            "NodeResourcesFit",
            "NodeUnschedulable",
            "PodTopologySpread",
            "TaintToleration",
            "VolumeBinding",
        )
    ),
    *(
        f"moved by: {why}"
        for why in ("its backoff ended", "an error", "something changed while it was tried", WAITED_LONG)
    ),
    *(f"moved by: {change}" for change in (Change.NODE_ADDED, Change.NODE_TAINTS, Change.POD_GONE, Change.VOLUME)),
)
"""What many histories must have seen."""


def tried(seed: str, *, every_turn: bool, steps_most: int | None = None) -> Told:
    """Live through a history; whatever is raised is a finding."""
    try:
        return live(seed, every_turn=every_turn, steps_most=steps_most)
    except Exception:  # noqa: BLE001 - as the docstring says
        return Told(tuple(traceback.format_exc().splitlines()[-SHOWN_MOST:]), Counter(), b"")


def shrunk(seed: str) -> tuple[str, Told] | None:
    """Return the shortest history found that fails as a longer one does, everything checked at every turn."""
    low, high, found = 0, STEPS_MOST, None
    while low < high:
        steps = (low + high) // 2
        told = tried(seed, every_turn=True, steps_most=steps)
        if told.wrong:
            high, found = steps, (f"{seed}:{steps}", told)
        else:
            low = steps + 1
    return found


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
    parser.add_argument("--first", action="store_true", help="end at the first that fails")
    options = parser.parse_args()
    if options.one:
        one, _, steps = options.one.partition(":")
        told = tried(one, every_turn=True, steps_most=int(steps) if steps else None)
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
            if options.first:
                print(f"history {one} failed after {number + 1}: {told.wrong[0]}")
                return 1
            report(*(shrunk(one) or (one, told)))
    for what, how_often in sorted(counts.items()):
        print(f"  {how_often:>8} {what}")
    rare = [what for what in {*counts, *EXPECTED} if counts[what] * 1000 < options.n]
    if options.n >= COUNTED_FROM and rare:
        print(f"too rare to tell anything: {', '.join(sorted(rare))}")
        failed += 1
    print(f"effects {digest.hexdigest()}")
    print(f"histories {options.n} failed {failed} seed {seed}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
