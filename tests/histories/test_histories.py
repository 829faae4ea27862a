"""A few histories, and that one seed is one history."""

import os
import subprocess
import sys

import pytest

from tests.architecture.files import ROOT
from tests.histories.broken import BREAKS, patched
from tests.histories.run import tried


@pytest.mark.parametrize("seed", ["first", "second", "third"])
def test_a_history_ends_well(seed: str) -> None:
    """Nothing is overcommitted, lost or forgotten."""
    assert tried(seed, every_turn=False).wrong == ()


def test_two_processes_make_the_same_history() -> None:
    """Effects are equal byte for byte, whatever order Python's hashes give."""
    command = [sys.executable, "-m", "tests.histories.run", "--n", "2", "--seed", "same"]
    told = {
        subprocess.run(
            command, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": number}, check=False, capture_output=True, text=True
        ).stdout
        for number in ("1", "2")
    }

    assert len(told) == 1, told
    assert "failed 0" in told.pop()


def test_a_break_is_noticed() -> None:
    """A pod that is counted in twice makes the table another than one built afresh."""
    owner, name, make = BREAKS["a confirm counted twice"]
    with patched(owner, name, make):
        assert any("the table differs" in line for seed in "abc" for line in tried(seed, every_turn=True).wrong)
