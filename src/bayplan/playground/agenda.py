"""The agenda: what kubelets and controllers still have to do, done in the server's own loop.

A thing to do has a name; what is already on the agenda under a name is not put there twice, so that any number of
changes to one object lead to one look at it.
Invariant: nothing is done while the store takes in a change, and one failure stops nothing else.
Not here: what there is to do.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Hashable

from bayplan.playground.refusals import Refused
from bayplan.playground.store import Change, Store

logger = logging.getLogger(__name__)


class Agenda:
    """Things to do soon or later, in the running event loop."""

    def __init__(self, store: Store) -> None:
        """Begin with nothing to do."""
        self._store = store
        self._loop = asyncio.get_running_loop()
        self._named: set[Hashable] = set()

    def listen(self, listener: Callable[[tuple[str, str], Change], None]) -> None:
        """Tell of every change, and first of everything that is there already."""
        for of, shelf in self._store.shelves():
            for key in shelf.ordered():
                listener(of, Change("ADDED", key, shelf.objects[key], None))
        self._store.listen(listener)

    def soon(self, name: Hashable, act: Callable[[], None], seconds: float = 0.0) -> None:
        """Do something once, as soon as the store is free or so many seconds from now."""
        if name in self._named:
            return
        self._named.add(name)

        def done() -> None:
            self._named.discard(name)
            try:
                act()
            except Refused as refused:  # somebody was faster: a later change will bring it up again
                logger.debug("not done: %s: %s", name, refused.message)
            except Exception:
                logger.exception("not done: %s", name)

        if seconds > 0:
            self._loop.call_later(seconds, done)
        else:
            self._loop.call_soon(done)
