"""Random cases: a seed gives the same ones, they are plain JSON, and shrinking keeps what it was asked to keep."""

import json

import pytest

from tests.parity.case import Case
from tests.parity.coverage import plain
from tests.parity.generator import FAMILIES, case, cases
from tests.parity.shrink import shrink


@pytest.mark.parametrize("family", FAMILIES)
def test_a_seed_gives_the_same_cases(family: str) -> None:
    """Seed, family and number are all that a case depends on."""
    many = list(cases(7, 5, family))

    assert [case(7, number, family) for number in range(5)] == many
    assert [one["family"] for one in many] == [family] * 5


def test_another_seed_gives_other_cases() -> None:
    """Nothing is drawn from elsewhere."""
    assert list(cases(7, 20)) != list(cases(8, 20))


def test_a_case_survives_being_written() -> None:
    """Cases are JSON and nothing else."""
    for one in cases(11, 50):
        assert json.loads(json.dumps(one)) == one


def test_no_object_has_the_name_of_another() -> None:
    """The API server would not keep two objects of one kind and name."""
    for one in cases(13, 300):
        metas = [(each["kind"], each["metadata"]) for each in one["objects"]]
        names = [(kind, meta.get("namespace"), meta["name"]) for kind, meta in metas]

        assert len(names) == len(set(names)), one["id"]


def test_shrinking_keeps_only_what_matters() -> None:
    """All objects and fields go but those without which the case shows nothing."""

    def shows(smaller: Case) -> bool:
        tainted = [one["metadata"]["name"] for one in smaller["objects"] if one.get("spec", {}).get("taints")]
        return "n03" in tainted and bool(smaller["pod"]["spec"].get("containers"))

    found = next(one for one in cases(3, 500, "taints") if shows(one))
    small = shrink(found, shows)

    assert len(small["objects"]) == 1
    assert len(small["objects"][0]["spec"]["taints"]) == 1
    assert list(small["pod"]["spec"]) == ["containers"]
    assert shows(small)


@pytest.mark.parametrize(
    ("text", "without_names"),
    [
        ("Insufficient example.com/gpu", "Insufficient …/…"),
        ("Insufficient kubernetes.io/x", "Insufficient …kubernetes.io/…"),
        ("Insufficient hugepages-2Mi", "Insufficient hugepages-…"),
        ('persistentvolumeclaim "a" not found', 'persistentvolumeclaim "…" not found'),
        ("csi.x.y CSI driver is not installed on the node", "… CSI driver is not installed on the node"),
        ("waiting for scheduling gates: [a b]", "waiting for scheduling gates: […]"),
    ],
)
def test_names_are_taken_out_of_texts(text: str, without_names: str) -> None:
    """What is counted is what was said, not of whom."""
    assert plain(text) == without_names
