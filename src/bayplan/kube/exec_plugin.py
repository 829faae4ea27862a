"""Exec plugins: programs that a kubeconfig names to be asked for credentials, as client.authentication.k8s.io has it.

Invariant: a plugin is given the environment that it is told to be given, an end of input at once, and so much time.
Not here: when it is asked again (`auth.py`).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final, NamedTuple

import msgspec

from bayplan.kube.kubeconfig import EXEC_VERSIONS, Cluster, Exec, Said, pem

SECONDS_MAX: Final = 60.0
ENDING_S_MAX: Final = 1.0
OUTPUT_BYTES_MAX: Final = 2**20
EXTENSION: Final = "client.authentication.k8s.io/exec"
_HEADER: Final = re.compile(r"[\x21-\x7e]+", re.ASCII)


class Credential(NamedTuple):
    """What we show the API server."""

    token: str = ""
    certificate: bytes = b""
    key: bytes = b""
    expires: datetime | None = None  # None: with the program that gave it


class _Status(msgspec.Struct, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None


class _Given(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    status: _Status | None = None


class Plugin:
    """One plugin, as a user of a kubeconfig names it."""

    def __init__(self, exec_: Exec, said: Said, cluster: Cluster, by_cluster: Said, environ: Mapping[str, str]) -> None:
        """Look at what is written about it."""
        if not exec_.command:
            raise said.error("exec.command", "expected a program; name the one that gives credentials")
        if exec_.api_version not in EXEC_VERSIONS:
            raise said.error("exec.apiVersion", f'expected {" or ".join(EXEC_VERSIONS)}, got "{exec_.api_version}"')
        if exec_.interactive_mode == "Always":
            problem = "the plugin needs a person at a terminal, and a daemon has none; use a token or a certificate"
            raise said.error("exec.interactiveMode", problem)
        if not exec_.interactive_mode and exec_.api_version == EXEC_VERSIONS[0]:
            raise said.error("exec.interactiveMode", "expected Never, IfAvailable or Always: v1 asks for one of them")
        self._exec = exec_
        self._said = said
        has_path = "/" in exec_.command or "\\" in exec_.command
        self._command = str(said.path(exec_.command)) if has_path else exec_.command
        self._environ = {**environ, **{one.name: one.value for one in exec_.env}}
        self._environ["KUBERNETES_EXEC_INFO"] = _info(exec_, cluster, by_cluster)

    async def credential(self) -> Credential:
        """Ask the plugin."""
        output = await self._run()
        field, version = f"exec {self._command}", self._exec.api_version
        try:
            given = msgspec.json.decode(output, type=_Given)
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            raise self._said.error(field, f"its answer is not an ExecCredential: {error}") from None
        if (given.api_version, given.kind) != (version, "ExecCredential"):
            got = f"{given.kind[:60]} of {given.api_version[:60]}"
            raise self._said.error(
                field, f"expected an ExecCredential of {version}, got {got}; correct exec.apiVersion"
            )
        status = given.status
        has_pair = status is not None and bool(status.client_certificate_data) and bool(status.client_key_data)
        if status is None or not (status.token or has_pair):
            raise self._said.error(field, "its answer has neither a token nor a certificate with its key")
        if status.token and not _HEADER.fullmatch(status.token):
            raise self._said.error(field, "its token has characters that no token has")
        expires = status.expiration_timestamp
        if expires is not None and expires.tzinfo is None:
            expires = expires.replace(tzinfo=UTC)
        certificate, key = status.client_certificate_data, status.client_key_data
        return Credential(status.token, certificate.encode(), key.encode(), expires)

    async def _run(self) -> bytes:
        """Run the program to its end; whatever happens, it is ended with us."""
        field = f"exec {self._command}"
        output = _Output(asyncio.get_running_loop().create_future())
        starting = asyncio.ensure_future(self._started(output))
        try:
            transport = await asyncio.shield(starting)
            async with asyncio.timeout(SECONDS_MAX):
                await asyncio.shield(output.ended)
            status = transport.get_returncode()
        except TimeoutError:
            raise self._said.error(field, f"it gave no credentials within {SECONDS_MAX:.0f} s") from None
        except (OSError, ValueError) as error:
            hint = (
                f"; {self._exec.install_hint.strip()}" if self._exec.install_hint else "; install it, or name another"
            )
            raise self._said.error("exec.command", f"{self._command} cannot be run: {error}{hint}") from None
        finally:
            with suppress(OSError, ValueError):
                (await starting).close()
                await asyncio.wait([output.ended], timeout=ENDING_S_MAX)
        if status:
            why = output.told[2].decode(errors="replace").strip()[-400:] or "it did not say why"
            raise self._said.error(field, f"it failed with status {status}: {why}")
        if len(output.told[1]) > OUTPUT_BYTES_MAX:
            raise self._said.error(field, f"it answered with more than {OUTPUT_BYTES_MAX:,} bytes")
        return bytes(output.told[1])

    async def _started(self, output: _Output) -> asyncio.SubprocessTransport:
        pipe, null = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        transport, _ = await asyncio.get_running_loop().subprocess_exec(
            lambda: output, self._command, *self._exec.args, env=self._environ, stdin=null, stdout=pipe, stderr=pipe
        )
        return transport


class _Output(asyncio.SubprocessProtocol):
    """What a program says, up to a size, and that it has ended."""

    def __init__(self, ended: asyncio.Future[None]) -> None:
        self.ended = ended
        self.told = {1: bytearray(), 2: bytearray()}

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if len(self.told[fd]) <= OUTPUT_BYTES_MAX:
            self.told[fd] += data

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_result(None)


def _info(exec_: Exec, cluster: Cluster, said: Said) -> str:
    """Write what the plugin is told about why it is asked."""
    spec: dict[str, object] = {"interactive": False}
    if exec_.provide_cluster_info:
        about: dict[str, object] = {"server": cluster.server}
        if cluster.tls_server_name:
            about["tls-server-name"] = cluster.tls_server_name
        if cluster.insecure_skip_tls_verify:
            about["insecure-skip-tls-verify"] = True
        authority = pem(
            cluster.certificate_authority_data, cluster.certificate_authority, said, "certificate-authority"
        )
        if authority:
            about["certificate-authority-data"] = authority
        if cluster.proxy_url:
            about["proxy-url"] = cluster.proxy_url
        config = next((one.extension for one in cluster.extensions if one.name == EXTENSION), None)
        about["config"] = config
        spec["cluster"] = about
    info = {"apiVersion": exec_.api_version, "kind": "ExecCredential", "spec": spec}
    return msgspec.json.encode(info).decode()
