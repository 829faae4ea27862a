"""The mutations of `broken.py` break something while they are on, and nothing afterwards."""

import pytest

from tests.parity.broken import MUTATIONS
from tests.parity.case import CASES, Case, read_cases
from tests.parity.ours import evaluate

FAMILIES = ("spread", "interpod", "resources", "volumes", "ports", "images")


@pytest.fixture(scope="module")
def some_cases() -> list[Case]:
    """Return a case of each family that the mutations are about."""
    return [next(read_cases(CASES / f"{family}.jsonl.gz")) for family in FAMILIES]


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_leaves_no_trace(name: str, some_cases: list[Case]) -> None:
    """After it, everything is answered as before it."""
    before = [evaluate(case) for case in some_cases]
    with MUTATIONS[name]():
        for case in some_cases:
            evaluate(case)
    assert [evaluate(case) for case in some_cases] == before


def test_a_mutation_changes_answers() -> None:
    """The stored cases are enough to see one that shows nearly everywhere."""
    case = next(read_cases(CASES / "resources.jsonl.gz"))
    before = evaluate(case)
    with MUTATIONS["balance after without balance before"]():
        assert evaluate(case) != before
