"""Fields that a kind does not know: warned of, and kept."""

import pytest

from bayplan.playground.fields import unknown
from bayplan.playground.kinds import Kinds
from tests.unit.playground.asking import PODS, STRATEGIC, Body, Client, pod

KINDS = Kinds()


def test_every_kind_is_known_down_to_its_metadata() -> None:
    """But for those that are served as definitions are."""
    for kind in KINDS:
        found = unknown(kind, {"metadata": {"oops": 1}})
        assert found == ([] if kind.custom else ["metadata.oops"]), kind


@pytest.mark.parametrize(
    ("tree", "paths"),
    [
        ({"spec": {"containers": [{"name": "c"}, {"nmae": "c"}]}}, ["spec.containers[1].nmae"]),
        ({"sepc": {}, "spec": {"nodeSelector": {"any": "thing"}}}, ["sepc"]),
        ({"spec": {"volumes": [{"$patch": "delete"}], "$setElementOrder/volumes": []}}, []),
        ({"spec": {"containers": [{"resources": {"limits": {"any/thing": "1"}}}]}}, []),
        ({"spec": 5, "metadata": {"labels": {"any": "thing"}, "annotations": []}}, []),
        ({"spec": {"topologySpreadConstraints": [{"labelSelector": {"matchLabel": {}}}]}},
         ["spec.topologySpreadConstraints[0].labelSelector.matchLabel"]),
        ({f"x{number}": 1 for number in range(100)}, [f"x{number}" for number in range(10)]),
    ],
)  # fmt: skip
def test_a_field_is_named_with_its_place(tree: Body, paths: list[str]) -> None:
    """In lists, and below maps whose keys are anybody's; a patch's directives are none."""
    assert unknown(KINDS.core("pods"), tree) == paths


def test_who_sends_an_unknown_field_is_warned(client: Client) -> None:
    """Once for each, however it is sent, unless nothing is to be heard of it; the field is kept."""
    made = client.ask("POST", PODS, pod(oops={"ä": 1}))
    assert made.headers["Warning"] == '299 - "unknown field \\"spec.oops\\""'
    assert client.get(f"{PODS}/a").body["spec"]["oops"] == {"ä": 1}

    patched = client.patch(f"{PODS}/a", {"metadata": {"wrong": 1}}, STRATEGIC)
    assert "metadata.wrong" in patched.headers["Warning"]
    assert "Warning" not in client.ask("POST", f"{PODS}?fieldValidation=Ignore", pod("b", oops=1)).headers
