"""Hearing: what the watches tell, handed to the driver; what is wrong with it, told to people.

Invariant: an object that cannot be read costs a log line, a number and an event, and nobody else anything.
Not here: watching (`kube/watch.py`).
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from bayplan.api.messages import Event, Gone, Listed, Record, Seen
from bayplan.kube.told import Unread, meta_of
from bayplan.kube.watch import State
from bayplan.serve import metrics as names
from bayplan.serve.driver import Driver
from bayplan.serve.logs import fields
from bayplan.serve.metrics import Labels, Metrics

ASIDE_MAX: Final = 10_000  # of what cannot be read, so many are known by name
CAUSE: Final = "it cannot be read"

logger = logging.getLogger(__name__)

Key = tuple[str, str, str]


class Hearing:
    """The sink of all watches."""

    def __init__(self, driver: Driver, metrics: Metrics, record: Callable[[Record], None]) -> None:
        self._driver = driver
        self._record = record
        self._aside: dict[Key, str] = {}  # what cannot be read, and why
        self._kinds = tuple(driver.unlisted)
        self._troubles: dict[str, str] = {}  # by kind: what has been told of it
        self._silent = {kind: time.monotonic() for kind in self._kinds}  # those not watched, since when
        metrics.read(names.AGE, self._ages)
        metrics.read(names.QUARANTINED, self._quarantined)
        metrics.read(names.INBOX, lambda: {(): float(len(driver.inbox))})
        metrics.read(names.BUDGET, lambda: {(): float(driver.pace.budget)})

    def take(self, events: Sequence[Event]) -> None:
        """Take in what happened, in order."""
        if self._aside:
            for event in events:
                self._read_again(event)
        self._driver.take(events)

    def _read_again(self, event: Event) -> None:
        """Forget of what cannot be read whatever can be by now, or is gone."""
        if isinstance(event, Seen | Gone):
            meta = meta_of(event.thing)
            self._aside.pop((type(event.thing).__name__, meta.namespace, meta.name), None)
        elif isinstance(event, Listed):
            there = {(event.kind, namespace, name) for namespace, name in event.unread}
            for key in [key for key in self._aside if key[0] == event.kind and key not in there]:
                del self._aside[key]

    def set_aside(self, unread: Unread) -> None:
        """Tell people of an object that cannot be decoded; the others go on."""
        key = (unread.kind, unread.namespace, unread.name)
        if self._aside.get(key) == unread.problem or len(self._aside) >= ASIDE_MAX:
            return
        self._aside[key] = unread.problem
        where = f"{unread.namespace}/{unread.name}" if unread.namespace else unread.name
        logger.warning(
            "an object cannot be read and is left out until it changes",
            extra=fields(kind=unread.kind, name=where, problem=unread.problem),
        )
        if unread.kind == "Pod" and unread.name and self._driver.leads:
            self._record(
                Record(
                    uid=unread.uid,
                    namespace=unread.namespace,
                    name=unread.name,
                    cause=CAUSE,
                    type="Warning",
                    reason="FailedScheduling",
                    action="Scheduling",
                    note=f"the pod cannot be read, and is left out until it changes: {unread.problem}"[:1024],
                )
            )

    def stands(self, kind: str, state: State, text: str) -> None:
        """Take note of how a kind stands; tell people when that is not well, once, and when it is again."""
        if state in {State.WATCHING, State.ABSENT}:
            self._silent.pop(kind, None)
        else:
            self._silent.setdefault(kind, time.monotonic())
        if state is State.TROUBLED and self._troubles.get(kind) != text:
            if text not in self._troubles.values():  # the same is wrong with all when the server is away
                logger.warning("not watched; what is known grows old", extra=fields(kind=kind, why=text))
            self._troubles[kind] = text
        elif state is State.ABSENT:
            logger.info("a kind is not served here: rules go on without it", extra=fields(kind=kind))
        elif state is State.WATCHING and self._troubles.pop(kind, "") and not self._troubles:
            logger.info("everything is watched again")

    def _ages(self) -> Mapping[Labels, float]:
        now = time.monotonic()
        return {(kind,): now - self._silent.get(kind, now) for kind in self._kinds}

    def _quarantined(self) -> Mapping[Labels, float]:
        return {(kind,): float(count) for kind, count in Counter(key[0] for key in self._aside).items()}
