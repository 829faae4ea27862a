"""The comparison of batch cases finds what is missing and what is altered; a case of each family is answered right."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from tests.parity.batch_compare import compare
from tests.parity.batch_ours import evaluate
from tests.parity.batch_stored import ANSWERS, FOLDER, MENDED, answers, broken_rules, judge
from tests.parity.case import Case, Result, read_cases

FAMILIES = sorted(path.name.removesuffix(".jsonl.gz") for path in FOLDER.glob("*.jsonl.gz"))


def of_family(family: str) -> list[Case]:
    """Return a family's cases."""
    return list(read_cases(FOLDER / f"{family}.jsonl.gz"))


@pytest.fixture(scope="module")
def busy() -> Case:
    """A case in which every section says something, and every value is certain."""
    return next(case for case in of_family("full") if _is_busy(case))


def _is_busy(case: Case) -> bool:
    told = case["expect"]["rounds"][0]
    sections = ("binds", "evicts", "pipelined", "actions", "allocJobs", "jobs", "queues", "podGroups")
    return all(told.get(part) for part in sections) and not case.get("bugs") and '"any"' not in str(told)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_first_cases_of_a_family_are_answered_as_kube_batch_does(family: str) -> None:
    """The rest is compared by `make parity`."""
    assert {case["id"]: judge(case).differences for case in of_family(family)[:4]} == {
        case["id"]: [] for case in of_family(family)[:4]
    }


def test_an_empty_result_is_found(busy: Case) -> None:
    """Nothing at all is no answer."""
    assert compare(busy, {})


def test_a_missing_course_is_found(busy: Case) -> None:
    """Without a course a result cannot be compared as a whole."""
    got = evaluate(busy)
    del got["course"]

    assert compare(busy, got) == ["no course"]


@pytest.mark.parametrize("part", ["binds", "evicts", "pipelined", "actions", "jobs", "queues", "podGroups"])
def test_a_missing_section_is_found(busy: Case, part: str) -> None:
    """A section that says nothing is there all the same."""
    got = evaluate(busy)
    del got["rounds"][0][part]

    assert f"round 1: no {part}" in compare(busy, got)


@pytest.mark.parametrize("part", ["jobs", "queues", "nodes", "steady"])
def test_a_missing_end_is_found(busy: Case, part: str) -> None:
    """So is what stands at the end."""
    got = evaluate(busy)
    del got["final"][part]

    assert f"final: no {part}" in compare(busy, got)


ALTERED: dict[str, Callable[[Result], object]] = {
    "a bind too many": lambda told: told["binds"].update({"ns1/nobody": "n1"}),
    "a bind left out": lambda told: told["binds"].clear(),
    "an eviction for another reason": lambda told: told["evicts"].update(dict.fromkeys(told["evicts"], "whim")),
    "a task pipelined by nobody": lambda told: told["pipelined"].update({"ns1/nobody": "n1"}),
    "a count by job": lambda told: _raise_first(told["bindsByJob"]),
    "an eviction by job": lambda told: _raise_first(told["evictsByJob"]),
    "a count by action": lambda told: _raise_first(next(iter(next(iter(told["actions"].values())).values()))),
    "an order of jobs": lambda told: told["allocJobs"].append("ns1/nobody"),
    "an order of pods": lambda told: told["allocPods"].append("ns1/nobody"),
    "a count of tasks": lambda told: _raise_first(next(iter(told["jobs"].values()))["tasks"]),
    "whether a job is ready": lambda told: _turn(next(iter(told["jobs"].values())), "ready"),
    "a share of a job": lambda told: _raise(next(iter(told["jobs"].values())), "drf"),
    "what a queue deserves": lambda told: _raise(next(iter(told["queues"].values()))["deserved"], "cpu"),
    "whether a queue is overused": lambda told: _turn(next(iter(told["queues"].values())), "overusedAtOpen"),
    "a phase": lambda told: next(iter(told["podGroups"].values())).update(phase="Odd"),
    "a count of a group": lambda told: _raise(next(iter(told["podGroups"].values())), "running"),
}


def _raise_first(counts: dict[str, int]) -> None:
    _raise(counts, next(iter(counts)))


def _raise(numbers: dict[str, Any], name: str) -> None:
    numbers[name] += 1


def _turn(truths: dict[str, Any], name: str) -> None:
    truths[name] = not truths[name]


@pytest.mark.parametrize("what", ALTERED)
def test_one_altered_value_is_found(busy: Case, what: str) -> None:
    """Each section has a value that cannot be another."""
    got = evaluate(busy)
    assert compare(busy, got) == []

    ALTERED[what](got["rounds"][0])

    assert compare(busy, got)


def test_an_overfull_node_and_a_torn_gang_break_the_sixth_rule(busy: Case) -> None:
    """Whatever is stored, these two are looked for."""
    got = evaluate(busy)
    assert broken_rules(busy, got) == []

    torn = copy.deepcopy(got)
    name = next(iter(torn["rounds"][0]["bindsByJob"]))
    torn["rounds"][0]["jobs"][name]["ready"] = False
    full = copy.deepcopy(got)
    next(iter(full["final"]["nodes"].values()))["used"]["cpu"] += 1_000_000

    assert "fewer than" in broken_rules(busy, torn)[0]
    assert "of cpu, and it has" in broken_rules(busy, full)[0]


def test_every_answer_of_ours_says_why_it_deviates() -> None:
    """Each names the tags of its case, and each tag what is mended."""
    assert ANSWERS.exists()
    assert all(stored["why"].startswith("B") for stored in answers().values())
    assert {"B7", "B9", "B12", "B15", "B22", "B25"} <= {tag for tag in MENDED if tag in str(answers())}
