"""Scoring by a shape: points of a piecewise-linear function, as several plugins' settings have them."""

from tests.parity.case import Manifest
from tests.parity.topics.draw import Draw


def shape(draw: Draw) -> list[Manifest]:
    """Return points of a piecewise-linear score, utilisation rising."""
    at = sorted(draw.sample(range(101), draw.randint(1, 5)))
    if draw.chance(0.5):
        at[0] = 0
    return [{"utilization": point, "score": draw.randint(0, 10)} for point in at]
