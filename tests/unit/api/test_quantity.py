"""Quantities mean exactly what kube-scheduler takes them to mean."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.api.quantity import INT64_MAX, NANO, QuantityError, Unit, ceil_milli, ceil_whole, in_text, nanos


@pytest.mark.parametrize(
    ("text", "billionths"),
    [
        ("0", 0),
        ("0Ki", 0),
        ("1", NANO),
        ("5n", 5),
        ("4u", 4_000),
        ("3m", 3_000_000),
        ("8k", 8_000 * NANO),
        ("1E", 10**18 * NANO),
        ("1E3", 1_000 * NANO),
        ("1e3", 1_000 * NANO),
        ("1.3E+6", 1_300_000 * NANO),
        ("1E-3", NANO // 1000),
        ("8Ki", 8 * 1024 * NANO),
        ("1.5Gi", 1_610_612_736 * NANO),
        ("0.1Ki", 102_400_000_000),
        ("100.035Ki", 102_435_840_000_000),
        (".5", NANO // 2),
        ("5.", 5 * NANO),
        ("1.G", 10**9 * NANO),
        ("+2", 2 * NANO),
        ("-2", -2 * NANO),
        (" 7 ", 7 * NANO),
        (2, 2 * NANO),
        (0.1, NANO // 10),
        (1e3, 1_000 * NANO),
    ],
)
def test_a_quantity_is_read_exactly(text: str | float, billionths: int) -> None:
    """Suffixes, exponents, signs and bare numbers come to billionths."""
    assert nanos(text) == billionths


@pytest.mark.parametrize(
    ("text", "billionths"),
    [
        ("0.9n", 1),
        ("3.001n", 4),
        ("-3.001n", -4),
        ("0.5e-9", 1),
        ("0.00000012345", 124),
        ("0.000000000001Ki", 2),
        ("1e-400", 1),
        ("0e-400", 0),
    ],
)
def test_what_is_finer_than_a_billionth_is_rounded_away_from_zero(text: str, billionths: int) -> None:
    """Something never becomes nothing."""
    assert nanos(text) == billionths


@pytest.mark.parametrize("text", ["9Ei", "9223372036854775807Ki", "100Ei"])
def test_a_binary_quantity_is_capped_at_64_bits(text: str) -> None:
    """Only those with a binary suffix are."""
    assert nanos(text) == INT64_MAX * NANO
    assert nanos("12E") == 12 * 10**18 * NANO


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "1..5Gi", "1.1.M", "1+1.0M", "0.1mi", "0.1am", "aoeu", ".5i", "1i", "-3.01i", "-3.01e-", "1e", "1K",
        "1ki", "1 Gi", "--1", "1_000", "\u0661", "nan", "0x10", "9" * 900, "1e99999999999999999999", float("inf"),
        float("nan"),
    ],
)  # fmt: skip
def test_what_is_no_quantity_is_refused_in_words(text: str | float) -> None:
    """The message shows what was given, shortened."""
    with pytest.raises(QuantityError, match="expected a quantity") as refusal:
        nanos(text)

    assert len(str(refusal.value)) < 150


@pytest.mark.parametrize(
    ("text", "milli", "whole"),
    [("100m", 100, 1), ("0.1m", 1, 1), ("-0.1m", -1, -1), ("2", 2_000, 2), ("0", 0, 0), ("1e30", INT64_MAX, INT64_MAX)],
)
def test_conversion_rounds_away_from_zero_within_64_bits(text: str, milli: int, whole: int) -> None:
    """As MilliValue and Value do."""
    assert (ceil_milli(nanos(text)), ceil_whole(nanos(text))) == (milli, whole)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(500, "milli", "500m"), (2000, "milli", "2"), (0, "milli", "0"), (1536 << 20, "bytes", "1536Mi"),
     (1000, "bytes", "1000"), (0, "bytes", "0"), (1 << 60, "bytes", "1Ei"), (3, "count", "3")],
)  # fmt: skip
def test_an_integer_is_written_as_people_do(value: int, unit: Unit, text: str) -> None:
    """The shortest unit that is exact."""
    assert in_text(value, unit) == text


SUFFIXES = {
    "": Fraction(1),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "k": Fraction(1000),
    "Ki": Fraction(1024),
    "Mi": Fraction(2**20),
}


@given(whole=st.integers(0, 10**9), part=st.text("0123456789", max_size=12), suffix=st.sampled_from(sorted(SUFFIXES)))
def test_every_decimal_is_the_fraction_that_it_says(whole: int, part: str, suffix: str) -> None:
    """The nearest count of billionths that is not below."""
    exact = (whole + (Fraction(int(part), 10 ** len(part)) if part else 0)) * SUFFIXES[suffix] * NANO

    assert nanos(f"{whole}.{part}{suffix}") == -((-exact.numerator) // exact.denominator)


@given(st.text(max_size=40) | st.floats() | st.integers())
def test_no_input_breaks_the_reader(text: str | float) -> None:
    """It is a quantity, or a QuantityError."""
    try:
        value = nanos(text)
    except QuantityError:
        return

    assert -(2**63) <= ceil_milli(value) < 2**63
