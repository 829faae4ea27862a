"""Clients by others against the playground: Python's official one, its asynchronous sister, and schemathesis."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bayplan.cli.playground import kubeconfig
from bayplan.playground.kubelets import Pace
from bayplan.playground.running import running

pytestmark = pytest.mark.slow

CLIENTS = Path(__file__).parent / "clients"
PYTHON = Path(sys.prefix) / "clients" / "bin" / "python"
OPERATIONS_MIN = 400


def run(script: str, word: str, seconds: int) -> str:
    """Run a client in its own environment, and give what it prints."""
    assert PYTHON.exists(), f"{PYTHON} is not there: make playground-check makes it"
    command = [str(PYTHON), str(CLIENTS / script), word]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("script", ["official.py", "asynchronous.py"])
def test_a_client_library_does_a_schedulers_work(script: str, tmp_path: Path) -> None:
    """It lists, watches, creates, binds and deletes."""
    with running(pace=Pace(0.05, 0.05)) as up:
        file = tmp_path / "kubeconfig"
        file.write_text(kubeconfig(up.url), encoding="utf-8")

        assert run(script, str(file), 60).strip() == "done"


def test_no_request_brings_forth_a_server_error() -> None:
    """Schemathesis asks for every path and verb that the OpenAPI documents name."""
    with running(pace=Pace(0.05, 0.05)) as up:
        told = json.loads(run("any_request.py", up.url, 280))

    print(told)
    assert told["operations"] >= OPERATIONS_MIN
    assert told["requests"] >= told["operations"]
    assert told["server errors"] == 0
