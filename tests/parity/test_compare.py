"""The comparison itself: equal is equal, and every compared field that is changed or missing is named."""

import copy

import pytest

from tests.parity.case import Case, Result
from tests.parity.compare import differences, kind_of

FITS: Case = {
    "id": "fits",
    "family": "mixed",
    "result": {
        "preEnqueue": {"code": "UnschedulableAndUnresolvable", "plugin": "SchedulingGates", "reasons": ["waiting"]},
        "prefilter": {"status": "Success", "nodeNames": ["a", "b"], "skipped": ["NodePorts", "VolumeZone"]},
        "nodes": {
            "a": {
                "fit": True,
                "code": "Success",
                "raw": {"ImageLocality": 3},
                "norm": {"ImageLocality": 6},
                "total": 6,
                "volumes": {"bind": {"claim": "volume"}},
                "allocations": {"claim": []},
            },
            "b": {"fit": False, "code": "Unschedulable", "plugin": "NodePorts", "reasons": ["one", "two"]},
        },
        "best": ["a"],
        "choice": ["a"],
        "skippedScore": ["NodeAffinity"],
    },
}
REJECTED: Case = {
    "id": "rejected",
    "family": "mixed",
    "result": {
        "prefilter": {"status": "Unschedulable", "plugin": "VolumeBinding", "reasons": ["unbound"]},
        "nodes": {"a": {"fit": False, "code": "Error", "plugin": "VolumeBinding", "reasons": ["unbound"]}},
        "fit_error": "0/1 nodes are available: unbound.",
        "scheduler_error": "it broke",
        "unschedulablePlugins": ["VolumeBinding"],
    },
}
COMPARED = [
    (FITS, "preEnqueue.code", ""),
    (FITS, "preEnqueue.plugin", "VolumeZone"),
    (FITS, "preEnqueue.reasons", ["waiting", "longer"]),
    (FITS, "prefilter.status", "Error"),
    (FITS, "prefilter.nodeNames", ["a"]),
    (FITS, "prefilter.skipped", ["NodePorts"]),
    (FITS, "nodes.a.fit", False),
    (FITS, "nodes.a.code", "Skip"),
    (FITS, "nodes.a.raw", {"ImageLocality": 4}),
    (FITS, "nodes.a.norm", {"ImageLocality": 6, "NodeAffinity": 0}),
    (FITS, "nodes.a.total", 7),
    (FITS, "nodes.a.volumes", {"bind": {"claim": "another"}}),
    (FITS, "nodes.a.allocations", {}),
    (FITS, "nodes.b.plugin", "NodeName"),
    (FITS, "nodes.b.reasons", ["two", "one"]),
    (FITS, "best", ["b"]),
    (FITS, "choice", ["a", "b"]),
    (FITS, "skippedScore", []),
    (REJECTED, "prefilter.plugin", "VolumeZone"),
    (REJECTED, "prefilter.reasons", ["bound"]),
    (REJECTED, "fit_error", "0/1 nodes are available: unbound"),
    (REJECTED, "scheduler_error", "it bent"),
    (REJECTED, "unschedulablePlugins", ["NodeName"]),
]


@pytest.mark.parametrize(("case", "place", "other"), COMPARED)
def test_a_changed_field_is_a_difference(case: Case, place: str, other: object) -> None:
    """Every compared field is named when its value is another."""
    got = copy.deepcopy(case["result"])
    *above, name = place.split(".")
    _at(got, above)[name] = other

    assert any(_names(found, place) for found in differences(case, got))


@pytest.mark.parametrize(("case", "place", "other"), COMPARED)
def test_a_lacking_field_is_a_difference(case: Case, place: str, other: object) -> None:
    """Every compared field is named when the result lacks it."""
    got = copy.deepcopy(case["result"])
    *above, name = place.split(".")
    del _at(got, above)[name]

    assert any(_names(found, place) for found in differences(case, got))


@pytest.mark.parametrize("name", ["a", "b"])
def test_a_lacking_node_is_a_difference(name: str) -> None:
    """A node that is not in the result is missing, whatever became of it."""
    got = copy.deepcopy(FITS["result"])
    del got["nodes"][name]

    assert differences(FITS, got) == [f"nodes[{name}]: missing"]


def test_a_node_too_many_is_a_difference() -> None:
    """A node that nobody listed is not expected."""
    got = copy.deepcopy(FITS["result"])
    got["nodes"]["c"] = {"fit": False, "code": "Unschedulable"}

    assert differences(FITS, got) == ["nodes[c]: not expected"]


def test_an_explicit_no_is_not_a_lacking_field() -> None:
    """`fit` must be said even where it is false."""
    got = copy.deepcopy(FITS["result"])
    del got["nodes"]["b"]["fit"]

    assert kind_of(differences(FITS, got)[0]) == "nodes.fit"


@pytest.mark.parametrize("case", [FITS, REJECTED])
def test_a_result_equals_itself(case: Case) -> None:
    """Nothing differs in a copy."""
    assert differences(case, copy.deepcopy(case["result"])) == []


def test_sets_have_no_order() -> None:
    """Lists that stand for sets may come in any order."""
    got = copy.deepcopy(FITS["result"])
    got["prefilter"]["nodeNames"].reverse()
    got["prefilter"]["skipped"].reverse()

    assert differences(FITS, got) == []


def test_volumes_chosen_at_random_are_not_compared() -> None:
    """Where kube-scheduler's choice among volumes is random, any choice of ours will do."""
    got = copy.deepcopy(FITS["result"])
    case = copy.deepcopy(FITS)
    del case["result"]["nodes"]["a"]["volumes"]

    assert differences(case, got) == []


def test_preemption_and_the_message_it_adds_to_are_not_compared() -> None:
    """What preemption says is left out for now."""
    case = copy.deepcopy(REJECTED)
    case["result"] |= {"preemption": {"status": "Error"}, "error_message": "not found"}

    assert differences(case, REJECTED["result"]) == []


def test_the_text_is_free_when_several_nodes_have_errors() -> None:
    """With several errors any of their texts may be reported, but there must be one."""
    case = copy.deepcopy(REJECTED)
    case["result"]["nodes"]["b"] = case["result"]["nodes"]["a"]
    got = copy.deepcopy(case["result"]) | {"scheduler_error": "it bent"}

    assert differences(case, got) == []
    assert differences(case, got | {"scheduler_error": ""}) != []


def _at(result: Result, above: list[str]) -> Result:
    for name in above:
        result = result[name]
    return result


def _names(difference: str, place: str) -> bool:
    """Say whether the difference is about this place: `nodes.a.fit` is written `nodes[a].fit`."""
    above, _, name = place.rpartition(".")
    parts = above.split(".")
    written = f"nodes[{parts[1]}]." if len(parts) > 1 else f"{above}." if above else ""
    return difference.startswith(written + name)
