"""Access: where the API server is, how we know that it is it, and what we show it, from a kubeconfig or in a pod.

Files are read again once a minute, a plugin is asked again when what it gave expires, and either at once when the
server answers 401.  Who uses this looks at `fresh_until` before it sends, and at `version` after a refusal.
Invariant: what worked is kept until something newer does: a file that cannot be read for a while costs a log line.
Not here: connections (`transport.py`), reading kubeconfig files (`kubeconfig.py`), asking plugins (`exec_plugin.py`).
"""

from __future__ import annotations

import asyncio
import base64
import logging
import math
import os
import re
import ssl
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from bayplan.kube.exec_plugin import Credential, Plugin
from bayplan.kube.kubeconfig import AccessError, Chosen, Said, User, chosen, pem

READ_AGAIN_S: Final = 60.0
TRY_AGAIN_S: Final = 10.0  # after a failure, and between two refusals
SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
KUBECONFIG: Final = Path(".kube/config")
_TOKEN: Final = re.compile(rb"[\x21-\x7e]+")
_KEY: Final = re.compile(r"[A-Za-z0-9!#$&'*+.^_`|~-]+", re.ASCII)

logger = logging.getLogger(__name__)


class Address(NamedTuple):
    """Where a server listens."""

    scheme: str
    host: str
    port: int
    prefix: str = ""  # of every path
    authorization: str = ""  # for a proxy

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.prefix}"

    @property
    def authority(self) -> str:
        """Give host and port as a Host line has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


class Shown(NamedTuple):
    """All that is read from files and plugins."""

    token: str = ""
    certificate: bytes = b""
    key: bytes = b""
    authority: bytes = b""  # certificates of those whom we believe


class Access:
    """The way to one API server; made by `from_kubeconfig`, `in_cluster` or `to`."""

    def __init__(self, address: Address, said: Said, *, namespace: str = "default") -> None:
        """Keep where the server is; what is shown to it is read by `refresh`."""
        self.address = address
        self.namespace = namespace
        self.proxy: Address | None = None
        self.server_name = address.host
        self.tls: ssl.SSLContext | None = None
        self.headers = b""  # lines of every request
        self.version = 0  # rises with what is shown
        self.generation = 0  # rises when connections must be made anew
        self.fresh_until = -math.inf  # in the time of the event loop
        self._said = said
        self._is_insecure = False
        self._fixed: list[tuple[str, str]] = []
        self._read: Callable[[], Shown] = Shown
        self._has_files = False
        self._plugin: Plugin | None = None
        self._given = Credential()
        self._shown: Shown | None = None
        self._refused_at = -math.inf
        self._refreshing = asyncio.Lock()
        self._now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def __repr__(self) -> str:
        return f"Access({self.address})"

    # --- keeping it fresh --------------------------------------------------------------------------------------------

    async def refresh(self, monotonic: float, *, refused: bool = False) -> bool:
        """Read again what is due, or everything that we were refused with; say whether anything is new.

        Raise AccessError where there is nothing to go on with.
        """
        async with self._refreshing:  # one plugin at a time, whoever asks
            return await self._refreshed(monotonic, refused=refused)

    async def _refreshed(self, monotonic: float, *, refused: bool) -> bool:
        if not refused and self.fresh_until > monotonic:
            return False  # somebody else has just done it
        if refused:
            if monotonic - self._refused_at < TRY_AGAIN_S:
                return False  # it has just been asked for, and was not taken
            self._refused_at = monotonic
        try:
            shown, until = await self._look(monotonic, refused=refused)
            is_new = shown != self._shown
            if is_new:
                self._show(shown)
        except AccessError as error:
            if self._shown is None:
                raise
            logger.warning("credentials cannot be read again; going on with those we have: %s", error)
            self.fresh_until = monotonic + TRY_AGAIN_S
            return False
        self.fresh_until = until
        return is_new

    async def _look(self, monotonic: float, *, refused: bool) -> tuple[Shown, float]:
        """Read files; ask a plugin, if its answer has expired or was refused."""
        shown, until = self._read(), monotonic + READ_AGAIN_S if self._has_files else math.inf
        if self._plugin is None:
            return shown, until
        expires = self._given.expires
        left_s = math.inf if expires is None else (expires - self._now()).total_seconds()
        if refused or self._shown is None or left_s <= 0:
            self._given = await self._plugin.credential()
            expires = self._given.expires
            left_s = math.inf if expires is None else (expires - self._now()).total_seconds()
        token, certificate, key, _ = self._given
        shown = shown._replace(token=token, certificate=certificate, key=key)
        return shown, min(until, monotonic + max(left_s, TRY_AGAIN_S))

    def _show(self, shown: Shown) -> None:
        """Make the header lines and the TLS context of what is shown."""
        was = self._shown
        if self.address.scheme == "https" and (was is None or shown[1:] != was[1:]):
            self.tls = self._context(shown)
            self.generation += 1
        lines = [*self._fixed, *([("Authorization", f"Bearer {shown.token}")] if shown.token else [])]
        self.headers = b"".join(f"{name}: {value}\r\n".encode("latin-1") for name, value in lines)
        self._shown = shown
        self.version += 1

    def _context(self, shown: Shown) -> ssl.SSLContext:
        context = ssl.create_default_context() if not shown.authority else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        try:
            if self._is_insecure:
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
            elif shown.authority:
                context.load_verify_locations(cadata=shown.authority.decode("ascii", "replace"))
        except ssl.SSLError as error:
            field = "certificate-authority"
            raise self._said.error(field, f"expected certificates in PEM form: {error.reason or error}") from None
        if shown.certificate:
            with tempfile.NamedTemporaryFile() as file:  # OpenSSL reads these from files only
                file.write(shown.certificate + b"\n" + shown.key)
                file.flush()
                try:
                    context.load_cert_chain(file.name)
                except (ssl.SSLError, OSError) as error:
                    problem = f"expected a certificate and its key in PEM form, without a password: {error}"
                    raise self._said.error("client-certificate and client-key", problem) from None
        context.set_alpn_protocols(["http/1.1"])
        return context

    # --- how it is made ----------------------------------------------------------------------------------------------

    @classmethod
    def to(cls, url: str, *, token: str = "", authority: bytes = b"", namespace: str = "default") -> Access:
        """Make the way to a URL, with a token or nothing."""
        said = Said(Path("the URL"), url)
        access = cls(_address(url, said, "server"), said, namespace=namespace)
        access._read = lambda: Shown(token, authority=authority)
        return access

    @classmethod
    def from_kubeconfig(cls, files: Sequence[Path], context: str = "", *, environ: Mapping[str, str]) -> Access:
        """Make the way that a context of kubeconfig files describes."""
        found = chosen(files, context)
        cluster, user, by_cluster, by_user = found.cluster, found.user, found.by_cluster, found.by_user
        if not cluster.server:
            raise by_cluster.error("server", "expected the URL of an API server; set it")
        access = cls(_address(cluster.server, by_cluster, "server"), by_user, namespace=found.namespace)
        if cluster.proxy_url:
            access.proxy = _address(cluster.proxy_url, by_cluster, "proxy-url")
        access.server_name = cluster.tls_server_name or access.address.host
        access._is_insecure = cluster.insecure_skip_tls_verify
        if access._is_insecure and (cluster.certificate_authority or cluster.certificate_authority_data):
            problem = "certificates to believe are given as well; remove one of the two"
            raise by_cluster.error("insecure-skip-tls-verify", problem)
        access._fixed = _headers(user, by_user)
        _check_user(user, by_user)
        access._read = lambda: _read(found)
        access._has_files = bool(
            user.token_file or (user.client_certificate and not user.client_certificate_data)
            or (cluster.certificate_authority and not cluster.certificate_authority_data)
        )  # fmt: skip
        if user.exec is not None and not (user.token or user.token_file):
            access._plugin = Plugin(user.exec, by_user, cluster, by_cluster, environ)
        return access

    @classmethod
    def in_cluster(cls, environ: Mapping[str, str], folder: Path = SERVICE_ACCOUNT) -> Access:
        """Make the way that a pod has, with its service account's token, which is rotated."""
        host, port = environ.get("KUBERNETES_SERVICE_HOST", ""), environ.get("KUBERNETES_SERVICE_PORT", "")
        if not host or not port:
            missing = "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not both set"
            raise AccessError(f"{missing}: this is not a pod, so name a kubeconfig file with --kubeconfig")
        said = Said(folder, "service account")
        url = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
        access = cls(_address(url, said, "KUBERNETES_SERVICE_HOST"), said)
        file = Said(folder / "token", "service account")  # paths are beside it
        access._read = lambda: Shown(_token(file, "token", "token"), authority=file.read("ca.crt", "ca.crt"))
        access._has_files = True
        with suppress(OSError, UnicodeError):  # a hand-made mount may lack it
            access.namespace = (folder / "namespace").read_text(encoding="utf-8").strip() or "default"
        return access

    @classmethod
    def found(cls, kubeconfig: str, context: str, environ: Mapping[str, str], home: Path) -> Access:
        """Make the way that is meant: a named file, those of KUBECONFIG, a pod's, or the one at home."""
        if kubeconfig:
            return cls.from_kubeconfig([Path(kubeconfig)], context, environ=environ)
        listed = [Path(one) for one in environ.get("KUBECONFIG", "").split(os.pathsep) if one]
        if listed:
            return cls.from_kubeconfig(listed, context, environ=environ)
        if environ.get("KUBERNETES_SERVICE_HOST") and not context and SERVICE_ACCOUNT.exists():
            return cls.in_cluster(environ)
        return cls.from_kubeconfig([home / KUBECONFIG], context, environ=environ)


def _address(url: str, said: Said, field: str) -> Address:
    """Read a URL."""
    try:
        parts = urlsplit(url if "//" in url else f"http://{url}")
        port = parts.port
    except ValueError as error:
        raise said.error(field, f"expected a URL such as https://host:6443, got {url[:200]!r}: {error}") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise said.error(field, f"expected a URL such as https://host:6443, got {url[:200]!r}")
    authorization = ""
    if parts.username:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = f"Basic {base64.b64encode(pair.encode()).decode()}"
    port = port or (443 if parts.scheme == "https" else 80)
    return Address(parts.scheme, parts.hostname, port, quote(parts.path.rstrip("/"), "/%"), authorization)


def _read(found: Chosen) -> Shown:
    """Read what a user and a cluster of a kubeconfig name."""
    user, cluster, said = found.user, found.cluster, found.by_user
    token = user.token
    if user.token_file:
        try:
            token = _token(said, "tokenFile", user.token_file)
        except AccessError:
            if not token:
                raise
    return Shown(
        token,
        pem(user.client_certificate_data, user.client_certificate, said, "client-certificate"),
        pem(user.client_key_data, user.client_key, said, "client-key"),
        pem(
            cluster.certificate_authority_data, cluster.certificate_authority, found.by_cluster, "certificate-authority"
        ),
    )


def _token(said: Said, field: str, written: str) -> str:
    raw = said.read(field, written).strip()
    if not _TOKEN.fullmatch(raw):
        raise said.error(field, f"{said.path(written)}: expected a token: one line of printable characters")
    return raw.decode("ascii")


def _check_user(user: User, said: Said) -> None:
    """Refuse what cannot be meant."""
    if user.auth_provider is not None:
        problem = "such providers were removed from Kubernetes in 1.26; use exec, or a token"
        raise said.error("auth-provider", problem)
    if (user.token or user.token_file) and user.username:
        raise said.error("token and username", "only one way to show who we are can be taken; remove one")
    has_certificate = bool(user.client_certificate or user.client_certificate_data)
    if has_certificate != bool(user.client_key or user.client_key_data):
        missing = "client-key" if has_certificate else "client-certificate"
        raise said.error(missing, "a client certificate and its key belong together; set both")
    if user.token and not _TOKEN.fullmatch(user.token.encode()):
        raise said.error("token", "expected a token: one line of printable characters")


def _headers(user: User, said: Said) -> list[tuple[str, str]]:
    """Give the header lines that do not change."""
    lines = []
    if user.username:
        pair = base64.b64encode(f"{user.username}:{user.password}".encode()).decode()
        lines.append(("Authorization", f"Basic {pair}"))
    if user.impersonate:
        lines.append(("Impersonate-User", user.impersonate))
    elif user.impersonate_uid or user.impersonate_groups or user.impersonate_extra:
        raise said.error("as", "groups, a uid or extras can be taken on with a user only; name one")
    lines += [("Impersonate-Uid", user.impersonate_uid)] if user.impersonate_uid else []
    lines += [("Impersonate-Group", group) for group in user.impersonate_groups]
    for key, values in user.impersonate_extra.items():
        lines += [(f"Impersonate-Extra-{_escaped(key)}", value) for value in values]
    for name, value in lines:
        if not value.isascii() or not value.isprintable():
            raise said.error(name, f"expected printable characters, got {value[:80]!r}")
    return lines


def _escaped(key: str) -> str:
    return "".join(one if _KEY.fullmatch(one) else quote(one, "") for one in key)
