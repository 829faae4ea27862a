"""Which rows have a host port taken."""

import pytest

from bayplan.cluster.books.ports import ANY_ADDRESS, Ports
from tests.kit import case

HERE = "10.0.0.1"
THERE = "10.0.0.2"


@pytest.mark.parametrize(
    ("taken", "asked", "is_taken"),
    [
        case("the same address", HERE, HERE, True),
        case("another address", THERE, HERE, False),
        case("all addresses are taken", ANY_ADDRESS, HERE, True),
        case("all addresses are asked for", HERE, ANY_ADDRESS, True),
        case("all, and all", ANY_ADDRESS, ANY_ADDRESS, True),
    ],
)
def test_one_address_is_enough_for_a_conflict(taken: str, asked: str, *, is_taken: bool) -> None:
    """All addresses are in conflict with each, and each with all."""
    ports = Ports()
    ports.add(3, (taken, "TCP", 8080), 1)

    assert ports.rows_in_conflict((asked, "TCP", 8080)) == [3] * is_taken
    assert ports.rows_in_conflict((asked, "UDP", 8080)) == []
    assert ports.rows_in_conflict((asked, "TCP", 8081)) == []


def test_a_port_is_taken_until_the_last_who_has_it_is_gone() -> None:
    """Two pods of a row may have it."""
    ports, port = Ports(), (HERE, "TCP", 8080)
    ports.add(3, port, 2)
    ports.add(3, port, -1)
    assert ports.rows_in_conflict(port) == [3]

    ports.add(3, port, -1)

    assert ports.rows_in_conflict(port) == []
