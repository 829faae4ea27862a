"""Leases: which of several schedulers may write, by a Lease of coordination.k8s.io/v1 as client-go reads and writes it.

Who holds the lease renews it; who cannot for the renew deadline stops, before anybody else may begin.  Who stands by
watches the lease and tries when its holder leaves, or when the record has stood still for the duration written in it,
by this machine's own clock: the stamps in it are never compared with anything.
    election = Election(client, settings); task = asyncio.create_task(election.run())
    await election.won.wait(); ... election.is_held() ...; await election.lost.wait(); await election.release()
Invariant: `is_held` is true only within the renew deadline of the moment at which the last renewal that the server
confirmed was sent; the duration that others wait for is longer.
Not here: what is done while it is held (`serve`).
"""

from __future__ import annotations

import asyncio
import logging
import math
import random
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Final, Protocol, TypeAlias

import msgspec

from bayplan.api.messages import Event, Gone, Listed, Seen
from bayplan.api.objects import Int32, Object, ObjectMeta
from bayplan.kube.calls import Answer, Failure
from bayplan.kube.kubeconfig import AccessError
from bayplan.kube.resources import Resource
from bayplan.kube.stamps import to_the_microsecond
from bayplan.kube.told import Unread, status_of
from bayplan.kube.transport import Client
from bayplan.kube.watch import State, Watch

JITTER: Final = 1.2  # a retry is after one to so many periods more

logger = logging.getLogger(__name__)


class LeaseSpec(Object, frozen=True, kw_only=True):
    """Who holds a lease, since when, and for how long without a renewal."""

    holder_identity: str | None = None
    lease_duration_seconds: Int32 | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: Int32 | None = None
    strategy: str | None = None
    preferred_holder: str | None = None


class Lease(Object, frozen=True, kw_only=True):
    """A lease."""

    metadata: ObjectMeta = ObjectMeta()
    spec: LeaseSpec = LeaseSpec()


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Which lease, as whom, and upstream's timings."""

    namespace: str = "kube-system"
    name: str = "bayplan"
    identity: str
    duration_s: int = 15
    renew_deadline_s: float = 10.0
    retry_s: float = 2.0
    reporter: str = "bayplan"  # in the events that say who leads

    def faults(self) -> list[str]:
        """Say what cannot be meant."""
        found = []
        if not self.duration_s > self.renew_deadline_s:
            found.append("the lease duration must be longer than the renew deadline")
        if not self.renew_deadline_s > JITTER * self.retry_s:
            found.append(f"the renew deadline must be longer than {JITTER} times the retry period")
        if self.retry_s <= 0:
            found.append("the retry period must be longer than nothing")
        return found


class Asks(Protocol):
    """What an election needs of a client."""

    async def request(self, method: str, path: str, body: bytes = b"", *, timeout_s: float = 0.0) -> Answer:
        """Ask."""


Hear: TypeAlias = Callable[[], Coroutine[None, None, None]]

_decoder: Final = msgspec.json.Decoder(Lease)


class Election:
    """One candidate."""

    def __init__(
        self, client: Asks, settings: Settings, now_ns: Callable[[], int] = time.time_ns, hear: Hear | None = None
    ) -> None:
        """Stand for a lease; nothing happens before `run`.  With a client, the lease is watched."""
        self.settings = settings
        self.won = asyncio.Event()
        self.lost = asyncio.Event()
        self.why_lost = ""
        self.holder = ""  # as far as is known
        self.transitions = 0
        self._client = client
        if hear is None and isinstance(client, Client):
            hear = Watch(client, _resource(settings), self).run
        self._hear = hear
        self._now_ns = now_ns
        self._luck = random.random
        self._path = f"/apis/coordination.k8s.io/v1/namespaces/{settings.namespace}/leases"
        self._lease: Lease | None = None  # as last seen
        self._stands_since = -math.inf  # the record, by our clock
        self._confirmed = -math.inf  # when the last renewal that was confirmed was sent
        self._is_holder = False
        self._stirred = asyncio.Event()
        self._is_watched = False
        self._trouble = ""

    def is_held(self) -> bool:
        """Say whether this very moment nobody else can hold the lease."""
        return self._is_holder and self._time() < self._confirmed + self.settings.renew_deadline_s

    async def run(self) -> None:
        """Acquire the lease and keep it, until it is lost or we are cancelled."""
        watching = asyncio.create_task(self._hear()) if self._hear is not None else None
        try:
            await self._acquire()
        finally:
            if watching is not None:
                watching.cancel()
                with suppress(asyncio.CancelledError):
                    await watching
        self._is_holder = True
        self.won.set()
        logger.info("%s holds lease %s/%s", self.settings.identity, self.settings.namespace, self.settings.name)
        telling = asyncio.create_task(self._announce("became leader"))
        try:
            await self._keep()
        finally:
            telling.cancel()
            if self.why_lost:
                self._is_holder = False
                self.lost.set()

    async def _announce(self, what: str) -> None:
        """Record who leads, as kube-scheduler does; nothing depends on it."""
        settings, now_ns = self.settings, self._now_ns()
        path = f"/apis/events.k8s.io/v1/namespaces/{settings.namespace}/events"
        meta = self._lease.metadata if self._lease is not None else ObjectMeta()
        event = {
            "apiVersion": "events.k8s.io/v1", "kind": "Event", "type": "Normal", "reason": "LeaderElection",
            "metadata": {"name": f"{settings.name}.{now_ns:x}", "namespace": settings.namespace},
            "eventTime": to_the_microsecond(now_ns), "action": "LeaderElection",
            "reportingController": settings.reporter, "reportingInstance": settings.identity[:128],
            "note": f"{settings.identity} {what}",
            "regarding": {
                "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "namespace": settings.namespace,
                "name": settings.name, "uid": meta.uid, "resourceVersion": meta.resource_version,
            },
        }  # fmt: skip
        with suppress(Failure, AccessError):
            await self._ask("POST", path, msgspec.json.encode(event))

    # --- acquiring ---------------------------------------------------------------------------------------------------

    async def _acquire(self) -> None:
        while not await self._tried():
            self._stirred.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._patience_s()):
                    await self._stirred.wait()

    def _patience_s(self) -> float:
        """Say how long to wait before looking again: until the record may be taken, if we hear of changes."""
        retry_s = self.settings.retry_s * (1 + JITTER * self._luck())
        left_s = self._stands_since + self._duration_s() - self._time()
        if self._lease is None or left_s <= 0:
            return retry_s
        return left_s if self._is_watched else min(retry_s, left_s)

    def _duration_s(self) -> float:
        seconds = self._lease.spec.lease_duration_seconds if self._lease is not None else None
        return float(seconds or self.settings.duration_s)

    async def _tried(self) -> bool:
        """Look at the lease, and take it if it may be taken."""
        sent = self._time()
        try:
            answer = await self._ask("GET", f"{self._path}/{self.settings.name}")
            if answer.status == 404:
                self._observe(None)
                return self._took(await self._ask("POST", self._path, self._written(None)), sent)
            if not answer.is_good:
                self._complain(answer)
                return False
            lease = _decoder.decode(answer.body)
            self._observe(lease)
            if not self._may_take(lease):
                return False
            path = f"{self._path}/{self.settings.name}"
            sent = self._time()
            return self._took(await self._ask("PUT", path, self._written(lease)), sent)
        except (Failure, AccessError, msgspec.MsgspecError, UnicodeError) as error:
            self._say(str(error))
            return False

    def _may_take(self, lease: Lease) -> bool:
        holder = lease.spec.holder_identity
        return not holder or holder == self.settings.identity or self._time() >= self._stands_since + self._duration_s()

    def _observe(self, lease: Lease | None) -> None:
        """Take note of the record; one that is another is new by our clock."""
        old = self._lease
        if lease is None or old is None or lease.spec != old.spec:
            self._stands_since = self._time()
        self._lease = lease
        self.holder = (lease.spec.holder_identity or "") if lease is not None else ""

    def _took(self, answer: Answer, sent: float) -> bool:
        """Take in what a write came to."""
        if not answer.is_good:
            if answer.status != 409:
                self._complain(answer)
            return False
        self._trouble = ""
        self._confirmed = sent
        with suppress(msgspec.MsgspecError, UnicodeError):
            self._observe(_decoder.decode(answer.body))
        self.holder = self.settings.identity
        return True

    def _written(self, lease: Lease | None, *, is_release: bool = False) -> bytes:
        """Write the record that we want."""
        now = to_the_microsecond(self._now_ns())
        spec = lease.spec if lease is not None else LeaseSpec()
        is_ours = spec.holder_identity == self.settings.identity
        transitions = spec.lease_transitions or 0
        if lease is not None and not is_ours:
            transitions += 1
        self.transitions = transitions
        record: dict[str, object] = {
            "holderIdentity": "" if is_release else self.settings.identity,
            "leaseDurationSeconds": 1 if is_release else self.settings.duration_s,
            "acquireTime": spec.acquire_time if is_ours and not is_release else now,
            "renewTime": now,
            "leaseTransitions": transitions,
        }
        record |= {"strategy": spec.strategy} if spec.strategy else {}
        meta: dict[str, object] = {"name": self.settings.name, "namespace": self.settings.namespace}
        if lease is not None:
            meta["resourceVersion"] = lease.metadata.resource_version
            meta["uid"] = lease.metadata.uid
            meta |= {"labels": lease.metadata.labels} if lease.metadata.labels else {}
            meta |= {"annotations": lease.metadata.annotations} if lease.metadata.annotations else {}
        tree = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": record}
        return msgspec.json.encode(tree)

    # --- keeping -----------------------------------------------------------------------------------------------------

    async def _keep(self) -> None:
        """Renew until that cannot be done in time."""
        while True:
            await asyncio.sleep(min(self.settings.retry_s, max(0.0, self._left_s())))
            if self._left_s() <= 0:
                self.why_lost = f"it could not be renewed for {self.settings.renew_deadline_s:g} s: {self._trouble}"
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(self._left_s()):
                    await self._renew()
            if self.why_lost:
                return

    def _left_s(self) -> float:
        return self._confirmed + self.settings.renew_deadline_s - self._time()

    async def _renew(self) -> None:
        sent = self._time()
        path = f"{self._path}/{self.settings.name}"
        try:
            answer = await self._ask("PUT", path, self._written(self._lease))
            if self._took(answer, sent) or answer.status not in {404, 409}:
                return
            now_there = await self._ask("GET", path)
            if now_there.status == 404:
                self._lease = None
                self._took(await self._ask("POST", self._path, self._written(None)), sent)
            elif now_there.is_good:
                lease = _decoder.decode(now_there.body)
                if (lease.spec.holder_identity or "") != self.settings.identity:
                    self.holder = lease.spec.holder_identity or ""
                    self.why_lost = f'it is held by "{self.holder}" now'
                    return
                self._observe(lease)
                self._took(await self._ask("PUT", path, self._written(lease)), sent)
        except (Failure, AccessError, msgspec.MsgspecError, UnicodeError) as error:
            self._say(str(error))

    async def release(self) -> None:
        """Give the lease up, so that another need not wait; `run` must have ended."""
        if not self.is_held():
            return
        self._is_holder = False
        path = f"{self._path}/{self.settings.name}"
        until = self._confirmed + self.settings.renew_deadline_s
        lease = self._lease
        while lease is not None and self._time() < until:
            try:
                answer = await self._ask("PUT", path, self._written(lease, is_release=True))
                if answer.status != 409:
                    await self._announce("stopped leading")
                    return
                now_there = await self._ask("GET", path)
                lease = _decoder.decode(now_there.body) if now_there.is_good else None
            except (Failure, AccessError, msgspec.MsgspecError, UnicodeError) as error:
                logger.warning("the lease could not be released: %s", error)
                return
            if lease is not None and lease.spec.holder_identity != self.settings.identity:
                return

    # --- the watch of who stands by ----------------------------------------------------------------------------------

    def take(self, events: Sequence[Event]) -> None:
        """Take in what the watch tells."""
        for event in events:
            things = event.things if isinstance(event, Listed) else ()
            if isinstance(event, Seen):
                things = (event.thing,)
            lease = next((thing for thing in things if isinstance(thing, Lease)), None)
            if isinstance(event, Gone) or lease is not None:
                self._observe(lease)
        self._stirred.set()  # look again, and how long to wait

    def set_aside(self, unread: Unread) -> None:
        """Take note of a lease that cannot be read."""
        self._say(str(unread))

    def stands(self, kind: str, state: State, text: str) -> None:
        """Take note of whether changes are heard of."""
        self._is_watched = state is State.WATCHING
        self._stirred.set()

    # --- asking ------------------------------------------------------------------------------------------------------

    async def _ask(self, method: str, path: str, body: bytes = b"") -> Answer:
        return await self._client.request(method, path, body, timeout_s=max(1.0, self.settings.renew_deadline_s / 2))

    def _complain(self, answer: Answer) -> None:
        said = status_of(answer.body).message or f"the server answers {answer.status}"
        hint = "; give our role get, create, update and watch on leases" if answer.status == 403 else ""
        self._say(f"{said}{hint}")

    def _say(self, trouble: str) -> None:
        if trouble != self._trouble:
            logger.warning("lease %s/%s: %s", self.settings.namespace, self.settings.name, trouble)
        self._trouble = trouble

    def _time(self) -> float:
        return asyncio.get_running_loop().time()


def _resource(settings: Settings) -> Resource:
    """Give the one lease that is watched."""
    fields = f"metadata.name={settings.name}"
    return Resource("Lease", Lease, "coordination.k8s.io", "v1", "leases", True, fields, settings.namespace)
