"""Recording: Events as `kubectl describe` shows them, in the words of events.k8s.io/v1.

What is recorded again about an object that has not changed becomes a series: its count is written the second time, and
then seldom.  One pod may have so many events in a row; who has more has shown what there is to see.  An event costs the
server as much as a binding, so events wait until no binding has been sent for a moment, but no longer than some
seconds; a body is made when its turn comes.
Invariant: what waits is bounded; an event that is lost costs a count, never a wait.
Not here: what is worth recording (`core`).
"""

from __future__ import annotations

import asyncio
import logging
import math
import re
import time
import uuid
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol
from urllib.parse import quote

import msgspec

from bayplan.api.messages import Record
from bayplan.api.objects import Object, Pod
from bayplan.kube.calls import STRATEGIC, Answer, Call, Outcome, Priority, Rule
from bayplan.kube.ratelimit import Bucket
from bayplan.kube.stamps import SECOND_NS, to_the_microsecond
from bayplan.kube.transport import Client

NAME_MAX: Final = 253
PLAIN: Final = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?", re.ASCII)  # what needs no escape in a path
EVENT: Final = Rule(tries=12, first_s=1.0, factor=1.5, jitter=0.25)
IDLE_S: Final = 6 * 60
REPEAT_S: Final = 30 * 60
TICK_S: Final = 60.0
QUIET_S: Final = 0.1  # without a binding
HELD_S_MAX: Final = 5.0
EARLY_S: Final = 0.002  # so much a timer may be
SCHEDULED: Final = "Scheduled"

logger = logging.getLogger(__name__)


class Known(Protocol):
    """What is known of the cluster."""

    def get(self, kind: str, namespace: str, name: str) -> Object | None:
        """Return an object, or None."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How much is recorded."""

    waiting_max: int = 100_000
    series_max: int = 10_000
    burst: int = 25  # events of one pod at once
    per_s: float = 1 / 300  # and so many a second


class _Reference(msgspec.Struct, rename="camel"):
    namespace: str
    name: str
    uid: str
    resource_version: str
    kind: str = "Pod"
    api_version: str = "v1"


class _Meta(msgspec.Struct):
    name: str
    namespace: str


class _Event(msgspec.Struct, rename="camel"):
    metadata: _Meta
    event_time: str
    reporting_controller: str
    reporting_instance: str
    action: str
    reason: str
    regarding: _Reference
    note: str
    type: str
    api_version: str = "events.k8s.io/v1"
    kind: str = "Event"


class Key(NamedTuple):
    """What is the same in a series."""

    uid: str
    revision: str
    type: str
    reason: str
    action: str


class Entry:
    """An event that was or is to be written."""

    __slots__ = (
        "at_ns",
        "controller",
        "count",
        "is_written",
        "last_ns",
        "name",
        "record",
        "revision",
        "told",
        "told_ns",
    )

    def __init__(self, record: Record, controller: str, revision: str, at_ns: int) -> None:
        """Begin with one occurrence."""
        self.record = record
        self.controller = controller
        self.revision = revision
        self.name = ""
        self.at_ns = self.last_ns = self.told_ns = at_ns
        self.count = 1
        self.told = 0  # the count that the server has
        self.is_written = False


class Recorder:
    """Writes events, when nothing else is to be written."""

    def __init__(
        self, client: Client, known: Known, host: str, limits: Limits | None = None,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:  # fmt: skip
        """Record over a client; the host's name tells one of several schedulers from another."""
        self.bound_at = -math.inf  # when a binding was last sent; whoever sends them says so
        self.recorded = 0
        self.written = 0
        self.dropped = 0
        self._client = client
        self._known = known
        self._host = host
        self._limits = limits or Limits()
        self._now_ns = now_ns
        self._waiting: deque[Entry] = deque()
        self._series: OrderedDict[Key, Entry] = OrderedDict()
        self._spam: OrderedDict[str, Bucket] = OrderedDict()
        self._tick: asyncio.TimerHandle | None = None
        self._look: asyncio.TimerHandle | None = None
        self._encode = msgspec.json.Encoder().encode
        client.feed(Priority.EVENT, self)

    def __len__(self) -> int:
        return len(self._waiting)

    def record(self, record: Record) -> None:
        """Take an event; it is written when its turn comes."""
        self.recorded += 1
        pod = self._known.get("Pod", record.namespace, record.name)
        controller, revision = "default-scheduler", ""
        if isinstance(pod, Pod):
            controller = pod.spec.scheduler_name or controller
            revision = pod.metadata.resource_version
        now_ns = self._now_ns()
        if record.reason == SCHEDULED:  # nobody is scheduled twice: no series
            self._append(Entry(record, controller, revision, now_ns))
            return
        key = Key(record.uid, revision, record.type, record.reason, record.action)
        entry = self._series.get(key)
        if entry is not None:
            self._series.move_to_end(key)
            self._repeated(entry, now_ns)
            return
        if not self._may(record.uid, now_ns):
            self.dropped += 1
            return
        entry = self._series[key] = Entry(record, controller, revision, now_ns)
        while len(self._series) > self._limits.series_max:
            self._series.popitem(last=False)
        self._append(entry)
        if self._tick is None:
            self._tick = asyncio.get_running_loop().call_later(TICK_S, self._ticked)

    def _append(self, entry: Entry) -> None:
        if len(self._waiting) >= self._limits.waiting_max:
            self.dropped += 1
            return
        self._waiting.append(entry)

    def _may(self, uid: str, now_ns: int) -> bool:
        bucket = self._spam.get(uid)
        if bucket is None:
            bucket = self._spam[uid] = Bucket(self._limits.per_s, self._limits.burst)
            while len(self._spam) > self._limits.series_max:
                self._spam.popitem(last=False)
        return bucket.take(now_ns / SECOND_NS)

    def _repeated(self, entry: Entry, now_ns: int) -> None:
        """Count; write the second time, and otherwise when the time has come."""
        entry.count += 1
        entry.last_ns = now_ns
        if entry.is_written and entry.count == 2:
            self._append(entry)

    def _ticked(self) -> None:
        """Write and forget series that have ended; write those that go on, seldom."""
        now_ns = self._now_ns()
        self._tick = None
        for key, entry in list(self._series.items()):
            is_over = now_ns - entry.last_ns > IDLE_S * SECOND_NS
            is_due = now_ns - entry.told_ns > REPEAT_S * SECOND_NS
            if entry.is_written and entry.count > max(entry.told, 1) and (is_over or is_due):
                self._append(entry)
            if is_over:
                del self._series[key]
        if self._series:
            self._tick = asyncio.get_running_loop().call_later(TICK_S, self._ticked)
        self._client.wake()

    def close(self) -> None:
        """Record nothing more."""
        for timer in (self._tick, self._look):
            if timer is not None:
                timer.cancel()
        self._client.feed(Priority.EVENT, None)

    # --- what is written ---------------------------------------------------------------------------------------------

    def ready(self) -> int:
        """Say how many events could be sent now."""
        return 0 if self._is_held() else len(self._waiting)

    def _is_held(self) -> bool:
        """Say whether events give way to bindings; look again when that may be over."""
        if not self._waiting:
            return False
        loop = asyncio.get_running_loop()
        if loop.time() >= self.bound_at + QUIET_S:
            return False
        if self._now_ns() - self._waiting[0].at_ns >= HELD_S_MAX * SECOND_NS:
            return False
        if self._look is None:
            self._look = loop.call_later(QUIET_S + EARLY_S, self._looked)
        return True

    def _looked(self) -> None:
        self._look = None
        self._client.wake()

    def next(self) -> Call | None:
        """Make the next event's call."""
        if not self._waiting or self._is_held():
            return None
        entry = self._waiting.popleft()
        return self._patch(entry) if entry.is_written else self._create(entry)

    def _create(self, entry: Entry) -> Call:
        record = entry.record
        if not entry.name:
            entry.name = _name(record.name, entry.at_ns)
        event = _Event(
            _Meta(entry.name, record.namespace),
            to_the_microsecond(entry.at_ns),
            entry.controller,
            f"{entry.controller}-{self._host}",
            record.action,
            record.reason,
            _Reference(record.namespace, record.name, record.uid, entry.revision),
            record.note,
            record.type,
        )
        line = b"POST /apis/events.k8s.io/v1/namespaces/%b/events" % in_path(record.namespace)
        call = _EventCall(line, self._encode(event), self._created)
        call.entry = entry
        return call

    def _patch(self, entry: Entry) -> Call:
        entry.told, entry.told_ns = entry.count, self._now_ns()
        series = {"count": entry.count, "lastObservedTime": to_the_microsecond(entry.last_ns)}
        path = b"%b/events/%b" % (in_path(entry.record.namespace), in_path(entry.name))
        line = b"PATCH /apis/events.k8s.io/v1/namespaces/" + path
        call = _EventCall(line, self._encode({"series": series}), self._patched)
        call.entry = entry
        call.media = STRATEGIC
        return call

    def _created(self, call: Call, outcome: Outcome) -> None:
        entry = call.entry  # type: ignore[attr-defined]  # it is ours
        exists = isinstance(outcome, Answer) and outcome.status == 409 and call.is_doubtful
        if isinstance(outcome, Answer) and (outcome.is_good or exists):
            self.written += 1
            entry.is_written = True
            if entry.count > 1:
                self._append(entry)
            return
        self._failed(outcome)

    def _patched(self, call: Call, outcome: Outcome) -> None:
        entry = call.entry  # type: ignore[attr-defined]  # it is ours
        if isinstance(outcome, Answer) and outcome.status == 404:
            entry.is_written, entry.name = False, ""  # it has been forgotten: begin anew
            entry.at_ns, entry.count, entry.told = entry.last_ns, 1, 0
            self._append(entry)
        elif not isinstance(outcome, Answer) or not outcome.is_good:
            self._failed(outcome)

    def _failed(self, outcome: Outcome) -> None:
        self.dropped += 1
        if self.dropped & (self.dropped - 1) == 0:  # at powers of two: said, but not again and again
            what = f"status {outcome.status}" if isinstance(outcome, Answer) else str(outcome)
            logger.warning("%d events could not be written, the last: %s", self.dropped, what)


class _EventCall(Call):
    priority = Priority.EVENT
    rule = EVENT
    entry: Entry


def in_path(name: str) -> bytes:
    """Write a name into a path."""
    if PLAIN.fullmatch(name):
        return name.encode()
    return quote(name, "").encode()


def _name(of: str, at_ns: int) -> str:
    """Name an event after its object and its time."""
    name = f"{of}.{at_ns:x}"
    return name if len(name) <= NAME_MAX and PLAIN.fullmatch(name) else str(uuid.uuid4())
