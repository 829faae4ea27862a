"""Driving a core as a daemon would: pods arrive, writes end, the watch tells of it, turn by turn.

What is prepared outside (objects read, confirmations written) is not counted; the time within `Core.turn` is, and the
collector's after it: as in the daemon, what was there at the start is out of its sight, and it runs between turns.
Not here: what arrives (turns.py) and limits (core.toml).
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from bayplan.api.messages import Bind, Ended, Ending, Event, Listed, Seen
from bayplan.api.objects import Object, Pod, uid_of
from bayplan.config.profiles import profiles
from bayplan.core.scheduler import Core, Turn
from bayplan.core.settings import CoreSettings
from bayplan.framework.registry import Registry

USUAL: Final = CoreSettings()
ENDLESS: Final = 1 << 60
MS: Final = 1000.0
YOUNG_MAX: Final = 25_000  # new objects before the collector runs, as in the daemon


class UnsoundError(Exception):
    """What happened is not what was to be measured, so how fast says nothing."""


class Clocked(NamedTuple):
    """How long a turn took."""

    cpu_ms: float
    wall_ms: float
    spent: int


class Driven:
    """A core, and how long its turns took."""

    def __init__(self, with_settings: CoreSettings = USUAL) -> None:
        """Begin knowing nothing."""
        self.core = Core(profiles(None, Registry.installed()), with_settings=with_settings)
        self.now_ms = 1_000_000
        self.turns: list[Clocked] = []
        self.bound = 0

    def turn(self, events: Sequence[Event], budget: int = ENDLESS) -> Turn:
        """Let the core work, and note how long it took."""
        self.now_ms += 1
        wall, cpu = time.perf_counter(), time.thread_time()
        turn = self.core.turn(events, self.now_ms, budget)
        if gc.get_count()[0] > YOUNG_MAX:
            gc.collect(1)
        cpu, wall = time.thread_time() - cpu, time.perf_counter() - wall
        self.turns.append(Clocked(cpu * MS, wall * MS, turn.spent))
        if turn.fault:
            raise UnsoundError(turn.fault)
        return turn

    def lists(self, things: Iterable[Object], budget: int = ENDLESS) -> None:
        """Have the core take in what is there; then it stays out of the collector's sight."""
        by_kind: dict[str, list[Object]] = {}
        for thing in things:
            by_kind.setdefault(type(thing).__name__, []).append(thing)
        for kind, found in by_kind.items():
            events: list[Event] = [Listed(cause="list", kind=kind, things=tuple(found))]
            while not self.turn(events, budget).is_idle:
                events = []
        gc.collect()
        gc.freeze()
        gc.disable()

    def runs(self, arriving: Sequence[Pod], at_once: int, budget: int = ENDLESS) -> None:
        """Have pods arrive, so many before each turn, and carry out what the core wants done, until it is idle."""
        pods = {uid_of(pod): pod for pod in arriving}
        batches = _batches(arriving, at_once)
        events: list[Event] = []
        while True:
            arrived: list[Event] = [Seen(cause="watch", thing=pod) for pod in next(batches, ())]
            turn = self.turn([*arrived, *events], budget)
            if not arrived and not events and turn.is_idle:
                return
            events = []
            for effect in turn.effects:
                if isinstance(effect, Bind):
                    pod = pods[effect.uid]
                    bound = replace(pod, spec=replace(pod.spec, node_name=effect.node))
                    events.append(Ended(cause="write", write=effect.write, ending=Ending.DONE))
                    events.append(Seen(cause="watch", thing=bound))
                    self.bound += 1

    @property
    def cpu_s(self) -> float:
        """Return the CPU seconds of all turns."""
        return sum(turn.cpu_ms for turn in self.turns) / MS


def _batches(pods: Sequence[Pod], size: int) -> Iterator[Sequence[Pod]]:
    for begin in range(0, len(pods), size):
        yield pods[begin : begin + size]
