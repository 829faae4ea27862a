"""Resources: what nodes can give and pods ask for, in every way of saying it, and how the scheduler scores it."""

from tests.parity.case import Manifest
from tests.parity.topics.draw import Draw
from tests.parity.topics.quantities import GI, HUGE, MI, cpu, fine_cpu, fine_size, size
from tests.parity.topics.resizing import resize
from tests.parity.topics.scoring import shape
from tests.parity.topics.world import World

DEVICES = ("example.com/gpu", "vendor.io/fpga", "nic.example.org/vf")
PAGES = {"hugepages-2Mi": 2 * MI, "hugepages-1Gi": GI}
COUNTED = (
    "attachable-volumes-csi-x",
    "attachable-volumes-aws-ebs",
    "kubernetes.io/something",
    "sub.kubernetes.io/else",
)
UNKNOWN = ("storage", "gadgets", "requests.example.com/gpu")
"""Names that the scheduler drops: they are no resource of a node's to it."""
ODD = 0.4
NODE_MILLI = (0, 500, 1000, 2000, 3500, 4000, 7910, 16000)
NODE_BYTES = (0, GI, 2 * GI, 4 * GI, 8_000_000_000, 16 * GI, 32 * GI, 7_777_777_777)


def decorate(world: World) -> None:
    """Give nodes and pods resources of all kinds, and the scheduler its ways of scoring them."""
    draw = world.draw
    kinds = draw.some([*DEVICES, *PAGES, *COUNTED], 4) if world.chance(0.6) else []
    for node in world.nodes:
        if world.chance(0.8):
            node["status"]["allocatable"] = _allocatable(draw, kinds)
    for pod in world.others_pods:
        if world.chance(0.7):
            _ask(draw, pod["spec"], kinds, greed=0.6)
        if world.chance(0.25):
            resize(draw, pod, _requests(draw, kinds, 0.7))
    if world.chance(0.95):
        _ask(draw, world.spec, kinds, greed=1.3)
        if draw.chance(0.12):
            _ask_exactly(world)
    if world.chance(0.08):
        resize(draw, world.pod, _requests(draw, kinds, 1.0))
    if world.chance(0.6):
        world.args["NodeResourcesFit"] = _fit_args(draw, kinds, _unasked(world.spec, kinds))
    if world.chance(0.3):
        world.args["NodeResourcesBalancedAllocation"] = _balance_args(draw, kinds)


def _allocatable(draw: Draw, kinds: list[str]) -> Manifest:
    found: Manifest = {
        "cpu": cpu(draw, draw.choice(NODE_MILLI), ODD),
        "memory": size(draw, draw.choice(NODE_BYTES), ODD),
        "ephemeral-storage": size(draw, draw.choice([0, 10 * GI, 50 * GI, 100_000_000_000]), ODD),
        "pods": size(draw, draw.choice([0, 1, 2, 3, 5, 110, 110, 110]), 0.2),
    }
    if draw.chance(0.03):
        found["memory"] = str(HUGE)
    if draw.chance(0.05):
        found[draw.choice(["cpu", "memory"])] = draw.choice([fine_size(draw), None])
    for name in list(found):
        if draw.chance(0.04):
            del found[name]
    for name in kinds:
        if draw.chance(0.75):
            found[name] = size(draw, draw.randint(0, 8) * PAGES.get(name, 1), 0.2)
    if draw.chance(0.05):
        found[draw.choice(UNKNOWN)] = "10"
    return found


def _requests(draw: Draw, kinds: list[str], greed: float) -> Manifest:
    """Return a container's requests: at most some thousandths of cores and some gibibytes, times `greed`."""
    found: Manifest = {}
    if draw.chance(0.75):
        milli = int(draw.choice([0, 10, 100, 250, 500, 999, 1000, 1500, 2000, 3500]) * greed)
        found["cpu"] = fine_cpu(draw) if draw.chance(0.12) else cpu(draw, milli, ODD)
    if draw.chance(0.65):
        count = int(draw.choice([0, 1, 100 * MI, 256 * MI, 500_000_000, GI, 3 * GI, 7 * GI]) * greed)
        found["memory"] = fine_size(draw) if draw.chance(0.12) else size(draw, count, ODD)
    if draw.chance(0.2):
        found["ephemeral-storage"] = size(draw, int(draw.choice([0, GI, 10 * GI, 30 * GI]) * greed), ODD)
    for name in kinds:
        if draw.chance(0.4):
            found[name] = size(draw, int(draw.choice([0, 1, 1, 2, 4]) * greed) * PAGES.get(name, 1), 0.2)
    if draw.chance(0.03):
        found[draw.choice([*UNKNOWN, "pods"])] = "3"
    return found


def _ask(draw: Draw, spec: Manifest, kinds: list[str], greed: float) -> None:
    containers = spec["containers"]
    if draw.chance(0.25):
        containers.append({"name": "third", "image": "app:1"})
    for container in containers:
        if draw.chance(0.85):
            container["resources"] = _resources(draw, kinds, greed / len(containers))
    if draw.chance(0.35):
        starters = spec.setdefault("initContainers", [])
        for number in range(draw.randint(1, 3)):
            starter: Manifest = {"name": f"init-{number}", "image": "init:1"}
            if draw.chance(0.9):
                starter["resources"] = _resources(draw, kinds, greed)
            if draw.chance(0.45):
                starter["restartPolicy"] = draw.weighted({"Always": 8, "OnFailure": 1})
            starters.append(starter)
    if draw.chance(0.15):
        spec["overhead"] = _requests(draw, kinds, greed / 4)
    if draw.chance(0.2):
        # With an overhead, kube-scheduler adds to fractions like 1.5Gi anew each time it looks: docs/parity.md.
        spec["resources"] = _whole_pod(draw, greed, odd=0 if "overhead" in spec else ODD)


def _resources(draw: Draw, kinds: list[str], greed: float) -> Manifest:
    found: Manifest = {"requests": _requests(draw, kinds, greed)}
    if draw.chance(0.15):
        found["limits"] = _requests(draw, kinds, greed)
    if draw.chance(0.08):
        del found["requests"]
    return found


def _whole_pod(draw: Draw, greed: float, odd: float) -> Manifest:
    """Return resources said for the pod as a whole; not every name may be."""
    requests: Manifest = {}
    if draw.chance(0.7):
        requests["cpu"] = cpu(draw, int(draw.choice([0, 100, 1000, 2500]) * greed), odd)
    if draw.chance(0.6):
        requests["memory"] = size(draw, int(draw.choice([0, 100 * MI, GI, 3 * GI]) * greed), odd)
    if draw.chance(0.15):
        requests["hugepages-2Mi"] = "4Mi"
    if draw.chance(0.08):
        requests[draw.choice(["ephemeral-storage", "example.com/gpu"])] = "1"
    return {"requests": requests} if draw.chance(0.9) else {"limits": requests}


def _ask_exactly(world: World) -> None:
    """Ask for all that an empty node has, or for the least bit more or less."""
    if not world.nodes:
        return
    name, unit = world.draw.choice([("cpu", "m"), ("memory", ""), ("ephemeral-storage", "")])
    node = world.draw.choice(world.nodes)
    node["status"]["allocatable"] |= {name: f"4000000{unit}", "pods": "110", "cpu": "4000", "memory": "64Gi"}
    node["status"]["allocatable"][name] = f"4000000{unit}"
    amount = 4_000_000 + world.draw.choice([-1, 0, 0, 1])
    world.spec["containers"] = [{"name": "main", "resources": {"requests": {name: f"{amount}{unit}"}}}]
    for field in ("overhead", "resources", "initContainers"):
        world.spec.pop(field, None)


def _unasked(spec: Manifest, kinds: list[str]) -> list[str]:
    """Return the kinds that no container asks for."""
    containers = [*spec["containers"], *spec.get("initContainers", ())]
    asked = {name for one in containers for name in one.get("resources", {}).get("requests", {})}
    return [name for name in kinds if name not in asked]


def _fit_args(draw: Draw, kinds: list[str], unasked: list[str]) -> Manifest:
    args: Manifest = {}
    if draw.chance(0.3):
        args["ignoredResources"] = draw.some([*DEVICES, *COUNTED, "cpu", "hugepages-2Mi"], 3, least=1)
    if draw.chance(0.2):
        args["ignoredResourceGroups"] = draw.some(["example.com", "vendor.io", "kubernetes.io"], 2, least=1)
    if draw.chance(0.85):
        shares = {"LeastAllocated": 1, "MostAllocated": 1, "RequestedToCapacityRatio": 2}
        strategy: Manifest = {"type": draw.weighted(shares)}
        if draw.chance(0.8):
            strategy["resources"] = _weighted(draw, kinds, unasked)
        if strategy["type"] == "RequestedToCapacityRatio":
            strategy["requestedToCapacityRatio"] = {"shape": shape(draw)}
        args["scoringStrategy"] = strategy
    return args


def _weighted(draw: Draw, kinds: list[str], unasked: list[str]) -> list[Manifest]:
    found = []
    names = draw.some(["cpu", "memory", "ephemeral-storage", *kinds, "example.com/absent"], 4, least=1)
    if unasked and draw.chance(0.5):
        names = list(dict.fromkeys([*names, draw.choice(unasked)]))
    for name in names:
        weight = draw.choice([None, 1, 1, 2, 3, 10, 100])
        found.append({"name": name} | ({} if weight is None else {"weight": weight}))
    return found


def _balance_args(draw: Draw, kinds: list[str]) -> Manifest:
    names = draw.some(["cpu", "memory", "ephemeral-storage", *kinds], 4, least=1)
    return {"resources": [{"name": name} | ({"weight": 1} if draw.chance(0.7) else {}) for name in names]}
