"""Quantities: "500m" to an exact integer and back.

A quantity is a count of nanos, billionths of its unit, in Python's unbounded integers: sums are exact and are rounded
once per pod, away from zero, as upstream rounds.  What a text means is what `resource.Quantity` makes of it, odd ones
included ("Ki" is 0, "1E" is 10^18, "1E3" is 1000).
Not here: which unit a resource is counted in (`api/requests.py`) and whether a value makes sense (`api/validate.py`).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Literal, TypeAlias

Unit: TypeAlias = Literal["milli", "bytes", "count"]

NANO: Final = 10**9
INT64_MAX: Final = 2**63 - 1
EXPONENT_MAX: Final = 200  # past every number that fits into a column, and small enough to compute with

_FORM: Final = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(|[numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)", re.ASCII)
_DECIMAL: Final = {"": 0, "n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_TENS: Final[tuple[int, ...]] = tuple(10**power for power in range(4 * EXPONENT_MAX + 1))
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


class QuantityError(ValueError):
    """Expected a quantity such as 500m, 2 or 1.5Gi."""


@lru_cache(maxsize=1 << 16)
def nanos(text: str | float) -> int:
    """Read a quantity as a count of billionths, exactly; what is finer than one is rounded away from zero.

    >>> nanos("500m"), nanos("1.5Gi") // NANO, nanos("0.1n")
    (500000000, 1610612736, 1)
    """
    written = text.strip() if isinstance(text, str) else repr(text)
    form = _FORM.fullmatch(written) if written else None
    if form is None:
        raise QuantityError(f'expected a quantity, got "{_short(written)}"')
    sign, whole, fraction, suffix = form[1], form[2], form[3] or "", form[4]
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return 0
    if len(digits) > EXPONENT_MAX * 4:
        raise QuantityError(f'expected a quantity, got one of {len(digits)} digits: "{_short(written)}"')
    if suffix in _BINARY:
        size = min(_shifted(int(digits) << _BINARY[suffix], 9 - len(fraction)), INT64_MAX * NANO)
    else:
        size = _shifted(int(digits), _exponent(suffix, written) + 9 - len(fraction))
    return -size if sign == "-" else size


def ceil_milli(value: int) -> int:
    """Round nanos to thousandths, away from zero, within 64 bits."""
    return _ceil(value, NANO // 1000)


def ceil_whole(value: int) -> int:
    """Round nanos to whole units, away from zero, within 64 bits."""
    return _ceil(value, NANO)


def in_text(value: int, unit: Unit) -> str:
    """Write a column's integer the way people write quantities.

    >>> in_text(500, "milli"), in_text(2000, "milli"), in_text(1610612736, "bytes"), in_text(3, "count")
    ('500m', '2', '1536Mi', '3')
    """
    if unit == "milli":
        return f"{value}m" if value % 1000 else str(value // 1000)
    if unit == "bytes" and value:
        for suffix, power in reversed(_BINARY.items()):
            if value % (1 << power) == 0:
                return f"{value >> power}{suffix}"
    return str(value)


def _exponent(suffix: str, written: str) -> int:
    """Give the power of ten that a decimal suffix stands for, wrapping at 32 bits as upstream does."""
    if suffix in _DECIMAL:
        return _DECIMAL[suffix]
    if len(suffix) > EXPONENT_MAX or abs(power := int(suffix[1:])) > INT64_MAX:
        raise QuantityError(f'expected a quantity, got "{_short(written)}" with an exponent past 64 bits')
    return (power + 2**31) % 2**32 - 2**31


def _shifted(digits: int, power: int) -> int:
    """Multiply by a power of ten, rounding up; never builds a number larger than it must."""
    if power >= 0:
        return digits * _TENS[min(power, EXPONENT_MAX)]
    if power < -4 * EXPONENT_MAX:
        return 1
    return -(-digits // _TENS[-power])


def _ceil(value: int, step: int) -> int:
    size = min(-(-abs(value) // step), INT64_MAX)
    return size if value >= 0 else -size


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."
