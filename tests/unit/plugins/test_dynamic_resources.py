"""DynamicResources: pods without claims pass, pods with claims wait and are never placed."""

from msgspec.structs import replace

from bayplan.api.claims import DeviceClass, DeviceClassSpec
from bayplan.api.objects import ObjectMeta, PodResourceClaim
from bayplan.cluster.reading import Reader
from bayplan.framework.profile import Instance, Profile
from bayplan.framework.run import Rules
from bayplan.framework.settings import Settings
from bayplan.plugins.dynamic_resources import DynamicResources
from tests.kit import a_cluster, a_pod, judged, node, scored


def test_a_pod_without_claims_is_neither_filtered_nor_told_apart() -> None:
    """Its filter is skipped, and every node scores nothing, as upstream."""
    cluster = a_cluster(node("a"), node("b"))
    found = scored(DynamicResources(), a_pod(), cluster)

    assert judged(DynamicResources(), a_pod(), cluster).skipped
    assert found is not None
    assert found.normal == {"a": 0, "b": 0}


def test_a_pod_with_a_claim_is_rejected_by_name() -> None:
    """It waits for what is not built yet, whatever the nodes say."""
    pod = a_pod()
    pod = replace(pod, spec=replace(pod.spec, resource_claims=(PodResourceClaim(name="gpu"),)))
    ruling = judged(DynamicResources(), pod, a_cluster(node("a")))

    assert ruling.rejected is not None
    assert "gpu" in ruling.rejected.texts[0]


def test_a_resource_that_a_device_class_stands_for_is_a_claim() -> None:
    """Only while there is such a class."""
    device = DeviceClass(
        metadata=ObjectMeta(name="gpu"), spec=DeviceClassSpec(extended_resource_name="example.com/gpu")
    )
    pod = a_pod(example_com__gpu=1)

    assert judged(DynamicResources(), pod, a_cluster(node("a"), device)).rejected is not None
    assert judged(DynamicResources(), pod, a_cluster(node("a"))).skipped


def test_a_pod_with_a_claim_is_held_back_where_nothing_is_asked_before_the_nodes() -> None:
    """A profile may switch the rule's PreFilter off; each node then says no in the same words."""
    pod = a_pod()
    pod = replace(pod, spec=replace(pod.spec, resource_claims=(PodResourceClaim(name="gpu"),)))
    table, rule = a_cluster(node("a"), node("b")), Instance("DynamicResources", DynamicResources())
    profile = Profile("default-scheduler", {"filter": [rule]})

    for settings in (Settings(), Settings(plans=False)):
        rules = Rules(table, Reader(table), settings=settings)
        verdict = rules.ask(pod, profile)
        assert verdict.row is None
        assert verdict.message == (
            "0/2 nodes are available: 2 device allocation is not available here yet: the pod has resource claims (gpu)."
        )
        assert rules.ask(a_pod("plain"), profile).row is not None
