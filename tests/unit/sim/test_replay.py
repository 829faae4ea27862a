"""A replay: jobs arrive, wait, run and end, in virtual time, as can be worked out by hand."""

from random import Random

import pytest
from msgspec.structs import replace

from bayplan.api.claims import PersistentVolumeClaim
from bayplan.api.objects import (
    ClaimVolume,
    ObjectMeta,
    PersistentVolumeClaimSpec,
    Pod,
    PodMeta,
    PodSchedulingGate,
    PodSpec,
    Volume,
)
from bayplan.framework.profile import Profile
from bayplan.sim import draws
from bayplan.sim.replay import QUIET_MS, Replay
from bayplan.sim.report import reported
from bayplan.sim.workloads import in_order
from tests.kit import node
from tests.unit.sim.worlds import SECOND, asking, job, nodes, replayed, usual


def test_a_job_waits_until_one_that_takes_its_room_has_ended() -> None:
    """The second of two that do not fit together starts within the backoff after the end of the first."""
    whole = asking(4)
    replay = replayed(nodes(1, cpu=4), [job("first", 0, 100, whole), job("second", 10, 50, whole)])

    assert replay.started_ms == [0, 100 * SECOND]
    assert replay.now_ms == 150 * SECOND
    assert (replay.placed, replay.ended) == (2, 2)


def test_room_is_freed_before_what_arrives_at_that_moment_asks_for_it() -> None:
    """What ends just then is gone."""
    whole = asking(4)
    replay = replayed(nodes(1, cpu=4), [job("first", 0, 100, whole), job("second", 100, 50, whole)])

    assert replay.started_ms == [0, 100 * SECOND]
    assert replay.attempts_failed == 0


def test_a_job_has_started_when_its_last_pod_has() -> None:
    """Of three pods on room for two, the third starts when the first end."""
    replay = replayed(nodes(1, cpu=4), [job("three", 0, 60, *[asking(2)] * 3)])

    assert replay.started_ms == [60 * SECOND]
    assert replay.now_ms == 120 * SECOND


def test_what_never_ends_stays_and_what_never_fits_is_told_why() -> None:
    """It is over when nothing can change any more, though one runs and one waits."""
    replay = replayed(nodes(2, cpu=4), [job("service", 0, None, asking(1)), job("whale", 5, 60, asking(99))])
    report = reported(replay, "default")

    assert replay.started_ms == [0, None]
    assert replay.now_ms <= 5 * SECOND + QUIET_MS
    assert [(one.kind, one.subject, one.pods, one.still) for one in report.reasons] == [("Insufficient", "cpu", 1, 1)]
    assert (report.jobs, report.jobs_started, report.pods_placed, report.pods_ended) == (2, 1, 1, 0)


def test_levels_are_what_runs_and_what_waits() -> None:
    """Utilisation, nodes in use and pods waiting, over time, as counted by hand."""
    jobs = [job("first", 0, 4, asking(4)), job("second", 1, 2, asking(4))]
    report = reported(replayed(nodes(1, cpu=8), [*jobs, job("third", 2, 1, asking(8))]), "default")
    use = next(use for use in report.uses if use.resource == "cpu")

    assert use.used.course == (0.5, 1, 1, 0.5, 1)
    assert use.used.peak == 1
    assert report.running.course == (1, 2, 2, 1, 1)
    assert report.waiting.course == (0, 0, 1, 1, 0)
    assert report.nodes_used.average == 1
    assert report.lasted_s == 5


def test_pods_that_run_already_take_their_room() -> None:
    """What manifests say is bound counts, and stays."""
    spec = asking(3).spec
    running = Pod(metadata=PodMeta(name="old", namespace="default", uid="old"), spec=spec)
    on_a_node = replace(running, spec=replace(spec, node_name="n0"))
    replay = replayed([*nodes(1, cpu=4), on_a_node], [job("small", 0, 10, asking(1)), job("large", 0, 10, asking(2))])

    assert replay.started_ms == [0, None]
    assert reported(replay, "default").uses[0].used.average == 1


def test_pods_that_have_ended_or_wait_in_the_cluster_take_no_room() -> None:
    """Only what runs there counts; who waits is the workload's to say."""
    pod = Pod(metadata=PodMeta(name="old", namespace="default", uid="1"), spec=asking(4).spec)
    ended = replace(pod, spec=replace(pod.spec, node_name="n0"), status=replace(pod.status, phase="Succeeded"))
    for other in (pod, ended):
        replay = replayed([*nodes(1, cpu=4), other], [job("new", 0, 10, asking(4))])

        assert (replay.started_ms, replay.course.peaks[:3]) == ([0], [0, 1, 1])


def test_a_pod_of_the_cluster_may_be_called_as_one_of_a_job() -> None:
    """Both are there: neither takes the other's place."""
    spec = replace(asking(3).spec, node_name="n0")
    for name, uid in (("job-0", "0"), ("job", "job")):
        running = Pod(metadata=PodMeta(name=name, namespace="default", uid=uid), spec=spec)
        replay = replayed([*nodes(1, cpu=4), running], [job("job", 0, 10, asking(2))])

        assert replay.placed == 0


def test_pods_of_another_scheduler_are_served_by_the_first_profile() -> None:
    """As in `bayplan place`: nobody waits for a scheduler that is not there."""
    assert replayed(nodes(1), [job("other", 0, 1, asking(1, scheduler_name="elsewhere"))]).placed == 1


def test_a_gated_pod_is_counted_though_nobody_tried_it() -> None:
    """It waits at the end, and the reason says who holds it."""
    gated = asking(1, scheduling_gates=(PodSchedulingGate(name="later"),))
    report = reported(replayed(nodes(1), [job("gated", 0, 1, gated)]), "default")

    assert [(one.text, one.pods, one.still) for one in report.reasons] == [("gated by SchedulingGates", 1, 1)]


def test_a_claim_that_would_have_to_be_bound_is_refused_and_said() -> None:
    """There is no volume controller in a simulation; who needs one waits, and the simulation ends."""
    claim = PersistentVolumeClaim(
        metadata=ObjectMeta(name="data", namespace="default", uid="claim"),
        spec=PersistentVolumeClaimSpec(access_modes=("ReadWriteOnce",), storage_class_name=draws.LATE),
    )
    mounted = Volume(name="data", persistent_volume_claim=ClaimVolume(claim_name="data"))
    cluster = [*nodes(1), draws.storage_class(), claim]
    report = reported(replayed(cluster, [job("stateful", 0, 1, asking(1, volumes=(mounted,)))]), "default")

    assert report.pods_placed == 0
    assert any("nobody binds volumes in a simulation" in one.text for one in report.reasons)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_same_seed_gives_the_same_placements_and_another_does_not(seed: int) -> None:
    """Two replays agree pod by pod in node and time; among equal nodes the seed decides."""
    luck = Random(seed)
    moulds = [asking(luck.choice((1, 2, 4))) for _ in range(5)]
    jobs = [
        job(f"j{number}", luck.uniform(0, 600), luck.uniform(1, 120), *luck.choices(moulds, k=luck.choice((1, 1, 3))))
        for number in range(300)
    ]
    one, same, other = (reported(replayed(nodes(6, cpu=8), jobs, seed=seed), "p") for seed in (5, 5, 6))

    assert one == same
    assert one.attempts_failed > 0
    assert one.placements != other.placements


def test_nobody_waits_who_fits_when_it_is_over() -> None:
    """Over many crowded days: whoever was not placed does not fit an empty node, and all others ran."""
    luck = Random(7)
    jobs = [job(f"j{n}", luck.uniform(0, 60), luck.uniform(1, 30), asking(luck.choice((1, 3, 5)))) for n in range(200)]
    replay = replayed(nodes(3, cpu=4), jobs)

    assert replay.placed == replay.ended == sum(one.moulds[0] is not None and _cpu(one.moulds[0]) <= 4 for one in jobs)
    assert all(at is not None and at >= one.at_ms for at, one in zip(replay.started_ms, replay.jobs, strict=True)
               if _cpu(one.moulds[0]) <= 4)  # fmt: skip


def _cpu(pod: Pod) -> int:
    asked = pod.spec.containers[0].resources.requests
    assert asked is not None
    return int(asked["cpu"])


def test_a_policy_is_asked() -> None:
    """With a profile that has only the rule for room, taints keep nobody off."""
    tainted = [node("n0", taints="key=value:NoSchedule")]
    profile = usual()["default-scheduler"]
    points = {
        point: [one for one in instances if one.name != "TaintToleration"]
        for point, instances in profile.points.items()
    }
    bare = Profile("default-scheduler", points)
    placed = []
    for profiles in ({"default-scheduler": profile}, {"default-scheduler": bare}):
        replay = Replay(tainted, in_order([job("pod", 0, 1, asking(1))]), profiles)
        list(replay.run())
        placed.append(replay.placed)

    assert placed == [0, 1]


def test_moulds_are_not_touched() -> None:
    """A second replay of one workload starts from the same objects."""
    pod = asking(1)
    workload = in_order([job("pod", 0, 1, pod)])
    for _ in range(2):
        replay = Replay(nodes(1), workload, usual())
        list(replay.run())

    assert workload.jobs[0].moulds[0] is pod
    assert pod.spec == PodSpec(containers=pod.spec.containers)
