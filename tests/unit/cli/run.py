"""Running a command as a person does, in this process: what it printed, and its exit status.

Not here: what is claimed of it (the tests beside this module).
"""

import io
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from bayplan.cli import main


class Ran(NamedTuple):
    """What came of a command."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """What was printed as JSON."""
        found = msgspec.json.decode(self.out)
        assert isinstance(found, dict)
        return found


def run(*words: str | Path, stdin: bytes = b"") -> Ran:
    """Run a command with its words."""
    out, err, status = io.StringIO(), io.StringIO(), 0
    before = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin))
    try:
        with redirect_stdout(out), redirect_stderr(err):
            main([str(word) for word in words])
    except SystemExit as end:
        status = int(end.code or 0)
    finally:
        sys.stdin = before
    return Ran(status, out.getvalue(), err.getvalue())


def place(*words: str | Path, stdin: bytes = b"") -> Ran:
    """Run `bayplan place`."""
    return run("place", *words, stdin=stdin)


def placed(ran: Ran) -> dict[str, str | None]:
    """Return where each pod goes, by its key."""
    return {one["pod"]: one["node"] for one in ran.json["decisions"]}


NODE = """
apiVersion: v1
kind: Node
metadata: {name: one}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec: {containers: [{name: web, resources: {requests: {cpu: "1"}}}]}
"""


def manifests(folder: Path, *texts: str, name: str = "input.yaml") -> Path:
    """Write documents into a file."""
    file = folder / name
    file.write_text("---\n".join(texts), encoding="utf-8")
    return file


def several(words: Sequence[Path]) -> list[str | Path]:
    """Return the options that name some files."""
    return [word for one in words for word in ("-f", one)]
