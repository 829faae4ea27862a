"""Connections: HTTP/1.1 over one socket, parsed by httptools: one call after another, or one answer that streams.

What a server sends is measured before it is kept: a head, an answer and a line have most bytes.
Invariant: a connection that broke a rule is closed and says why, once; nothing is expected of it any more.
Not here: which call goes where (`transport.py`), making connections (`dialing.py`).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Final, Protocol

import httptools

from bayplan.kube.calls import Answer, Call, Failure

HEAD_BYTES_MAX: Final = 64 * 2**10
_RETRY_AFTER: Final = re.compile(rb"\r\nretry-after:[ \t]*(\d{1,5})[ \t]*\r\n", re.IGNORECASE)


class Wire(asyncio.Protocol):
    """What both kinds of connections have in common: a parser, and limits on what it is fed."""

    __slots__ = ("_head", "_head_left", "_parser", "_retry_after_s", "_status", "transport", "why")

    def __init__(self) -> None:
        """Begin without a socket."""
        self.transport: asyncio.Transport | None = None
        self.why = ""  # it was closed
        self._status = 0
        self._retry_after_s = 0.0
        self._head = b""
        self._head_left = HEAD_BYTES_MAX
        self._parser = httptools.HttpResponseParser(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]  # a stream's transport, whatever its class

    def data_received(self, data: bytes) -> None:
        if self._head_left:
            self._head = data if not self._head else self._head + data
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self.close("it changed to another protocol")
        except httptools.HttpParserCallbackError as error:
            cause = error.__context__
            self.close(str(cause) if isinstance(cause, _TooMuch) else f"its answer could not be taken in: {cause!r}")
        except httptools.HttpParserError as error:
            self.close(f"it does not speak HTTP/1.1: {error}")
        else:
            if self._head_left:
                self._head_left -= len(data)
                if self._head_left <= 0:
                    self.close(f"its answer began with more than {HEAD_BYTES_MAX:,} bytes of headers")

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status >= 200:
            self._status = status
            self._head_left = 0
            if status >= 400:  # only then is a header of interest, and most answers are good
                found = _RETRY_AFTER.search(self._head)
                self._retry_after_s = float(found[1]) if found is not None else 0.0
        self._head = b""

    def close(self, why: str) -> None:
        """Close the socket; whoever waits is told why when it is closed."""
        self.why = self.why or why
        if self.transport is not None:
            self.transport.abort()


class _TooMuch(Exception):
    """More was answered than is taken."""


class Owner(Protocol):
    """Who gives connections their calls."""

    def answered(self, connection: Connection, call: Call, answer: Answer) -> None: ...

    def lost(self, connection: Connection, failure: Failure) -> None: ...


class Connection(Wire):
    """Carries one call after another."""

    __slots__ = ("_answer", "_left", "_owner", "_pieces", "call", "generation", "idle_since")

    def __init__(self, owner: Owner, generation: int) -> None:
        """Begin without a call."""
        super().__init__()
        self.call: Call | None = None
        self.generation = generation
        self.idle_since = 0.0
        self._answer: Answer | None = None
        self._owner = owner
        self._pieces: list[bytes] = []
        self._left = 0

    def send(self, call: Call, request: bytes) -> None:
        """Send a call; its owner is told what comes of it."""
        self.call = call
        self._left = call.bytes_max
        self._head_left = HEAD_BYTES_MAX
        self._retry_after_s = 0.0
        self.transport.write(request)  # type: ignore[union-attr]  # who has no socket is given no call

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        answer, call = self._answer, self.call
        if answer is not None and call is not None:  # told here, where an exception of the owner's is its own
            self._answer = self.call = None
            self._owner.answered(self, call, answer)

    def on_body(self, body: bytes) -> None:
        self._left -= len(body)
        if self._left < 0:
            raise _TooMuch("its answer is larger than any we expect")
        self._pieces.append(body)

    def on_message_complete(self) -> None:
        if not self._status:
            return  # 100 Continue, and its like
        pieces = self._pieces
        if self.call is None or self._answer is not None:
            raise _TooMuch("it answered what nobody had asked")
        body = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        self._answer = Answer(self._status, body, self._retry_after_s)
        self._pieces = []
        self._status = 0
        if not self._parser.should_keep_alive():
            self.close("it asked for the connection to be closed")

    def connection_lost(self, exc: Exception | None) -> None:
        why = self.why or (f"the connection broke: {exc}" if exc is not None else "it closed the connection")
        self.transport = None
        self._owner.lost(self, Failure(why, was_sent=True))


class Receiver(Protocol):
    """Who takes in an answer that streams."""

    def opened(self) -> None:
        """Take note that the answer is a good one."""

    def received(self, data: bytes) -> None:
        """Take in a piece of it; raise Failure to hear no more."""


class Stream(Wire):
    """An answer that goes on for as long as both sides like."""

    __slots__ = ("_body", "_chunks", "_is_complete", "_receiver", "ended")

    def __init__(self, receiver: Receiver, ended: Callable[[Answer | Failure], None]) -> None:
        """Begin; `ended` is told the end of a good answer, another answer, or what went wrong."""
        super().__init__()
        self.ended: Callable[[Answer | Failure], None] | None = ended
        self._receiver = receiver
        self._body = b""
        self._chunks: list[bytes] = []
        self._is_complete = False

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._chunks and self._status == 200:
            chunks, self._chunks = self._chunks, []
            try:
                self._receiver.received(chunks[0] if len(chunks) == 1 else b"".join(chunks))
            except Failure as failure:
                self._end(failure)
        if self._is_complete:
            self._end(Answer(self._status, self._body, self._retry_after_s))

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        if self._status == 200:
            self._receiver.opened()

    def on_body(self, body: bytes) -> None:
        if self._status == 200:
            self._chunks.append(body)
        elif len(self._body) < HEAD_BYTES_MAX:
            self._body += body

    def on_message_complete(self) -> None:
        self._is_complete = bool(self._status)

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        why = self.why or (f"the connection broke: {exc}" if exc is not None else "it closed the connection")
        self._end(Failure(why, was_sent=True))

    def _end(self, outcome: Answer | Failure) -> None:
        ended, self.ended = self.ended, None
        if ended is not None:
            ended(outcome)
            self.close("it was read to its end")
