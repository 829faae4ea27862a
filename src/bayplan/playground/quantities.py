"""Quantities as an API server tells them: the same amount in the fewest digits, in the family of suffixes it came in.

Not here: what a quantity amounts to (`api/quantity.py`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from bayplan.api.quantity import QuantityError, nanos
from bayplan.playground.trees import Map, at

_BINARY: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL: Final = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")


@lru_cache(maxsize=4096)
def canonical(written: str | float) -> str | None:
    """Write a quantity in its shortest form; None where it is none, or is written with an exponent."""
    told = str(written).strip()
    if "e" in told or ("E" in told and not told.endswith(("E", "Ei"))):
        return None
    try:
        value = nanos(told)
    except QuantityError:
        return None
    if told.endswith("i") and value % 10**9 == 0 and abs(value) >= 1024 * 10**9:
        return _shortest(value // 10**9, 1024, _BINARY)
    return _shortest(value, 1000, _DECIMAL) if value else "0"


def _shortest(value: int, base: int, suffixes: tuple[str, ...]) -> str:
    place = 0
    while place + 1 < len(suffixes) and value % base == 0:
        value //= base
        place += 1
    return f"{value}{suffixes[place]}"


def straighten(tree: Map, *path: str) -> None:
    """Write the quantities of the map at a path in their shortest form; what is none is left as it is."""
    amounts = at(tree, *path)
    if isinstance(amounts, dict):
        for name, written in amounts.items():
            if isinstance(written, str | int | float) and (told := canonical(written)) is not None:
                amounts[name] = told
