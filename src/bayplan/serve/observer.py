"""The observer: what each turn says, turned into metrics and log lines.

Invariant: it changes nothing, and costs a turn a few microseconds.
Not here: the list of metrics (metrics.py) and the form of a line (logs.py).
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from bayplan.api.messages import AnyEffect, Bind, Ended, Event, PatchStatus
from bayplan.core.scheduler import Core, Turn
from bayplan.core.waiting import Attempt, Place, Result
from bayplan.framework.plans import Plans
from bayplan.serve import metrics as names
from bayplan.serve.logs import fields
from bayplan.serve.metrics import NONE, Labels, Metrics

QUEUES: Final = {
    Place.ACTIVE: "active",
    Place.BACKING_OFF: "backoff",
    Place.UNSCHEDULABLE: "unschedulable",
    Place.GATED: "gated",
}
ATTEMPTS_SHOWN_MAX: Final = 15

logger = logging.getLogger(__name__)


class Observer:
    """Watches a core's turns."""

    def __init__(self, metrics: Metrics) -> None:
        self.metrics = metrics
        self._asked_at: dict[int, float] = {}  # bindings that have not ended, by number
        self._turns = metrics.histogram(names.TURN_SECONDS)
        self._algorithm = metrics.histogram(names.ALGORITHM_SECONDS)
        self._binds = metrics.histogram(names.BIND_SECONDS)
        self._pod_attempts = metrics.histogram(names.POD_ATTEMPTS)

    def looks_at(self, core: Core) -> None:
        """Have numbers looked up in a core when somebody asks."""
        self.metrics.read(names.PENDING, lambda: _pending(core))
        self.metrics.read(names.UNSCHEDULABLE, lambda: _unschedulable(core))
        self.metrics.read(names.CACHE, lambda: _cache(core))
        self.metrics.read(names.PLANS, lambda: _plans(core, self._algorithm.count))
        self.metrics.read(names.PLAN_BYTES, lambda: {NONE: float(sum(one.bytes_taken for one in _kept(core)))})

    # -- turns

    def turned(self, turn: Turn, events: Sequence[Event], took_ns: int) -> None:
        """Take down what a turn took and what it says."""
        metrics, seconds = self.metrics, took_ns / 1e9
        self._turns.observe(seconds)
        metrics.add(names.TURN_UNITS, NONE, turn.spent)
        for event in events:
            metrics.add(names.EVENTS, (type(event).__name__.lower(),))
            if isinstance(event, Ended):
                self._ended(event)
        for effect in turn.effects:
            if isinstance(effect, Bind):
                self._asked_at[effect.write] = time.monotonic()
        tried = sum(isinstance(effect, Bind | PatchStatus) for effect in turn.effects)
        if tried:
            self._algorithm.observe(seconds / tried, tried)
            if metrics.legacy:
                metrics.histogram(names.ALGORITHM_MICROSECONDS).observe(seconds / tried * 1e6, tried)
        for attempt in turn.over:
            self._attempted(attempt, turn.now_ms)
        if turn.fault or turn.notes:
            self._tell(turn)

    def _ended(self, event: Ended) -> None:
        asked_at = self._asked_at.pop(event.write, None)
        self.metrics.add(names.WRITES, ("other" if asked_at is None else "binding", str(event.ending)))
        if asked_at is None:
            return
        seconds = time.monotonic() - asked_at
        self._binds.observe(seconds)
        if self.metrics.legacy:
            self.metrics.histogram(names.BINDING_MICROSECONDS).observe(seconds * 1e6)

    def _attempted(self, attempt: Attempt, now_ms: int) -> None:
        metrics = self.metrics
        labels = (str(attempt.result), attempt.profile)
        seconds = (now_ms - attempt.began_ms) / 1000
        metrics.add(names.ATTEMPTS, labels)
        metrics.histogram(names.ATTEMPT_SECONDS, labels).observe(seconds)
        if attempt.result is not Result.SCHEDULED:
            return
        shown = str(attempt.number) if attempt.number < ATTEMPTS_SHOWN_MAX else f"{ATTEMPTS_SHOWN_MAX}+"
        metrics.histogram(names.SLI_SECONDS, (shown,)).observe((now_ms - attempt.first_ms) / 1000)
        self._pod_attempts.observe(attempt.number)
        if metrics.legacy:
            metrics.histogram(names.E2E_MICROSECONDS).observe(seconds * 1e6)

    def _tell(self, turn: Turn) -> None:
        if turn.fault:
            self.metrics.add(names.FAULTS)
            logger.error(
                "an exception of bayplan's own ended a turn; the table is built anew",
                extra=fields(turn=turn.number, fault=turn.fault),
            )
        for note in turn.notes:
            logger.info("noted", extra=fields(turn=turn.number, note=note))

    def effects(self, effects: Sequence[AnyEffect]) -> None:
        """Log what is asked for, where somebody wants to read all of it."""
        if logger.isEnabledFor(logging.DEBUG):
            for effect in effects:
                logger.debug(type(effect).__name__.lower(), extra=fields(**_shown(effect)))


def _shown(effect: AnyEffect) -> dict[str, object]:
    told = {
        name: getattr(effect, name) for name in effect.__struct_fields__ if name not in {"uid", "namespace", "name"}
    }
    name = getattr(effect, "name", "")
    return {"pod": f"{getattr(effect, 'namespace', '')}/{name}", **told} if name else told


# --- looked up -------------------------------------------------------------------------------------------------------


def _pending(core: Core) -> Mapping[Labels, float]:
    places = core.queue.places()
    found: dict[Labels, float] = {(queue,): float(places[place]) for place, queue in QUEUES.items()}
    found[("active",)] += places[Place.SESSION]  # they are tried as soon as their lane's time has come
    return found


def _unschedulable(core: Core) -> Mapping[Labels, float]:
    found: Counter[Labels] = Counter()
    for group in core.queue.all_groups():
        for rule in group.by:
            found[rule, group.profile.scheduler_name] += len(group.members)
    return {labels: float(count) for labels, count in found.items()}


def _cache(core: Core) -> Mapping[Labels, float]:
    table = core.table
    assumed = sum(table.is_assumed(uid) for uid in core.binding.flights)
    return {
        ("nodes",): float(table.count),
        ("pods",): float(len(table.pods)),
        ("assumed_pods",): float(assumed),
    }


def _kept(core: Core) -> Collection[Plans]:
    return core.lane.rules.remembered()


def _plans(core: Core, asked: int) -> Mapping[Labels, float]:
    made = sum(one.made for one in _kept(core))
    evicted = sum(one.evicted for one in _kept(core))
    return {("made",): float(made), ("reused",): float(max(asked - made, 0)), ("given up",): float(evicted)}
