"""The event loop: uvloop's where there is one, Python's own elsewhere.

Not here: what runs in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

try:
    import uvloop
except ImportError:  # a system that has none
    uvloop = None  # type: ignore[assignment]

R = TypeVar("R")


def run(main: Coroutine[Any, Any, R]) -> R:
    """Run a coroutine to its end in a new event loop."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop if uvloop is not None else None) as runner:
        return runner.run(main)
