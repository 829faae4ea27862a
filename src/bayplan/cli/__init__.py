"""The commands: what a person types, and how the answer is shown.

Answers go to standard output, everything else to standard error.  A command's module is imported when it is used, so
that `bayplan --help` is quick.
Invariant: the exit status is 0 when all went well, 1 when the command could not be carried out, and 2 when it was, but
something of the input was refused.
Not here: any decision; commands ask the rooms below and show what they say.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Final

import click

COMMANDS: Final = {
    "config": ("bayplan.cli.config:config", "Check, show and convert configuration files."),
    "demo": (
        "bayplan.cli.demo:demo",
        "Watch a hundred pretend nodes being scheduled: a playground, the daemon, and work that keeps arriving.",
    ),
    "playground": (
        "bayplan.cli.playground:playground",
        "Run a Kubernetes API server with pretend nodes, for kubectl and schedulers to try.",
    ),
    "run": ("bayplan.cli.run:run", "Schedule the pods of a live cluster."),
    "place": ("bayplan.cli.place:place", "Say where each waiting pod of some manifests would go, or why nowhere."),
    "simulate": (
        "bayplan.cli.simulate:simulate",
        "Let a workload happen on a cluster in virtual time, and say how long jobs waited and why.",
    ),
}
INTERRUPTED: Final = 130


class Commands(click.Group):
    """A group that knows its commands' names and first lines without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(module), name)
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands in the help."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in sorted(COMMANDS.items())])


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="bayplan")
def bayplan() -> None:
    """Decide where every pod in a Kubernetes cluster goes, and say why."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and end the process with its exit status."""
    try:
        status = bayplan.main(args=arguments, prog_name="bayplan", standalone_mode=False)
    except click.Abort:
        click.echo("bayplan: interrupted", err=True)
        status = INTERRUPTED
    except click.ClickException as error:
        error.show()
        status = 1
    except BrokenPipeError:  # whoever read our answer has seen enough; nothing may be written at exit either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    sys.exit(status if isinstance(status, int) else 0)
