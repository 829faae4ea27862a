"""Topology spread: hard and soft constraints, their policies, and the scheduler's defaults for pods with an owner."""

from tests.parity.case import Manifest
from tests.parity.topics.draw import Draw
from tests.parity.topics.words import (
    HOSTNAME,
    NOBODY_HAS,
    NODE_LABELS,
    RACK,
    TOPOLOGY_KEYS,
    ZONE,
    label_selector,
    node_requirement,
)
from tests.parity.topics.world import World

POLICIES = {
    "nodeAffinityPolicy": {None: 5, "Honor": 2, "Ignore": 3},
    "nodeTaintsPolicy": {None: 4, "Honor": 5, "Ignore": 1},
}


def decorate(world: World) -> None:
    """Have pods be spread, by themselves or by default."""
    draw = world.draw
    if world.chance(0.72):
        count = draw.weighted({1: 5, 2: 4, 3: 1.5, 4: 0.3})
        constraints = [_constraint(draw, world.pod) for _ in range(count)]
        if world.chance(0.13):  # one whose selector cannot be read
            action = draw.weighted({"DoNotSchedule": 6, "ScheduleAnyway": 4})
            constraints[-1] |= {"labelSelector": label_selector(draw, bad=1), "whenUnsatisfiable": action}
        world.spec["topologySpreadConstraints"] = constraints
    elif world.chance(0.9):
        _own(world)
    if world.chance(0.3):
        world.args["PodTopologySpread"] = _defaults(draw)
    for pod in world.waiting:
        if world.chance(0.2):
            pod["spec"]["topologySpreadConstraints"] = [_constraint(draw, pod)]
    _give_policies_something(world)


def _constraint(draw: Draw, pod: Manifest) -> Manifest:
    hard = draw.chance(0.55)
    found: Manifest = {
        "maxSkew": draw.weighted({1: 6, 2: 3, 3: 1, 5: 1}),
        "topologyKey": draw.weighted(TOPOLOGY_KEYS),
        "whenUnsatisfiable": "DoNotSchedule" if hard else "ScheduleAnyway",
    }
    selector = label_selector(draw)
    app = pod["metadata"]["labels"].get("app")
    if app and draw.chance(0.5):
        selector = {"matchLabels": {"app": app}}
    if selector is not None:
        found["labelSelector"] = selector
    if hard and draw.chance(0.25):
        found["minDomains"] = draw.randint(1, 5)
    for name, shares in POLICIES.items():
        policy = draw.weighted(shares)
        if policy is not None:
            found[name] = policy
    if found.get("nodeTaintsPolicy") == "Honor" and draw.chance(0.5):
        found["topologyKey"] = ZONE  # where tainted nodes share a domain with others
    if draw.chance(0.2):
        found["matchLabelKeys"] = draw.some(["pod-template-hash", "track", "tier", "absent"], 2, least=1)
    return found


def _give_policies_something(world: World) -> None:
    """Give nodes taints and the pod a node affinity, or the policies would have nothing to say."""
    draw = world.draw
    asks = any("nodeTaintsPolicy" in one for one in world.spec.get("topologySpreadConstraints", ()))
    if world.chance(0.9 if asks else 0.3):
        effects = ["NoSchedule", "NoExecute", "PreferNoSchedule"]
        for node in world.nodes:
            if draw.chance(0.3) and "taints" not in node["spec"]:
                node["spec"]["taints"] = [{"key": "dedicated", "value": "a", "effect": draw.choice(effects)}]
                _have_pods(world, node["metadata"]["name"])
        if draw.chance(0.2):
            world.spec.setdefault("tolerations", []).append({"key": "dedicated", "operator": "Exists"})
    if world.chance(0.3) and "nodeSelector" not in world.spec:
        key = draw.choice(["pool", "disktype", "rack"])
        world.spec["nodeSelector"] = {key: draw.choice(NODE_LABELS[key])}
    elif world.chance(0.15) and "nodeAffinity" not in world.spec.get("affinity", {}):
        required = {"nodeSelectorTerms": [{"matchExpressions": [node_requirement(draw)]}]}
        node_affinity = {"requiredDuringSchedulingIgnoredDuringExecution": required}
        world.spec.setdefault("affinity", {})["nodeAffinity"] = node_affinity


def _have_pods(world: World, node: str) -> None:
    """Make some of a node's pods such as the pod in question is spread among."""
    for pod in world.running:
        if pod["spec"]["nodeName"] == node and world.draw.chance(0.7):
            pod["metadata"]["labels"] = dict(world.pod["metadata"]["labels"])
            pod["metadata"]["namespace"] = world.pod["metadata"]["namespace"]


def _own(world: World) -> None:
    """Put services in front of the pod and an owner behind it."""
    draw = world.draw
    place = {"namespace": world.pod["metadata"]["namespace"]}
    labels = world.pod["metadata"]["labels"]
    for number in range(draw.weighted({0: 1, 1: 4, 2: 1})):
        wanted = {key: value for key, value in labels.items() if draw.chance(0.6)}
        if draw.chance(0.15):
            wanted["app"] = "else"
        spec: Manifest = {} if draw.chance(0.05) else {"selector": wanted}
        elsewhere = {"namespace": "dev"} if draw.chance(0.1) else place
        metadata = {"name": f"service-{number}"} | elsewhere
        world.others.append({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})
    if draw.chance(0.6):
        _owner(world, draw.weighted({"ReplicaSet": 4, "StatefulSet": 2, "ReplicationController": 2, "Job": 0.5}))


def _owner(world: World, kind: str) -> None:
    draw = world.draw
    metadata = world.pod["metadata"]
    version = {"ReplicationController": "v1", "Job": "batch/v1"}.get(kind, "apps/v1")
    reference = {
        "apiVersion": version,
        "kind": kind,
        "name": "owner",
        "uid": "uid-owner",
        "controller": draw.chance(0.95),
    }
    metadata["ownerReferences"] = [reference]
    if draw.chance(0.1):
        reference["apiVersion"] = "example.com/v1"
    if kind == "Job" or draw.chance(0.1):
        return  # named, but nobody knows it
    wanted = {key: value for key, value in metadata["labels"].items() if key == "app" or draw.chance(0.3)}
    selector: Manifest = wanted
    if kind != "ReplicationController":
        selector = label_selector(draw, bad=0.02) or {"matchLabels": wanted}
        if draw.chance(0.7):
            selector = {"matchLabels": wanted}
    template = {"metadata": {"labels": wanted}, "spec": {"containers": [{"name": "main", "image": "app:1"}]}}
    spec: Manifest = {"selector": selector, "template": template}
    if kind == "StatefulSet":
        spec["serviceName"] = "service-0"
    names = {"name": "owner", "namespace": metadata["namespace"], "uid": "uid-owner"}
    world.others.append({"apiVersion": version, "kind": kind, "metadata": names, "spec": spec})


def _defaults(draw: Draw) -> Manifest:
    if draw.chance(0.15):
        return {"defaultingType": "System"}
    constraints = [
        {"maxSkew": draw.randint(1, 3), "topologyKey": key, "whenUnsatisfiable": action}
        for key in draw.some([ZONE, HOSTNAME, RACK, NOBODY_HAS], 2)
        for action in draw.some(["DoNotSchedule", "ScheduleAnyway"], 2, least=1)
    ]
    return {"defaultingType": "List"} | ({"defaultConstraints": constraints} if constraints else {})
