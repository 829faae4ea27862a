"""A lane keeps what sessions share, runs none that could change nothing, and takes in plugins of somebody's own."""

import sys
from pathlib import Path

import pytest

from bayplan.batch.lane import VoterNotLoaded
from tests.architecture.files import ROOT
from tests.unit.batch.worlds import a_lane, bound, configuration, gang, node, pods, queue, ran, tell

DOCUMENT = (ROOT / "docs" / "batch.md").read_text(encoding="utf-8")


def test_a_session_in_which_nothing_can_change_is_not_run() -> None:
    """The second finds everything as the first left it; the third hears of a node."""
    lane = a_lane(configuration(), queue("q"), gang("train", 1), pods("train", 1, cpu="1"))

    assert lane.run() is not None
    assert lane.run() is None
    tell(lane, node("a"))
    session = lane.run()
    assert session is not None
    assert bound(session) == {"train-0": "a"}


def test_the_documented_plugin_decides_who_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The smaller job goes first, though the larger one is older and there is room for one alone."""
    code = DOCUMENT.split("```python\n")[1].split("```")[0]
    (tmp_path / "smallness.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    lane = a_lane(
        configuration("smallness:SmallFirst gang", "predicates"),
        [queue("q"), node("a", cpu="3"), gang("large", 3), *pods("large", 3, cpu="1")],
        [gang("small", 2, created=9), *pods("small", 2, cpu="1")],
    )

    assert set(bound(ran(lane))) == {"small-0", "small-1"}
    del sys.modules["smallness"]


@pytest.mark.parametrize("name", ["nowhere:Voter", "bayplan.batch.tasks:Task", "bayplan.batch.tasks:Nobody"])
def test_what_is_no_plugin_is_refused_by_name(name: str) -> None:
    """The message says which, and what was expected."""
    with pytest.raises(VoterNotLoaded, match=name.partition(":")[0]):
        a_lane(configuration(name))
