"""Servers that do what no server should, on a real socket of loopback.

Not here: a server that behaves (`bayplan.playground`).
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


class Hostile:
    """Where such a server listens, and what it was sent."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.port = 0
        self.requests: list[bytes] = []
        self.connections = 0

    @property
    def url(self) -> str:
        """Give its address."""
        return f"http://127.0.0.1:{self.port}"


@asynccontextmanager
async def serving(*answers: bytes | Script | None) -> AsyncIterator[Hostile]:
    """Answer requests with these bytes in turn, the last of them for ever; None closes the connection instead."""
    it = Hostile()
    left = list(answers)
    tasks: set[asyncio.Task[None]] = set()

    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        it.connections += 1
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                it.requests.append(await _request(reader))
                answer = left.pop(0) if len(left) > 1 else left[0]
                if answer is None:
                    break
                if isinstance(answer, bytes):
                    writer.write(answer)
                    await writer.drain()
                else:
                    await answer(reader, writer)
        writer.close()

    server = await asyncio.start_server(served, "127.0.0.1", 0)
    it.port = server.sockets[0].getsockname()[1]
    try:
        yield it
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    _, found, rest = head.lower().partition(b"content-length: ")
    size = int(rest.split(b"\r\n")[0]) if found else 0
    return head + await reader.readexactly(size)


def answer(status: str, body: bytes = b"{}", *headers: str) -> bytes:
    """Write an answer."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


async def until(holds: Callable[[], bool], what: str) -> None:
    """Wait for something that will happen."""
    for _ in range(20_000):
        if holds():
            return
        await asyncio.sleep(0.001)
    raise AssertionError(f"it never came to pass: {what}")


async def silence(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Say nothing until the client goes."""
    await reader.read()
    raise ConnectionError


def cut(begin: bytes) -> Script:
    """Begin an answer, and break off."""

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(begin)
        await writer.drain()
        raise ConnectionError

    return script


def endless(begin: bytes, again: bytes) -> Script:
    """Begin an answer, and never end it."""

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(begin)
        while True:
            writer.write(again)
            await writer.drain()
            await asyncio.sleep(0)  # drain need not wait

    return script
