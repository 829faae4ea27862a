"""A few histories, and that one seed is one history."""

import os
import subprocess
import sys

import pytest

from bayplan.sim import world
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


def test_a_forgotten_wake_up_is_noticed_by_waking_everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever finds a node when tried for no reason should have been tried for one."""
    monkeypatch.setattr(world, "NEEDLESS_SHARE", 1.0)
    owner, name, make = BREAKS["a wake-up missing"]
    with patched(owner, name, make):
        found = [line for seed in range(6) for line in tried(f"missed.{seed}", every_turn=False).wrong]

    assert any("waited, but fits" in line for line in found)
