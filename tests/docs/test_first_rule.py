"""The documented ten-line rule is loaded in all three ways, changes placements, and goes wrong in words."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.ten_lines import NAME, PAGE, SAMPLES, WRONG, configuration, install, saved
from tests.unit.cli.run import Ran, place, placed

COMMAND = "import bayplan.cli; bayplan.cli.main()"


def ran(*words: str | Path, site: Path | None = None) -> Ran:
    """Run `bayplan place` on the samples in a process of its own, with a folder of installed packages."""
    path = os.pathsep.join([*([str(site)] if site else []), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, "place", "-f", SAMPLES, "-o", "json", *words],
        check=False, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    return Ran(done.returncode, done.stdout, done.stderr)


def ways(folder: Path, returns: str | None = None) -> dict[str, Ran]:
    """Run with the rule in each of the three ways."""
    folder.mkdir(exist_ok=True)
    install(folder, returns)
    by_file = ran("--plugin", saved(folder, returns))
    by_class = ran("--config", configuration(folder, f"cheapest:{NAME}"), site=folder)
    by_entry = ran("--config", configuration(folder, NAME), site=folder)
    return {"file": by_file, "module:Class": by_class, "entry point": by_entry}


def test_it_changes_a_placement_however_it_is_loaded(tmp_path: Path) -> None:
    """The same placements in all three ways, and others than without it."""
    without = placed(ran())
    found = {way: placed(one) for way, one in ways(tmp_path).items()}

    assert found["file"] != without
    assert found["module:Class"] == found["file"] == found["entry point"]


def said_of_web(ran: Ran) -> str:
    """Return what became of a pod of the samples, none of which could be placed."""
    assert (ran.status, set(placed(ran).values())) == (2, {None})
    assert "Traceback" not in ran.err
    return next(str(one["message"]) for one in ran.json["decisions"] if one["pod"] == "shop/web-0")


@pytest.mark.parametrize("wrong", WRONG)
def test_it_goes_wrong_in_words(tmp_path: Path, wrong: str) -> None:
    """The message names rule, pod, what was expected and what came; nothing crashes."""
    returns, problem = WRONG[wrong]
    message = said_of_web(place("-f", SAMPLES, "-o", "json", "--plugin", saved(tmp_path, returns)))

    assert message.startswith(f'plugin "{NAME}" failed at score for pod shop/web-0: ')
    assert problem in message


def test_it_goes_wrong_in_the_same_words_however_it_is_loaded(tmp_path: Path) -> None:
    """How a rule was found makes no difference to what is said of it."""
    messages = {said_of_web(one) for one in ways(tmp_path, "return len(nodes)").values()}

    assert messages == {
        (
            f'plugin "{NAME}" failed at score for pod shop/web-0: '
            "expected a whole number (int64) from 0 to 100 for each of 4 nodes as a NumPy array, got int 4"
        )
    }


def test_the_page_shows_the_messages_as_they_are() -> None:
    """What a reader sees on the page is what the command prints."""
    text = PAGE.read_text(encoding="utf-8")

    assert 'plugin "cheapest_first" failed at score for pod shop/web-0: raised ZeroDivisionError' in text
    assert "for each of 4 nodes, got 4 values of dtype float64; bayplan.lower_is_better" in text
