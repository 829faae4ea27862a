"""The command beyond loopback: kubectl over TLS with a token, and nobody without one."""

import json
import os
import signal
import ssl
import subprocess
import sys
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from tests.certificates import a_pair
from tests.cluster.control_plane import awaited
from tests.cluster.programs import program

pytestmark = pytest.mark.slow

BAYPLAN = Path(sys.prefix) / "bin" / "bayplan"
WITHIN_S = 60


def certificate(folder: Path) -> tuple[Path, Path]:
    """Make a certificate of its own for this machine, and its key."""
    made, key = folder / "cert.pem", folder / "key.pem"
    for file, content in zip((made, key), a_pair("127.0.0.1", "0.0.0.0"), strict=True):  # noqa: S104  # its name, too
        file.write_bytes(content)
    return made, key


def test_kubectl_comes_in_with_its_token_and_nobody_without(tmp_path: Path) -> None:
    """The file that the playground writes holds the address, the token and the certificate."""
    made, key = certificate(tmp_path)
    tokens, file = tmp_path / "tokens", tmp_path / "kubeconfig"
    tokens.write_text('secret,alice,1,"devs"\n', encoding="utf-8")
    command: list[str | Path] = [
        BAYPLAN,
        "playground",
        "--nodes",
        "2",
        "--port",
        "0",
        "--listen",
        "0.0.0.0",  # noqa: S104  # with a token and a certificate
        "--kubeconfig",
        file,
    ]
    command += ["--token-file", tokens, "--tls-cert-file", made, "--tls-private-key-file", key]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            awaited(lambda: file.exists() and file.stat().st_size > 0, "the playground listens", WITHIN_S)
            environment = {**os.environ, "KUBECONFIG": str(file), "HOME": str(tmp_path)}
            typed = [str(program("kubectl")), "get", "nodes", "-o", "name"]
            shown = subprocess.run(typed, env=environment, capture_output=True, text=True, timeout=60, check=True)
            assert shown.stdout.split() == ["node/node-0", "node/node-1"]

            told: list[str | Path] = [BAYPLAN, "playground", "node", "node-0", "not-ready", "--kubeconfig", file]
            subprocess.run(told, check=True, capture_output=True, timeout=60)
            url = json.loads(file.read_text(encoding="utf-8"))["clusters"][0]["cluster"]["server"]
            known = ssl.create_default_context(cafile=made)
            with pytest.raises(HTTPError, match="401") as refused:
                urlopen(f"{url}/api/v1/nodes", context=known, timeout=20)  # noqa: S310  # on this machine
            refused.value.close()
        finally:
            process.send_signal(signal.SIGTERM)
    assert process.returncode == 0
    assert not file.stat().st_mode & 0o077
