"""Whoever decides asks the one question of framework/run.py: what is proved of it is then proved of all of them."""

import gc
import re
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn, cast

import pytest

from bayplan.framework.run import Rules
from bench.decisions import Round
from bench.workloads import scene
from tests.architecture.files import ROOT
from tests.engine.check import lived
from tests.kit import case
from tests.parity import fuzz, stored
from tests.parity.case import CASES, read_cases
from tests.parity.oracle_process import Oracle
from tests.unit.cli.run import NODE, POD, manifests, place

FOUND = CASES / "found.jsonl"
EVALUATION = re.compile(r"^\s*(from|import) bayplan\.framework(\.| import .*\b)evaluate\b", re.MULTILINE)
EVALUATES = {
    "src/bayplan/framework/run.py": "the one question",
    "src/bayplan/framework/detail.py": "the same, once more, for people",
    "src/bayplan/batch/choosing.py": "which rows a session may choose among, rather than one",
    "src/bayplan/core/settling.py": "whether a row that was chosen is still good",
}  # files that evaluate rows themselves, and why; unit tests aside


class Asked(BaseException):
    """Raised in the place of an answer; nothing that survives failing rules catches it."""


def by_place(folder: Path) -> None:
    """Place a pod from manifests."""
    place("-f", manifests(folder, NODE, POD))


def by_parity(_: Path) -> None:
    """Compare with stored answers."""
    stored.run([FOUND])


def by_fuzz(_: Path) -> None:
    """Compare with what the oracle answered; it is not asked again unless something differs."""
    asked = next(iter(read_cases(FOUND)))
    fuzz.Run(compares=True, shrinks=0).take(asked, asked["result"], cast("Oracle", None))


def by_engine_check(_: Path) -> None:
    """Live through a history."""
    lived(1, 0)


def by_benchmark(_: Path) -> None:
    """Make the decisions of a workload."""
    made = scene("one-shape", 5)
    try:
        Round(made.objects, made.waiting[:1]).run(made._replace(waiting=made.waiting[:1]))
    finally:
        gc.enable()


@pytest.mark.parametrize("decides", [
    case("place", by_place),
    case("parity", by_parity),
    case("fuzz", by_fuzz),
    case("the engine check", by_engine_check),
    case("the benchmark", by_benchmark),
])  # fmt: skip
def test_it_asks_the_one_question(
    decides: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the question cannot be answered, nothing is decided."""

    def asked(*_: object) -> NoReturn:
        raise Asked

    monkeypatch.setattr(Rules, "ask", asked)

    with pytest.raises(Asked):
        decides(tmp_path)


def test_nobody_else_evaluates_rows() -> None:
    """A second way of deciding would be one that nothing is compared with."""
    found = {
        path.relative_to(ROOT).as_posix()
        for folder in ("src", "bench", "tests")
        for path in (ROOT / folder).rglob("*.py")
        if not path.is_relative_to(ROOT / "tests" / "unit")
        if EVALUATION.search(path.read_text(encoding="utf-8"))
    }

    assert found == set(EVALUATES)
