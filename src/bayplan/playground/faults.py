"""Faults on command: requests that are answered late, wrongly, or not at all, so that clients can be tried.

Invariant: without a fault set, this changes nothing; a fault that is counted ends after so many requests.
Not here: faults of nodes (`kubelets.py`).
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from bayplan.playground.refusals import Refused, bad_request
from bayplan.playground.routing import Target

Action: TypeAlias = Literal["delay", "drop", "answer", "lose", "cut", "expire"]

_REASONS: Final = {
    409: "Conflict",
    410: "Expired",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
}


class Fault(msgspec.Struct, forbid_unknown_fields=True):
    """What goes wrong, for which requests, how often.

    delay: wait before the request is served; drop: close the connection, nothing is done; answer: refuse with a code;
    lose: do as asked, then close the connection; cut: end the open watches; expire: forget the history of changes.
    """

    action: Action
    verb: str = ""  # get, list, watch, create, update, patch, delete; empty: any
    resource: str = ""  # a plural, with /binding and the like for a part; empty: any
    times: int = 1  # how many requests it meets; 0: all of them
    seconds: float = 1.0  # of a delay
    code: int = 503  # of an answer

    def meets(self, verb: str, target: Target) -> bool:
        """Say whether a request is one of those that go wrong."""
        resource = f"{target.kind.plural}/{target.part}" if target.part else target.kind.plural
        return self.verb in {"", verb} and self.resource in {"", resource}

    def refusal(self) -> Refused:
        """Give the answer that is to be given."""
        message = f"a fault was asked for: {self.code}"
        details = {"retryAfterSeconds": 1} if self.code in {429, 503} else {}
        return Refused(self.code, _REASONS[self.code], message, {**details})


class Faults:
    """The faults that are set."""

    def __init__(self) -> None:
        """Begin with none."""
        self.set: list[Fault] = []

    def add(self, raw: bytes) -> Fault:
        """Set a fault as its JSON says; raise Refused on what cannot be done."""
        try:
            fault = msgspec.json.decode(raw, type=Fault)
        except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
            raise bad_request(f'a fault is expected, such as {{"action": "drop"}}: {error}') from None
        if fault.code not in _REASONS:
            raise bad_request(f"code: expected one of {', '.join(map(str, _REASONS))}, got {fault.code}")
        if not 0 <= fault.seconds <= 3600 or fault.times < 0:
            raise bad_request("seconds: expected 0 to 3600; times: expected 0 (always) or more")
        if fault.action not in {"cut", "expire"}:
            self.set.append(fault)
        return fault

    def met(self, verb: str, target: Target) -> Fault | None:
        """Give the first fault that a request meets, and count it."""
        for fault in self.set:
            if fault.meets(verb, target):
                if fault.times == 1:
                    self.set.remove(fault)
                elif fault.times:
                    fault.times -= 1
                return fault
        return None
