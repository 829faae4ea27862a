"""Time stamps, as Kubernetes writes them.

Not here: clocks; whoever wants a stamp brings the nanoseconds since 1970.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

SECOND_NS: Final = 1_000_000_000


@lru_cache(maxsize=8)
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def to_the_second(now_ns: int) -> str:
    """Write a time the way conditions have it.

    >>> to_the_second(1_700_000_000_123_456_789)
    '2023-11-14T22:13:20Z'
    """
    return f"{_second(now_ns // SECOND_NS)}Z"


def to_the_microsecond(now_ns: int) -> str:
    """Write a time the way events and leases have it.

    >>> to_the_microsecond(1_700_000_000_123_456_789)
    '2023-11-14T22:13:20.123456Z'
    """
    seconds, rest = divmod(now_ns, SECOND_NS)
    return f"{_second(seconds)}.{rest // 1000:06d}Z"
