"""The real control plane on loopback, for as long as a test needs it: etcd, kube-apiserver, and what stands beside it.

The API server knows its users by their tokens and asks RBAC what they may; the scheduler and the volume controller are
begun by who needs them.  There are no kubelets: `kubelets` lends pretend ones.
Invariant: everything is kept in a scratch folder and on ports that were free, and ends with the context.
Not here: building the programs (`programs.py`).
"""

import json
import signal
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from typing import Any, NamedTuple

from tests.certificates import a_key, pem_of
from tests.cluster.programs import program

READY_WITHIN_S = 90
_OFF = "ServiceAccount,TaintNodesByCondition"  # these wait for controllers, and none runs


class User(NamedTuple):
    """Somebody whom the API server knows; what they may is up to RBAC, unless they are of `system:masters`."""

    name: str
    token: str
    groups: tuple[str, ...] = ()


ADMIN = User("admin", "for-tests-on-loopback", ("system:masters",))
SCHEDULER = User("system:kube-scheduler", "of-the-scheduler")  # has its rights from the API server itself


class Api(NamedTuple):
    """An API server that can be asked, as one user."""

    port: int
    tls: bool = False
    token: str = ADMIN.token

    def ask(self, method: str, path: str, body: object = None, media: str = "application/json") -> tuple[int, Any]:
        """Send a request; give the code and what was told, if that is JSON."""
        code, told = self.read(method, path, body, media)
        try:
            return code, json.loads(told)
        except ValueError:
            return code, {}

    def read(self, method: str, path: str, body: object = None, media: str = "application/json") -> tuple[int, bytes]:
        """Send a request; give the code and the answer to its end, that of a watch too."""
        raw = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        if self.tls:
            unchecked = ssl._create_unverified_context()  # noqa: S323  # its certificate is its own
            connection: HTTPConnection = HTTPSConnection("127.0.0.1", self.port, context=unchecked, timeout=30)
        else:
            connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, raw, {"Content-Type": media, "Authorization": f"Bearer {self.token}"})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()


class Process:
    """A program that runs; it can be killed and begun anew, paused and let go on."""

    def __init__(self, command: list[str], log: Path) -> None:
        """Begin; what it says goes to the log."""
        self.command = command
        self.log = log
        self._process = self._begun()

    @property
    def pid(self) -> int:
        """Give its process id."""
        return self._process.pid

    def _begun(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as out:
            return subprocess.Popen(self.command, stdout=out, stderr=out)

    def kill(self) -> None:
        """End it as a power cut would."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> int:
        """End it in good order, and give its exit status."""
        self._process.terminate()
        return self._process.wait(READY_WITHIN_S)

    def begin(self) -> None:
        """Begin anew, as the same command."""
        self._process = self._begun()

    def pause(self) -> None:
        """Let it stand still; its connections stay open."""
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let it run again."""
        self._process.send_signal(signal.SIGCONT)


class ControlPlane:
    """etcd and an API server that run."""

    def __init__(self, folder: Path, users: tuple[User, ...]) -> None:
        """Begin both and wait until they serve."""
        self.folder = folder
        self.port = _free_port()
        self._tokens = {user.name: user.token for user in users}
        etcd_port = _free_port()
        (folder / "tokens").write_text("".join(map(_token_line, users)), encoding="utf-8")
        (folder / "key.pem").write_bytes(pem_of(a_key()))
        self.etcd = Process(_etcd(folder, etcd_port), folder / "etcd.log")
        self.server = Process(_server(folder, self.port, etcd_port), folder / "apiserver.log")
        try:
            self.await_ready()
        except BaseException:
            self.end()
            raise

    @property
    def url(self) -> str:
        """Give the address that clients use."""
        return f"https://127.0.0.1:{self.port}"

    @property
    def authority(self) -> Path:
        """Give the file with the certificate by which clients know the server."""
        return self.folder / "certificates" / "apiserver.crt"

    @property
    def api(self) -> Api:
        """Ask as somebody who may do anything."""
        return self.api_as(ADMIN.token)

    def api_as(self, token: str) -> Api:
        """Ask as the bearer of a token."""
        return Api(self.port, tls=True, token=token)

    def kubeconfig(self, user: str = ADMIN.name) -> Path:
        """Write the file by which a user's clients find the server."""
        path = self.folder / f"{user.replace(':', '-')}.kubeconfig"
        cluster = {"server": self.url, "certificate-authority": str(self.authority)}
        path.write_text(
            json.dumps(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "clusters": [{"name": "real", "cluster": cluster}],
                    "users": [{"name": user, "user": {"token": self._tokens[user]}}],
                    "contexts": [{"name": "real", "context": {"cluster": "real", "user": user}}],
                    "current-context": "real",
                }
            ),
            encoding="utf-8",
        )
        return path

    def await_ready(self) -> None:
        """Wait until the API server serves, such as after it was begun anew."""

        def serves() -> bool:
            return all(self.api.ask("GET", path)[0] == 200 for path in ("/readyz", "/api/v1/namespaces/default"))

        try:
            awaited(serves, "kube-apiserver is ready")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{_end_of(self.server.log)}") from None

    def end(self) -> None:
        """End both."""
        self.server.kill()
        self.etcd.kill()


@contextmanager
def control_plane(folder: Path, users: tuple[User, ...] = ()) -> Iterator[ControlPlane]:
    """Run etcd and an API server that knows these users, the admin and the scheduler."""
    plane = ControlPlane(folder, (ADMIN, SCHEDULER, *users))
    try:
        yield plane
    finally:
        plane.end()


@contextmanager
def kube_scheduler(plane: ControlPlane, scheduler_name: str = "default-scheduler") -> Iterator[Process]:
    """Run kube-scheduler for the pods that name it, as fast as it can, with the rights that it always has."""
    config = plane.folder / f"{scheduler_name}.config.json"
    connection = {"kubeconfig": str(plane.kubeconfig(SCHEDULER.name)), "qps": -1, "burst": 10_000}
    config.write_text(
        json.dumps(
            {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "leaderElection": {"leaderElect": False},
                "clientConnection": connection,
                "profiles": [{"schedulerName": scheduler_name}],
            }
        ),
        encoding="utf-8",
    )
    command = [str(program("kube-scheduler")), "--config", str(config), "--secure-port", "0"]
    with _beside(command, plane.folder / f"{scheduler_name}.log") as process:
        yield process


@contextmanager
def volume_controller(plane: ControlPlane) -> Iterator[Process]:
    """Run kube-controller-manager with the controller that binds claims to volumes, and with no other."""
    command = [
        *(str(program("kube-controller-manager")), "--controllers", "persistentvolume-binder-controller"),
        *("--leader-elect=false", "--secure-port", "0", "--kubeconfig", str(plane.kubeconfig())),
        *("--pvclaimbinder-sync-period", "1s"),  # of a claim whose volume came after it
    ]
    with _beside(command, plane.folder / "controller-manager.log") as process:
        yield process


def awaited(holds: Callable[[], bool], what: str, within_s: float = READY_WITHIN_S) -> None:
    """Ask again and again until something holds; a server that is not there yet is waited for."""
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        with suppress(OSError):
            if holds():
                return
        time.sleep(0.1)
    raise AssertionError(f"not within {within_s} s: {what}")


@contextmanager
def _beside(command: list[str], log: Path) -> Iterator[Process]:
    process = Process(command, log)
    try:
        yield process
    finally:
        process.kill()


def _etcd(folder: Path, port: int) -> list[str]:
    url, peer_url = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{_free_port()}"
    return [
        *(str(program("etcd")), "--data-dir", str(folder / "etcd"), "--unsafe-no-fsync", "--log-level", "error"),
        *("--listen-client-urls", url, "--advertise-client-urls", url, "--quota-backend-bytes", str(4 * 2**30)),
        *("--listen-peer-urls", peer_url, "--initial-advertise-peer-urls", peer_url),
        *("--initial-cluster", f"default={peer_url}"),
    ]


def _server(folder: Path, port: int, etcd_port: int) -> list[str]:
    key = str(folder / "key.pem")
    return [
        *(str(program("kube-apiserver")), "--etcd-servers", f"http://127.0.0.1:{etcd_port}"),
        *("--bind-address", "127.0.0.1", "--secure-port", str(port), "--cert-dir", str(folder / "certificates")),
        *("--token-auth-file", str(folder / "tokens"), "--authorization-mode", "RBAC"),
        *("--service-account-key-file", key, "--service-account-signing-key-file", key),
        *("--service-account-issuer", "https://playground.invalid", "--service-cluster-ip-range", "10.0.0.0/24"),
        *("--disable-admission-plugins", _OFF, "--endpoint-reconciler-type", "none"),
        *("--max-requests-inflight", "3000", "--max-mutating-requests-inflight", "1000"),
        *("--feature-gates", "GenericWorkload=true", "--runtime-config", "scheduling.k8s.io/v1beta1=true"),
    ]


def _token_line(user: User) -> str:
    return f'{user.token},{user.name},{user.name},"{",".join(user.groups)}"\n'


def _end_of(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")[-3000:]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
