"""LabelPreference: full score if presence matches, else nothing."""

import pytest

from bayplan.plugins.label_preference import LabelPreference, LabelPreferenceArgs
from tests.kit import a_cluster, a_pod, case, node, scored


@pytest.mark.parametrize(
    ("presence", "expected"),
    [
        case("better with it", True, {"with": 100, "without": 0}),
        case("better without it", False, {"with": 0, "without": 100}),
    ],
)
def test_presence_is_all_or_nothing(expected: dict[str, int], *, presence: bool) -> None:
    """The label's value does not matter."""
    rule = LabelPreference(LabelPreferenceArgs(label="ssd", presence=presence))
    found = scored(rule, a_pod(), a_cluster(node("with", labels="ssd=no"), node("without")))

    assert found is not None
    assert found.normal == expected


def test_no_label_is_a_problem() -> None:
    """It has to be said which."""
    assert LabelPreferenceArgs().problems() == ["label: is required"]
    assert LabelPreferenceArgs(label="a").problems() == []
