"""Judging a batch case: compared with kube-batch's stored result, or, where a defect is mended, with our stored answer.

A defect that crashes, loses a pod or leaves a false status is mended in both behaviours.  B17 alone spoils nothing but
conditions of PodGroups, so the rest is compared.  Cases with another of them deviate: they must keep the corpus' sixth
rule (nobody crashes, no node holds more than it has, gangs start whole), and be as the answer of ours that is stored
with its reason.  `python -m tests.parity.batch_stored` writes those answers anew; then review the diff.
"""

import copy
import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from bayplan.batch.amounts import TOLERANT
from tests.parity.batch_compare import compare, same
from tests.parity.batch_ours import Told, configuration_of, evaluate, lane_of
from tests.parity.case import CASES, Case, read_cases

FOLDER: Final = CASES / "batch"
ANSWERS: Final = FOLDER / "answers.json.gz"

MENDED: Final = {
    "B7": "a pod whose init containers alone request something is given room",
    "B9": "a budget with a controller crashes nobody, and its percentage is one of its pods",
    "B12": "what a discarded statement did is taken back whole, and a task's node with it",
    "B13": "a pod of a shadow group is known by its uid, so that updates find it",
    "B15": "pods that were known before their node crash nobody",
    "B17": "a PodGroup's condition is taken back once its gang is ready",
    "B22": "a pod on an unknown node keeps nobody from others",
    "B25": "a task that its node refuses is not counted as if it had been taken",
}


class Judged(NamedTuple):
    """How a case went."""

    differences: list[str]
    deviates_by: tuple[str, ...] = ()  # tags of mended defects, where our own answer was compared


def judge(case: Case) -> Judged:
    """Put a case to bayplan and say what differs."""
    tags = tuple(tag for tag in case.get("bugs") or () if tag in MENDED)
    got = evaluate(case)
    if not tags:
        return Judged(compare(case, got))
    if tags == ("B17",):
        return Judged(compare(_without_conditions(case), _plain(got)))
    stored = answers().get(case["id"])
    found = broken_rules(case, got)
    if stored is None:
        found.append("there is no answer of ours; python -m tests.parity.batch_stored stores one")
    elif not same(stored["answer"], _round_trip(got)):
        found.append("another answer than the stored one; python -m tests.parity.batch_stored stores it anew")
    return Judged(found, tags)


def answers() -> dict[str, Any]:
    """Read the answers of ours."""
    if not _ANSWERS and ANSWERS.exists():
        _ANSWERS.update(json.loads(gzip.decompress(ANSWERS.read_bytes())))
    return _ANSWERS


_ANSWERS: dict[str, Any] = {}


def _without_conditions(case: Case) -> Case:
    case = copy.deepcopy(case)
    for told in case["expect"].get("rounds", ()):
        for group in told.get("podGroups", {}).values():
            group.pop("conditions", None)
    return case


def _plain(got: Told) -> Told:
    """Leave conditions out of an answer; it is ours and fresh."""
    for told in got["rounds"]:
        for group in told["podGroups"].values():
            del group["conditions"]
    return got


def _round_trip(got: Told) -> Any:  # noqa: ANN401 as JSON has it
    return json.loads(json.dumps(got))


# --- the sixth rule --------------------------------------------------------------------------------------------------


def broken_rules(case: Case, got: Told) -> list[str]:
    """Say where nodes hold more than they have, or gangs started in part."""
    return [*_overfull(case, got), *_torn(case, got)]


def _overfull(case: Case, got: Told) -> Iterator[str]:
    """Look at nodes at the end, but for kube-batch's tolerances; those that were too full before do not count."""
    options = case.get("options") or {}
    before = lane_of(case["conf"], options, case["objects"], {})
    before.room.catch_up()
    for name, row in before.table.row_of.items():
        if before.room.refused.get(row):
            continue
        node, used = before.table.nodes[row], got["final"]["nodes"][name]["used"]
        assert node is not None
        whole = before.room.amount(row)
        for resident in before.table.on_row[row].values():
            whole.add(before.charges.charge(resident.pod).request)
        slacks = {"cpu": TOLERANT.cpu, "memory": TOLERANT.memory}
        for resource, amount in used.items():
            if amount - whole.get(resource) >= max(slacks.get(resource, TOLERANT.other), 1):
                yield f"final/nodes/{name}: {amount:g} of {resource}, and it has {whole.get(resource):g}"


def _torn(case: Case, got: Told) -> Iterator[str]:
    """Look for jobs that were given new pods, but not enough to be ready."""
    plugins = configuration_of(case["conf"], case.get("options") or {}).plugins
    if not any(place.name == "gang" and place.enable_job_ready for place in plugins):
        return
    for number, told in enumerate(got["rounds"], 1):
        for name in told["bindsByJob"]:
            job = told["jobs"][name]
            if not job["ready"]:
                yield f"round {number}/jobs/{name}: pods were bound, but fewer than its {job['minAvailable']}"


# --- storing ---------------------------------------------------------------------------------------------------------


def main() -> int:
    """Write the answers of cases that deviate."""
    found = {}
    for path in sorted(FOLDER.glob("*.jsonl*")):
        for case in read_cases(path):
            tags = [tag for tag in case.get("bugs") or () if tag in MENDED]
            if tags and tags != ["B17"]:
                why = "; ".join(f"{tag}: {MENDED[tag]}" for tag in tags)
                found[case["id"]] = {"why": why, "answer": evaluate(case)}
    text = json.dumps(found, sort_keys=True, separators=(",", ":"))
    Path(ANSWERS).write_bytes(gzip.compress(text.encode(), mtime=0))
    print(f"{len(found)} answers stored in {ANSWERS.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
