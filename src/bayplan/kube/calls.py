"""Calls: one request each, what may come of it, and by which rule it is sent again.

Invariant: a failure says whether the server may have done what was asked; nobody who may be wrong about that says no.
Not here: sending them (`transport.py`).
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

JSON: Final = b"Content-Type: application/json\r\n"
STRATEGIC: Final = b"Content-Type: application/strategic-merge-patch+json\r\n"
MERGE: Final = b"Content-Type: application/merge-patch+json\r\n"

ANSWER_BYTES_MAX: Final = 256 * 2**20


class Priority(enum.IntEnum):
    """Who goes first when there are fewer connections than calls."""

    FIRST = 0  # whatever is asked for by `request`: leases, lists; there is little of it
    BINDING = 1
    STATUS = 2
    EVENT = 3


class Answer(NamedTuple):
    """What the server said."""

    status: int
    body: bytes = b""
    retry_after_s: float = 0.0  # 0: it did not say

    @property
    def is_good(self) -> bool:
        """Say whether it did what was asked."""
        return 200 <= self.status < 300


class Failure(Exception):
    """No answer was had."""

    def __init__(self, text: str, *, was_sent: bool) -> None:
        """Say what happened, and whether the server may have done what was asked."""
        super().__init__(text)
        self.was_sent = was_sent


Outcome: TypeAlias = Answer | Failure


class Rule(NamedTuple):
    """When a call is sent again, and after how long."""

    tries: int = 4
    first_s: float = 0.01
    factor: float = 5.0
    jitter: float = 0.1  # of the wait, at most
    is_safe: bool = False  # to be sent again though it may have been done: a read

    def wait_s(self, tried: int, luck: float) -> float:
        """Give how long is waited after so many tries; luck is from 0 to 1."""
        return self.first_s * self.factor ** (tried - 1) * (1.0 + self.jitter * luck)


WRITE: Final = Rule()
READ: Final = Rule(is_safe=True)
ONCE: Final = Rule(tries=1)
AGAIN: Final = frozenset({429, 500, 502, 503, 504})  # the same call may be answered otherwise a moment later
DOUBTFUL: Final = AGAIN - {429}  # and may have been done


class Call:
    """A request, and who is told what came of it; what is said here of all calls may be said otherwise of one."""

    media = JSON
    priority = Priority.STATUS
    rule = WRITE
    timeout_s = 0.0  # 0: as the client has it
    bytes_max = ANSWER_BYTES_MAX
    deadline = 0.0
    tried = 0
    version = 0  # of what was shown to the server
    is_doubtful = False  # an earlier try may have been done

    def __init__(self, line: bytes, payload: bytes, end: Callable[[Call, Outcome], None]) -> None:
        """Make a call of its method and path, such as b"GET /api/v1/pods", and its body."""
        self.line = line
        self.payload = payload
        self.end = end

    def __repr__(self) -> str:
        return f"Call({self.line.decode(errors='replace')})"
