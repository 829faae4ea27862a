"""Slow ones: pods on their way that wait for permission or for volumes, and which of them may be able to go on.

Something happened that concerns one (its claim was seen, a write of its ended, a rule let it go), or its time is over:
then it is looked at, and nobody else.
Invariant: whoever waits here and can go on is stirred, or its time is known.
Not here: going on (binding.py).
"""

from __future__ import annotations

import heapq
from collections.abc import Collection
from typing import TYPE_CHECKING

from bayplan.api.claims import PersistentVolume, PersistentVolumeClaim

if TYPE_CHECKING:
    from bayplan.core.binding import Flight


class Slow:
    """Those who wait on their way."""

    def __init__(self) -> None:
        self._flights: dict[str, Flight] = {}  # by uid
        self._by_claim: dict[str, dict[str, None]] = {}  # uids of those whose claims are being bound
        self._stirred: dict[str, None] = {}
        self._times: list[tuple[int, str]] = []  # a heap; entries of those that are gone stay until they come up

    def __contains__(self, uid: str) -> bool:
        return uid in self._flights

    def __len__(self) -> int:
        return len(self._flights)

    def add(self, flight: Flight) -> None:
        """Take in a flight that begins."""
        uid = flight.waiting.uid
        self._flights[uid] = flight
        if flight.reservations:
            for claim in self._claims(flight):
                self._by_claim.setdefault(claim, {})[uid] = None

    def drop(self, uid: str) -> None:
        """Let go of a flight that is over, or waits no more."""
        flight = self._flights.pop(uid, None)
        self._stirred.pop(uid, None)
        if flight is None or not flight.reservations:
            return
        for claim in self._claims(flight):
            waiting = self._by_claim.get(claim, {})
            waiting.pop(uid, None)
            if not waiting:
                self._by_claim.pop(claim, None)

    @staticmethod
    def _claims(flight: Flight) -> list[str]:
        namespace = flight.pod.metadata.namespace
        return [f"{namespace}/{claim}" for claim, _ in flight.claims()]

    def with_volumes(self) -> Collection[Flight]:
        """Return those for whom volumes are reserved."""
        return [self._flights[uid] for uid in dict.fromkeys(uid for uids in self._by_claim.values() for uid in uids)]

    # -- who may be able to go on

    def at(self, uid: str, ms: int) -> None:
        """Have a flight looked at when its time is over."""
        heapq.heappush(self._times, (ms, uid))

    def stir(self, uid: str) -> None:
        """Have a flight looked at."""
        if uid in self._flights:
            self._stirred[uid] = None

    def stir_all(self) -> None:
        """Have all flights looked at: nobody knows what happened."""
        self._stirred |= dict.fromkeys(self._flights)

    def stir_by(self, thing: PersistentVolume | PersistentVolumeClaim) -> None:
        """Have those looked at whom a claim or volume may concern."""
        meta = thing.metadata
        if isinstance(thing, PersistentVolumeClaim):
            self._stirred |= self._by_claim.get(f"{meta.namespace}/{meta.name}", {})
        elif thing.spec.claim_ref is not None:
            self._stirred |= self._by_claim.get(f"{thing.spec.claim_ref.namespace}/{thing.spec.claim_ref.name}", {})
        else:
            self._stirred |= dict.fromkeys(uid for uids in self._by_claim.values() for uid in uids)

    def next_ms(self) -> int | None:
        """Return when somebody's time is over."""
        while self._times and self._times[0][1] not in self._flights:
            heapq.heappop(self._times)
        return self._times[0][0] if self._times else None

    def has_due(self, now_ms: int) -> bool:
        """Say whether anybody is to be looked at."""
        if self._stirred:
            return True
        next_ms = self.next_ms()
        return next_ms is not None and next_ms <= now_ms

    def take(self, now_ms: int) -> Flight | None:
        """Return the next to be looked at."""
        next_ms = self.next_ms()
        if next_ms is not None and next_ms <= now_ms:
            self._stirred[heapq.heappop(self._times)[1]] = None
        uid = next(iter(self._stirred), None)
        if uid is None:
            return None
        del self._stirred[uid]
        return self._flights.get(uid)
