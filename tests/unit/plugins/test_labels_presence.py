"""LabelsPresence: labels that must be there, or must not."""

import pytest

from bayplan.framework.plugin import Code
from bayplan.plugins.labels_presence import LabelsPresence, LabelsPresenceArgs
from tests.kit import a_cluster, a_pod, case, judged, node

CLUSTER = a_cluster(node("none"), node("one", labels="a=1"), node("both", labels="a b=2"))


@pytest.mark.parametrize(
    ("labels", "presence", "fits"),
    [
        case("one that must be there", ("a",), True, "one both"),
        case("all must be there", ("a", "b"), True, "both"),
        case("one that must not", ("a",), False, "none"),
        case("none of them may be there", ("b", "c"), False, "none one"),
    ],
)
def test_every_label_is_as_it_must_be(labels: tuple[str, ...], fits: str, *, presence: bool) -> None:
    """Values do not matter, and no eviction helps."""
    rule = LabelsPresence(LabelsPresenceArgs(labels=labels, presence=presence))
    found = judged(rule, a_pod(), CLUSTER)

    assert found.names_that_fit == fits.split()
    assert set(found.why.values()) == {("node(s) didn't have the requested labels",)}
    assert set(found.code.values()) == {Code.UNRESOLVABLE}


def test_no_label_is_a_problem() -> None:
    """A rule about nothing is a slip."""
    assert LabelsPresenceArgs().problems() == ["labels: name at least one"]
    assert LabelsPresenceArgs(labels=("a",)).problems() == []
