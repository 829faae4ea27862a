"""Histories for the tests of this room: which changes happen in which order, each with its luck: so they shrink."""

from hypothesis import strategies as st

from tests.engine.asking import ask_everything
from tests.engine.changes import CHANGES, World
from tests.engine.pool import pool_of
from tests.parity.topics.draw import Draw

SEEDS = st.integers(0, 1 << 30)
STEPS = st.lists(st.tuples(st.sampled_from(sorted(CHANGES)), SEEDS), max_size=40)


def lived(seed: int, steps: list[tuple[str, int]]) -> World:
    """Return a world after a history in which rules asked about it, so that it has much to keep up to date."""
    draw = Draw(seed)
    world = World(draw, pool_of(draw))
    ask_everything(world, draw)
    for place, (name, luck) in enumerate(steps):
        CHANGES[name][0](world, Draw(luck))
        if place % 5 == 2:
            ask_everything(world, Draw(luck))
    return world
