"""The pool: what a history draws from, taken from the random cases of the parity fuzz.

Several random clusters are poured together, so that the same node, namespace, service or volume exists in several
variants: putting one where another is makes a change that reaches every field a rule reads.
Not here: which of it comes when (history.py).
"""

from functools import cache
from typing import NamedTuple

from bayplan.api.decode import DecodeError, decode_tree
from bayplan.api.objects import Node, Object, Pod
from bayplan.config.complaints import ConfigError
from bayplan.framework.profile import DEFAULT_SCHEDULER, Profile
from tests.parity.case import Case, Manifest
from tests.parity.generator import case
from tests.parity.profiles import profile_for
from tests.parity.topics.draw import Draw

FAMILIES = {"mixed": 5.0, "spread": 3.0, "interpod": 2.0, "volumes": 2.0, "resources": 1.0, "taints": 1.0, "misc": 1.0}
CLUSTERS = 5


class Setting(NamedTuple):
    """A profile and the configuration that it was made from, which the oracle is told."""

    profile: Profile
    configuration: Manifest | None
    gates: dict[str, bool]


class Pool(NamedTuple):
    """Objects and settings to draw from."""

    nodes: tuple[Node, ...]
    pods: tuple[Pod, ...]  # as templates: to be named, bound and nominated anew
    others: tuple[Object, ...]
    settings: tuple[Setting, Setting]


def pool_of(draw: Draw) -> Pool:
    """Draw a pool."""
    cases = [case(draw.randrange(1 << 30), 0, draw.weighted(FAMILIES)) for _ in range(CLUSTERS)]
    cases.append(case(draw.randrange(1 << 30), 0, "settings"))
    things = [thing for one in cases for tree in (*one["objects"], one["pod"]) if (thing := _decoded(tree)) is not None]
    nodes = tuple(thing for thing in things if isinstance(thing, Node))
    pods = tuple(thing for thing in things if isinstance(thing, Pod))
    others = tuple(thing for thing in things if not isinstance(thing, Node | Pod))
    if not nodes:
        return pool_of(draw)
    return Pool(nodes, pods, others, _settings(draw, cases))


def _decoded(tree: Manifest) -> Object | None:
    try:
        return decode_tree(tree)
    except DecodeError:
        return None


def _settings(draw: Draw, cases: list[Case]) -> tuple[Setting, Setting]:
    """Return two profiles under one set of gates: the default one half of the time, and configured ones."""
    configured = [one for one in cases if one.get("config")]
    draw.shuffle(configured)
    gates: dict[str, bool] = next((one["featureGates"] for one in cases if one.get("featureGates")), {})
    found = [setting for one in configured if (setting := _setting(one["config"], gates)) is not None]
    if len(found) < 2 or draw.chance(0.5):
        found = [_default(tuple(gates.items())), *found]
    return found[0], found[-1]


def _setting(configuration: Manifest, gates: dict[str, bool]) -> Setting | None:
    names = [profile.get("schedulerName", DEFAULT_SCHEDULER) for profile in configuration["profiles"]]
    try:
        return Setting(profile_for(configuration, names[0], gates), configuration, gates)
    except ConfigError:
        return None  # arguments that these gates do not allow


@cache
def _default(gates: tuple[tuple[str, bool], ...]) -> Setting:
    return Setting(profile_for(None, DEFAULT_SCHEDULER, dict(gates)), None, dict(gates))
