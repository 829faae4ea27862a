"""The core's limits: scaled by the machine, and missed or kept."""

import tomllib

import pytest

from bench.core import BARE_PER_S, HERE, held_to, shortfalls
from bench.turns import MEASURED
from tests.kit import case


def test_every_measurement_has_a_limit() -> None:
    """What is measured and not held to anything is decoration."""
    limits = tomllib.loads((HERE / "core.toml").read_text(encoding="utf-8"))

    assert set(limits) == set(MEASURED)
    assert all("floor" in limit or "max" in limit for limit in limits.values())


@pytest.mark.parametrize(
    ("line", "limits", "faults"),
    [
        case("fast enough for half a machine", {"pods_per_s": 7600}, {"floor": 15_000}, 0),
        case("too slow for half a machine", {"pods_per_s": 7400}, {"floor": 15_000}, 1),
        case("a time may be twice as long", {"value": 1.9, "unit": "ms"}, {"max": 1}, 0),
        case("but not longer", {"value": 2.1, "unit": "ms"}, {"max": 1}, 1),
        case("memory is no matter of speed", {"value": 260, "unit": "MiB"}, {"max": 250}, 1),
        case(
            "one turn was too long",
            {"value": 30, "unit": "ms", "longest_ms": 101},
            {"max": 20, "longest_ms_max": 50},
            1,
        ),
    ],
)
def test_limits_scale_with_the_machine(line: dict[str, object], limits: dict[str, object], faults: int) -> None:
    """On a machine half as fast as the one they are written for."""
    held = held_to({"workload": "any", "bare_per_s": BARE_PER_S // 2, **line}, limits, 1.0)

    assert len(shortfalls(held)) == faults
