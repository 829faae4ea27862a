"""Parity over stored cases: `python -m tests.parity.stored [FILE ...]`, each a `.jsonl` or `.jsonl.gz`.

Prints one line per family, then the first failures of each.  A case that says `orderSensitive` and differs is counted
as deviating: kube-scheduler itself would answer by order of arrival; so is a case of the batch lane that shows a defect
of kube-batch which is mended (batch_stored.py).  Exit status 0 only when nothing failed.
"""

import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tests.parity.asking import CRASHED, unlike
from tests.parity.batch_stored import FOLDER, judge
from tests.parity.case import CASES, Case, read_cases
from tests.parity.needs import missing_for

FAILURES_SHOWN = 5


@dataclass
class Tally:
    """What became of one family's cases."""

    passed: int = 0
    deviating: int = 0
    tags: Counter[str] = field(default_factory=Counter)  # of mended defects, by which cases deviate
    failures: list[tuple[str, str]] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)

    def add(self, case: Case) -> None:
        """Put the case to bayplan and count how it went."""
        if "rounds" in case:
            self._add_batch(case)
            return
        missing = missing_for(case)
        if missing is not None:
            self.skipped[missing] += 1
            return
        found = unlike(case)
        if not found:
            self.passed += 1
        elif case.get("orderSensitive") and not found[0].startswith(CRASHED):
            self.deviating += 1
        else:
            self.failures.append((case["id"], found[0]))

    def _add_batch(self, case: Case) -> None:
        try:
            differences, tags = judge(case)
        except Exception as error:  # noqa: BLE001 - whatever is raised, the other cases are still compared
            differences, tags = [f"{CRASHED} {type(error).__name__}: {error}"], ()
        if differences:
            self.failures.append((case["id"], differences[0]))
        elif tags:
            self.deviating += 1
            self.tags.update(tags)
        else:
            self.passed += 1

    def line(self, family: str) -> str:
        """Return the family's line of the report."""
        failed, skipped = len(self.failures), self.skipped.total()
        cases = self.passed + self.deviating + failed + skipped
        counts = f"{self.passed} passed, {self.deviating} deviating, {failed} failed, {skipped} skipped"
        text = f"{family}: {cases} cases, {counts}"
        reasons = ", ".join(
            [f"{count} need {what}" for what, count in sorted(self.skipped.items())]
            + [f"{count} by {tag}" for tag, count in sorted(self.tags.items())]
        )
        return f"{text} ({reasons})" if reasons else text


def run(files: Iterable[Path]) -> dict[str, Tally]:
    """Return what became of the cases of `files`, by family, in the order met."""
    families: dict[str, Tally] = {}
    for path in files:
        for case in read_cases(path):
            family = f"batch-{case['family']}" if "rounds" in case else case["family"]
            families.setdefault(family, Tally()).add(case)
    return families


def main(arguments: list[str]) -> int:
    """Compare all cases and report; return the exit status."""
    families = run(
        [Path(one) for one in arguments] or [*sorted(CASES.glob("*.jsonl*")), *sorted(FOLDER.glob("*.jsonl*"))]
    )
    for family, tally in families.items():
        print(tally.line(family))
    for family, tally in families.items():
        for case_id, difference in tally.failures[:FAILURES_SHOWN]:
            print(f"{family} {case_id}: {difference}")
    return 1 if any(tally.failures for tally in families.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
