"""`bayplan demo`: a playground, the daemon and a workload in one process, and what happens, as it happens.

Invariant: everything is in this process and in one temporary folder: when it ends, nothing is left.
Not here: the workload (demo_work.py) and what is shown of it (demo_view.py).
"""

from __future__ import annotations

import asyncio
import io
import shlex
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import click
import msgspec

from bayplan.api.durations import Duration
from bayplan.cli.demo_view import Glance, Ticker, line, shown
from bayplan.cli.demo_work import Work
from bayplan.cli.playground import kubeconfig
from bayplan.kube import loop
from bayplan.kube.auth import Access
from bayplan.playground.kubelets import Pace
from bayplan.playground.nodes import nodes
from bayplan.playground.running import Running, running
from bayplan.playground.server import Server
from bayplan.playground.trees import stamp
from bayplan.serve import logs
from bayplan.serve.daemon import Daemon, Means
from bayplan.serve.health import Tokens
from bayplan.serve.setup import Asked, Setup, setup

EVERY_S: Final = 0.25
LINE_EVERY_S: Final = 1.0
IN_A_PIPE: Final = "20s"  # where nobody can type Ctrl-C, it ends by itself
BEGIN_S_MAX: Final = 60.0  # for the first pod to be placed
PER_S: Final = 3.0  # applications; each is some ten pods
CONFIGURATION: Final = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


class Options(msgspec.Struct, frozen=True):
    """What was typed."""

    nodes: int
    length: str | None
    seed: int
    port: int
    kubeconfig: str | None


@click.command()
@click.option("--nodes", type=click.IntRange(1, 20_000), default=100, show_default=True, help="How many pretend nodes.")
@click.option("--for", "length", metavar="TIME", help="How long; until Ctrl-C on a terminal, 20s in a pipe.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Which workload comes.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Of the playground; any free one by default.")
@click.option("--kubeconfig", metavar="PATH", help="Where to write how to reach it; a temporary file without it.")
def demo(**given: object) -> int:
    """Watch a hundred pretend nodes being scheduled: a playground, the daemon, and work that keeps arriving.

    On a terminal it shows who waits and why; in a pipe it prints a line each second. Nothing leaves this machine.
    """
    options = msgspec.convert(given, Options)
    length_s = _seconds(options.length or ("" if sys.stdout.isatty() else IN_A_PIPE))
    tail = Tail()
    logs.begin(tail, "text")
    with tempfile.TemporaryDirectory(prefix="bayplan-") as folder:
        try:
            with running(port=options.port, pace=Pace()) as up:
                return _shown(options, length_s, up, Path(folder), tail)
        except OSError as error:
            raise click.ClickException(f"cannot listen on port {options.port}: {error.strerror}") from None


class Tail(io.StringIO):
    """The last line that was logged."""

    def __init__(self) -> None:
        super().__init__()
        self.last = ""

    def write(self, text: str) -> int:
        """Keep a line, if it is one."""
        self.last = text.strip() or self.last
        return len(text)


def _shown(options: Options, length_s: float | None, up: Running, folder: Path, tail: Tail) -> int:
    """Make the environment, say how it is reached, and let it live."""
    work = Work(options.seed)
    up.call(lambda server: _stock(server, options.nodes))
    up.call(work.begin)
    file = Path(options.kubeconfig or folder / "kubeconfig").absolute()
    try:
        file.write_text(kubeconfig(up.url), encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"{file}: cannot be written: {error.strerror}") from None
    click.echo(f"{options.nodes:,} pretend nodes at {up.url}. In another terminal:")
    click.echo(f"  export KUBECONFIG={shlex.quote(str(file))}")
    click.echo("  kubectl get pods -A --watch")
    click.echo("It ends with Ctrl-C, and leaves nothing behind.\n")
    return loop.run(_lived(_prepared(folder), up, work, Showing(length_s, tail)))


class Showing:
    """For how long, counted from the first pod that was placed, and what was logged last."""

    def __init__(self, length_s: float | None, tail: Tail) -> None:
        self._length_s = length_s
        self._until = None if length_s is None else time.monotonic() + BEGIN_S_MAX + length_s
        self._has_begun = False
        self.tail = tail

    def is_over(self, placed: int) -> bool:
        """Say whether the time is over; until something was placed, there is nothing to show."""
        if placed and not self._has_begun and self._length_s is not None:
            self._until = time.monotonic() + self._length_s
        self._has_begun = self._has_begun or placed > 0
        return self._until is not None and time.monotonic() >= self._until


def _stock(server: Server, count: int) -> None:
    kind = server.kinds.core("nodes")
    for node in nodes(count, "plain", stamp(server.verbs.clock())):
        server.verbs.create(kind, "", node)


def _prepared(folder: Path) -> Setup:
    """Serve default-scheduler under its own lease, as the only scheduler of a cluster does."""
    file = folder / "scheduler.yaml"
    file.write_text(CONFIGURATION, encoding="utf-8")
    return setup(Asked(config=str(file), without_preemption=True), None)


async def _lived(prepared: Setup, up: Running, work: Work, showing: Showing) -> int:
    """Schedule, have work arrive, and show it, until somebody ends it."""
    daemon = Daemon(Means(Access.to(up.url), prepared, None, Tokens(None), 0, legacy_metrics=False))
    ticker = Ticker(daemon)
    arriving = asyncio.create_task(_arrive(up, work, lambda: showing.is_over(ticker.placed()), daemon.end))
    view = asyncio.create_task(_live(ticker, showing) if sys.stdout.isatty() else _lines(ticker))
    try:
        status = await daemon.run()
    finally:
        arriving.cancel()
        view.cancel()
        await asyncio.gather(arriving, view, return_exceptions=True)
    click.echo(f"\n{_sum(ticker.glance())}")
    return status


async def _arrive(up: Running, work: Work, is_over: Callable[[], bool], end: Callable[[], None]) -> None:
    """Have applications arrive at a steady rate, until the time is over."""
    while not is_over():
        await asyncio.to_thread(up.call, work.more)
        await asyncio.sleep(1 / PER_S)
    end()


async def _live(ticker: Ticker, showing: Showing) -> None:
    """Show what happens, on a terminal."""
    from rich.live import Live  # noqa: PLC0415 - only here: it takes longer to import than a pipe has lines

    with Live(auto_refresh=False, screen=False, transient=True) as live:
        while True:
            live.update(shown(ticker.glance(), showing.tail.last), refresh=True)
            await asyncio.sleep(EVERY_S)


async def _lines(ticker: Ticker) -> None:
    """Print what happens, for a pipe or a file."""
    while True:
        await asyncio.sleep(LINE_EVERY_S)
        click.echo(line(ticker.glance()))


def _sum(glance: Glance) -> str:
    return (
        f"{glance.placed:,} pods placed in {glance.seconds:.0f} s, {glance.waiting:,} still wait; "
        f"the scheduler used {glance.cpu_ms_per_pod:.2f} ms of CPU for each"
    )


def _seconds(written: str) -> float | None:
    """Read for how long; None: until somebody ends it."""
    if not written:
        return None
    try:
        return max(Duration.parse(written) / 1e9, 0.0)
    except ValueError as error:
        raise click.ClickException(f"--for {error}") from None
