"""A playground for each test, and a certificate for all."""

from collections.abc import Iterator

import pytest

from bayplan.playground.running import Running, running
from tests.certificates import a_pair


@pytest.fixture
def up() -> Iterator[Running]:
    """Run a playground for the length of a test."""
    with running() as server:
        yield server


@pytest.fixture(scope="session")
def pair() -> tuple[bytes, bytes]:
    """Make a certificate and its key, for localhost."""
    return a_pair("localhost", "api.example")
