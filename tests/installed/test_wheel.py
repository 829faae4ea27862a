"""The built wheel, in an empty environment, places the samples and loads the documented rule in all three ways."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.architecture.files import ROOT
from tests.docs.ten_lines import NAME, SAMPLES, WRONG, configuration, install, saved, uninstall

ENVIRONMENT = {"PYTHONDONTWRITEBYTECODE": "1"}  # the rule is written anew more often than its time stamp tells

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make an empty environment and install the wheel, built from this checkout, into it."""
    folder = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
    build = [*pip, "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run(build, check=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    (wheel,) = folder.glob("*.whl")
    python = str(folder / "venv" / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel)], check=True)
    return folder / "venv"


@pytest.fixture
def site(environment: Path) -> Iterator[Path]:
    """Give the folder of the environment's packages, and take the rule out of it afterwards."""
    (folder,) = environment.glob("lib/python*/site-packages")
    yield folder
    uninstall(folder)


def placed(environment: Path, *words: str | Path, status: int = 0) -> dict[str, tuple[str | None, str | None]]:
    """Run the installed command; return where each pod of the samples goes, or why nowhere."""
    command = [str(environment / "bin" / "bayplan"), "place", "-f", str(SAMPLES), "-o", "json", *map(str, words)]
    ran = subprocess.run(command, cwd=environment, check=False, capture_output=True, text=True, env=ENVIRONMENT)
    assert ran.returncode == status, ran.stderr
    return {one["pod"]: (one["node"], one["message"]) for one in msgspec.json.decode(ran.stdout)["decisions"]}


def test_it_places_the_samples(environment: Path) -> None:
    """Nothing but the wheel and what it asks for is needed."""
    where = placed(environment)

    assert where["shop/web-0"][0] is not None
    assert where["shop/whale"][0] is None


def test_it_schedules_a_playground(environment: Path) -> None:
    """The daemon and an API server of its own are in the wheel, with all that they import."""
    command = [str(environment / "bin" / "bayplan"), "demo", "--nodes", "5", "--for", "3s"]
    ran = subprocess.run(command, cwd=environment, check=False, capture_output=True, text=True, env=ENVIRONMENT)
    told = re.search(r"^([\d,]+) pods placed", ran.stdout, re.MULTILINE)

    assert ran.returncode == 0, ran.stderr
    assert told is not None
    assert told[1] != "0"


def test_the_documented_rule_changes_a_placement_however_it_is_loaded(
    environment: Path, site: Path, tmp_path: Path
) -> None:
    """As a file, as module:Class and as an entry point, with the same placements."""
    without = placed(environment)
    by_file = placed(environment, "--plugin", saved(tmp_path))
    install(site)

    assert by_file != without
    assert placed(environment, "--config", configuration(tmp_path, f"cheapest:{NAME}")) == by_file
    assert placed(environment, "--config", configuration(tmp_path, NAME)) == by_file


@pytest.mark.parametrize("wrong", WRONG)
def test_the_documented_rule_goes_wrong_in_words(environment: Path, site: Path, tmp_path: Path, wrong: str) -> None:
    """As an installed entry point too, a rule that breaks its contract costs a message and no more."""
    returns, problem = WRONG[wrong]
    install(site, returns)
    _, message = placed(environment, "--config", configuration(tmp_path, NAME), status=2)["shop/web-0"]

    assert message is not None
    assert message.startswith(f'plugin "{NAME}" failed at score for pod shop/web-0: ')
    assert problem in message
