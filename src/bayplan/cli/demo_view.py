"""What the demo shows: how many pods are placed each second, who waits, and why.

Not here: the loop that shows it (demo.py).
"""

from __future__ import annotations

import re
import time
from collections import Counter, deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from bayplan.core.scheduler import Core
from bayplan.core.waiting import Place
from bayplan.serve import metrics as names
from bayplan.serve.daemon import Daemon

if TYPE_CHECKING:
    from rich.console import RenderableType

WINDOW_S: Final = 5.0
REASONS_MAX: Final = 6
BAR: Final = 40
_COUNTS: Final = re.compile(r"^\d+/\d+ nodes are available: (.*)$", re.DOTALL)


class Glance(NamedTuple):
    """How things are at a moment."""

    seconds: float
    placed: int
    per_s: float
    waiting: int
    nodes: int
    running: int
    why: tuple[tuple[str, int], ...]  # why the waiting wait, the most first
    recent: tuple[float, ...]  # placed a second, in turn
    cpu_ms_per_pod: float


class Ticker:
    """Looks at a daemon again and again."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self._began = time.monotonic()
        self._seen: deque[tuple[float, int]] = deque([(self._began, 0)])
        self._rates: deque[float] = deque(maxlen=BAR)

    def placed(self) -> int:
        """Count the pods that were placed so far."""
        count, profiles = self._daemon.metrics.count, self._daemon.core.profiles
        return int(sum(count(names.ATTEMPTS, ("scheduled", name)) for name in profiles))

    def glance(self) -> Glance:
        """Look now."""
        core, metrics, now, placed = self._daemon.core, self._daemon.metrics, time.monotonic(), self.placed()
        self._seen.append((now, placed))
        while now - self._seen[0][0] > WINDOW_S:
            self._seen.popleft()
        since, before = self._seen[0]
        per_s = (placed - before) / (now - since) if now > since else 0.0
        self._rates.append(per_s)
        turns = metrics.histogram(names.TURN_SECONDS)
        return Glance(
            seconds=now - self._began,
            placed=placed,
            per_s=per_s,
            waiting=sum(waiting.place is not Place.IN_FLIGHT for waiting in core.queue.all.values()),
            nodes=core.table.count,
            running=len(core.table.pods),
            why=tuple(reasons(core).most_common()),
            recent=tuple(self._rates),
            cpu_ms_per_pod=turns.sum * 1000 / max(placed, 1),
        )


def reasons(core: Core) -> Counter[str]:
    """Count the waiting by why they wait."""
    found: Counter[str] = Counter()
    for waiting in core.queue.all.values():
        match waiting.place:
            case Place.GATED:
                found[f"held back by {waiting.held_by}"] += 1
            case Place.UNSCHEDULABLE | Place.BACKING_OFF if waiting.told_reason:
                found[_short(waiting.told_message)] += 1
            case Place.ACTIVE:
                found["about to be tried"] += 1
            case _:
                continue
    return found


def _short(message: str) -> str:
    """Leave out how many nodes there are."""
    told = _COUNTS.match(message)
    return (told[1] if told is not None else message).rstrip(".")


def line(glance: Glance) -> str:
    """Write a moment in one line."""
    why = "; ".join(f"{count} x {reason}" for reason, count in glance.why[:REASONS_MAX])
    told = f"{glance.seconds:5.0f} s  {glance.placed:,} placed, {glance.per_s:,.0f} a second, {glance.waiting:,} wait"
    return f"{told}: {why}" if why else told


def shown(glance: Glance, logged: str) -> RenderableType:
    """Draw a moment for a terminal."""
    from rich.console import Group  # noqa: PLC0415 - only on a terminal: importing it takes longer than a pipe's lines
    from rich.table import Table  # noqa: PLC0415 - as above
    from rich.text import Text  # noqa: PLC0415 - as above

    numbers = Table.grid(padding=(0, 3))
    for title, value in _numbers(glance):
        numbers.add_row(Text(title, style="dim"), Text(value, style="bold"))
    why = Table(box=None, padding=(0, 2), title="why the waiting wait", title_justify="left", show_header=False)
    why.add_column(justify="right", style="bold")
    why.add_column(overflow="fold")
    for reason, count in glance.why[:REASONS_MAX] or (("nobody waits", 0),):
        why.add_row(f"{count:,}" if count else "", Text(reason))
    return Group(numbers, Text(), why, Text(), Text(logged[:200], style="dim"))


def _numbers(glance: Glance) -> Iterator[tuple[str, str]]:
    yield "nodes", f"{glance.nodes:,}"
    yield "pods on them", f"{glance.running:,}"
    yield "placed", f"{glance.placed:,}"
    yield "a second", f"{glance.per_s:,.0f}  {bars(glance.recent)}"
    yield "waiting", f"{glance.waiting:,}"
    yield "CPU for each", f"{glance.cpu_ms_per_pod:.2f} ms"


def bars(values: tuple[float, ...]) -> str:
    """Draw values as bars, the highest as high as a line is.

    >>> bars((0.0, 4.0, 8.0))
    ' ▄█'
    """
    top = max(values, default=0.0)
    return "".join(" ▁▂▃▄▅▆▇█"[round(8 * value / top)] if top else " " for value in values)
