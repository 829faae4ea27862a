"""Waits: why a job waits, as one primary reason with its numbers.

Invariant: every job that still asks for room when a session ends has exactly one.
Not here: finding out (seeking.py) and kube-batch's own words (statuses.py).
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import NamedTuple


class Cause(enum.StrEnum):
    """What is in the way."""

    SHARE = "share"  # its queue has all that it deserves
    LIMIT = "limit"  # its queue has all that it may have
    ROOM = "room"  # no node has room
    MEMBERS = "members"  # it has fewer members than must start together
    TURN = "turn"  # others go first


class Wait(NamedTuple):
    """Why a job waits; the numbers are put into words when somebody asks."""

    cause: Cause
    say: Callable[[], str]

    def __str__(self) -> str:
        return self.say()
