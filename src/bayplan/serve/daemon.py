"""The daemon: a core wired to a live cluster, from start to end.

1. Reach the API server; 2. watch what the rules read, and stand for the lease; 3. when everything is listed and the
lease is held, schedule; 4. when told to end, finish what is on its way and give the lease up; when the lease is lost,
write nothing more and end at once: another may begin.
Invariant: nothing is written about pods but while the lease is held.
Not here: turns (driver.py), what is asked for (setup.py), and reading the command line (`cli/run.py`).
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final, NamedTuple

from bayplan.api.messages import AnyEffect
from bayplan.core.scheduler import Core
from bayplan.kube.auth import Access
from bayplan.kube.lease import Election
from bayplan.kube.lease import Settings as LeaseSettings
from bayplan.kube.resources import resources
from bayplan.kube.transport import Client, Limits
from bayplan.kube.watch import Watch
from bayplan.kube.writes import Settings as WriteSettings
from bayplan.kube.writes import Writer
from bayplan.serve import metrics as names
from bayplan.serve.driver import Clock, Driver
from bayplan.serve.health import Health, Port, Tokens, listening
from bayplan.serve.hearing import Hearing
from bayplan.serve.kinds import watched
from bayplan.serve.logs import fields
from bayplan.serve.metrics import Metrics
from bayplan.serve.observer import Observer
from bayplan.serve.setup import Lease, Setup
from bayplan.serve.unbuilt import said

FINISH_S_MAX: Final = 5.0  # for what is on its way when told to end
LOOK_S: Final = 0.02
RESTART_S: Final = 1.0
FAILED: Final = 1
FOR_THE_LEASE: Final = Limits(connections=1)  # of its own: it is renewed though a slow server holds all the others

logger = logging.getLogger(__name__)


class Means(NamedTuple):
    """What a daemon is given."""

    access: Access
    setup: Setup
    port: Port | None  # None: no port is served
    tokens: Tokens
    seed: int
    legacy_metrics: bool


class Daemon:
    """One scheduler of one cluster; made and run in an event loop."""

    def __init__(self, means: Means) -> None:
        setup = means.setup
        self._means = means
        self.metrics = Metrics(legacy=means.legacy_metrics)
        self.core = Core(setup.profiles, seed=means.seed, with_settings=setup.core)
        self._observer = Observer(self.metrics)
        self._observer.looks_at(self.core)
        self._kinds = watched(setup.profiles.values())
        self.driver = Driver(self.core, self._kinds, self._carry_out, self._observer, Clock())
        self._client = Client(means.access)
        host = socket.gethostname()
        limits = setup.limits
        writes = WriteSettings(host=host, bind_qps=limits.qps or 0.0, bind_burst=limits.burst or 1)
        self._writer = Writer(self._client, self.core.known, self.driver.hear, writes)
        self._asking = Client(means.access, FOR_THE_LEASE)
        self._election = None if setup.lease is None else Election(self._asking, _settings(setup.lease, host))
        self._client.may_write = self._leads
        self._hearing = Hearing(self.driver, self.metrics, self._writer.recorder.record)
        self._told = asyncio.Event()  # to end
        self._read_numbers()

    def _read_numbers(self) -> None:
        metrics, writer, lease = self.metrics, self._writer, self._means.setup.lease
        metrics.read(names.WRITES_WAITING, lambda: {(): float(writer.waiting())})
        metrics.read(names.EVENTS_LOST, lambda: {(): float(writer.recorder.dropped)})
        if lease is not None:
            metrics.read(names.LEADS, lambda: {(lease.name,): float(self._leads())})

    # -- from start to end

    async def run(self) -> int:
        """Schedule until told to end, or until that may not go on; return the exit status."""
        try:
            await self._client.ready()
            async with self._serving():
                with self._signals():
                    return await self._lived()
        finally:
            await self._client.close()
            await self._asking.close()

    def end(self) -> None:
        """Finish what is on its way, and end."""
        self._told.set()

    async def _lived(self) -> int:
        setup = self._means.setup
        logger.info(
            "started",
            extra=fields(
                server=str(self._means.access.address),
                profiles=", ".join(setup.profiles),
                lease=str(setup.lease or "none"),
                kinds=len(self._kinds),
            ),
        )
        logger.info(said())
        kinds = resources()
        watches = [
            asyncio.create_task(self._watch(Watch(self._client, kinds[kind], self._hearing))) for kind in self._kinds
        ]
        leading = asyncio.create_task(self._lead())
        driving = asyncio.create_task(self.driver.run())
        told = asyncio.create_task(self._told.wait())
        try:
            await asyncio.wait({leading, driving, told}, return_when=asyncio.FIRST_COMPLETED)
            if leading.done() and not told.done():
                return self._lost(leading)
            await self._finish(driving)
            if driving.done() and not driving.cancelled() and driving.exception() is not None:
                logger.error("the daemon failed", exc_info=driving.exception())
                return FAILED
            if self.driver.stopped:
                logger.error(
                    "stopped: something is wrong that trying again does not cure", extra=fields(why=self.driver.stopped)
                )
            return FAILED if self.driver.stopped else 0
        finally:
            await _cancelled([*watches, leading, driving, told])
            self._writer.close()
            if self._election is not None:
                await self._election.release()
            logger.info("ended")

    def _lost(self, leading: asyncio.Task[None]) -> int:
        """Write nothing more: another may begin."""
        self._writer.close()
        if leading.exception() is not None:
            logger.error("standing for the lease failed", exc_info=leading.exception())
        else:
            why = self._election.why_lost if self._election is not None else ""
            logger.error("the lease is lost: nothing more is written", extra=fields(why=why))
        return FAILED

    async def _finish(self, driving: asyncio.Task[None]) -> None:
        """Try nobody new, and let what was sent come back."""
        self.driver.is_ending = True
        self.driver.wake()
        for _ in range(int(FINISH_S_MAX / LOOK_S)):
            is_driven = not driving.done() and not self.driver.is_quiet
            if not self._leads() or not (is_driven or self._writer.waiting()):
                return
            await asyncio.sleep(LOOK_S)

    async def _lead(self) -> None:
        """Let pods be tried while the lease is held; return when it is lost."""
        if self._election is None:
            self._begin()
            await asyncio.Event().wait()  # nobody takes it away
            return
        electing = asyncio.create_task(self._election.run())
        won = asyncio.create_task(self._election.won.wait())
        try:
            await asyncio.wait({electing, won}, return_when=asyncio.FIRST_COMPLETED)
            if won.done():
                self._begin()
            await electing
        finally:
            self.driver.leads = False
            await _cancelled([electing, won])

    def _begin(self) -> None:
        self.driver.leads = True
        self.driver.wake()

    def _leads(self) -> bool:
        return self._election is None or self._election.is_held()

    def _carry_out(self, effects: Sequence[AnyEffect]) -> None:
        """Have effects written; those of one who does not lead any more are dropped, as the process soon is."""
        if self._leads():
            self._observer.effects(effects)
            self._writer.write(effects)  # type: ignore[arg-type]  # the driver has taken out the wish to be stopped

    async def _watch(self, watch: Watch) -> None:
        """Watch a kind; what nobody has thought of costs a second, not the kind."""
        while True:
            try:
                await watch.run()
            except Exception:
                logger.exception("a watch failed; it begins anew", extra=fields(kind=watch.resource.kind))
                await asyncio.sleep(RESTART_S)
                watch = Watch(self._client, watch.resource, self._hearing)

    # -- around it

    @asynccontextmanager
    async def _serving(self) -> AsyncIterator[None]:
        port = self._means.port
        if port is None:
            yield
            return
        async with listening(self._health(), port) as number:
            logger.info("serving health and metrics", extra=fields(address=port.address, port=number))
            yield

    def _health(self) -> Health:
        ping = {"ping": lambda: True}
        elects = self._election is not None
        lease = {"leaderElection": lambda: self._election is None or not self._election.lost.is_set()}
        ready = {
            **(lease if elects else {}),
            "shutdown": lambda: not self.driver.is_ending,
            "sched-handler-sync": lambda: self.driver.is_listed,
        }
        document = self._means.setup.document
        return Health(ping, lease if elects else ping, ready, self.metrics, lambda: document, self._means.tokens)

    def _signals(self) -> _Signals:
        return _Signals(self.end)


class _Signals:
    """SIGTERM and SIGINT: the first ends in good order, the second at once."""

    def __init__(self, end: Callable[[], None]) -> None:
        self._end = end
        self._numbers: list[signal.Signals] = []
        self._count = 0

    def __enter__(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            with suppress(NotImplementedError, RuntimeError, ValueError):  # a system, or a thread, without them
                loop.add_signal_handler(number, self._met, number)
                self._numbers.append(number)

    def __exit__(self, *_: object) -> None:
        loop = asyncio.get_running_loop()
        for number in self._numbers:
            loop.remove_signal_handler(number)

    def _met(self, number: signal.Signals) -> None:
        self._count += 1
        if self._count > 1:
            os._exit(FAILED)
        logger.info("told to end: finishing what is on its way", extra=fields(signal=number.name))
        self._end()


def _settings(lease: Lease, host: str) -> LeaseSettings:
    return LeaseSettings(
        namespace=lease.namespace,
        name=lease.name,
        identity=f"{host}_{uuid.uuid4()}",
        duration_s=max(1, int(lease.duration_s)),
        renew_deadline_s=lease.renew_s,
        retry_s=lease.retry_s,
    )


async def _cancelled(tasks: Sequence[asyncio.Task[object]]) -> None:
    """End tasks, whatever becomes of them."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
