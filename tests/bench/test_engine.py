"""Limits are held as they are written, and say what was missed."""

import tomllib
from typing import Final

import pytest

from bench.engine import HERE, Line, held_to, shortfalls
from bench.one import WARM_START
from bench.workloads import SCENES

LIMITS: Final = tomllib.loads((HERE / "workloads.toml").read_text(encoding="utf-8"))
MEASURED: Final[Line] = {"workload": "warm-start", "of_bare": 0.2, "peak_mib": 400.0, "first_decision_ms": 15.0}
WRITTEN: Final = {
    "what": "pods come", "floor": 0.12, "aim": 0.25, "first_decision_ms_max": 20, "peak_mib_max": 600
}  # fmt: skip


def test_every_workload_is_described() -> None:
    """What is measured has limits, and what has limits can be measured."""
    assert set(LIMITS) == {*SCENES, WARM_START}


@pytest.mark.parametrize("name", LIMITS)
def test_an_aim_is_beyond_its_floor(name: str) -> None:
    """A floor is what must be, an aim is what we want."""
    assert 0 < LIMITS[name]["floor"] < LIMITS[name]["aim"]


def test_a_share_eases_what_depends_on_the_machine() -> None:
    """Half of a floor is half as fast, and twice as long; memory is no matter of speed."""
    held = held_to(MEASURED, WRITTEN, 0.5)

    assert held == {**MEASURED, "floor": 0.06, "aim": 0.25, "first_decision_ms_max": 40, "peak_mib_max": 600}


def test_what_is_within_its_limits_is_no_shortfall() -> None:
    """A line within every limit is good."""
    assert shortfalls(held_to(MEASURED, WRITTEN, 1.0)) == []


@pytest.mark.parametrize(
    ("figure", "value", "message"),
    [
        ("of_bare", 0.1, "warm-start: expected at least 0.12 of bare, got 0.1"),
        ("first_decision_ms", 21.5, "warm-start: expected first_decision_ms of at most 20.0, got 21.5"),
        ("peak_mib", 700.0, "warm-start: expected peak_mib of at most 600, got 700.0"),
    ],
)
def test_a_shortfall_names_the_workload_and_the_limit(figure: str, value: float, message: str) -> None:
    """Who reads the message knows what was missed, and by how much."""
    assert shortfalls(held_to({**MEASURED, figure: value}, WRITTEN, 1.0)) == [message]
