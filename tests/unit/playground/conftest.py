"""A server of its own for each test."""

from collections.abc import Iterator

import pytest

from bayplan.playground.running import Running, running
from tests.unit.playground.asking import Client


@pytest.fixture
def up() -> Iterator[Running]:
    """Run a playground for the length of a test."""
    with running(log_max=50) as server:
        yield server


@pytest.fixture
def client(up: Running) -> Client:
    """Ask that playground."""
    return Client(up.server.port)
