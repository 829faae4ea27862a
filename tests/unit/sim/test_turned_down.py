"""Who was turned down, and why, each pod once for each reason."""

import pytest

from bayplan.sim.turned_down import TurnedDown, texts_of
from tests.kit import case


@pytest.mark.parametrize(("message", "texts"), [
    case("several", "0/9 nodes are available: 2 Insufficient cpu, 7 node(s) had untolerated taint(s).",
         ("Insufficient cpu", "node(s) had untolerated taint(s)")),
    case("of the pod as a whole", "0/9 nodes are available: pod has unbound immediate PersistentVolumeClaims.",
         ("pod has unbound immediate PersistentVolumeClaims",)),
    case("no nodes", "no nodes available to schedule pods", ("no nodes available to schedule pods",)),
    case("an error", "running PreFilter plugin: it broke, 3 times", ("running PreFilter plugin: it broke, 3 times",)),
    case("a comma within", "0/2 nodes are available: 2 my rule, which says no.", ("my rule, which says no",)),
    case("nothing said", "0/2 nodes are available:", ("0/2 nodes are available:",)),
])  # fmt: skip
def test_a_message_is_taken_apart(message: str, texts: tuple[str, ...]) -> None:
    """Into the texts that kube-scheduler counts nodes by."""
    assert texts_of(message) == texts


def test_a_pod_counts_once_for_a_reason_and_is_still_waiting_for_the_last() -> None:
    """However often it is told; one that was placed does not wait any more."""
    turned_down = TurnedDown()
    turned_down.tell(1, "0/9 nodes are available: 9 Insufficient cpu.")
    turned_down.tell(1, "0/9 nodes are available: 8 Insufficient cpu, 1 Too many pods.")
    turned_down.tell(2, "0/9 nodes are available: 9 Insufficient cpu.")
    turned_down.tell(1, "0/9 nodes are available: 9 Too many pods.")
    turned_down.placed(2)

    found = turned_down.reasons([(1, "waiting"), (3, "gated by SchedulingGates")])

    assert [(one.kind, one.text, one.pods, one.still) for one in found] == [
        ("Insufficient", "Insufficient cpu", 2, 0),
        ("TooManyPods", "Too many pods", 1, 1),
        ("Gated", "gated by SchedulingGates", 1, 1),
    ]
