"""The command `playground`: what it will not do, and what it says to a playground that runs."""

import json
from pathlib import Path

import pytest

from bayplan.cli.playground import kubeconfig
from bayplan.playground.kubelets import Pace
from bayplan.playground.nodes import nodes
from bayplan.playground.running import running
from bayplan.playground.server import Server
from bayplan.playground.users import Users, read
from tests.unit.cli.run import run


def stocked(server: Server) -> None:
    """Register a node."""
    for node in nodes(1, "plain", "2026-01-01T00:00:00Z"):
        server.verbs.create(server.kinds.core("nodes"), "", node)


def test_beyond_loopback_it_does_not_start(tmp_path: Path) -> None:
    """It says what that would take; a token file alone is not enough."""
    tokens = tmp_path / "tokens"
    tokens.write_text("secret,alice,1\n", encoding="utf-8")
    for more in ([], ["--token-file", str(tokens)]):
        refused = run("playground", "--nodes", "1", "--port", "0", "--listen", "0.0.0.0", *more)  # noqa: S104

        assert refused.status == 1
        assert "--tls-cert-file" in refused.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--token-file", "none"], "none: cannot be read"),
        (["--tls-cert-file", "none"], "go together"),
        (["--tls-cert-file", "none", "--tls-private-key-file", "none"], "no certificate"),
        (["--nodes-from", "none"], "none: cannot be read"),
        (["--start-delay", "soon"], "--start-delay"),
    ],
)
def test_what_it_cannot_read_is_named(words: list[str], says: str) -> None:
    """A message says which file, and what is wrong with it."""
    refused = run("playground", "--port", "0", *words)

    assert refused.status == 1
    assert says in refused.err


def test_faults_and_fates_reach_a_playground_by_its_file(tmp_path: Path) -> None:
    """The file holds the address and the token."""
    with running(pace=Pace(0.0, 0.0), users=Users(read("secret,alice,1"))) as up:
        up.call(stocked)
        file = tmp_path / "kubeconfig"
        file.write_text(kubeconfig(up.url, "secret"), encoding="utf-8")

        told = run("playground", "node", "node-0", "not-ready", "--kubeconfig", file)
        assert (told.status, told.out) == (0, "node-0: not-ready\n")
        told = run("playground", "fault", "drop", "--verb", "create", "--kubeconfig", file)
        assert told.out.split() == ["drop", "create", "any", "resource", "times", "1"]
        assert run("playground", "fault", "clear", "--kubeconfig", file).out == ""
        refused = run("playground", "node", "none", "vanish", "--kubeconfig", file)
        assert "not found" in refused.err
        file.write_text(kubeconfig(up.url), encoding="utf-8")
        assert "Unauthorized" in run("playground", "node", "node-0", "ready", "--kubeconfig", file).err


@pytest.mark.parametrize("written", ["{", "{}", json.dumps({"clusters": [{}]})])
def test_a_file_that_no_playground_wrote_is_refused(tmp_path: Path, written: str) -> None:
    """The message names it."""
    file = tmp_path / "kubeconfig"
    file.write_text(written, encoding="utf-8")

    assert (
        "kubeconfig: is not a file that a playground wrote"
        in run("playground", "fault", "cut", "--kubeconfig", file).err
    )


def test_a_playground_that_is_not_there_is_said_to_be_missing() -> None:
    """The next step stands beside it."""
    refused = run("playground", "fault", "cut", "--port", "9")

    assert refused.status == 1
    assert "start one: bayplan playground" in refused.err
