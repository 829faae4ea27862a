"""The audit: what it objects to."""

import pytest

from bayplan.api.messages import Bind, BindVolume, Ended, Ending, Record, Seen
from bayplan.api.objects import Node, Pod
from bayplan.sim.audit import Audit
from bayplan.sim.server import Server
from tests.kit import a_pod, case, node


def bind(pod: Pod, where: str, write: int = 1) -> Bind:
    """Return a binding."""
    meta = pod.metadata
    return Bind(uid=meta.uid, namespace=meta.namespace, name=meta.name, cause="attempt 1", write=write, node=where)


def an_audit(*things: Node | Pod) -> Audit:
    """Return an audit that has heard of some objects."""
    audit, server = Audit(), Server()
    for thing in things:
        audit.hear(Seen(cause="watch", thing=server.put(thing)))
    return audit


@pytest.mark.parametrize(
    ("where", "pod", "objection"),
    [
        case("room is fine", node("a", cpu=2), a_pod(cpu=2), ""),
        case("more than there is", node("a", cpu=1), a_pod(cpu=2), "cpu is overcommitted"),
        case("one pod too many", node("a", pods=1), a_pod(), "no room for another"),
        case("a taint", node("a", taints="x:NoSchedule"), a_pod(), "taint x is not tolerated"),
        case("a taint that is borne", node("a", taints="x:NoSchedule"), a_pod(tolerates="x"), ""),
        case("a cordon", node("a", cordoned=True), a_pod(), "unschedulable is not tolerated"),
        case("a label that is not there", node("a"), a_pod(selects="disk=ssd"), "label disk is not ssd"),
        case("a port that is taken", node("a"), a_pod(ports="80"), "host ports"),
    ],
)
def test_a_binding_must_be_good(where: Node, pod: Pod, objection: str) -> None:
    """Room, number of pods, taints, labels and ports are looked at."""
    audit = an_audit(where, a_pod("other", on="a", ports="80"), pod)

    found = list(audit.judge(bind(pod, "a")))

    assert bool(found) == bool(objection)
    assert objection in "".join(found)


def test_what_was_asked_for_takes_room_until_it_is_refused() -> None:
    """Two bindings to a node with room for one are one too many, unless the first has failed."""
    one, other = a_pod("one", cpu=1), a_pod("other", cpu=1)
    audit = an_audit(node("a", cpu=1), one, other)
    assert not list(audit.judge(bind(one, "a")))
    assert list(audit.judge(bind(other, "a", 2)))
    audit.hear(Ended(write=1, ending=Ending.REFUSED))
    audit.hear(Ended(write=2, ending=Ending.REFUSED))

    assert not list(audit.judge(bind(other, "a", 3)))


def test_a_volume_is_asked_for_by_one_claim() -> None:
    """A second claim is an objection until the first has been refused."""
    audit = an_audit()
    first, second = (
        BindVolume(uid=who, namespace="default", name=who, cause="x", write=write, volume="v", claim=who, claim_uid=who)
        for write, who in ((1, "one"), (2, "two"))
    )

    assert not list(audit.judge(first))
    assert "asked for twice" in "".join(audit.judge(second))


def test_nobody_is_scheduled_whose_binding_was_refused() -> None:
    """Saying so is an objection."""
    pod = a_pod("one")
    audit = an_audit(node("a"), pod)
    list(audit.judge(bind(pod, "a")))
    audit.hear(Ended(write=1, ending=Ending.REFUSED))
    said = Record(
        uid=pod.metadata.uid,
        namespace="default",
        name="one",
        cause="attempt 1",
        type="Normal",
        reason="Scheduled",
        action="Binding",
        note="",
    )

    assert "its binding was refused" in "".join(audit.judge(said))
