"""A few histories of the batch lane through the core; `make batch-histories` lives through as many as one likes."""

from collections import Counter

import pytest

from tests.batch.served import lived


@pytest.mark.parametrize("seed", range(1, 13))
def test_nothing_breaks_whatever_fails(seed: int) -> None:
    """Nodes hold what they have, what is kept is what a recount gives, nobody is forgotten, and all comes to rest."""
    counts: Counter[str] = Counter()

    assert list(lived(seed, counts)) == []
    assert counts["bind done"]
