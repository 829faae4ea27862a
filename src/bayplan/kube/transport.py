"""Transport: calls to the API server over a pool of kept connections, and answers that stream.

Who has something to be sent says `submit`, or stands in a queue of his own that is asked for the next call whenever a
connection is free (`feed`, `wake`): what is asked for by `request` first, then bindings, status patches, events.  What
would change something about a pod is sent only while `may_write` says so.  No task is made for a call; deadlines are
looked through once in a while.
    client = Client(access); answer = await client.request("GET", "/api/v1/nodes"); await client.close()
Invariant: each call ends once, in time; it is sent again only as its rule says, and never when it may have been done
and its rule is not safe.  A server that says when to come back is left alone until then.
Not here: the bytes (`connection.py`), reaching the server (`dialing.py`), what is sent (`writes.py`, `watch.py`).
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Final, Protocol

import msgspec

from bayplan.kube.auth import Access
from bayplan.kube.calls import AGAIN, DOUBTFUL, JSON, READ, WRITE, Answer, Call, Failure, Outcome, Priority
from bayplan.kube.connection import Connection, Receiver, Stream
from bayplan.kube.dialing import dialed
from bayplan.kube.kubeconfig import AccessError
from bayplan.kube.naps import Naps

IDLE_S_MAX: Final = 60.0  # API servers close what is idle for 90
DIAL_AGAIN_S: Final = (0.1, 5.0)
RETRY_AFTER_S_MAX: Final = 60.0
NAP_CALLS: Final = 8
CLOSING_ROUNDS: Final = 3
SWEEPS: Final = 4  # of the deadlines, in the shortest time that any call has
USER_AGENT: Final = "bayplan"

logger = logging.getLogger(__name__)


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How much, and how long."""

    connections: int = 20  # more are of no use to an API server on a few cores, fewer leave it idle
    timeout_s: float = 30.0  # of a call, its wait for a connection and its tries included
    dial_s: float = 10.0
    nap_s: float = 0.002  # at most, while most connections wait for the server


def _always() -> bool:
    return True


class Counts:
    """What has happened, for whoever measures."""

    __slots__ = ("again", "dialed", "failed", "sent")

    def __init__(self) -> None:
        """Begin with nothing."""
        self.sent = 0
        self.again = 0  # of those sent, sent once more
        self.failed = 0
        self.dialed = 0


class Feed(Protocol):
    """A queue of somebody's own, whose next call is made when a connection is free for it."""

    def ready(self) -> int:
        """Say how many calls could be sent now."""

    def next(self) -> Call | None:
        """Give the next call, if there is one."""


class Client:
    """Talks to one API server."""

    def __init__(self, access: Access, limits: Limits | None = None, *, user_agent: str = USER_AGENT) -> None:
        """Talk over the given way; nothing is connected before it is needed."""
        self.access = access
        self.limits = limits or Limits()
        self.counts = Counts()
        self.trouble = ""  # what keeps us from the server now
        self.may_write: Callable[[], bool] = _always
        self._agent = user_agent
        self._queues: tuple[deque[Call], ...] = tuple(deque() for _ in Priority)
        self._feeds: list[Feed | None] = [None for _ in Priority]
        self._paused_until = [0.0 for _ in Priority]
        self._idle: list[Connection] = []
        self._open: set[Connection] = set()
        self._streams: set[Stream] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._later: dict[Call, asyncio.TimerHandle] = {}
        self._dialing = 0
        self._dial_failures = 0
        self._is_waiting = False  # before the server is tried again
        self._sweep: asyncio.TimerHandle | None = None
        self._nap: asyncio.Handle | None = None
        self._naps = Naps(self.limits.nap_s)
        self._refreshing: asyncio.Task[bool] | None = None
        self._head_version = -1
        self._head = b""
        self._luck = random.random  # spreads waits; nothing that is decided
        self._is_closed = False
        self._loop: asyncio.AbstractEventLoop | None = None

    # --- what others ask for -----------------------------------------------------------------------------------------

    async def request(
        self, method: str, path: str, body: bytes = b"", *, media: bytes = JSON, timeout_s: float = 0.0
    ) -> Answer:
        """Ask and wait for the answer, whatever its status; raise Failure where none is had."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Answer] = loop.create_future()

        def end(_: Call, outcome: Outcome) -> None:
            if done.done():
                return
            if isinstance(outcome, Failure):
                done.set_exception(outcome)
            else:
                done.set_result(outcome)

        call = Call(f"{method} {path}".encode(), body, end)
        call.rule, call.media, call.timeout_s = READ if method == "GET" else WRITE, media, timeout_s
        call.priority = Priority.FIRST
        self.submit(call)
        try:
            return await done
        finally:
            self._drop(call)

    def submit(self, call: Call) -> None:
        """Send a call as soon as its turn comes."""
        call.deadline = self._now() + (call.timeout_s or self.limits.timeout_s)
        self._queues[call.priority].append(call)
        self.wake()

    def feed(self, priority: Priority, feed: Feed | None) -> None:
        """Ask somebody for the next call of a priority, whenever a connection is free; `wake` when there are some."""
        self._feeds[priority] = feed

    def wake(self) -> None:
        """Send what waits over what is free, and connect where that is not enough."""
        now = self._now()
        if self.access.fresh_until <= now:
            self._refresh()
            return
        while self._idle:
            connection = self._idle[-1]
            if now - connection.idle_since > IDLE_S_MAX or connection.generation != self.access.generation:
                self._idle.pop().close("it was idle for long, or credentials have changed")
                continue
            call = self._next(now)
            if call is None:
                break
            self._idle.pop()
            self._send(connection, call)
        room = self.limits.connections - len(self._open) - self._dialing
        if room > 0 and not self._idle and not self._is_waiting:
            self._connect(room)
        if self._sweep is None:
            self._sweep_later()

    def _connect(self, room: int) -> None:
        """Begin as many connections as there are calls for, or one while the server cannot be reached."""
        wanted = sum(map(len, self._queues)) + sum(feed.ready() for feed in self._feeds if feed is not None)
        most = 1 if self._dial_failures else room
        for _ in range(min(room, wanted - self._dialing, most - min(self._dialing, most))):
            self._dialing += 1
            self._spawn(self._dial())

    async def stream(self, path: str, receiver: Receiver, *, timeout_s: float) -> Answer:
        """Have an answer streamed to a receiver over a connection of its own; return it when it has ended.

        An answer that is not 200 is returned with its body.  Raise Failure when it breaks or takes too long.
        """
        await self.ready()
        done: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()

        def ended(outcome: Outcome) -> None:
            if not done.done():
                done.set_result(outcome)

        stream = await dialed(self.access, lambda: Stream(receiver, ended), self.limits.dial_s)
        self._streams.add(stream)
        try:
            stream.transport.write(self._written(b"GET " + path.encode(), b"", b""))  # type: ignore[union-attr]
            async with asyncio.timeout(timeout_s):
                outcome = await done
        except TimeoutError:
            raise Failure(f"the answer did not end within {timeout_s:g} s", was_sent=True) from None
        finally:
            self._streams.discard(stream)
            stream.close("nobody reads it any more")
        if isinstance(outcome, Failure):
            raise outcome
        return outcome

    async def ready(self, *, refused: bool = False) -> bool:
        """Have credentials that hold, others if we were refused; raise AccessError where there are none."""
        now = self._now()
        if self._refreshing is None and (refused or self.access.fresh_until <= now):
            self._refreshing = asyncio.ensure_future(self.access.refresh(now, refused=refused))
            self._refreshing.add_done_callback(self._refreshed)
        if self._refreshing is None:
            return False
        return await asyncio.shield(self._refreshing)

    async def close(self) -> None:
        """End everything; calls that are under way end as unknown, those that wait as not sent."""
        self._is_closed = True
        for handle in self._later.values():
            handle.cancel()
        for call in [*self._later, *(call for queue in self._queues for call in queue)]:
            call.end(call, Failure("we are closing", was_sent=call.is_doubtful))
        self._later.clear()
        for queue in self._queues:
            queue.clear()
        if self._sweep is not None:
            self._sweep.cancel()
        for wire in [*self._open, *self._streams]:
            wire.close("we are closing")
        tasks = [*self._tasks, *([self._refreshing] if self._refreshing is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for _ in range(CLOSING_ROUNDS):  # a closed socket says so in one of the next rounds of the loop
            await asyncio.sleep(0)

    # --- what connections tell ---------------------------------------------------------------------------------------

    def answered(self, connection: Connection, call: Call, answer: Answer) -> None:
        """Take an answer in, and give the connection something else to do."""
        if answer.status == 401:
            self._spawn(self._refused(call, answer))
        elif answer.status in AGAIN:
            self._again(call, answer)
        else:
            call.end(call, answer)
        if connection.transport is None or connection.why or self._is_closed:
            return
        now = self._now()
        if connection.generation != self.access.generation:
            connection.close("credentials have changed")
        elif self.access.fresh_until <= now:
            self._rest(connection, now)
            self._refresh()
        else:
            following = self._next(now)
            if following is not None:
                self._send(connection, following)
            else:
                self._rest(connection, now)

    def _rest(self, connection: Connection, now: float) -> None:
        connection.idle_since = now
        self._idle.append(connection)

    def lost(self, connection: Connection, failure: Failure) -> None:
        """Let a connection go, and tell whoever was using it."""
        self._open.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)
        call, connection.call = connection.call, None
        if call is not None:
            self._again(call, Failure(f"{self.access.address}: {failure}", was_sent=True))
        if not self._is_closed:
            self.wake()

    # --- sending -----------------------------------------------------------------------------------------------------

    def _next(self, now: float) -> Call | None:
        """Give the call whose turn it is."""
        may_write = self.may_write()
        for priority, queue in enumerate(self._queues):
            if self._paused_until[priority] > now:
                return None  # nor anything that matters less
            while queue:
                queued = queue.popleft()
                if may_write or queued.rule.is_safe or priority == Priority.FIRST:
                    return queued
                failure = Failure("we may not write any more", was_sent=queued.is_doubtful)
                self._running().call_soon(queued.end, queued, failure)
            feed = self._feeds[priority]
            if feed is not None and may_write:
                call = feed.next()
                if call is not None:
                    call.deadline = now + (call.timeout_s or self.limits.timeout_s)
                    return call
        return None

    def _send(self, connection: Connection, call: Call) -> None:
        call.version = self.access.version
        call.tried += 1
        self.counts.sent += 1
        if self._nap is None and self._is_busy():
            self._nap = self._running().call_soon(self._napped)
        connection.send(call, self._written(call.line, call.payload, call.media))

    def _is_busy(self) -> bool:
        """Say whether many connections, and most, wait for the server: then it is the server that cannot go faster."""
        under_way = len(self._open) - len(self._idle)
        return self.limits.nap_s > 0 and under_way >= NAP_CALLS and 4 * under_way >= 3 * self.limits.connections

    def _napped(self) -> None:
        self._nap = None
        if self._is_busy() and self._naps.take(self.counts.sent):
            self._nap = self._running().call_soon(self._napped)

    def _written(self, line: bytes, payload: bytes, media: bytes) -> bytes:
        """Write a request."""
        access = self.access
        if self._head_version != access.version:
            self._head_version = access.version
            self._head = (
                f" HTTP/1.1\r\nHost: {access.address.authority}\r\nUser-Agent: {self._agent}\r\n"
                "Accept: application/json\r\n"
            ).encode() + access.headers
        if access.address.prefix:
            method, _, path = line.partition(b" ")
            line = b"%b %b%b" % (method, access.address.prefix.encode(), path)
        if not payload:
            return b"%b%b\r\n" % (line, self._head)
        return b"%b%b%bContent-Length: %d\r\n\r\n%b" % (line, self._head, media, len(payload), payload)

    def _again(self, call: Call, outcome: Outcome) -> None:
        """Send a call again if its rule allows it, later; end it otherwise."""
        self._pause(call, outcome)
        if isinstance(outcome, Failure):
            call.is_doubtful |= outcome.was_sent
            may_repeat = call.rule.is_safe or not outcome.was_sent
        else:
            call.is_doubtful |= outcome.status in DOUBTFUL
            may_repeat = True  # done or not, the server says so once it can
        now = self._now()
        wait_s = call.rule.wait_s(max(call.tried, 1), self._luck())
        if not isinstance(outcome, Failure):
            wait_s = max(wait_s, min(outcome.retry_after_s, RETRY_AFTER_S_MAX) * (1 + 0.1 * self._luck()))
        if not may_repeat or call.tried >= call.rule.tries or now + wait_s >= call.deadline or self._is_closed:
            self.counts.failed += 1
            call.end(call, outcome)
            return
        self.counts.again += 1
        self._later[call] = self._running().call_later(wait_s, self._resubmit, call)

    def _resubmit(self, call: Call) -> None:
        if self._later.pop(call, None) is not None:
            self._queues[call.priority].appendleft(call)
            self.wake()

    def _pause(self, call: Call, outcome: Outcome) -> None:
        """Leave a server alone that says it has too much to do; with what matters more than this, go on."""
        if isinstance(outcome, Failure) or not outcome.retry_after_s:
            return
        wait_s = min(outcome.retry_after_s, RETRY_AFTER_S_MAX)
        until = self._now() + wait_s
        for priority in range(call.priority, len(self._paused_until)):
            self._paused_until[priority] = max(self._paused_until[priority], until)
        self._running().call_later(wait_s, self._unpaused, until)

    def _unpaused(self, until: float) -> None:
        """Go on; a timer may be a little early, so that the clock is not asked again."""
        self._paused_until = [0.0 if one <= until else one for one in self._paused_until]
        self._wake_if_open()

    async def _refused(self, call: Call, answer: Answer) -> None:
        """Send a call once more with other credentials, if there are any."""
        try:
            if call.version == self.access.version:
                await self.ready(refused=True)
        except AccessError as error:
            logger.warning("the API server answers 401, and there are no other credentials: %s", error)
        if call.version != self.access.version and call.tried < call.rule.tries + 1 and not self._is_closed:
            self._queues[call.priority].appendleft(call)
            self.wake()
        else:
            call.end(call, answer)

    # --- connecting --------------------------------------------------------------------------------------------------

    async def _dial(self) -> None:
        generation = self.access.generation
        try:
            connection = await dialed(self.access, lambda: Connection(self, generation), self.limits.dial_s)
        except Failure as failure:
            self._dialing -= 1
            self._not_reached(str(failure))
            return
        except BaseException:
            self._dialing -= 1
            raise
        self._dialing -= 1
        self._dial_failures, self._is_waiting, self.trouble = 0, False, ""
        self.counts.dialed += 1
        if connection.transport is not None and not self._is_closed:
            self._open.add(connection)
            self._rest(connection, self._now())
        self.wake()

    def _not_reached(self, why: str) -> None:
        """Try again later; whoever waits goes on waiting until his time is over."""
        if why != self.trouble:
            logger.warning("%s", why)
        self.trouble = why
        self._dial_failures += 1
        least, most = DIAL_AGAIN_S
        wait_s = min(most, least * 2 ** min(self._dial_failures - 1, 10)) * (1 + 0.5 * self._luck())
        self._is_waiting = True
        self._running().call_later(wait_s, self._reach_again)

    def _reach_again(self) -> None:
        self._is_waiting = False
        self._wake_if_open()

    def _refresh(self) -> None:
        if self._refreshing is None and not self._is_waiting:
            self._spawn(self._have_credentials())

    async def _have_credentials(self) -> None:
        try:
            await self.ready()
        except AccessError as error:
            self._not_reached(str(error))
            self._sweep_later()

    def _refreshed(self, task: asyncio.Task[bool] | asyncio.Future[bool]) -> None:
        self._refreshing = None
        if not task.cancelled() and task.exception() is None and not self._is_closed:
            self._running().call_soon(self._wake_if_open)

    def _wake_if_open(self) -> None:
        if not self._is_closed:
            self.wake()

    # --- deadlines ---------------------------------------------------------------------------------------------------

    def _sweep_later(self) -> None:
        if self._sweep is not None or not self._has_work():
            return
        times = [call.timeout_s for call in self._calls() if call.timeout_s]
        shortest = min([*times, self.limits.timeout_s])
        self._sweep = self._running().call_later(min(1.0, shortest / SWEEPS), self._swept)

    def _has_work(self) -> bool:
        return any(self._queues) or any(connection.call is not None for connection in self._open)

    def _calls(self) -> list[Call]:
        waiting = [call for queue in self._queues for call in queue]
        return waiting + [connection.call for connection in self._open if connection.call is not None]

    def _swept(self) -> None:
        """End what has taken too long."""
        self._sweep = None
        now = self._now()
        for queue in self._queues:
            late = [call for call in queue if call.deadline <= now]
            for call in late:
                queue.remove(call)
                why = self.trouble or f"{self.access.address}: no connection was free in time"
                self.counts.failed += 1
                call.end(call, Failure(why, was_sent=call.is_doubtful))
        for connection in list(self._open):
            sent = connection.call
            if sent is not None and sent.deadline <= now:
                seconds = sent.timeout_s or self.limits.timeout_s
                connection.close(f"no answer to {sent!r} within {seconds:g} s")
        self._sweep_later()

    def _drop(self, call: Call) -> None:
        """Forget a call for which nobody waits any more, if it has not been sent."""
        handle = self._later.pop(call, None)
        if handle is not None:
            handle.cancel()
        queue = self._queues[call.priority]
        if call in queue:
            queue.remove(call)

    def _now(self) -> float:
        return self._running().time()

    def _running(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        return self._loop

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = self._running().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
