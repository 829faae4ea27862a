"""Lengths of time as Kubernetes writes them: "1h30m", "15s", "1.5s".

A duration is a whole number of nanoseconds, so that what was read is written back as Go would write it.
Not here: points in time, and anything that waits.
"""

from __future__ import annotations

import re
from typing import Final

_UNITS: Final = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_TERM: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)")
_LONGEST: Final = 2**63 - 1
_TEXT_MAX: Final = 200


class Duration(int):
    """A length of time in nanoseconds.

    >>> Duration.parse("1m30s"), str(Duration.parse("90s")), str(Duration.parse("1500ms"))
    (Duration('1m30s'), '1m30s', '1.5s')
    """

    __slots__ = ()
    FORM = 'a length of time such as "15s"'

    @classmethod
    def seconds(cls, seconds: int) -> Duration:
        """Return so many whole seconds."""
        return cls(seconds * _UNITS["s"])

    @classmethod
    def parse(cls, text: str) -> Duration:
        """Read one as Go does; a ValueError says what is wrong with it."""
        unsigned = text.removeprefix("-") if text.startswith("-") else text.removeprefix("+")
        if unsigned == "0":
            return cls(0)
        nanoseconds, at = 0, 0
        while at < len(unsigned) <= _TEXT_MAX:
            term = _TERM.match(unsigned, at)
            if term is None or not (term[1] or term[2]):
                break
            unit = _UNITS[term[3]]
            fraction = term[2] or ""
            nanoseconds += int(term[1] or 0) * unit + (int(fraction or 0) * unit) // 10 ** len(fraction)
            at = term.end()
        if not unsigned or at < len(unsigned):
            raise ValueError(f'must be a length of time such as "15s", "1m30s" or "500ms", not {text[:40]!r}')
        if nanoseconds > _LONGEST:
            raise ValueError(f"{text[:40]!r} is longer than any duration Kubernetes can hold (about 292 years)")
        return cls(-nanoseconds if text.startswith("-") else nanoseconds)

    def __str__(self) -> str:
        whole = abs(int(self))
        sign = "-" if self < 0 else ""
        if whole < _UNITS["s"]:
            for name in ("ms", "µs", "ns"):
                if whole >= _UNITS[name]:
                    return f"{sign}{_decimal(whole, _UNITS[name])}{name}"
            return "0s"
        minutes, rest = divmod(whole, _UNITS["m"])
        hours, minutes = divmod(minutes, 60)
        text = f"{_decimal(rest, _UNITS['s'])}s"
        if hours:
            return f"{sign}{hours}h{minutes}m{text}"
        return f"{sign}{minutes}m{text}" if minutes else f"{sign}{text}"

    def __repr__(self) -> str:
        return f"Duration({str(self)!r})"


def _decimal(amount: int, unit: int) -> str:
    """Write amount / unit without trailing noughts."""
    whole, rest = divmod(amount, unit)
    digits = f"{rest:0{len(str(unit)) - 1}d}".rstrip("0")
    return f"{whole}.{digits}" if digits else str(whole)
