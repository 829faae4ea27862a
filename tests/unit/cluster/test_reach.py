"""From which nodes a volume can be had."""

import pytest

from bayplan.cluster.reach import reach_terms
from tests.kit import case
from tests.storage import volume


@pytest.mark.parametrize(
    ("reach", "labels", "reached"),
    [
        case("no affinity is everywhere", "", {}, True),
        case("a term must hold", "zone=a", {"zone": "b"}, False),
        case("one term of several is enough", "zone=a|zone=b", {"zone": "b"}, True),
        case("a term about names alone holds everywhere", "name=n|zone=a", {}, True),
        case("beside labels a name is passed over", "name=n zone=a", {"zone": "a"}, True),
    ],
)
def test_reach(reach: str, labels: dict[str, str], *, reached: bool) -> None:
    """Only labels count."""
    terms = reach_terms(volume("pv", reach=reach))

    assert (terms is None or terms.matches(labels)) is reached
