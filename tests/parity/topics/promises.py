"""Promises and oddments: nominated pods, the pod's own nomination, node names, gates of the pod, declared features."""

from tests.parity.case import Manifest
from tests.parity.topics.world import World, new_waiting_pod

PRIORITIES = (None, -5, 0, 0, 10, 1000)
FEATURES = (
    "RestartAllContainersOnContainerExits",
    "UserNamespacesHostNetworkSupport",
    "VolumeBindMountOptions",
    "Other",
)


def invite(world: World) -> None:
    """Add nominated pods; other topics decorate them, so this one comes before those."""
    draw = world.draw
    if not world.chance(0.3):
        return
    for _ in range(draw.randint(1, 5)):
        pod = new_waiting_pod(world, world.some_node())
        priority = draw.choice(PRIORITIES)
        if priority is not None:
            pod["spec"]["priority"] = priority


def decorate(world: World) -> None:
    """Nominate and gate the pod, name its node, ask for features."""
    draw = world.draw
    if world.chance(0.5):
        priority = draw.choice(PRIORITIES)
        if priority is not None:
            world.spec["priority"] = priority
    if world.chance(0.12):
        world.pod["status"]["nominatedNodeName"] = world.some_node()
    if world.chance(0.1):
        world.spec["nodeName"] = world.some_node()
        if draw.chance(0.3):
            world.pod["status"]["nominatedNodeName"] = world.some_node()
    if (
        world.chance(0.1) and not world.plugins
    ):  # its Filter has a say only when its PreFilter did not narrow the search
        world.plugins = {"preFilter": {"disabled": [{"name": "NodeName"}]}}
        world.spec["nodeName"] = world.some_node()
    if world.chance(0.12):
        world.spec["schedulingGates"] = [{"name": name} for name in draw.some(["a/b", "wait", "c"], 3)]
    if world.chance(0.4):
        _features(world)
    if world.chance(0.35):
        _contradict(world)


def _features(world: World) -> None:
    draw = world.draw
    for node in world.nodes:
        if draw.chance(0.7):
            node["status"]["declaredFeatures"] = sorted(draw.some(FEATURES, 4))
    spec = world.spec
    container = draw.choice([*spec["containers"], *spec.get("initContainers", [])])
    if draw.chance(0.4):
        action = draw.weighted({"RestartAllContainers": 5, "Restart": 1})
        rule = {"action": action, "exitCodes": {"operator": "In", "values": [42]}}
        container |= {"restartPolicy": "Never", "restartPolicyRules": [rule]}
    if draw.chance(0.4):
        spec["hostNetwork"] = draw.chance(0.8)
        spec["hostUsers"] = draw.chance(0.3)
    if draw.chance(0.35):
        mount: Manifest = {"name": "data", "mountPath": "/data"}
        if draw.chance(0.85):
            mount["bindMountOptions"] = ["noexec"]
        container["volumeMounts"] = [mount]
        spec.setdefault("volumes", []).append({"name": "data", "emptyDir": {}})


def _contradict(world: World) -> None:
    """Name one node and, in an affinity, another: the search is narrowed from two sides."""
    draw = world.draw
    name = world.some_node()
    fields = [{"key": "metadata.name", "operator": "In", "values": [name]}]
    if draw.chance(0.7):
        world.spec["nodeName"] = name if draw.chance(0.5) else world.some_node()
    if draw.chance(0.35):
        fields.append({"key": "metadata.name", "operator": "In", "values": [world.some_node()]})
    required = {"nodeSelectorTerms": [{"matchFields": fields}]}
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": required}
    world.spec.setdefault("affinity", {})["nodeAffinity"] = affinity
