"""The cases that random clusters once found stay answered as kube-scheduler answers them."""

import pytest

from tests.parity.asking import unlike
from tests.parity.case import CASES, Case, read_cases


@pytest.mark.parametrize("case", list(read_cases(CASES / "found.jsonl")), ids=lambda case: case["id"])
def test_what_was_found_stays_right(case: Case) -> None:
    """Each was a difference when it was found."""
    assert unlike(case) == []
