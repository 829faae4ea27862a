"""Kubeconfig files: several merged into one, and of that the cluster, the user and the namespace of one context.

Invariant: the first file that names a cluster, a user or a context says everything about it; a path in a file begins
where the file is.
Not here: what is done with it (`auth.py`).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeVar

import msgspec

from bayplan.api.nulls import without_nulls
from bayplan.api.yamltree import YamlError, documents

FILE_BYTES_MAX: Final = 16 * 2**20
EXEC_VERSIONS: Final = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")

T = TypeVar("T")


class AccessError(Exception):
    """What keeps us from the API server lies on our side: a file, a field, a program."""


class _Part(msgspec.Struct, frozen=True, rename="kebab", kw_only=True):
    """A part of a kubeconfig file; what is not known is passed over, as every client does."""


class Extension(_Part, frozen=True, kw_only=True):
    """Something that is kept for a program."""

    name: str = ""
    extension: msgspec.Raw = msgspec.Raw(b"null")


class Cluster(_Part, frozen=True, kw_only=True):
    """Where an API server is, and how it is known."""

    server: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    proxy_url: str = ""
    extensions: tuple[Extension, ...] = ()


class Variable(msgspec.Struct, frozen=True, kw_only=True):
    """A variable of a plugin's environment."""

    name: str = ""
    value: str = ""


class Exec(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A program that gives credentials."""

    command: str = ""
    args: tuple[str, ...] = ()
    env: tuple[Variable, ...] = ()
    api_version: str = ""
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: Literal["", "Never", "IfAvailable", "Always"] = ""


class User(_Part, frozen=True, kw_only=True):
    """Who we are."""

    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(name="tokenFile", default="")
    username: str = ""
    password: str = ""
    impersonate: str = msgspec.field(name="as", default="")
    impersonate_uid: str = msgspec.field(name="as-uid", default="")
    impersonate_groups: tuple[str, ...] = msgspec.field(name="as-groups", default=())
    impersonate_extra: dict[str, tuple[str, ...]] = msgspec.field(name="as-user-extra", default_factory=dict)
    auth_provider: dict[str, msgspec.Raw] | None = None
    exec: Exec | None = None


class Context(_Part, frozen=True, kw_only=True):
    """A cluster, a user, a namespace."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(_Part, frozen=True, kw_only=True):
    name: str = ""
    cluster: Cluster = Cluster()


class _NamedUser(_Part, frozen=True, kw_only=True):
    name: str = ""
    user: User = User()


class _NamedContext(_Part, frozen=True, kw_only=True):
    name: str = ""
    context: Context = Context()


class _File(_Part, frozen=True, kw_only=True):
    kind: str = ""
    current_context: str = ""
    clusters: tuple[_NamedCluster, ...] = ()
    users: tuple[_NamedUser, ...] = ()
    contexts: tuple[_NamedContext, ...] = ()


class Said(NamedTuple):
    """Where something is said: a file, and what is called what in it."""

    file: Path
    what: str

    def __str__(self) -> str:
        return f"{self.file}: {self.what}"

    def error(self, field: str, problem: str) -> AccessError:
        """Say what is wrong with one of its fields."""
        return AccessError(f"{self.file}: {self.what}: {field}: {problem}")

    def path(self, written: str) -> Path:
        """Give the path that is meant."""
        return self.file.parent / written

    def read(self, field: str, written: str) -> bytes:
        """Read the file that a field names."""
        try:
            return self.path(written).read_bytes()
        except OSError as error:
            problem = f"{self.path(written)} cannot be read: {error.strerror}; correct the path, or its permissions"
            raise self.error(field, problem) from None


class Chosen(NamedTuple):
    """What one context says, and where."""

    cluster: Cluster
    user: User
    namespace: str
    by_cluster: Said
    by_user: Said


def chosen(files: Sequence[Path], context: str = "") -> Chosen:
    """Read kubeconfig files and choose a context, by default the current one."""
    missing = [file for file in files if not file.exists()]
    read = [(file, _read(file)) for file in files if file not in missing]
    if not read:
        names = ", ".join(map(str, files)) or "none named"
        raise AccessError(f"no kubeconfig file was found ({names}): name one with --kubeconfig, or set KUBECONFIG")
    contexts: dict[str, tuple[Path, Context]] = {}
    clusters: dict[str, tuple[Path, Cluster]] = {}
    users: dict[str, tuple[Path, User]] = {}
    for file, config in read:
        for one in config.contexts:
            contexts.setdefault(one.name, (file, one.context))
        for each in config.clusters:
            clusters.setdefault(each.name, (file, each.cluster))
        for it in config.users:
            users.setdefault(it.name, (file, it.user))
    name = context or next((config.current_context for _, config in read if config.current_context), "")
    where = read[0][0]
    if not name:
        known = _known(contexts)
        raise AccessError(f"{where}: current-context: none is set; set it, or name one with --context ({known})")
    file, wanted = _find(contexts, name, where, "current-context" if not context else "--context", "context")
    said = f'context "{name}"'
    by_cluster, cluster = _find(clusters, wanted.cluster, file, f"{said}: cluster", "cluster")
    by_user, user = _find(users, wanted.user, file, f"{said}: user", "user") if wanted.user else (file, User())
    return Chosen(
        cluster,
        user,
        wanted.namespace or "default",
        Said(by_cluster, f'cluster "{wanted.cluster}"'),
        Said(by_user, f'user "{wanted.user}"'),
    )


def pem(data: str, path: str, said: Said, field: str) -> bytes:
    """Give what a pair of fields holds, the data before the file; nothing where neither is set."""
    if data:
        try:
            return base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            raise said.error(f"{field}-data", "expected base64; put the file's content through base64 -w0") from None
    return said.read(field, path) if path else b""


def _find(named: dict[str, tuple[Path, T]], name: str, file: Path, field: str, what: str) -> tuple[Path, T]:
    found = named.get(name)
    if found is None:
        raise AccessError(f'{file}: {field}: there is no {what} "{name}"; there is {_known(named)}')
    return found


def _known(named: dict[str, tuple[Path, T]]) -> str:
    return ", ".join(f'"{name}"' for name in sorted(named)[:10]) or "none at all"


def _read(file: Path) -> _File:
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise AccessError(f"{file}: cannot be read: {error.strerror}; correct the path, or its permissions") from None
    if len(raw) > FILE_BYTES_MAX:
        raise AccessError(f"{file}: expected a kubeconfig file, got {len(raw):,} bytes")
    document = next(documents(raw), None)
    if isinstance(document, YamlError):
        raise AccessError(f"{file}: line {document.line + 1}: {document.problem}")
    tree = document.tree if document is not None else {}
    if not isinstance(tree, dict):
        raise AccessError(f"{file}: expected a kubeconfig file: a map with clusters, users and contexts")
    if tree.get("kind", "Config") not in {"Config", "", None}:
        raise AccessError(f'{file}: kind: expected "Config", got "{str(tree["kind"])[:80]}"')
    try:
        # by way of JSON: what a program is to be given as it is written stays Raw
        return msgspec.json.decode(msgspec.json.encode(without_nulls(tree, _File)), type=_File)
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at `")
        raise AccessError(f"{file}: {place.removesuffix('`').removeprefix('$.')}: {problem}") from None
