"""What a pod takes is summed as upstream sums it."""

import pytest

from bayplan.api.disks import ImageVolume
from bayplan.api.objects import (
    Container,
    ContainerImage,
    ContainerPort,
    ContainerStatus,
    Node,
    NodeStatus,
    Pod,
    PodCondition,
    PodSpec,
    PodStatus,
    Quantities,
    ResourceRequirements,
    Volume,
)
from bayplan.api.quantity import NANO
from bayplan.api.requests import (
    accounted,
    allocatable,
    balance_request,
    fit_request,
    host_ports,
    image_names,
    is_extended,
    is_scalar,
    pod_requests,
    score_request,
)


def asks(text: str) -> Quantities | None:
    """Read requests such as "cpu=1 memory=2Gi"; no text is no map at all."""
    pairs = (pair.split("=") for pair in text.split())
    return {name: value for name, value in pairs} if text else None  # noqa: C416  # the comprehension has the type


def box(requests: str = "", *, name: str = "c", sidecar: bool = False) -> Container:
    """Make a container."""
    resources = ResourceRequirements(requests=asks(requests))
    return Container(name=name, resources=resources, restart_policy="Always" if sidecar else "")


def pod(*containers: Container, init: tuple[Container, ...] = (), overhead: str = "", whole: str = "") -> Pod:
    """Make a pod of containers."""
    return Pod(
        spec=PodSpec(
            containers=containers,
            init_containers=init,
            overhead=asks(overhead) or {},
            resources=ResourceRequirements(requests=asks(whole)) if whole else None,
        )
    )


def with_status(of: Pod, *states: tuple[str, str, str], resize: str = "") -> Pod:
    """Give a pod container statuses (name, allocated, in force) and maybe a pending resize."""
    statuses = tuple(
        ContainerStatus(
            name=name,
            allocated_resources=asks(allocated),
            resources=ResourceRequirements(requests=asks(force)) if force else None,
        )
        for name, allocated, force in states
    )
    conditions = (PodCondition(type="PodResizePending", status="True", reason=resize),) if resize else ()
    return Pod(spec=of.spec, status=PodStatus(container_statuses=statuses, conditions=conditions))


# --- sums ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("of", "milli"),
    [
        (pod(box("cpu=1"), box("cpu=500m")), 1500),
        (pod(box("cpu=0.5m"), box("cpu=0.5m")), 1),
        (pod(box("cpu=1"), init=(box("cpu=3"), box("cpu=2"))), 3000),
        (pod(box("cpu=4"), init=(box("cpu=3"),)), 4000),
        (pod(box("cpu=1"), init=(box("cpu=2", sidecar=True),)), 3000),
        (pod(box("cpu=1"), init=(box("cpu=2", sidecar=True), box("cpu=5"))), 7000),
        (pod(box("cpu=1"), init=(box("cpu=5"), box("cpu=2", sidecar=True))), 5000),
        (pod(box("cpu=1"), init=(box("cpu=1", sidecar=True), box("cpu=4"), box("cpu=3", sidecar=True))), 5000),
        (pod(box("cpu=1"), overhead="cpu=250m"), 1250),
        (pod(box("cpu=1"), whole="cpu=2"), 2000),
        (pod(box("cpu=3"), whole="cpu=2"), 2000),
        (pod(box("cpu=3"), whole="cpu=2", overhead="cpu=1"), 3000),
        (pod(box("cpu=3"), whole="memory=1Gi"), 3000),
    ],
)
def test_containers_add_up(of: Pod, milli: int) -> None:
    """Init containers are a peak, sidecars count from where they start, pod-level requests replace the sum."""
    assert fit_request(of)["cpu"] == milli


def test_resources_that_only_one_side_names_are_kept() -> None:
    """A peak is taken per resource, and explicit zeros stay as keys."""
    of = pod(box("cpu=1 example.com/gpu=0"), init=(box("memory=1Gi"),))

    assert fit_request(of) == {"cpu": 1000, "example.com/gpu": 0, "memory": 2**30}


def test_pod_level_requests_count_for_cpu_memory_and_huge_pages_only() -> None:
    """Anything else asked for the pod as a whole is ignored; with the gate off all of it is."""
    of = pod(box("cpu=1"), whole="cpu=2 hugepages-2Mi=4Mi ephemeral-storage=1Gi")

    assert fit_request(of) == {"cpu": 2000, "hugepages-2Mi": 4 << 20}
    assert fit_request(of, pod_level=False) == {"cpu": 1000}


def test_what_is_not_counted_is_dropped() -> None:
    """Neither native nor scalar: storage, pods, names without a domain."""
    of = pod(box("cpu=1 storage=1 pods=2 gpu=3 a.com/b=4 ephemeral-storage=5 requests.a.com/b=6 x.kubernetes.io/y=7"))

    assert fit_request(of) == {"cpu": 1000, "a.com/b": 4, "ephemeral-storage": 5, "x.kubernetes.io/y": 7}


@pytest.mark.parametrize(
    ("name", "scalar", "extended"),
    [
        ("example.com/gpu", True, True),
        ("hugepages-1Gi", True, False),
        ("attachable-volumes-csi", True, False),
        ("kubernetes.io/batch", True, False),
        ("storage", False, False),
        ("requests.example.com/gpu", False, False),
        ("example.com/", False, False),
        ("a/b/c", False, False),
    ],
)
def test_resources_are_told_apart_by_name(name: str, scalar: bool, extended: bool) -> None:  # noqa: FBT001
    """Extended ones have a domain that is not Kubernetes' own."""
    assert (is_scalar(name), is_extended(name)) == (scalar, extended)


# --- who asks how ----------------------------------------------------------------------------------------------------


def test_scoring_assumes_something_for_a_container_that_asks_nothing() -> None:
    """For each container; an explicit zero is an answer; pod-level requests do not count there."""
    assert score_request(pod(box(), box("cpu=0 memory=1"))) == {"cpu": 100, "memory": 200 * 2**20 + 1}
    assert score_request(pod(box("cpu=1"), whole="cpu=9"))["cpu"] == 1000


def test_balance_takes_real_requests_and_drops_nothing() -> None:
    """Names that are not scalar are there too."""
    assert balance_request(pod(box("cpu=1 storage=2"))) == {"cpu": 1000, "storage": 2}


def test_a_node_accounts_for_both() -> None:
    """What is requested, and CPU and memory with assumptions."""
    assert accounted(pod(box("cpu=1 example.com/gpu=2"), box())) == (
        {"cpu": 1000, "example.com/gpu": 2},
        1100,
        400 * 2**20,
    )
    assert accounted(pod(box("cpu=1 memory=1"))) == ({"cpu": 1000, "memory": 1}, 1000, 1)


def test_pod_level_requests_leave_assumptions_for_what_they_do_not_name() -> None:
    """Only what is missing from the final requests is assumed."""
    counted = accounted(pod(box(), box(), whole="cpu=2"))

    assert counted == ({"cpu": 2000}, 2000, 400 * 2**20)


def test_allocatable_has_a_number_of_pods() -> None:
    """And only what is counted."""
    offered: Quantities = {"cpu": "3900m", "memory": "1Gi", "pods": "110", "storage": 1, "a.com/b": 2}
    node = Node(status=NodeStatus(allocatable=offered, images=(ContainerImage(),)))

    assert allocatable(node) == {"cpu": 3900, "memory": 2**30, "pods": 110, "a.com/b": 2}


# --- while a pod is resized ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("states", "resize", "milli"),
    [
        ([], "", 2000),
        ([("c", "cpu=1", "cpu=1")], "", 2000),
        ([("c", "cpu=1", "cpu=3")], "", 3000),
        ([("c", "cpu=4", "cpu=3")], "", 4000),
        ([("c", "cpu=1", "")], "Deferred", 2000),
        ([("c", "cpu=1", "cpu=1500m")], "Infeasible", 1500),
        ([("c", "cpu=1", "")], "Infeasible", 1000),
        ([("other", "cpu=9", "cpu=9")], "", 2000),
        ([], "Infeasible", 0),
    ],
)
def test_a_resize_counts_the_most_of_all(states: list[tuple[str, str, str]], resize: str, milli: int) -> None:
    """Spec, allocated and in force; an infeasible spec does not count."""
    of = with_status(pod(box("cpu=2")), *states, resize=resize)

    assert accounted(of).requested.get("cpu", 0) == milli
    assert fit_request(of)["cpu"] == 2000


def test_the_most_is_taken_of_sums_not_of_containers() -> None:
    """Two containers that change places do not add up to more than either state."""
    of = with_status(pod(box("cpu=1", name="a"), box("cpu=3", name="b")), ("a", "cpu=3", ""), ("b", "cpu=1", ""))

    assert accounted(of).requested["cpu"] == 4000


def test_the_pods_own_status_goes_before_its_containers() -> None:
    """When both maps are there and the gate is on."""
    spec = pod(box("cpu=2"), whole="cpu=2").spec
    status = PodStatus(
        allocated_resources={"cpu": "5"},
        resources=ResourceRequirements(requests={"cpu": "4"}),
        container_statuses=(ContainerStatus(name="c", allocated_resources={"cpu": "9"}),),
    )
    of = Pod(spec=spec, status=status)

    assert pod_requests(of, status=True, pod_level=True)["cpu"] == 5 * NANO
    assert pod_requests(of, status=True, pod_level=False)["cpu"] == 5 * NANO
    assert pod_requests(of, status=True, pod_level=False, in_place_pod_level=False)["cpu"] == 9 * NANO
    assert pod_requests(of, status=True, pod_level=True, in_place_pod_level=False)["cpu"] == 2 * NANO


# --- ports and images ------------------------------------------------------------------------------------------------


def test_host_ports_are_those_of_containers_and_sidecars() -> None:
    """With defaults for address and protocol, each once."""

    def at(*ports: ContainerPort, sidecar: bool = False) -> Container:
        return Container(ports=ports, restart_policy="Always" if sidecar else "")

    web = ContainerPort(container_port=80, host_port=80)
    dns = ContainerPort(container_port=53, host_port=53, host_ip="10.0.0.1", protocol="UDP")
    inner = ContainerPort(container_port=81)
    of = pod(at(web, inner), at(web), init=(at(dns, sidecar=True), at(ContainerPort(host_port=99))))

    assert host_ports(of) == (("0.0.0.0", "TCP", 80), ("10.0.0.1", "UDP", 53))  # noqa: S104  # a key


def test_images_are_named_as_often_as_they_are_used() -> None:
    """Init containers, containers and image volumes, with the tag that is meant."""
    spec = PodSpec(
        containers=(Container(image="app"), Container(image="host:5000/app")),
        init_containers=(Container(image="app:2"),),
        volumes=(Volume(name="data", image=ImageVolume(reference="data@sha256:ab")), Volume(name="other")),
    )

    assert image_names(Pod(spec=spec)) == ("app:2", "app:latest", "host:5000/app:latest", "data@sha256:ab")
