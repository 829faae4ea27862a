"""TaintToleration: hard taints keep pods off unless tolerated, soft ones make a node less liked."""

import pytest
from msgspec.structs import replace

from bayplan.api.objects import Toleration
from bayplan.framework.plugin import Gates
from bayplan.plugins.taint_toleration import TaintToleration
from tests.kit import a_cluster, a_pod, case, judged, node, scored

CLUSTER = a_cluster(
    node("clean"), node("gpu", taints="gpu=yes:NoSchedule"), node("spot", taints="spot:PreferNoSchedule")
)


@pytest.mark.parametrize(
    ("tolerates", "fits"),
    [
        case("a soft taint never blocks", "", "clean spot"),
        case("the exact value opens it", "gpu=yes", "clean gpu spot"),
        case("another value does not", "gpu=no", "clean spot"),
        case("a bare key takes any value", "gpu", "clean gpu spot"),
        case("everything may be tolerated at once", "*", "clean gpu spot"),
        case("a toleration of one effect opens that effect", "gpu=yes:NoSchedule", "clean gpu spot"),
        case("and no other", "gpu=yes:NoExecute", "clean spot"),
        case("everything of one effect", "*:NoSchedule", "clean gpu spot"),
    ],
)
def test_filter(tolerates: str, fits: str) -> None:
    """A hard taint blocks unless tolerated."""
    ruling = judged(TaintToleration(), a_pod(tolerates=tolerates), CLUSTER)

    assert ruling.names_that_fit == fits.split()


def test_a_node_that_executes_is_as_closed_as_one_that_only_schedules_not() -> None:
    """NoExecute keeps new pods off, too; eviction cannot cure it, and the text does not name the taint."""
    ruling = judged(TaintToleration(), a_pod(), a_cluster(node("n", taints="going:NoExecute")))

    assert ruling.why == {"n": ("node(s) had untolerated taint(s)",)}
    assert ruling.code == {"n": "UnschedulableAndUnresolvable"}


def test_a_new_taint_is_judged_like_the_others() -> None:
    """A taint set that no node had before is asked about."""
    cluster = a_cluster(node("n"))
    assert judged(TaintToleration(), a_pod(), cluster).names_that_fit == ["n"]

    cluster.put_node(node("n", taints="new:NoSchedule"))
    assert judged(TaintToleration(), a_pod(), cluster).names_that_fit == []


@pytest.mark.parametrize(
    ("tolerates", "scores"),
    [
        case("fewer soft taints are better", "", {"none": 100, "one": 50, "two": 0}),
        case("a tolerated one does not count", "a", {"none": 100, "one": 100, "two": 0}),
        case("nor does one tolerated for its effect alone", "b:PreferNoSchedule", {"none": 100, "one": 0, "two": 0}),
        case("a toleration of a hard effect is none of a soft one", "a:NoSchedule", {"none": 100, "one": 50, "two": 0}),
        case("all tolerated, all are equally good", "*", {"none": 100, "one": 100, "two": 100}),
    ],
)
def test_score(tolerates: str, scores: dict[str, int]) -> None:
    """A hundred less what share of the most untolerated soft taints a node has."""
    cluster = a_cluster(
        node("none"),
        node("one", taints="a:PreferNoSchedule"),
        node("two", taints="a:PreferNoSchedule b:PreferNoSchedule"),
    )
    found = scored(TaintToleration(), a_pod(tolerates=tolerates), cluster)

    assert found is not None
    assert found.normal == scores


def test_the_worst_of_the_feasible_sets_the_scale() -> None:
    """A node that cannot be chosen does not make others look better."""
    cluster = a_cluster(
        node("one", taints="a:PreferNoSchedule"),
        node("nine", taints=" ".join(f"t{number}:PreferNoSchedule" for number in range(9))),
    )
    found = scored(TaintToleration(), a_pod(), cluster, among="one")

    assert found is not None
    assert found.normal == {"one": 0}


@pytest.mark.parametrize(
    ("gate", "fits"), [case("compared by number with the gate", True, ["fast"]), case("and never without", False, [])]
)
def test_numbers_are_compared_behind_a_gate(gate: bool, fits: list[str]) -> None:  # noqa: FBT001 a parameter of a case
    """A toleration with Gt opens taints of a greater number, where the gate is on."""
    cluster = a_cluster(node("fast", taints="speed=900:NoSchedule"), node("slow", taints="speed=100:NoSchedule"))
    pod = a_pod()
    pod = replace(
        pod,
        spec=replace(pod.spec, tolerations=(Toleration(key="speed", operator="Gt", value="500", effect="NoSchedule"),)),
    )

    assert judged(TaintToleration(gates=Gates(toleration_comparison=gate)), pod, cluster).names_that_fit == fits
