"""`bayplan playground`: run a Kubernetes API server with pretend nodes, and let it fail on command.

Not here: what the server does (`playground/`).
"""

from __future__ import annotations

import asyncio
import http.client
import json
import shlex
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click
import msgspec

from bayplan.api.durations import Duration
from bayplan.api.yamltree import YamlError, documents
from bayplan.playground.kubelets import Pace
from bayplan.playground.nodes import PROFILES, nodes
from bayplan.playground.refusals import Refused
from bayplan.playground.server import FAULTS_PATH, LOOPBACK, Server
from bayplan.playground.trees import Map, maps, stamp, text

PORT: Final = 7080
ACTIONS: Final = ("delay", "drop", "answer", "lose", "cut", "expire")
SUMMARY_EVERY_S: Final = 0.5


class Options(msgspec.Struct, frozen=True):
    """What was typed."""

    nodes: int
    nodes_from: str | None
    profile: str
    port: int
    kubeconfig: str | None
    start_delay: str


@click.group(invoke_without_command=True)
@click.option(
    "--nodes", type=click.IntRange(0, 100_000), default=100, show_default=True, help="How many pretend nodes."
)
@click.option(
    "--nodes-from", metavar="FILE", help="Manifests or a `kubectl get nodes -o yaml` list; instead of --nodes."
)
@click.option("--profile", type=click.Choice(PROFILES), default="plain", show_default=True, help="What the nodes have.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="Of 127.0.0.1; 0 is any free one."
)
@click.option("--kubeconfig", metavar="PATH", help="Where to write how to reach it; a temporary file without it.")
@click.option(
    "--start-delay", default="500ms", show_default=True, help="How long a pod that has its node takes to run."
)
@click.pass_context
def playground(context: click.Context, /, **given: object) -> int:
    """Run a Kubernetes API server with pretend nodes, for kubectl and schedulers to try.

    It is one process that listens on loopback. Nothing leaves this machine, and what is in it goes with it.
    """
    if context.invoked_subcommand is not None:
        return 0
    options = msgspec.convert(given, Options)
    pace = Pace(start_s=_seconds(options.start_delay))
    server = Server()
    made = _stocked(server, options)
    try:
        asyncio.run(_served(server, pace, options, made))
    except OSError as error:
        raise click.ClickException(
            f"cannot listen on {LOOPBACK}:{options.port}: {error.strerror}; try another --port, or 0 for any"
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
def fault(**given: object) -> int:
    """Let requests to a running playground go wrong, so that clients can be tried.

    delay: serve late; drop: close the connection and do nothing; answer: refuse; lose: do as asked and close the
    connection; cut: end the open watches; expire: forget the history of changes; clear: let nothing go wrong any more.
    """
    port, path = given.pop("port"), "/" + "/".join(FAULTS_PATH)
    connection = http.client.HTTPConnection(LOOPBACK, port if isinstance(port, int) else PORT, timeout=10)
    try:
        if given["action"] == "clear":
            connection.request("DELETE", path)
        else:
            connection.request("POST", path, json.dumps(given))
        response = connection.getresponse()
        told = json.loads(response.read())
    except (OSError, ValueError) as error:
        raise click.ClickException(
            f"no playground answers on port {port} ({error}); start one: bayplan playground"
        ) from None
    finally:
        connection.close()
    if response.status != 200:
        raise click.ClickException(str(told.get("message", told)))
    for one in told["faults"]:
        click.echo(
            f"{one['action']}  {one['verb'] or 'any verb'}  {one['resource'] or 'any resource'}  times {one['times']}"
        )
    return 0


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


async def _served(server: Server, pace: Pace, options: Options, made: int) -> None:
    """Serve until somebody ends it."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    server.live(pace)
    with tempfile.TemporaryDirectory(prefix="bayplan-") as folder:
        async with server.listening(options.port):
            _tell(server, options.kubeconfig or f"{folder}/kubeconfig", made)
            while not ended.is_set():
                if sys.stderr.isatty():
                    click.echo(f"\r\033[K{summary(server)}", nl=False, err=True)
                try:
                    await asyncio.wait_for(ended.wait(), SUMMARY_EVERY_S)
                except TimeoutError:
                    continue
    if sys.stderr.isatty():
        click.echo(err=True)


def _tell(server: Server, file: str, made: int) -> None:
    """Say how the server is reached."""
    path = Path(file).absolute()
    try:
        path.write_text(kubeconfig(server.url), encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"{file}: cannot be written: {error.strerror}") from None
    click.echo(f"export KUBECONFIG={shlex.quote(str(path))}")
    click.echo(f"bayplan: {made:,} nodes at {server.url}; end with Ctrl-C", err=True)


def kubeconfig(url: str) -> str:
    """Write the file by which kubectl finds the server."""
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "playground", "cluster": {"server": url}}],
            "users": [{"name": "playground", "user": {}}],
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
