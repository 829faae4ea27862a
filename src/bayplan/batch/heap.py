"""A binary heap whose keys may change while things stand in it: it is not put in order again, as Go's is not.

kube-batch keeps its queues, jobs and tasks so, and which of them is tried next depends on it.
Invariant: comparisons are made when something is pushed or popped, with what is known then.
Not here: what is compared (tiers.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Heap(Generic[T]):
    """What stands first is popped first, as far as that was known when it was pushed."""

    def __init__(self, is_before: Callable[[T, T], bool]) -> None:
        self._is_before = is_before
        self._items: list[T] = []

    def __len__(self) -> int:
        return len(self._items)

    def push(self, item: T) -> None:
        """Put something at the end and sift it up."""
        items, at = self._items, len(self._items)
        items.append(item)
        while at:
            parent = (at - 1) // 2
            if not self._is_before(items[at], items[parent]):
                break
            items[at], items[parent] = items[parent], items[at]
            at = parent

    def pop(self) -> T:
        """Swap the first with the last, sift that down, and return the first."""
        items, is_before = self._items, self._is_before
        last = len(items) - 1
        items[0], items[last] = items[last], items[0]
        at = 0
        while (child := 2 * at + 1) < last:
            if child + 1 < last and is_before(items[child + 1], items[child]):
                child += 1
            if not is_before(items[child], items[at]):
                break
            items[at], items[child] = items[child], items[at]
            at = child
        return items.pop()
