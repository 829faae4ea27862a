"""The commands that a document shows can be typed: the command exists, and has every option shown."""

import re
import shlex
from collections.abc import Iterator

import click
import pytest

from bayplan.cli import bayplan
from tests.architecture.files import name_of, project_files

FENCED = re.compile(r"^```(?:sh|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
TYPED = re.compile(r"(?:^|\|)\s*(?:\$ )?(?:\S*/)?bayplan ([^|\n]*)", re.MULTILINE)
SHOWN = [
    pytest.param(line, id=f"{name_of(page)}: {line}")
    for page in project_files("*.md")
    for block in FENCED.findall(page.read_text(encoding="utf-8"))
    for line in TYPED.findall(block.replace("\\\n", " "))
]


def options(command: click.Command) -> set[str]:
    """Return every spelling of a command's options."""
    return {"--help"} | {
        spelling for parameter in command.params for spelling in (*parameter.opts, *parameter.secondary_opts)
    }


def typed_options(words: list[str]) -> Iterator[str]:
    """Yield the options among the words typed; a lone dash is standard input."""
    return (word.partition("=")[0] for word in words if word.startswith("-") and word != "-")


@pytest.mark.parametrize("line", SHOWN)
def test_a_command_shown_exists(line: str) -> None:
    """A reader who types what the document says is understood."""
    name, *words = shlex.split(line, comments=True)
    command = bayplan.get_command(click.Context(bayplan), name)
    if isinstance(command, click.Group) and words and words[0] in command.list_commands(click.Context(command)):
        name, *words = words
        command = command.get_command(click.Context(command), name)

    assert command is not None
    assert set(typed_options(words)) - options(command) == set()
