"""A playground for each test."""

from collections.abc import Iterator

import pytest

from bayplan.playground.running import Running, running


@pytest.fixture
def up() -> Iterator[Running]:
    """Run a playground for the length of a test."""
    with running() as server:
        yield server
