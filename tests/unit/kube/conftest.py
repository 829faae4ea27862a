"""A playground for each test, and a certificate for all."""

import subprocess
from collections.abc import Iterator

import pytest

from bayplan.playground.running import Running, running


@pytest.fixture
def up() -> Iterator[Running]:
    """Run a playground for the length of a test."""
    with running() as server:
        yield server


@pytest.fixture(scope="session")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes]:
    """Make a certificate and its key, for localhost."""
    folder = tmp_path_factory.mktemp("pair")
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=DNS:localhost,DNS:api.example", "-keyout", "key", "-out", "crt"),
        ],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    return (folder / "crt").read_bytes(), (folder / "key").read_bytes()
