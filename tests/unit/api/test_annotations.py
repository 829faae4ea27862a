"""Of a pod's annotations only those are kept that somebody reads."""

from typing import Any

import msgspec

from bayplan.api.annotations import GROUP_NAME, PodAnnotations, annotations_of
from bayplan.api.decode import KINDS, decode_tree, read_placed
from bayplan.api.objects import Pod
from bayplan.api.wider import as_wide, widened

TREE: Any = {
    "apiVersion": "v1", "kind": "Pod",
    "metadata": {"name": "a", "annotations": {GROUP_NAME: "train", "note": "x" * 1000}},
    "spec": {"containers": [{"name": "c"}]},
}  # fmt: skip


def test_others_are_passed_over() -> None:
    """However large they are."""
    pod = decode_tree(TREE)

    assert isinstance(pod, Pod)
    assert pod.metadata.annotations == PodAnnotations(group_name="train")


def test_null_and_nothing_are_no_annotations() -> None:
    """Like Go's zero value."""
    for given in ({"annotations": None}, {"annotations": {GROUP_NAME: None}}, {}):
        pod = decode_tree({**TREE, "metadata": {"name": "a", **given}})

        assert annotations_of(pod.metadata.annotations) == PodAnnotations()  # type: ignore[attr-defined]


def test_where_a_rule_declared_them_all_they_are_found_as_well() -> None:
    """They are a plain map then, of a pod that was read and of one that was made."""
    kinds = widened(KINDS, ["pod.metadata.annotations"])
    ((read, _),) = read_placed("x", msgspec.json.encode(TREE), kinds)
    wide: Any = read
    made: Any = as_wide(decode_tree(TREE), kinds)

    assert wide.metadata.annotations == TREE["metadata"]["annotations"]
    assert made.metadata.annotations == {GROUP_NAME: "train"}
    assert annotations_of(wide.metadata.annotations).group_name == "train"


def test_a_map_with_odd_values_is_survived() -> None:
    """A rule's own map is not checked."""
    assert annotations_of({GROUP_NAME: 3, "a": None}) == annotations_of(None) == PodAnnotations()
