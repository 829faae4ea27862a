"""The real etcd and kube-apiserver on loopback, for as long as a test needs them.

Invariant: they keep everything in a scratch folder and on ports that were free, and end with the context.
Not here: building them (`programs.py`).
"""

import json
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from typing import Any, NamedTuple

from tests.cluster.programs import program

TOKEN = "for-tests-on-loopback"  # noqa: S105  # of a server that ends with the test
READY_WITHIN_S = 90
_OFF = "ServiceAccount,TaintNodesByCondition"  # these wait for controllers, and none runs


class Api(NamedTuple):
    """An API server that can be asked."""

    port: int
    tls: bool = False

    def ask(self, method: str, path: str, body: object = None, media: str = "application/json") -> tuple[int, Any]:
        """Send a request; give the code and what was told."""
        raw = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        if self.tls:
            unchecked = ssl._create_unverified_context()  # noqa: S323  # its certificate is its own
            connection: HTTPConnection = HTTPSConnection("127.0.0.1", self.port, context=unchecked, timeout=30)
        else:
            connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, raw, {"Content-Type": media, "Authorization": f"Bearer {TOKEN}"})
            response = connection.getresponse()
            told = response.read()
        finally:
            connection.close()
        try:
            return response.status, json.loads(told)
        except ValueError:
            return response.status, {}


@contextmanager
def control_plane(folder: Path) -> Iterator[Api]:
    """Run etcd and an API server whose one user may do anything."""
    client, peer, port = (_free_port() for _ in range(3))
    etcd_url, peer_url = f"http://127.0.0.1:{client}", f"http://127.0.0.1:{peer}"
    key = folder / "key.pem"
    made = ["openssl", "genrsa", "-out", str(key), "2048"]
    subprocess.run(made, check=True, capture_output=True)
    (folder / "tokens").write_text(f'{TOKEN},admin,1,"system:masters"\n', encoding="utf-8")
    etcd = [
        *(str(program("etcd")), "--data-dir", str(folder / "etcd"), "--unsafe-no-fsync", "--log-level", "error"),
        *("--listen-client-urls", etcd_url, "--advertise-client-urls", etcd_url),
        *("--listen-peer-urls", peer_url, "--initial-advertise-peer-urls", peer_url),
        *("--initial-cluster", f"default={peer_url}"),
    ]
    server = [
        *(str(program("kube-apiserver")), "--etcd-servers", etcd_url, "--bind-address", "127.0.0.1"),
        *("--secure-port", str(port), "--cert-dir", str(folder / "certificates")),
        *("--token-auth-file", str(folder / "tokens"), "--authorization-mode", "RBAC"),
        *("--service-account-key-file", str(key), "--service-account-signing-key-file", str(key)),
        *("--service-account-issuer", "https://playground.invalid", "--service-cluster-ip-range", "10.0.0.0/24"),
        *("--disable-admission-plugins", _OFF, "--endpoint-reconciler-type", "none"),
    ]
    with _process(etcd, folder / "etcd.log"), _process(server, folder / "apiserver.log"):
        api = Api(port, tls=True)
        _await_ready(api, folder / "apiserver.log")
        yield api


@contextmanager
def _process(command: list[str], log: Path) -> Iterator[None]:
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out)
        try:
            yield
        finally:
            process.kill()
            process.wait()


def _await_ready(api: Api, log: Path) -> None:
    end = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < end:
        with suppress(OSError):
            if api.ask("GET", "/readyz")[0] == 200 and api.ask("GET", "/api/v1/namespaces/default")[0] == 200:
                return
        time.sleep(0.2)
    raise AssertionError(f"kube-apiserver was not ready within {READY_WITHIN_S} s:\n{log.read_text()[-3000:]}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
