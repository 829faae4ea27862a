"""What waits: a pod in the queue with its bookkeeping, and those who wait for the same reason.

Invariant: a pod that waits for a change is in exactly one group, and nobody else is in any.
Not here: moving between the queue's places (queue.py) and which change helps (wakeups.py).
"""

from __future__ import annotations

import enum
from typing import Final, NamedTuple

from bayplan.api.objects import Pod, uid_of
from bayplan.framework.lane import Rejection
from bayplan.framework.profile import Profile

SECOND_MS: Final = 1000


class Place(enum.StrEnum):
    """Where in the queue a pod is."""

    ACTIVE = "active"
    BACKING_OFF = "backing off"
    UNSCHEDULABLE = "waiting for a change"
    GATED = "gated"
    IN_FLIGHT = "in flight"
    SESSION = "waiting for a session"


class Result(enum.StrEnum):
    """What came of an attempt."""

    SCHEDULED = "scheduled"
    UNSCHEDULABLE = "unschedulable"
    ERROR = "error"


class Attempt(NamedTuple):
    """An attempt that is over, for whoever counts."""

    profile: str
    result: Result
    number: int  # of the pod's attempts
    began_ms: int
    first_ms: int  # when the pod could be tried for the first time


class Held(NamedTuple):
    """Why a pod may not be tried at all."""

    by: str
    message: str


class Group:
    """Pods of one shape that the same rules turned down: one look answers for all."""

    __slots__ = ("by", "is_late", "known", "members", "profile", "shape")

    def __init__(self, profile: Profile, rejection: Rejection) -> None:
        self.profile = profile
        self.shape = rejection.shape
        self.by = rejection.by
        self.is_late = rejection.is_late
        self.members: dict[str, Waiting] = {}
        self.known = (-1, -1)  # versions of what shapes depend on, when the members were read last


class Waiting:
    """A pod in the queue."""

    __slots__ = (
        "attempts",
        "began_ms",
        "errors",
        "failures",
        "first_ms",
        "flushed_ms",
        "group",
        "held_by",
        "kin",
        "nominated",
        "number",
        "place",
        "pod",
        "profile",
        "since_ms",
        "ticket",
        "told_message",
        "told_reason",
        "uid",
        "until_ms",
    )

    def __init__(self, pod: Pod, profile: Profile, number: int, now_ms: int) -> None:
        self.pod = pod
        self.uid = uid_of(pod)
        self.profile = profile
        self.number = number  # in order of arrival: the last word among equals
        self.since_ms = now_ms  # when it last came into the queue
        self.first_ms: int | None = None  # when it could be tried for the first time
        self.began_ms = now_ms  # when its last attempt began
        self.flushed_ms = now_ms  # when it was last moved because it had waited long
        self.until_ms = 0  # how long it backs off
        self.attempts = 0
        self.failures = 0  # since the last error
        self.errors = 0  # in a row
        self.place = Place.IN_FLIGHT
        self.ticket = 0  # which of its entries in a heap counts
        self.group: Group | None = None
        self.held_by = ""
        self.kin = ""  # the group with which its lane tries it
        self.nominated: str | None = None  # the node we had noted on it; None: whatever its object says
        self.told_reason = ""  # of the condition last written
        self.told_message = ""

    def __repr__(self) -> str:
        return f"<{self.pod.key} {self.where}>"

    def was_told(self, rejection: Rejection) -> bool:
        """Say whether the condition that was written last says just this."""
        return (self.told_reason, self.told_message) == (rejection.reason, rejection.message)

    def over(self, result: Result) -> Attempt:
        """Say what came of the attempt that is made now."""
        first_ms = self.began_ms if self.first_ms is None else self.first_ms
        return Attempt(self.profile.scheduler_name, result, self.attempts, self.began_ms, first_ms)

    @property
    def nominated_to(self) -> str:
        """The node on which room is being made for the pod, as far as we know."""
        return self.pod.status.nominated_node_name if self.nominated is None else self.nominated

    @property
    def has_sessions(self) -> bool:
        """Whether the pod's lane asks for it in its own time."""
        return self.profile.lane is not None and self.profile.lane.has_sessions

    @property
    def where(self) -> str:
        """Say where the pod is and why."""
        match self.place:
            case Place.UNSCHEDULABLE if self.group is not None:
                return f"{self.place}: {', '.join(sorted(self.group.by))} turned it down"
            case Place.GATED:
                return f"{self.place} by {self.held_by}"
            case Place.BACKING_OFF:
                return f"{self.place} until {self.until_ms} ms: {'an error' if self.errors else 'no node'}"
            case _:
                return str(self.place)


class Backoff(NamedTuple):
    """How long a pod that failed waits before it is tried again."""

    initial_ms: int = 1 * SECOND_MS
    longest_ms: int = 10 * SECOND_MS

    def until(self, waiting: Waiting) -> int:
        """Return the whole second until which a pod backs off."""
        count = waiting.errors or waiting.failures
        if not count:
            return 0
        too_long = self.initial_ms > self.longest_ms >> (count - 1)
        duration_ms = self.longest_ms if too_long else self.initial_ms << (count - 1)
        return (waiting.since_ms + duration_ms) // SECOND_MS * SECOND_MS


def backs_off(waiting: Waiting, now_ms: int) -> bool:
    """Say whether a pod is still backing off: within the second in which that ends, it is."""
    return waiting.until_ms > 0 and waiting.until_ms >= now_ms // SECOND_MS * SECOND_MS
