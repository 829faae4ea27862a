"""docs/place.md names every option of the command, and the README shows only what exists."""

import re

import click
import pytest

from bayplan.cli import COMMANDS, bayplan
from bayplan.cli.place import place
from tests.architecture.files import ROOT


@pytest.mark.parametrize("option", [name for one in place.params for name in one.opts])
def test_every_option_is_documented(option: str) -> None:
    """A reader finds each option on the command's page."""
    assert f"`{option}" in (ROOT / "docs" / "place.md").read_text(encoding="utf-8")


def test_every_command_has_a_page() -> None:
    """Each command has a page of its name, and a first line of help that is the one listed."""
    for name, (_, line) in COMMANDS.items():
        command = bayplan.get_command(click.Context(bayplan), name)

        assert command is not None
        assert command.get_short_help_str(200) == line
        assert (ROOT / "docs" / f"{name}.md").is_file()


def test_the_readme_asks_for_options_that_exist() -> None:
    """Whoever pastes the README's commands is not told of an unknown option."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    asked = set(re.findall(r"bayplan place.*?(--[a-z-]+)", text))

    assert asked <= {name for one in place.params for name in one.opts}


def test_the_readme_shows_what_its_first_command_prints() -> None:
    """The lines shown are lines of the answer for the samples."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.search(r"^```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    golden = (ROOT / "tests" / "golden" / "place" / "samples.txt").read_text(encoding="utf-8").splitlines()

    assert shown is not None
    assert set(shown.group(1).splitlines()) <= set(golden)
