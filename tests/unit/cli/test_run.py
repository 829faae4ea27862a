"""`bayplan run`: what is refused before anything is connected, and a whole life in a process of its own."""

import json
import signal
import subprocess
import sys
from http.client import HTTPConnection
from pathlib import Path

import pytest
from click.testing import CliRunner

from bayplan.cli import bayplan
from bayplan.cli.playground import kubeconfig
from bayplan.cli.run import own_namespace
from bayplan.playground.running import running
from tests.kit import case

WITHIN_S = 60
BAYPLAN = (sys.executable, "-c", "from bayplan.cli import main; main()")
POLICY = '{"kind": "Policy", "apiVersion": "v1"}'


@pytest.mark.parametrize(("arguments", "problem"), [
    case("no such configuration", ["--config", "nowhere.yaml"], "nowhere.yaml"),
    case("pods of others without their lease", ["--algorithm-provider", "DefaultProvider", "--without-preemption",
         "--leader-elect=false"], "this would be without leader election"),
    case("preemption that is not built", ["--algorithm-provider", "DefaultProvider"], "--without-preemption"),
    case("no such kubeconfig", ["--kubeconfig", "nowhere"], "nowhere"),
    case("a certificate without its key", ["--tls-cert-file", "a", "--master", "http://127.0.0.1:1"], "go together"),
    case("no such plugin", ["--plugin", "nothing:There"], "nothing"),
])  # fmt: skip
def test_what_cannot_be_is_said_before_anything_happens(arguments: list[str], problem: str) -> None:
    """With what to do, and status 1."""
    shown = CliRunner().invoke(bayplan, ["run", *arguments])

    assert shown.exit_code == 1
    assert problem in shown.output


def test_the_pod_s_own_namespace_is_read(tmp_path: Path) -> None:
    """Where the service account is; elsewhere there is none."""
    outside = own_namespace(tmp_path)
    (tmp_path / "namespace").write_text("batch\n", encoding="utf-8")

    assert (outside, own_namespace(tmp_path)) == (None, "batch")


def test_it_runs_until_it_is_told_to_end(tmp_path: Path) -> None:
    """It says in JSON that it leads; SIGTERM ends it with status 0, and the lease is given up."""
    with running() as up:
        file = tmp_path / "kubeconfig"
        file.write_text(kubeconfig(up.url), encoding="utf-8")
        command = [*BAYPLAN, "run", "--kubeconfig", str(file), "--secure-port", "0"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            told = []
            for line in process.stderr:
                told.append(json.loads(line)["msg"])
                is_up = "everything is listed" in told and any("holds lease" in one for one in told)
                if is_up:
                    process.send_signal(signal.SIGTERM)
                    break
            told += [json.loads(line)["msg"] for line in process.stderr]
            process.wait(WITHIN_S)
        connection = HTTPConnection("127.0.0.1", up.server.port, timeout=WITHIN_S)
        connection.request("GET", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/bayplan")
        lease = json.loads(connection.getresponse().read())
        connection.close()

    assert process.returncode == 0
    assert "started" in told
    assert told[-1] == "ended"
    assert not lease.get("spec", {}).get("holderIdentity")
