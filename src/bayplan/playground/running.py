"""A playground that runs beside other code: its own event loop in a thread, for tests and for embedding.

Invariant: the store is touched in that thread alone; what other threads want done is handed over with `call`.
Not here: the command (`cli/playground.py`).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from bayplan.playground.kubelets import Pace
from bayplan.playground.server import Server
from bayplan.playground.store import LOG_MAX

R = TypeVar("R")


class Running:
    """A server that is up."""

    def __init__(self, server: Server, loop: asyncio.AbstractEventLoop) -> None:
        """Keep the server and the loop that it lives in."""
        self.server = server
        self._loop = loop

    @property
    def url(self) -> str:
        """Give the address that clients use."""
        return self.server.url

    def call(self, wanted: Callable[[Server], R]) -> R:
        """Do something with the server in its own thread, and give what comes of it."""

        async def called() -> R:
            return wanted(self.server)

        return asyncio.run_coroutine_threadsafe(called(), self._loop).result()


@contextmanager
def running(*, port: int = 0, log_max: int = LOG_MAX, pace: Pace | None = None) -> Iterator[Running]:
    """Run a playground in a thread for as long as the context lasts; with a pace, kubelets and controllers work too."""
    begun = threading.Event()
    found: list[Running] = []
    failed: list[BaseException] = []
    ends: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def serve() -> None:
        server, end = Server(log_max=log_max), asyncio.Event()
        if pace is not None:
            server.live(pace)
        async with server.listening(port):
            loop = asyncio.get_running_loop()
            ends.append((loop, end))
            found.append(Running(server, loop))
            begun.set()
            await end.wait()

    def run() -> None:
        try:
            asyncio.run(serve())
        except OSError as error:
            failed.append(error)
        finally:
            begun.set()

    thread = threading.Thread(target=run, name="playground", daemon=True)
    thread.start()
    begun.wait()
    if failed:
        raise failed[0]
    try:
        yield found[0]
    finally:
        loop, end = ends[0]
        loop.call_soon_threadsafe(end.set)
        thread.join()
