"""Durations read and write as Go's do."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from bayplan.api.durations import Duration


@pytest.mark.parametrize(("text", "nanoseconds", "written"), [
    ("0", 0, "0s"),
    ("15s", 15 * 10**9, "15s"),
    ("1h", 3600 * 10**9, "1h0m0s"),
    ("90s", 90 * 10**9, "1m30s"),
    ("1.5s", 15 * 10**8, "1.5s"),
    (".5s", 5 * 10**8, "500ms"),
    ("1.s", 10**9, "1s"),
    ("-1.5h", -5400 * 10**9, "-1h30m0s"),
    ("+1us", 1000, "1µs"),
    ("1µs", 1000, "1µs"),
    ("100ns", 100, "100ns"),
    ("1500us", 1_500_000, "1.5ms"),
    ("1h1m1.001s", 3_661_001_000_000, "1h1m1.001s"),
])  # fmt: skip
def test_read_and_written(text: str, nanoseconds: int, written: str) -> None:
    """The text means so many nanoseconds, and is written so."""
    assert Duration.parse(text) == nanoseconds
    assert str(Duration.parse(text)) == written


@pytest.mark.parametrize(
    "text", ["", "5", "s", "1x", "1 s", ".s", "1s-", "--1s", "9999999999999h", "9" * 300 + "s", "\u0661s"]
)
def test_what_is_no_duration(text: str) -> None:
    """What Go would not read is refused."""
    with pytest.raises(ValueError, match=r"must be a length of time|is longer than"):
        Duration.parse(text)


@given(some.integers(min_value=-(2**63) + 1, max_value=2**63 - 1))
def test_what_is_written_is_read_again(nanoseconds: int) -> None:
    """Writing and reading loses nothing."""
    assert Duration.parse(str(Duration(nanoseconds))) == nanoseconds
