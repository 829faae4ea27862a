"""Every file that kube-batch accepted in the stored cases is read, and a mutant is refused where it was changed."""

import copy
import json
import random

import pytest

from bayplan.api.yamltree import documents
from bayplan.config import source
from bayplan.config.batch import documented, read_batch
from bayplan.config.batch_shown import written
from bayplan.config.complaints import ConfigError
from bayplan.config.ours import BatchProfile
from bayplan.config.yamltext import bare
from tests.parity.case import CASES, read_cases
from tests.unit.config.test_stored_configurations import STRANGE, Step, places

CONFIGURED = sorted({case["conf"] for file in (CASES / "batch").glob("*.jsonl.gz") for case in read_cases(file)})
FLAT = written(documented(BatchProfile()), lambda _: "")


def test_there_are_some() -> None:
    """The stored cases hold files."""
    assert len(CONFIGURED) > 200


def test_each_is_read_and_is_the_same_when_it_is_written_out() -> None:
    """With every switch spelled out."""
    for text in CONFIGURED:
        found = read_batch(source.of_text(text), BatchProfile())
        again = read_batch(source.of_text(json.dumps(bare(written(found.configuration, lambda _: "")))), BatchProfile())

        assert found.configuration == again.configuration
        assert not [*found.warnings, *again.warnings]


def tree_of(text: str) -> dict[str, object]:
    """Return a file as plain values."""
    tree = getattr(next(iter(documents(text.encode()))), "tree", None)
    assert isinstance(tree, dict)
    return tree


@pytest.mark.parametrize("seed", range(200))
def test_a_mutant_is_valid_or_its_place_is_named(seed: int) -> None:
    """Renamed, it is never valid; retyped, it may be."""
    draw = random.Random(seed)
    flat = bare(FLAT)
    tree = copy.deepcopy(draw.choice([flat, tree_of(draw.choice(CONFIGURED))]))
    path = draw.choice(list(places(tree)))
    parent = tree
    for step in path[:-1]:
        parent = parent[step]  # type: ignore[index]  # plain values
    is_renamed = isinstance(path[-1], str) and draw.random() < 0.5
    place: tuple[Step, ...] = path
    if is_renamed:
        parent[f"{path[-1]}x"] = parent.pop(path[-1])  # type: ignore[index, attr-defined]  # as above
        place = (*path[:-1], f"{path[-1]}x")
    else:
        parent[path[-1]] = draw.choice(STRANGE)  # type: ignore[index]  # as above

    assert isinstance(tree, dict)
    found = []
    try:
        read_batch(source.of_map(tree), BatchProfile())
    except ConfigError as error:
        found = error.complaints
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place).removeprefix(".")

    assert found or not is_renamed, text
    assert not found or any(one.path.startswith(text) or text.startswith(one.path) for one in found), (text, found)
