"""JSON null is Go's zero value, by what is wanted in its place."""

import pytest

from bayplan.api.nulls import without_nulls
from bayplan.api.objects import Pod


@pytest.mark.parametrize(
    ("tree", "filled"),
    [
        ({"metadata": None}, {}),
        ({"spec": {"priority": None}}, {"spec": {"priority": None}}),
        ({"spec": {"unknown": None, "tolerations": None}}, {"spec": {}}),
        ({"spec": {"tolerations": [None]}}, {"spec": {"tolerations": [{}]}}),
        ({"metadata": {"labels": {"a": None}}}, {"metadata": {"labels": {"a": ""}}}),
        ({"spec": {"overhead": {"cpu": None}}}, {"spec": {"overhead": {"cpu": 0}}}),
        ({"spec": {"nodeSelector": {"a": None}}}, {"spec": {"nodeSelector": {"a": ""}}}),
        ({"spec": []}, {"spec": []}),
        ({"unknown": {"deep": None}}, {"unknown": {"deep": None}}),
        (None, None),
    ],
)
def test_a_null_is_filled_in(tree: object, filled: object) -> None:
    """Absent in a struct, empty in a map or list, and left where null has a meaning or nobody looks."""
    assert without_nulls(tree, Pod) == filled
