"""What all tests share: how hypothesis runs, and texts kept as files.

Invariant: no test passes or fails by the machine's speed, so no example has a deadline.
Not here: builders of clusters and pods (tests/kit.py).
"""

from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest

GOLDEN = Path(__file__).parent / "golden"

hypothesis.settings.register_profile("bayplan", deadline=None, print_blob=True)
hypothesis.settings.load_profile("bayplan")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--golden`, which `make golden` sets."""
    parser.addoption("--golden", action="store_true", help="write the expected texts of tests/golden anew")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Give `golden(name, text)`: the text equals the file of that name under tests/golden, or becomes it."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.is_file(), f"tests/golden/{name} does not exist yet: run `make golden` and review what it wrote"
        assert text == path.read_text(encoding="utf-8"), f"differs from tests/golden/{name}; if meant: `make golden`"

    return compare
