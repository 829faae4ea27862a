"""Generating: random cases from a seed, each family about one topic and `mixed` about several.

A case depends on seed, family and number alone, so any one of a run can be made again by itself.
Not here: what kube-scheduler or bayplan make of a case; no result is in it.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from tests.parity.case import Case
from tests.parity.topics import (
    images,
    interpod,
    node_affinity,
    ports,
    promises,
    resources,
    settings,
    spread,
    taints,
    volumes,
)
from tests.parity.topics.draw import Draw
from tests.parity.topics.world import World, plain_world, to_case

Topic: TypeAlias = Callable[[World], None]

TOPICS: dict[str, Topic] = {
    "resources": resources.decorate,
    "taints": taints.decorate,
    "nodeaffinity": node_affinity.decorate,
    "ports": ports.decorate,
    "images": images.decorate,
    "interpod": interpod.decorate,
    "spread": spread.decorate,
    "volumes": volumes.decorate,
    "misc": promises.decorate,
    "settings": settings.decorate,
}
SHARES = {
    "resources": 13.0,
    "taints": 6.0,
    "nodeaffinity": 8.0,
    "ports": 5.0,
    "images": 4.0,
    "interpod": 13.0,
    "spread": 14.0,
    "volumes": 28.0,
    "misc": 6.0,
    "settings": 8.0,
    "mixed": 8.0,
}
"""How often each family comes up when none is asked for."""

FAMILIES = tuple(SHARES)
ASIDE = 0.12
"""How much of another topic a case of one family has."""


def cases(seed: int, count: int, family: str | None = None) -> Iterator[Case]:
    """Yield `count` random cases of the family, or of all."""
    for number in range(count):
        yield case(seed, number, family)


def case(seed: int, number: int, family: str | None = None) -> Case:
    """Return one random case; the same for the same arguments, on any machine."""
    chosen = family or Draw(f"{seed}:{number}").weighted(SHARES)
    draw = Draw(f"{seed}:{chosen}:{number}")
    world = plain_world(draw)
    invited = {"misc": 1.0, "mixed": 0.8}.get(chosen, 0.25)
    world.eagerness = invited
    promises.invite(world)
    for name, eagerness in _agenda(draw, chosen).items():
        world.eagerness = eagerness
        TOPICS[name](world)
    return to_case(world, f"fuzz-{chosen}-{seed}-{number}", chosen)


def _agenda(draw: Draw, family: str) -> dict[str, float]:
    """Return the topics of a case, each with how eagerly it acts."""
    if family == "mixed":
        return {name: draw.choice([0.3, 0.5, 0.8]) for name in draw.some(list(TOPICS), 6, least=3)}
    if family == "settings":  # a plugin set shows only where plugins have something to say
        return dict.fromkeys(draw.some([*TOPICS][:-1], 5, least=2), 0.4) | {"settings": 1.0}
    agenda = {family: 1.0}
    if draw.chance(0.5):
        agenda |= {name: ASIDE for name in draw.some(list(TOPICS), 3) if name != family}
    return agenda
