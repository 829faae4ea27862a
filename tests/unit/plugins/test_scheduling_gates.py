"""SchedulingGates: a pod waits while any gate stands."""

from bayplan.cluster.view import View
from bayplan.framework.plugin import unresolvable
from bayplan.plugins.scheduling_gates import SchedulingGates
from tests.kit import a_cluster, a_pod


def test_the_gates_that_stand_are_named() -> None:
    """All of them, in the pod's order."""
    outcome = SchedulingGates().pre_enqueue(a_pod(gates="quota review"), View(a_cluster()))

    assert outcome == unresolvable("waiting for scheduling gates: [quota review]")


def test_a_pod_without_gates_is_not_held_back() -> None:
    """There is nothing to wait for."""
    assert SchedulingGates().pre_enqueue(a_pod(), View(a_cluster())) is None
