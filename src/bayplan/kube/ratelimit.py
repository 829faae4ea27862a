"""A token bucket: so many at once, then so many a second.

Invariant: within any time no more are let through than the burst and what that time is worth.
Not here: a clock.
"""

from __future__ import annotations


class Bucket:
    """Lets through `burst` at once and `qps` a second."""

    __slots__ = ("_at", "_tokens", "burst", "qps")

    def __init__(self, qps: float, burst: int) -> None:
        """Begin full."""
        self.qps = qps
        self.burst = max(burst, 1)
        self._tokens = float(self.burst)
        self._at = 0.0

    def ready(self, now: float) -> int:
        """Say how many may pass now."""
        self._fill(now)
        return int(self._tokens + 1e-9)

    def take(self, now: float) -> bool:
        """Let one through, if one may."""
        self._fill(now)
        if self._tokens < 1 - 1e-9:
            return False
        self._tokens -= 1
        return True

    def wait_s(self, now: float) -> float:
        """Say how long it is until one may pass."""
        self._fill(now)
        return max(0.0, (1 - self._tokens) / self.qps)

    def _fill(self, now: float) -> None:
        if now > self._at:
            self._tokens = min(float(self.burst), self._tokens + (now - self._at) * self.qps)
            self._at = now
