"""Scenes are the same every day, and a round that decided unsoundly does not count."""

from collections import Counter

import pytest

from bayplan.api.objects import Pod
from bench.decisions import Round, UnsoundError
from bench.nodes import machines
from bench.placing import Placing
from bench.templates import JOB, Template
from bench.workloads import scene, vectors

MIB = 1 << 20


def test_nodes_are_the_same_every_day() -> None:
    """Figures of different days are of the same nodes."""
    drawn = machines(5000)

    assert [(machine.zone, *machine.labels.values()) for machine in drawn[:3]] == [
        ("z1", "ssd", "p0"), ("z0", "hdd", "p1"), ("z0", "hdd", "p1")
    ]  # fmt: skip
    assert Counter(machine.zone for machine in drawn) == {"z0": 1700, "z1": 1662, "z2": 1638}
    assert (sum(machine.is_gpu for machine in drawn), sum(machine.is_spot for machine in drawn)) == (251, 230)


def test_vectors_are_the_same_every_day() -> None:
    """Figures of different days are of the same pods."""
    assert [(cpu, memory // MIB) for cpu, memory in vectors(2, 4)] == [(350, 680), (180, 1536)]


@pytest.mark.parametrize("name", ["services", "no-fit", "stateful"])
def test_a_scene_is_decided_soundly(name: str) -> None:
    """A round raises when a decision was wrong; these are right."""
    made = scene(name, 60)
    few = made._replace(waiting=made.waiting[:12], changes=made.changes[:12])

    ready = Round(few.objects, few.waiting)
    ready.run(few)

    assert len(ready.table.pods) == (len(few.waiting) if few.fits else 0)


def test_a_scene_that_is_decided_unsoundly_does_not_count() -> None:
    """Pods that fit nowhere in a scene where all should are an error, with the first text."""
    made = scene("no-fit", 60)
    few = made._replace(waiting=made.waiting[:12], changes=made.changes[:12], fits=True)

    with pytest.raises(UnsoundError, match="expected 0 of 12 pods to fit nowhere, got 12; the first: 0/60 nodes"):
        Round(few.objects, few.waiting).run(few)


def test_running_pods_lie_evenly_and_apart() -> None:
    """One template's pods take turns among the zones, and no node has two of them."""
    drawn = machines(60)
    zone_of = {machine.name: machine.zone for machine in drawn}
    template = Template(owner="a", image="a", kind=JOB, cpu_milli=100, memory_bytes=MIB)
    placing = Placing(drawn)

    chosen = [placing.node_for(template, number) for number in range(30)]

    assert len(set(chosen)) == len(chosen)
    assert Counter(zone_of[name] for name in chosen) == {"z0": 10, "z1": 10, "z2": 10}


def test_pods_are_read_as_their_workload_describes_them() -> None:
    """A pod of a StatefulSet has a name label and a claim of its own."""
    [first, second] = scene("stateful", 3).waiting[:20:10]

    assert (own(first), own(second)) == (("0", "data-s0-0"), ("10", "data-s0-10"))


def own(pod: Pod) -> tuple[str, str | None]:
    """Return a pod's index label and the claim that it mounts."""
    claims = [
        volume.persistent_volume_claim.claim_name for volume in pod.spec.volumes if volume.persistent_volume_claim
    ]
    return pod.metadata.labels["apps.kubernetes.io/pod-index"], claims[0]
