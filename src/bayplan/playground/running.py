"""A playground that runs beside other code, and kubelets lent to somebody else's API server: each in a thread.

Invariant: the store is touched in that thread alone; what other threads want done is handed over with `call`.
Not here: the command (`cli/playground.py`).
"""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final, Generic, NamedTuple, TypeVar

import aiohttp

from bayplan.playground.agenda import Agenda
from bayplan.playground.evictions import Evictions
from bayplan.playground.kubelets import Kubelets, Pace
from bayplan.playground.machines import Machines
from bayplan.playground.remote import CONNECTIONS, Remote
from bayplan.playground.server import Server
from bayplan.playground.store import LOG_MAX
from bayplan.playground.users import Users

R = TypeVar("R")
T = TypeVar("T")
WATCHES: Final = 2
LEAVE_S: Final = 0.1  # for the connections of what was cut off in the middle


class Threaded(Generic[T]):
    """Something that lives in an event loop of its own, in a thread of its own."""

    def __init__(self, living: T, loop: asyncio.AbstractEventLoop) -> None:
        """Keep it and the loop that it lives in."""
        self.living = living
        self._loop = loop

    def call(self, wanted: Callable[[T], R]) -> R:
        """Do something with it in its own thread, and give what comes of it."""

        async def called() -> R:
            return wanted(self.living)

        return asyncio.run_coroutine_threadsafe(called(), self._loop).result()


class Running(Threaded[Server]):
    """A server that is up."""

    @property
    def server(self) -> Server:
        """Give the server."""
        return self.living

    @property
    def url(self) -> str:
        """Give the address that clients use."""
        return self.server.url


@contextmanager
def running(
    *, port: int = 0, log_max: int = LOG_MAX, pace: Pace | None = None, users: Users | None = None
) -> Iterator[Running]:
    """Run a playground for as long as the context lasts; with a pace, kubelets and controllers work too."""

    @asynccontextmanager
    async def serving() -> AsyncIterator[Server]:
        server = Server(log_max=log_max, users=users)
        if pace is not None:
            server.live(pace)
        async with server.listening(port):
            yield server

    with _in_thread(serving) as (server, loop):
        yield Running(server, loop)


class Where(NamedTuple):
    """Where an API server is, and how it is to be asked."""

    url: str
    token: str = ""
    authority: Path | None = None  # the certificate that it is known by; without one, any is taken


@contextmanager
def lending(where: Where, pace: Pace) -> Iterator[Threaded[Machines]]:
    """Lend kubelets to the nodes and pods of any API server for as long as the context lasts."""

    @asynccontextmanager
    async def working() -> AsyncIterator[Machines]:
        headers = {"Authorization": f"Bearer {where.token}"} if where.token else {}
        known = ssl.create_default_context(cafile=where.authority) if where.authority is not None else False
        connector = aiohttp.TCPConnector(limit=CONNECTIONS + WATCHES, ssl=known)
        async with aiohttp.ClientSession(where.url, connector=connector, headers=headers) as session:
            remote = Remote(session)
            try:
                async with remote.following("nodes", "pods"):
                    agenda = Agenda(remote.store)
                    Evictions(remote, agenda)
                    yield Machines(remote, agenda, pace, Kubelets(remote, agenda, pace))
            finally:
                await connector.close(abort_ssl=True)  # TLS that takes leave politely would outlive the event loop
                await asyncio.sleep(LEAVE_S)

    with _in_thread(working) as (machines, loop):
        yield Threaded(machines, loop)


@contextmanager
def _in_thread(living: Callable[[], AbstractAsyncContextManager[T]]) -> Iterator[tuple[T, asyncio.AbstractEventLoop]]:
    """Keep an asynchronous context open in a thread of its own."""
    begun = threading.Event()
    found: list[tuple[T, asyncio.AbstractEventLoop, asyncio.Event]] = []
    failed: list[BaseException] = []

    async def live() -> None:
        async with living() as one:
            end = asyncio.Event()
            found.append((one, asyncio.get_running_loop(), end))
            begun.set()
            await end.wait()

    def run() -> None:
        try:
            asyncio.run(live())
        except OSError as error:
            failed.append(error)
        finally:
            begun.set()

    thread = threading.Thread(target=run, name="playground", daemon=True)
    thread.start()
    begun.wait()
    if failed:
        raise failed[0]
    one, loop, end = found[0]
    try:
        yield one, loop
    finally:
        loop.call_soon_threadsafe(end.set)
        thread.join()
