"""A few histories of the batch lane; `make batch-histories` lives through as many as one likes."""

import pytest

from tests.batch.history import lived


@pytest.mark.parametrize("seed", range(1, 31))
def test_nothing_breaks(seed: int) -> None:
    """Nodes hold what they have, gangs are whole, limits are kept, and everything comes to rest."""
    assert list(lived(seed)) == []
