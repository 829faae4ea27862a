"""Reading waiting pods: pods that no rule tells apart share a shape, and a shape follows what is known."""

import pytest
from msgspec.structs import replace

from bayplan.api.claims import DeviceClass, DeviceClassSpec
from bayplan.api.objects import Object, ObjectMeta, OwnerReference, Pod
from bayplan.api.workloads import ReplicaSet, ReplicaSetSpec
from bayplan.cluster.fold import drop, put
from bayplan.cluster.reading import Reader
from bayplan.cluster.shapes import DEVICES, NEIGHBOURS, SPREAD
from tests.kit import a_cluster, a_pod, case, namespace, needs, neighbours, node, selector, service, spread, term

HERMIT = a_pod("hermit", on="n", affinity=neighbours(far=[term("app=web")]))
GUARD = a_pod("guard", on="n", within="other", affinity=neighbours(far=[term("app=web", among="env=prod")]))
OWNER = OwnerReference(api_version="apps/v1", kind="ReplicaSet", name="rs", uid="u", controller=True)


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        case("name and uid are nobody's business", a_pod("a"), a_pod("b"), True),
        case("nor is a label that no selector asks for", a_pod("a", labels="x=1"), a_pod("b", labels="x=2"), True),
        case("requests are", a_pod("a", cpu=1), a_pod("b", cpu=2), False),
        case("tolerations are", a_pod("a", tolerates="x"), a_pod("b"), False),
        case("node affinity is", a_pod("a", affinity=needs("x")), a_pod("b"), False),
        case("ports are", a_pod("a", ports="80"), a_pod("b"), False),
        case("spread constraints are", a_pod("a", spread=[spread("app=web")]), a_pod("b"), False),
        case("images are", a_pod("a", images="app:1"), a_pod("b", images="app:2"), False),
        case(
            "the namespace is, where pods are named",
            a_pod("a", affinity=neighbours(near=[term("x")])),
            a_pod("a", within="other", affinity=neighbours(near=[term("x")])),
            False,
        ),
    ],
)
def test_pods_that_are_alike_share_a_shape(one: Pod, other: Pod, shared: bool) -> None:  # noqa: FBT001
    """What differs between them decides, in either order."""
    reader = Reader(a_cluster(node("n")))

    assert (reader.shape(one) is reader.shape(other)) is shared
    assert reader.shape(one) is reader.shape(replace(one))


@pytest.mark.parametrize(
    "thing",
    [
        case("a term that means it", HERMIT),
        case("a service that selects it", service("web", "app=web")),
        case(
            "its owner",
            ReplicaSet(
                metadata=ObjectMeta(name="rs", namespace="default"), spec=ReplicaSetSpec(selector=selector("app"))
            ),
        ),
    ],
)
def test_a_waiting_pod_is_read_again_when_something_comes_to_mean_it(thing: Object) -> None:
    """It has another shape from then on, though its object is the same; one that is not meant keeps its own."""
    table = a_cluster(node("n"))
    reader = Reader(table)
    pod, stranger = a_pod("p", labels="app=web", owner=OWNER), a_pod("q", within="far", labels="tier=db")
    before, others = reader.shape(pod), reader.shape(stranger)
    put(table, thing)

    assert reader.shape(pod) is not before
    assert reader.shape(stranger) is others


def test_a_service_that_goes_takes_its_meaning_along() -> None:
    """The pod has the shape it had."""
    table = a_cluster(node("n"))
    reader, pod = Reader(table), a_pod(labels="app=web")
    before = reader.shape(pod)
    put(table, service("web", "app=web"))
    assert reader.shape(pod).part(SPREAD).default is not None

    drop(table, service("web", "app=web"))
    assert reader.shape(pod) is before


def test_a_namespaces_labels_decide_whom_a_term_means() -> None:
    """Terms that choose namespaces by label are asked again when these change."""
    table = a_cluster(node("n"), namespace("default"), GUARD)
    reader, pod = Reader(table), a_pod(labels="app=web")
    assert reader.shape(pod).part(NEIGHBOURS).meant_by == ()

    put(table, namespace("default", "env=prod"))
    assert reader.shape(pod).part(NEIGHBOURS).meant_by == (0,)


def test_a_resource_is_a_device_while_a_class_stands_for_it() -> None:
    """Classes come and go."""
    table = a_cluster(node("n"))
    reader, pod = Reader(table), a_pod(example_com__gpu=1)
    device = DeviceClass(metadata=ObjectMeta(name="g"), spec=DeviceClassSpec(extended_resource_name="example.com/gpu"))
    assert reader.shape(pod).part(DEVICES) == ()

    put(table, device)
    assert reader.shape(pod).part(DEVICES) == ("example.com/gpu",)
