"""Writes: the core's effects, as requests; and how each ended, as events.

Bindings go first, as fast as `--bind-pods-qps` lets them; then status patches, of which a pod has at most one under way
and one that waits, the newer folded into it; then events.  A binding waits for its pod's patch under way, and takes the
place of one that waits: what it said is over.
    writer = Writer(client, known, heard); writer.write(turn.effects)
`known` answers for objects by kind, namespace and name (the core's `Known` does); `heard` is given each `Ended` and
`Answered`.
Invariant: each write that has a number ends once: as done only when the server said so, as refused only when it cannot
have been done, and as unknown otherwise.
Not here: sending (`transport.py`), what an event looks like (`recording.py`).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from bayplan.api.claims import PersistentVolume, PersistentVolumeClaim
from bayplan.api.messages import (
    Answered,
    Ask,
    Bind,
    BindVolume,
    Effect,
    Ended,
    Ending,
    Evict,
    Nominate,
    PatchStatus,
    PodEffect,
    Record,
    SelectNode,
)
from bayplan.api.objects import Object, Pod
from bayplan.kube import bodies
from bayplan.kube.calls import MERGE, READ, STRATEGIC, Answer, Call, Failure, Outcome, Priority
from bayplan.kube.ratelimit import Bucket
from bayplan.kube.recording import Known, Recorder, in_path
from bayplan.kube.recording import Limits as RecordLimits
from bayplan.kube.resources import Resource, resources
from bayplan.kube.told import Unread, read, status_of
from bayplan.kube.transport import Client

ASK_AGAIN_S: Final = (0.5, 10.0)
ASK_S_MAX: Final = 60.0
STOPPING: Final = "we are stopping"

logger = logging.getLogger(__name__)


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How writes are made."""

    host: str = "localhost"  # in the name under which events are reported
    bind_qps: float = 0.0  # bindings a second; 0: as many as there are
    bind_burst: int = 20
    bind_wait_s: float = 30.0  # a binding that could not be sent for so long is given up
    events: RecordLimits = RecordLimits()


class Writer:
    """Carries out effects."""

    def __init__(
        self, client: Client, known: Known, heard: Callable[[Ended | Answered], None], settings: Settings | None = None,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:  # fmt: skip
        """Write over a client."""
        self._settings = settings or Settings()
        self._client = client
        self._known = known
        self._heard = heard
        self._now_ns = now_ns
        self._resources = resources()
        self.recorder = Recorder(client, known, self._settings.host, self._settings.events, now_ns)
        self.bindings = Bindings(client, self._settings, self._ended, self.recorder)
        self.patches = Patches(client, known, self._ended, self.bindings, now_ns)
        self._asks: set[asyncio.TimerHandle] = set()

    def write(self, effects: Iterable[Effect]) -> None:
        """Take effects; each is carried out when its turn comes."""
        for effect in effects:
            self._take(effect)
        self._client.wake()

    def _take(self, effect: Effect) -> None:
        match effect:
            case Bind():
                self.patches.bind(effect)
            case Record():
                self.recorder.record(effect)
            case PatchStatus() | Nominate():
                self.patches.patch(effect)
            case Evict():
                self._evict(effect)
            case BindVolume():
                self._bind_volume(effect)
            case SelectNode():
                self._select_node(effect)
            case Ask():
                self._ask(effect)

    def waiting(self) -> int:
        """Say how many writes have not been sent."""
        return len(self.bindings) + len(self.patches) + len(self.recorder)

    def close(self) -> None:
        """Take nothing more; what has not been sent ends as refused."""
        self.recorder.close()
        self.patches.close()
        self.bindings.close()
        for handle in self._asks:
            handle.cancel()

    def _ended(self, effect: PodEffect, ending: Ending, text: str = "") -> None:
        if effect.write:
            self._heard(Ended(cause="write", write=effect.write, ending=ending, text=text))

    # --- one at a time -----------------------------------------------------------------------------------------------

    def _submit(self, effect: PodEffect, line: bytes, payload: bytes, media: bytes) -> None:
        """Send a write that nothing else depends on."""

        def end(call: Call, outcome: Outcome) -> None:
            self._ended(effect, *ending_of(call, outcome))

        call = Call(line, payload, end)
        call.media = media
        self._client.submit(call)

    def _evict(self, effect: Evict) -> None:
        """Say on a pod why it is deleted, then delete it."""
        path = _pod_path(effect)
        pod = self._known.get("Pod", effect.namespace, effect.name)
        name = pod.spec.scheduler_name if isinstance(pod, Pod) else ""
        body = bodies.disruption(effect, name or "default-scheduler", self._now_ns())

        def end(call: Call, outcome: Outcome) -> None:
            ending, text = ending_of(call, outcome)
            is_gone = isinstance(outcome, Answer) and outcome.status == 404
            if ending is Ending.DONE or is_gone:
                self._submit(effect, b"DELETE " + path, bodies.deletion(effect.uid), call.media)
            else:
                self._ended(effect, ending, text)

        call = Call(b"PATCH " + path + b"/status", body, end)
        call.media = STRATEGIC
        self._client.submit(call)

    def _bind_volume(self, effect: BindVolume) -> None:
        volume = self._known.get("PersistentVolume", "", effect.volume)
        claim = self._known.get("PersistentVolumeClaim", effect.namespace, effect.claim)
        if not isinstance(volume, PersistentVolume):
            self._ended(effect, Ending.REFUSED, f'persistentvolumes "{effect.volume}" not found')
            return
        line = b"PATCH /api/v1/persistentvolumes/" + in_path(effect.volume)
        self._submit(effect, line, bodies.claimed(effect, volume, claim), MERGE)

    def _select_node(self, effect: SelectNode) -> None:
        claim = self._known.get("PersistentVolumeClaim", effect.namespace, effect.claim)
        if not isinstance(claim, PersistentVolumeClaim):
            self._ended(effect, Ending.REFUSED, f'persistentvolumeclaims "{effect.claim}" not found')
            return
        within = in_path(effect.namespace), in_path(effect.claim)
        line = b"PATCH /api/v1/namespaces/%b/persistentvolumeclaims/%b" % within
        self._submit(effect, line, bodies.selected(effect, claim), MERGE)

    # --- reads -------------------------------------------------------------------------------------------------------

    def _ask(self, effect: Ask) -> None:
        """Read an object, as often as it takes; only after a good while say that nothing was learnt."""
        resource = self._resources[effect.kind]
        loop = asyncio.get_running_loop()
        self._read(effect, resource, ASK_AGAIN_S[0], loop.time() + ASK_S_MAX)

    def _read(self, effect: Ask, resource: Resource, wait_s: float, until: float) -> None:
        loop = asyncio.get_running_loop()

        def end(_: Call, outcome: Outcome) -> None:
            thing: Object | Unread | None = None
            is_known = isinstance(outcome, Answer) and outcome.status == 404
            if isinstance(outcome, Answer) and outcome.is_good:
                thing = read(resource, outcome.body)
                is_known = not isinstance(thing, Unread)
            if is_known and not isinstance(thing, Unread):
                self._heard(Answered(cause="read", write=effect.write, thing=thing))
            elif loop.time() + wait_s > until:
                self._heard(Answered(cause="read", write=effect.write, has_failed=True))
            else:
                again = min(2 * wait_s, ASK_AGAIN_S[1])

                def once_more() -> None:
                    self._asks.discard(handle)
                    self._read(effect, resource, again, until)

                handle = loop.call_later(wait_s, once_more)
                self._asks.add(handle)

        path = resource.path_of(effect.namespace, effect.of)
        call = Call(f"GET {path}".encode(), b"", end)
        call.rule, call.priority = READ, Priority.FIRST
        self._client.submit(call)


def ending_of(call: Call, outcome: Outcome) -> tuple[Ending, str]:
    """Say how a write ended, and in the server's words why."""
    if isinstance(outcome, Failure):
        doubtful = outcome.was_sent or call.is_doubtful
        return (Ending.UNKNOWN if doubtful else Ending.REFUSED), str(outcome)
    if outcome.is_good:
        return Ending.DONE, ""
    status = status_of(outcome.body)
    text = status.message or f"the server answers {outcome.status}"
    doubtful = call.is_doubtful or outcome.status >= 500
    return (Ending.UNKNOWN if doubtful else Ending.REFUSED), text


def _pod_path(effect: PodEffect) -> bytes:
    return b"/api/v1/namespaces/%b/pods/%b" % (in_path(effect.namespace), in_path(effect.name))


class _BindCall(Call):
    priority = Priority.BINDING
    effect: Bind


class _PatchCall(Call):
    media = STRATEGIC
    effect: PatchStatus | Nominate


# --- bindings --------------------------------------------------------------------------------------------------------


class Bindings:
    """Bindings that wait to be sent, and the bucket that lets them through."""

    def __init__(
        self, client: Client, settings: Settings, ended: Callable[[PodEffect, Ending, str], None], recorder: Recorder
    ) -> None:
        """Be asked by the client for the next binding whenever it can send one."""
        self._recorder = recorder
        self._is_closed = False
        self._client = client
        self._ended = ended
        self._wait_s = settings.bind_wait_s
        self._bucket = Bucket(settings.bind_qps, settings.bind_burst) if settings.bind_qps > 0 else None
        self._waiting: deque[tuple[Bind, float]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._sweep: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        client.feed(Priority.BINDING, self)

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, effect: Bind) -> None:
        """Let a binding wait for its turn."""
        if self._is_closed:
            self._ended(effect, Ending.REFUSED, STOPPING)
            return
        loop = self._running()
        if self._sweep is None:
            self._sweep = loop.call_later(1.0, self._swept)
        self._waiting.append((effect, loop.time() + self._wait_s))

    def ready(self) -> int:
        """Say how many could be sent now."""
        if self._bucket is None or not self._waiting:
            return len(self._waiting)
        return min(len(self._waiting), self._bucket.ready(self._running().time()))

    def next(self) -> Call | None:
        """Make the next binding's call, if one may be sent."""
        if not self._waiting:
            return None
        now = self._running().time()
        if self._bucket is not None and not self._bucket.take(now):
            if self._timer is None:
                self._timer = self._running().call_later(self._bucket.wait_s(now), self._passed)
            return None
        self._recorder.bound_at = now
        effect, _ = self._waiting.popleft()
        line = b"POST /api/v1/namespaces/%b/pods/%b/binding" % (in_path(effect.namespace), in_path(effect.name))
        call = _BindCall(line, bodies.binding(effect), self._end)
        call.effect = effect
        return call

    def close(self) -> None:
        """Give up what waits, and whatever comes."""
        self._is_closed = True
        for timer in (self._timer, self._sweep):
            if timer is not None:
                timer.cancel()
        self._client.feed(Priority.BINDING, None)
        while self._waiting:
            effect, _ = self._waiting.popleft()
            self._ended(effect, Ending.REFUSED, STOPPING)

    def _end(self, call: Call, outcome: Outcome) -> None:
        effect = call.effect  # type: ignore[attr-defined]  # it is ours
        if isinstance(outcome, Answer) and outcome.is_good:
            self._ended(effect, Ending.DONE, "")
        else:
            self._ended(effect, *ending_of(call, outcome))

    def _passed(self) -> None:
        self._timer = None
        self._client.wake()

    def _swept(self) -> None:
        """Give up what could not be sent for long."""
        now, self._sweep = self._running().time(), None
        while self._waiting and self._waiting[0][1] <= now:
            effect, _ = self._waiting.popleft()
            why = self._client.trouble or "no connection was free in time"
            self._ended(effect, Ending.REFUSED, why)
        if self._waiting:
            self._sweep = self._running().call_later(1.0, self._swept)

    def _running(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        return self._loop


# --- status patches --------------------------------------------------------------------------------------------------


class Patches:
    """Status patches that wait, by pod."""

    def __init__(
        self, client: Client, known: Known, ended: Callable[[PodEffect, Ending, str], None], bindings: Bindings,
        now_ns: Callable[[], int],
    ) -> None:  # fmt: skip
        """Be asked by the client for the next patch whenever it can send one."""
        self._client = client
        self._known = known
        self._ended = ended
        self._bindings = bindings
        self._now_ns = now_ns
        self._waiting: dict[str, list[PatchStatus | Nominate]] = {}  # by uid: at most one of each
        self._sent: dict[str, list[PatchStatus | Nominate]] = {}
        self._held: dict[str, Bind] = {}
        client.feed(Priority.STATUS, self)

    def __len__(self) -> int:
        return len(self._waiting)

    def patch(self, effect: PatchStatus | Nominate) -> None:
        """Let a patch wait; an older one of its kind is over."""
        effects = self._waiting.setdefault(effect.uid, [])
        for older in effects:
            if type(older) is type(effect):
                effects.remove(older)
                self._ended(older, Ending.DONE, "")
                break
        effects.append(effect)

    def bind(self, effect: Bind) -> None:
        """Let a binding go, once no patch of its pod is under way; one that waits is over."""
        for older in self._waiting.pop(effect.uid, ()):
            self._ended(older, Ending.DONE, "")
        if effect.uid in self._sent:
            self._held[effect.uid] = effect
        else:
            self._bindings.add(effect)

    def ready(self) -> int:
        """Say how many could be sent now."""
        return len(self._waiting)

    def next(self) -> Call | None:
        """Make the next patch's call."""
        if not self._waiting:
            return None
        uid = next((uid for uid in self._waiting if uid not in self._sent), None)
        if uid is None:
            return None
        effects = self._sent[uid] = self._waiting.pop(uid)
        first = effects[0]
        pod = self._known.get("Pod", first.namespace, first.name)
        body = bodies.status(effects, pod if isinstance(pod, Pod) else None, self._now_ns())
        call = _PatchCall(b"PATCH " + _pod_path(first) + b"/status", body, self._end)
        call.effect = first
        return call

    def close(self) -> None:
        """Give up what waits."""
        self._client.feed(Priority.STATUS, None)
        for effect in (*(one for effects in self._waiting.values() for one in effects), *self._held.values()):
            self._ended(effect, Ending.REFUSED, STOPPING)
        self._waiting.clear()
        self._held.clear()

    def _end(self, call: Call, outcome: Outcome) -> None:
        effect: PodEffect = call.effect  # type: ignore[attr-defined]  # it is ours
        ending, text = ending_of(call, outcome)
        if ending is not Ending.DONE and not (isinstance(outcome, Answer) and outcome.status in {404, 409}):
            logger.warning("the status of %s/%s was not written: %s", effect.namespace, effect.name, text)
        for one in self._sent.pop(effect.uid):
            self._ended(one, ending, text)
        held = self._held.pop(effect.uid, None)
        if held is not None:
            self._bindings.add(held)
            self._client.wake()
