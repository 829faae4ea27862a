"""Quantities written in every way that Kubernetes reads: suffixes of tens and of twos, exponents, fractions.

Amounts are exact integers of a unit of 10**exponent; nothing is rounded, so an odd spelling equals the plain one.
"""

from collections.abc import Iterator

from tests.parity.topics.draw import Draw

TENS = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15}
TWOS = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40}
MI = 1 << 20
GI = 1 << 30
HUGE = 50_000_000_000_000_000
"""Near what kube-scheduler multiplies by 100 without overflow; above 9e16 its answers are accidents."""


def cpu(draw: Draw, milli: int, odd: float) -> str | int | float:
    """Return that many thousandths of a core, oddly written in a share `odd` of draws."""
    if draw.chance(odd):
        return draw.choice(list(_spellings(milli, -3)))
    return f"{milli}m" if milli % 1000 else str(milli // 1000)


def size(draw: Draw, count: int, odd: float) -> str | int | float:
    """Return that many bytes (or pods, or devices), oddly written in a share `odd` of draws."""
    if draw.chance(odd):
        return draw.choice(list(_spellings(count, 0)))
    for suffix, bits in reversed(TWOS.items()):
        if count and count % (1 << bits) == 0:
            return f"{count >> bits}{suffix}"
    return str(count)


def fine_cpu(draw: Draw) -> str:
    """Return a cpu request that is no whole number of thousandths."""
    return draw.choice(["0.5m", "100u", "1n", "333333n", "1500u", "2.5m", "0.0001", "1e-4", "1.0005"])


def fine_size(draw: Draw) -> str:
    """Return a size that is no whole number of bytes."""
    return draw.choice(["100m", "0.1Ki", "1.5", "1e-1", "1500m", "0.3Mi", "1.1Gi", "1.0001G", "2500u", "7.7k"])


def _spellings(amount: int, exponent: int) -> Iterator[str | int | float]:
    """Yield ways to write `amount * 10**exponent`."""
    for suffix, power in TENS.items():
        yield f"{_shifted(amount, exponent - power)}{suffix}"
    yield f"{amount}e{exponent}"
    yield f"{amount}E{exponent}"
    yield f"{_shifted(amount, -2)}e{exponent + 2}"
    yield f"+{_shifted(amount, exponent)}"
    yield f"0{_shifted(amount, exponent)}"
    if exponent == 0:
        yield amount
        for suffix, bits in TWOS.items():
            if amount % (1 << bits) == 0:
                yield f"{amount >> bits}{suffix}"
                yield f"{amount >> bits}.0{suffix}"
            elif (amount * 4) % (1 << bits) == 0:
                yield f"{amount / (1 << bits)}{suffix}"
    elif amount % 1000 == 0:
        yield amount // 1000
        yield f"{amount // 1000}."
    elif amount % 100 == 0:
        yield amount / 1000


def _shifted(amount: int, places: int) -> str:
    """Return `amount * 10**places` in plain digits."""
    if places >= 0:
        return str(amount * 10**places)
    digits = str(amount).rjust(1 - places, "0")
    whole, fraction = digits[:places], digits[places:].rstrip("0")
    return f"{whole}.{fraction}" if fraction else whole
