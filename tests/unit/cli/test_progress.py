"""A bar is shown to people, on long runs; a pipe never sees one."""

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bayplan.cli import progress
from tests.unit.cli.run import NODE, manifests

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: night}
spec: {parallelism: %d, completions: %d, template: {spec: {containers: [{name: main}]}}}
"""
CODE = "import bayplan.cli; bayplan.cli.main()"


def on_a_terminal(file: Path) -> str:
    """Run `bayplan place` on a terminal and return all that was to be seen."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", CODE, "place", "-f", str(file)]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        seen = b""
        while True:
            try:
                piece = os.read(ours, 1 << 16)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            seen += piece
        assert process.wait() == 0
    os.close(ours)
    return seen.decode()


@pytest.mark.parametrize(("pods", "shows"), [(progress.LONG, True), (3, False)])
def test_a_bar_is_shown_where_it_takes_a_while(tmp_path: Path, pods: int, shows: bool) -> None:  # noqa: FBT001 a table
    """On a terminal, and only there."""
    seen = on_a_terminal(manifests(tmp_path, NODE, JOB % (pods, pods)))

    assert ("placing" in seen) is shows
    assert "pods placed" in seen or "pod placed" in seen


def test_steps_are_passed_on_one_by_one(capsys: pytest.CaptureFixture[str]) -> None:
    """Bar or none, each step is handed over before the next is made."""
    made = []

    def steps() -> Iterator[int]:
        for number in range(3):
            made.append(number)
            yield number

    for step in progress.shown(steps(), 10_000, "counting"):
        assert made[-1] == step

    assert made == [0, 1, 2]
    assert capsys.readouterr() == ("", "")
