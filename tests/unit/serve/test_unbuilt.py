"""What is not built yet: whoever asks for it waits with that reason, whatever the profile leaves out."""

import pytest
from msgspec.structs import replace

from bayplan.api.claims import DeviceClass, DeviceClassSpec
from bayplan.api.messages import Bind, PatchStatus, Record, Seen
from bayplan.api.objects import (
    Container,
    ObjectMeta,
    Pod,
    PodResourceClaim,
    PodSchedulingGroup,
    ResourceRequirements,
)
from bayplan.config.profiles import profiles
from bayplan.core.scheduler import Core
from bayplan.framework.profile import DEFAULT_SCHEDULER, Profile
from bayplan.framework.registry import Registry
from bayplan.serve.unbuilt import guarded
from tests.kit import a_pod, case, node

REGISTRY = Registry.installed()
USUAL = profiles(None, REGISTRY)[DEFAULT_SCHEDULER]
BARE = Profile(
    DEFAULT_SCHEDULER,
    {
        point: [one for one in instances if one.name != "DynamicResources"]
        for point, instances in USUAL.points.items()
    },
)  # fmt: skip
MAPS = DeviceClass(metadata=ObjectMeta(name="gpu"), spec=DeviceClassSpec(extended_resource_name="example.com/gpu"))

PLAIN = a_pod("a")
GROUP, CLAIM = PodSchedulingGroup(pod_group_name="train"), PodResourceClaim(name="gpu", resource_claim_name="one")
ONE_GPU = ResourceRequirements(requests={"example.com/gpu": "1"})
GROUPED = replace(PLAIN, spec=replace(PLAIN.spec, scheduling_group=GROUP))
CLAIMS = replace(PLAIN, spec=replace(PLAIN.spec, resource_claims=(CLAIM,)))
WANTS_GPU = replace(PLAIN, spec=replace(PLAIN.spec, containers=(Container(resources=ONE_GPU),)))
NOT_DEVICES = "device allocation is not available here yet: the pod has resource claims ({})"


@pytest.mark.parametrize("profile", [case("kube-scheduler's", USUAL), case("one without the rule", BARE)])
@pytest.mark.parametrize(("pod", "text"), [
    case("a pod group", GROUPED, 'pod groups are not placed here yet: the pod belongs to the group "train"'),
    case("a claim", CLAIMS, NOT_DEVICES.format("gpu")),
    case("a resource that a class maps", WANTS_GPU, NOT_DEVICES.format("example.com/gpu")),
])  # fmt: skip
def test_it_waits_and_says_so(pod: Pod, text: str, profile: Profile) -> None:
    """On the pod: in its condition and in an event; and it is never bound."""
    core = Core({DEFAULT_SCHEDULER: guarded(profile, REGISTRY)})
    effects = core.turn([Seen(thing=thing) for thing in (MAPS, node("n"), pod)], 1000, 10_000).effects
    message = f"0/1 nodes are available: {text}."

    assert not [one for one in effects if isinstance(one, Bind)]
    assert [one.message for one in effects if isinstance(one, PatchStatus)] == [message]
    assert [(one.reason, one.note) for one in effects if isinstance(one, Record)] == [("FailedScheduling", message)]


def test_everybody_else_is_placed() -> None:
    """A guarded profile places as the profile does."""
    core = Core({DEFAULT_SCHEDULER: guarded(USUAL, REGISTRY)})
    effects = core.turn([Seen(thing=thing) for thing in (MAPS, node("n"), a_pod("a"))], 1000, 10_000).effects

    assert [one.node for one in effects if isinstance(one, Bind)] == ["n"]
