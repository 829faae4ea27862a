"""A bar for long runs, when a person is looking; otherwise nothing at all.

Not here: deciding what is long in time, which nobody knows beforehand: it is the number of pods.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

T = TypeVar("T")

LONG: Final = 500


def shown(steps: Iterable[T], total: int, doing: str) -> Iterator[T]:
    """Go through steps, showing how far it has come if that takes a while and somebody sees it."""
    if total < LONG or not (sys.stdout.isatty() and sys.stderr.isatty()):
        yield from steps
        return
    rich = importlib.import_module("rich.progress")  # only here: it takes longer to import than most runs to finish
    console = importlib.import_module("rich.console").Console(stderr=True)
    with rich.Progress(console=console, transient=True) as bar:
        task = bar.add_task(doing, total=total)
        for step in steps:
            yield step
            bar.advance(task)
