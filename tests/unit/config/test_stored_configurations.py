"""Every configuration that kube-scheduler accepted in the stored cases decodes, and its mutants are valid or named."""

import copy
import json
import random
from collections.abc import Iterator

import pytest

from bayplan.config.complaints import ConfigError
from bayplan.config.decode import decode
from bayplan.config.gates import CHOOSE, gates
from bayplan.config.profiles import profiles
from bayplan.framework.registry import Registry
from tests.parity.case import CASES, Case, read_cases

Step = str | int
STRANGE: tuple[object, ...] = ("strange", 7, -7, 2.5, True, None, [], {}, ["strange"], {"strange": 1})


def configured() -> dict[str, Case]:
    """Return one case for each distinct configuration."""
    found = {}
    for file in sorted(CASES.glob("*.jsonl*")):
        for case in read_cases(file):
            if case.get("config") is not None:
                found[json.dumps([case["config"], case.get("featureGates")], sort_keys=True)] = case
    return found


CONFIGURED = configured()


def test_there_are_some() -> None:
    """The stored cases hold configurations."""
    assert len(CONFIGURED) > 200


def test_each_decodes_and_makes_profiles(installed: Registry) -> None:
    """What kube-scheduler accepted is accepted here, as a map and as text."""
    for case in CONFIGURED.values():
        settings = {name: on for name, on in case.get("featureGates", {}).items() if name in CHOOSE}
        found = decode(case["config"], installed, gates(settings))
        again = decode(json.dumps(case["config"]), installed, gates(settings))

        assert found.configuration == again.configuration
        assert not found.warnings
        assert profiles(found.configuration, installed, gates(settings))


def places(tree: object, path: tuple[Step, ...] = ()) -> Iterator[tuple[Step, ...]]:
    """List every place in a tree below the root."""
    if path:
        yield path
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from places(value, (*path, key))
    elif isinstance(tree, list):
        for nth, value in enumerate(tree):
            yield from places(value, (*path, nth))


@pytest.mark.parametrize("seed", range(200))
def test_a_mutant_is_valid_or_its_place_is_named(installed: Registry, seed: int) -> None:
    """A field renamed, moved or retyped is complained of where it stands, unless the result is valid."""
    draw = random.Random(seed)
    case = draw.choice(list(CONFIGURED.values()))
    tree = copy.deepcopy(case["config"])
    path = draw.choice(list(places(tree)))
    parent = tree
    for step in path[:-1]:
        parent = parent[step]
    way = draw.choice(["renamed", "moved", "retyped"])
    if way == "renamed" and isinstance(path[-1], str):
        parent[f"{path[-1]}x"] = parent.pop(path[-1])
        place: tuple[Step, ...] = (*path[:-1], f"{path[-1]}x")
    elif way == "moved" and isinstance(path[-1], str) and len(path) > 1:
        tree[f"{path[-1]}"] = parent.pop(path[-1])
        place = (path[-1],)
    else:
        parent[path[-1]] = draw.choice(STRANGE)
        place = path

    settings = {name: on for name, on in case.get("featureGates", {}).items() if name in CHOOSE}
    found = []
    try:
        decode(tree, installed, gates(settings))
    except ConfigError as error:
        found = error.complaints
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place).removeprefix(".")

    assert not found or any(one.path.startswith(text) or text.startswith(one.path) for one in found), (text, found)
