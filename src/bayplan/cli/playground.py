"""`bayplan playground`: run a Kubernetes API server with pretend nodes, and let it fail on command.

Not here: what the server does (`playground/`).
"""

from __future__ import annotations

import asyncio
import http.client
import json
import shlex
import signal
import ssl
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import click
import msgspec

from bayplan.api.durations import Duration
from bayplan.api.yamltree import YamlError, documents
from bayplan.playground.kubelets import Pace
from bayplan.playground.nodes import PROFILES, nodes
from bayplan.playground.refusals import Refused
from bayplan.playground.server import FATES_PATH, FAULTS_PATH, LOOPBACK, Server, Unsafe
from bayplan.playground.trees import Map, maps, stamp, text
from bayplan.playground.users import User, Users
from bayplan.playground.users import read as read_users

PORT: Final = 7080
ACTIONS: Final = ("delay", "drop", "answer", "lose", "cut", "expire")
FATES: Final = ("not-ready", "reboot", "vanish", "ready")
SUMMARY_EVERY_S: Final = 0.5


class Options(msgspec.Struct, frozen=True):
    """What was typed."""

    nodes: int
    nodes_from: str | None
    profile: str
    port: int
    kubeconfig: str | None
    start_delay: str
    listen: str
    token_file: str | None
    tls_cert_file: str | None
    tls_private_key_file: str | None


@click.group(invoke_without_command=True)
@click.option(
    "--nodes", type=click.IntRange(0, 100_000), default=100, show_default=True, help="How many pretend nodes."
)
@click.option(
    "--nodes-from", metavar="FILE", help="Manifests or a `kubectl get nodes -o yaml` list; instead of --nodes."
)
@click.option("--profile", type=click.Choice(PROFILES), default="plain", show_default=True, help="What the nodes have.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="Where to listen; 0: any free one."
)
@click.option("--kubeconfig", metavar="PATH", help="Where to write how to reach it; a temporary file without it.")
@click.option(
    "--start-delay", default="500ms", show_default=True, help="How long a pod that has its node takes to run."
)
@click.option(
    "--listen", metavar="ADDRESS", default=LOOPBACK, show_default=True, help="Beyond loopback only with the next three."
)
@click.option("--token-file", metavar="FILE", help="Whom to answer: a line is token,user,uid and, in quotes, groups.")
@click.option("--tls-cert-file", metavar="FILE", help="The certificate to serve with.")
@click.option("--tls-private-key-file", metavar="FILE", help="The certificate's key.")
@click.pass_context
def playground(context: click.Context, /, **given: object) -> int:
    """Run a Kubernetes API server with pretend nodes, for kubectl and schedulers to try.

    It is one process that listens on loopback. Nothing leaves this machine, and what is in it goes with it.
    """
    if context.invoked_subcommand is not None:
        return 0
    options = msgspec.convert(given, Options)
    pace = Pace(start_s=_seconds(options.start_delay))
    door = _door(options)
    server = Server(users=Users(door.users))
    made = _stocked(server, options)
    try:
        asyncio.run(_served(server, pace, options, Stock(made, door)))
    except Unsafe as error:
        raise click.ClickException(
            f"{error}: give --token-file, --tls-cert-file and --tls-private-key-file, or leave --listen out"
        ) from None
    except OSError as error:
        raise click.ClickException(
            f"cannot listen on {options.listen}:{options.port}: {error.strerror}; try another --port, or 0 for any"
        ) from None
    return 0


@playground.command()
@click.argument("action", type=click.Choice([*ACTIONS, "clear"]))
@click.option("--verb", default="", help="get, list, watch, create, update, patch or delete; any without it.")
@click.option("--resource", default="", help="A plural such as pods, or pods/binding; any without it.")
@click.option("--times", type=click.IntRange(0), default=1, show_default=True, help="How many requests; 0: all.")
@click.option("--seconds", type=click.FloatRange(0, 3600), default=1.0, show_default=True, help="Of a delay.")
@click.option("--code", type=int, default=503, show_default=True, help="Of an answer: 409, 410, 429, 500 or 503.")
@click.option("--port", type=click.IntRange(1, 65535), default=PORT, show_default=True, help="Of the playground.")
@click.option("--kubeconfig", metavar="PATH", help="The file that the playground wrote; instead of --port.")
def fault(**given: object) -> int:
    """Let requests to a running playground go wrong, so that clients can be tried.

    delay: serve late; drop: close the connection and do nothing; answer: refuse; lose: do as asked and close the
    connection; cut: end the open watches; expire: forget the history of changes; clear: let nothing go wrong any more.
    """
    way = _way(given.pop("port"), given.pop("kubeconfig"))
    method = "DELETE" if given["action"] == "clear" else "POST"
    for one in _commanded(way, method, FAULTS_PATH, given)["faults"]:
        click.echo(
            f"{one['action']}  {one['verb'] or 'any verb'}  {one['resource'] or 'any resource'}  times {one['times']}"
        )
    return 0


@playground.command()
@click.argument("node")
@click.argument("fate", type=click.Choice(FATES))
@click.option("--seconds", type=click.FloatRange(0, 3600), default=5.0, show_default=True, help="Of a reboot.")
@click.option("--port", type=click.IntRange(1, 65535), default=PORT, show_default=True, help="Of the playground.")
@click.option("--kubeconfig", metavar="PATH", help="The file that the playground wrote; instead of --port.")
def node(**given: object) -> int:
    """Let something befall a node of a running playground.

    not-ready: it says so itself, and nothing happens on it; reboot: the same for a while, then its containers run
    again; vanish: it says nothing more, and is given up when its lease has run out; ready: all is well again.
    """
    way = _way(given.pop("port"), given.pop("kubeconfig"))
    told = _commanded(way, "POST", FATES_PATH, given)
    click.echo(f"{told['node']}: {told['fate']}")
    return 0


class Way(NamedTuple):
    """How a running playground is reached."""

    url: str
    token: str = ""
    authority: str = ""  # the file with its certificate


def _way(port: object, file: object) -> Way:
    """Read how the playground is reached: from the file that it wrote, or as one without users on a port."""
    if file is None:
        return Way(f"http://{LOOPBACK}:{port}")
    try:
        tree = json.loads(Path(str(file)).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise click.ClickException(f"{file}: is not a file that a playground wrote: {error}") from None
    cluster, user = maps(tree, "clusters")[:1], maps(tree, "users")[:1]
    if not cluster or not text(cluster[0], "cluster", "server"):
        raise click.ClickException(f"{file}: is not a file that a playground wrote: it names no server")
    known = text(cluster[0], "cluster", "certificate-authority")
    return Way(text(cluster[0], "cluster", "server"), text(user[0], "user", "token") if user else "", known)


def _commanded(way: Way, method: str, place: list[str], told: dict[str, object]) -> dict[str, Any]:
    """Tell a running playground what to do, and give what it says."""
    headers = {"Authorization": f"Bearer {way.token}"} if way.token else {}
    try:
        connection = _connection(way)
        connection.request(method, "/" + "/".join(place), json.dumps(told), headers)
        response = connection.getresponse()
        answer: dict[str, Any] = json.loads(response.read())
        connection.close()
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise click.ClickException(
            f"no playground answers at {way.url} ({error}); start one: bayplan playground"
        ) from None
    if response.status != 200:
        raise click.ClickException(str(answer.get("message", answer)))
    return answer


def _connection(way: Way) -> http.client.HTTPConnection:
    where = urlsplit(way.url)
    if where.scheme != "https":
        return http.client.HTTPConnection(where.hostname or LOOPBACK, where.port, timeout=10)
    known = ssl.create_default_context(cafile=way.authority)
    return http.client.HTTPSConnection(where.hostname or LOOPBACK, where.port, timeout=10, context=known)


# --- who may come in -------------------------------------------------------------------------------------------------


class Door(NamedTuple):
    """Who is let in, and by which certificate they know us."""

    users: list[User] | None = None
    certificate: ssl.SSLContext | None = None
    file: str = ""  # the certificate's


class Stock(NamedTuple):
    """What is ready before the server listens."""

    nodes: int
    door: Door


def _door(options: Options) -> Door:
    """Read the token file and the certificate."""
    users = certificate = None
    if options.token_file is not None:
        try:
            users = read_users(Path(options.token_file).read_text(encoding="utf-8"))
        except OSError as error:
            raise click.ClickException(f"{options.token_file}: cannot be read: {error.strerror}") from None
        except ValueError as error:
            raise click.ClickException(f"{options.token_file}: {error}") from None
    given = (options.tls_cert_file, options.tls_private_key_file)
    if any(given) and not all(given):
        raise click.ClickException("--tls-cert-file and --tls-private-key-file go together: give both, or neither")
    if options.tls_cert_file is not None:
        certificate = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        try:
            certificate.load_cert_chain(options.tls_cert_file, options.tls_private_key_file)
        except OSError as error:  # an ssl.SSLError is one too
            raise click.ClickException(f"{options.tls_cert_file}: is no certificate with its key: {error}") from None
    return Door(users, certificate, str(Path(options.tls_cert_file or "").absolute()))


# --- stocking --------------------------------------------------------------------------------------------------------


def _stocked(server: Server, options: Options) -> int:
    """Put the nodes into the store and say how many there are."""
    kind = server.kinds.core("nodes")
    given = _read(options.nodes_from) if options.nodes_from is not None else None
    number = 0
    now = stamp(server.verbs.clock())
    for node in nodes(options.nodes, options.profile, now) if given is None else given:
        try:
            server.verbs.create(kind, "", node)
        except Refused as refused:
            raise click.ClickException(f"{options.nodes_from}: {refused.message}") from None
        number += 1
    return number


def _read(file: str) -> Iterator[Map]:
    """Give the nodes of a file of manifests, as new ones."""
    try:
        raw = Path(file).read_bytes()
    except OSError as error:
        raise click.ClickException(f"{file}: cannot be read: {error.strerror}") from None
    for read in documents(raw):
        if isinstance(read, YamlError):
            raise click.ClickException(f"{file}: line {read.line + 1}: {read.problem}")
        for tree in [read.tree, *maps(read.tree, "items")]:
            if isinstance(tree, dict) and text(tree, "kind") == "Node":
                meta = tree.get("metadata")
                if isinstance(meta, dict):
                    meta.pop("resourceVersion", None)
                yield tree


def _seconds(written: str) -> float:
    try:
        return max(Duration.parse(written) / 1e9, 0.0)
    except ValueError as error:
        raise click.ClickException(f"--start-delay {error}") from None


# --- serving ---------------------------------------------------------------------------------------------------------


async def _served(server: Server, pace: Pace, options: Options, stock: Stock) -> None:
    """Serve until somebody ends it."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    server.live(pace)
    door = stock.door
    with tempfile.TemporaryDirectory(prefix="bayplan-") as folder:
        async with server.listening(options.port, address=options.listen, certificate=door.certificate):
            _tell(server, options.kubeconfig or f"{folder}/kubeconfig", stock)
            while not ended.is_set():
                if sys.stderr.isatty():
                    click.echo(f"\r\033[K{summary(server)}", nl=False, err=True)
                try:
                    await asyncio.wait_for(ended.wait(), SUMMARY_EVERY_S)
                except TimeoutError:
                    continue
    if sys.stderr.isatty():
        click.echo(err=True)


def _tell(server: Server, file: str, stock: Stock) -> None:
    """Say how the server is reached."""
    path = Path(file).absolute()
    try:
        path.touch(mode=0o600)
        first = stock.door.users[0].token.decode() if stock.door.users else ""
        path.write_text(kubeconfig(server.url, first, stock.door.file), encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"{file}: cannot be written: {error.strerror}") from None
    click.echo(f"export KUBECONFIG={shlex.quote(str(path))}")
    click.echo(f"bayplan: {stock.nodes:,} nodes at {server.url}; end with Ctrl-C", err=True)


def kubeconfig(url: str, token: str = "", authority: str = "") -> str:
    """Write the file by which kubectl finds the server."""
    cluster = {"server": url, **({"certificate-authority": authority} if url.startswith("https") else {})}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "playground", "cluster": cluster}],
            "users": [{"name": "playground", "user": {"token": token} if token else {}}],
            "contexts": [{"name": "playground", "context": {"cluster": "playground", "user": "playground"}}],
            "current-context": "playground",
        },
        indent=1,
    )


def summary(server: Server) -> str:
    """Say in one line what is in the store."""
    pods = server.store.shelf(("", "pods")).objects.values()
    phases = Counter(text(one.tree, "status", "phase") for one in pods)
    waiting = sum(
        not text(one.tree, "spec", "nodeName") for one in pods if text(one.tree, "status", "phase") == "Pending"
    )
    number = len(server.store.shelf(("", "nodes")).objects)
    told = ", ".join(f"{count:,} {phase.lower()}" for phase, count in sorted(phases.items()) if phase != "Pending")
    rest = f", {told}" if told else ""
    return (
        f"{number:,} nodes, {len(pods):,} pods: {waiting:,} wait for a node{rest}; revision {server.store.revision:,}"
    )
