"""A server of its own for each test."""

from collections.abc import Iterator

import pytest

from bayplan.playground.kubelets import Pace
from bayplan.playground.running import Running, running
from tests.unit.playground.asking import Client

NODE = {"metadata": {"name": "n"}, "status": {"capacity": {"cpu": "2", "memory": "4Gi", "pods": "10"}}}


@pytest.fixture
def up() -> Iterator[Running]:
    """Run a playground for the length of a test."""
    with running(log_max=50) as server:
        yield server


@pytest.fixture
def client(up: Running) -> Client:
    """Ask that playground."""
    return Client(up.server.port)


@pytest.fixture
def live() -> Iterator[Client]:
    """Run a playground whose kubelets lose no time, with one node."""
    with running(pace=Pace(start_s=0.0, end_s=0.0)) as server:
        client = Client(server.server.port)
        client.make("/api/v1/nodes", NODE)
        yield client
