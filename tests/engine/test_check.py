"""The engine check finds what is wrong, says how to see it again, and is quiet where nothing is."""

import pytest

from bayplan.framework.run import Rules
from tests.engine import history
from tests.engine.broken import MISTAKES, Mistake, found_after, made
from tests.engine.check import lived, main, shrunk
from tests.engine.constants import all_paths, constants_of
from tests.engine.history import History, steps_of
from tests.parity.topics.draw import Draw

QUICK = ("a tally misses a deletion", "two profiles share an answer", "the row log is overrun")
"""Mistakes that show within a few histories; `python -m tests.engine.broken` makes them all."""


def mistake(sentence: str) -> Mistake:
    """Return a mistake by its sentence."""
    return next(one for one in MISTAKES if one.sentence == sentence)


def test_a_short_run_finds_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """It prints its seed, its decisions, and how many came from plans."""
    assert main(["--n", "2", "--seed", "11"]) == 0

    printed = capsys.readouterr().out
    assert "python -m tests.engine.check --n 2 --seed 11" in printed
    assert "2 histories," in printed
    assert "answered from a remembered plan" in printed


@pytest.mark.parametrize("sentence", QUICK)
def test_a_mistake_is_found(sentence: str) -> None:
    """Something wrong in the place of one function shows as a difference."""
    assert found_after(mistake(sentence), seed=2, most=20) is not None


def test_a_difference_comes_with_the_command_that_shows_it_again(capsys: pytest.CaptureFixture[str]) -> None:
    """And with the fewest steps that were found to show one."""
    with made(mistake("two profiles share an answer")):
        assert main(["--seed", "1", "--only", "0"]) == 1

    printed = capsys.readouterr().out
    assert "again: python -m tests.engine.check --seed 1 --only 0" in printed
    assert "with 1 steps: " in printed


def test_a_history_can_be_told_again() -> None:
    """The same seed and number give the same decisions."""
    assert lived(3, 0)[1] == lived(3, 0)[1]


def test_leaving_steps_out_keeps_the_difference() -> None:
    """What is left still shows one, and is no longer than it was."""
    with made(mistake("a tally misses a deletion")):
        name = next(f"1:{number}" for number in range(20) if lived(1, number)[0] is not None)
        steps = steps_of(name)
        kept = shrunk(name, steps)

        assert History(name, kept).live() is not None
    assert len(kept) < len(steps)


def test_a_mistake_is_undone() -> None:
    """Afterwards everything is as it was."""
    right = Rules.plans
    with made(mistake("two profiles share an answer")):
        assert Rules.plans is not right
    assert Rules.plans is right


def test_every_path_is_drawn() -> None:
    """No constant's way is out of reach."""
    drawn = {path for seed in range(200) for path in constants_of(Draw(seed)).paths}

    assert drawn == set(all_paths())


def test_an_exception_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is raised while a history lives ends it with a failure that says where."""

    def fails(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(history, "fresh_of", fails)
    failure, _ = lived(1, 0)

    assert failure is not None
    assert "ZeroDivisionError" in failure.differences[-1]
