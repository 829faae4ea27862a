"""Time that passes without waiting: an event loop whose clock jumps to whatever is due next.

Not here: sockets; with nothing that is due, a test waits for what never comes, and is told so.
"""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

R = TypeVar("R")


class NothingIsDue(Exception):
    """Everybody waits, and for nothing."""


class Loop(asyncio.SelectorEventLoop):
    """Python's own event loop, with another clock."""

    def __init__(self) -> None:
        """Begin at a time that is not nought, as clocks do."""
        self._jumped = 1000.0
        super().__init__(_Selector(self))

    def time(self) -> float:
        """Give the virtual time."""
        return self._jumped

    def jump(self, seconds: float) -> None:
        """Let time pass at once, as it does for a process that was stopped."""
        self._jumped += seconds


class _Selector(selectors.DefaultSelector):
    def __init__(self, loop: Loop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready: list[tuple[selectors.SelectorKey, int]] = super().select(0)
        if not ready and timeout is None:
            raise NothingIsDue
        if not ready and timeout:
            self._loop.jump(timeout)
        return ready


def run(main: Coroutine[Any, Any, R]) -> R:
    """Run a test in virtual time."""
    with asyncio.Runner(loop_factory=Loop) as runner:
        return runner.run(main)


def now() -> float:
    """Give the virtual time."""
    return asyncio.get_running_loop().time()


def jump(seconds: float) -> None:
    """Let time pass at once."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, Loop)
    loop.jump(seconds)
