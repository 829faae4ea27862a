"""docs/run.md lists every flag of `bayplan run` as the command has it."""

import click
import pytest

from bayplan.cli.run import run
from tests.architecture.files import ROOT

PAGE = ROOT / "docs" / "run.md"
MARK = "-->\n\n"


def written() -> str:
    """Write the table of flags."""
    context = click.Context(run, info_name="run")
    rows = [record for one in run.params if (record := one.get_help_record(context)) is not None]
    return "| flag | meaning |\n|---|---|\n" + "".join(
        f"| `{flag.replace('|', chr(92) + '|')}` | {text.replace('|', chr(92) + '|')} |\n" for flag, text in rows
    )


def test_the_page_lists_every_flag(request: pytest.FixtureRequest) -> None:
    """The table is the command's; `make golden` writes it."""
    text = PAGE.read_text(encoding="utf-8")
    head = text.partition(MARK)[0] + MARK
    if request.config.getoption("--golden"):
        PAGE.write_text(head + written(), encoding="utf-8")
        text = head + written()

    assert text == head + written(), "docs/run.md is behind the code: make golden"
