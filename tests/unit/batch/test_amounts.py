"""Amounts are compared as kube-batch compares them, or exactly."""

import pytest

from bayplan.batch.amounts import EXACT, TOLERANT, Amount, dominant_share, ratio
from tests.kit import case

MIB = 2**20


def amount(cpu: float = 0, mib: float = 0, **others: float) -> Amount:
    """Return an amount; memory in MiB."""
    return Amount(cpu, mib * MIB, dict(others) or None)


@pytest.mark.parametrize(
    ("needs", "room", "tolerant", "exact"),
    [
        case("what is there fits", amount(1000, 100), amount(1000, 100), True, True),
        case("9m too much is tolerated", amount(1009, 100), amount(1000, 100), True, False),
        case("10m too much is not", amount(1010, 100), amount(1000, 100), False, False),
        case("9 MiB too much are tolerated", amount(0, 109), amount(0, 100), True, False),
        case("10 MiB too much are not", amount(0, 110), amount(0, 100), False, False),
        case("a whole GPU too much is not", amount(0, 0, gpu=2000), amount(0, 0, gpu=1000), False, False),
        case("a GPU where nobody names any is not", amount(0, 0, gpu=1000), amount(9, 9), False, False),
        case("no GPU fits anywhere", amount(0, 0, gpu=0), amount(), True, True),
        case("what only the room names does not matter", amount(1), amount(1, 0, gpu=0), True, True),
    ],
)
def test_fits(needs: Amount, room: Amount, tolerant: bool, exact: bool) -> None:  # noqa: FBT001 a table's columns
    """Room is enough with a tolerance that kube-batch has and bayplan has not."""
    assert (needs.fits(room, TOLERANT), needs.fits(room, EXACT)) == (tolerant, exact)


@pytest.mark.parametrize(
    ("one", "other", "is_below"),
    [
        case("less of both is below", amount(1, 1), amount(2, 2), True),
        case("as much of one is not", amount(2, 1), amount(2, 2), False),
        case("another that names a GPU with nought is not above", amount(1, 1), amount(2, 2, gpu=0), False),
        case("another that has one is", amount(1, 1), amount(2, 2, gpu=1000), True),
        case("one that names a GPU is not below one that does not", amount(1, 1, gpu=0), amount(2, 2), False),
    ],
)
def test_is_below(one: Amount, other: Amount, is_below: bool) -> None:  # noqa: FBT001 as above
    """Being less is strict, and looks at who names what."""
    assert one.is_below(other, TOLERANT) == is_below


def test_too_little_to_count_is_nothing_only_with_a_tolerance() -> None:
    """9m and 9 MiB ask for nothing in kube-batch."""
    assert amount(9, 9).is_empty(TOLERANT)
    assert not amount(9, 9).is_empty(EXACT)
    assert not amount(10, 0).is_empty(TOLERANT)
    assert amount().is_empty(EXACT)


def test_a_share_is_the_largest_of_all_resources() -> None:
    """Any part of nothing is all of it; nothing of nothing is nothing."""
    assert dominant_share(amount(1, 2), amount(4, 4)) == 0.5
    assert (ratio(1, 0), ratio(0, 0)) == (1, 0)


def test_amounts_add_up_and_come_off_again() -> None:
    """What was named stays named until it is forgotten."""
    total = amount(1, 1).add(amount(2, 2, gpu=1000)).take(amount(1, 1, gpu=1000))

    assert (total.cpu, total.memory, total.others) == (2, 2 * MIB, {"gpu": 0})
    total.forget_noughts()
    assert total.others is None


def test_the_smaller_of_two_names_a_gpu_only_if_both_do() -> None:
    """So a queue that asks for none never deserves any."""
    assert amount(3, 1, gpu=5).at_most(amount(2, 2)).others is None
    assert amount(3, 1, gpu=5).at_most(amount(2, 2, gpu=1)).others == {"gpu": 1}
