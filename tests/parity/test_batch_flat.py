"""What one tier says can be said in the flat form of kube-batch's first versions, and is answered the same."""

import json
from collections.abc import Iterator

import pytest
import yaml

from bayplan.batch.amounts import TOLERANT
from bayplan.batch.tasks import Status
from tests.parity.batch_compare import same
from tests.parity.batch_ours import evaluate, lane_of
from tests.parity.batch_stored import FOLDER
from tests.parity.case import Case, read_cases

SWITCHES = {
    "jobready": "enableJobReady",
    "joborder": "enableJobOrder",
    "taskorder": "enableTaskOrder",
    "preemptable": "enablePreemptable",
}


def flat(conf: str) -> str | None:
    """Write a configuration in the flat form; None: that has no words for it."""
    tree = yaml.safe_load(conf)
    actions = [name.strip() for name in tree["actions"].split(",")]
    if len(tree["tiers"]) != 1 or {"backfill", "reclaim"} & {*actions}:
        return None
    plugins = tree["tiers"][0]["plugins"]
    if any({*one} - {"name", *SWITCHES.values()} for one in plugins):
        return None
    lines = [f'actions: "{", ".join(actions)}"', f'plugins: "{", ".join(one["name"] for one in plugins)}"']
    for one in plugins:
        for switch, field in SWITCHES.items():
            lines.append(f'plugin.{one["name"]}.{switch}: "{str(one.get(field, True)).lower()}"')
    return "\n".join(lines)


def rewritten() -> Iterator[Case]:
    """Yield the cases that can be rewritten: no waiting pod in them requests nothing."""
    for path in sorted(FOLDER.glob("*.jsonl.gz")):
        for case in read_cases(path):
            conf = flat(case["conf"])
            options = case.get("options") or {}
            if conf is None or options.get("namespaceAsQueue"):
                continue
            lane = lane_of(case["conf"], options, case["objects"], {})
            waiting = [task for job in lane.jobs.jobs.values() for task in job.having(Status.PENDING).values()]
            if not any(task.charge.start.is_empty(TOLERANT) for task in waiting):
                yield {**case, "flat": conf}


CASES = list(rewritten())


def test_there_are_cases_to_rewrite() -> None:
    """Most families have some."""
    assert len(CASES) > 100


@pytest.mark.parametrize("family", sorted({case["family"] for case in CASES}))
def test_the_flat_form_is_answered_as_the_tier_is(family: str) -> None:
    """Case by case, everything that is told of every session."""
    for case in CASES:
        if case["family"] == family:
            by_tier, by_map = evaluate(case), evaluate({**case, "conf": case["flat"]})

            assert same(json.loads(json.dumps(by_tier)), json.loads(json.dumps(by_map))), case["id"]
