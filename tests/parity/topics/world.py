"""The world of a random case: a plain cluster that topics decorate, and how it becomes a case.

A plain node has room and labels; a plain pod has a container and an app label.  What makes a case odd is a topic's.
"""

from dataclasses import dataclass, field

from tests.parity.case import Case, Manifest
from tests.parity.topics.draw import Draw
from tests.parity.topics.words import (
    HOSTNAME,
    NAMESPACE_LABELS,
    NAMESPACES,
    NODE_LABELS,
    REGION,
    REGIONS,
    ZONE,
    ZONES,
    labels,
    pod_labels,
)

UNKNOWN_NODE = "ghost"
NODE_COUNTS = {
    0: 0.007,
    1: 0.05,
    2: 0.1,
    3: 0.14,
    4: 0.14,
    5: 0.12,
    6: 0.1,
    8: 0.14,
    10: 0.1,
    14: 0.06,
    20: 0.03,
    30: 0.01,
}


@dataclass
class World:
    """A cluster in the making: `running` pods are on nodes, `waiting` ones are nominated, `pod` is in question."""

    draw: Draw
    nodes: list[Manifest] = field(default_factory=list)
    running: list[Manifest] = field(default_factory=list)
    waiting: list[Manifest] = field(default_factory=list)
    others: list[Manifest] = field(default_factory=list)
    pod: Manifest = field(default_factory=dict)
    args: dict[str, Manifest] = field(default_factory=dict)
    plugins: Manifest = field(default_factory=dict)
    gates: dict[str, bool] = field(default_factory=dict)
    profile_names: list[str] = field(default_factory=list)
    eagerness: float = 1.0
    """How often the present topic acts: 1 when the case is about it, less when it is one of several."""

    def chance(self, share: float) -> bool:
        """Return true in that share of draws, less often when the topic is one of several."""
        return self.draw.chance(share * self.eagerness)

    @property
    def others_pods(self) -> list[Manifest]:
        """All pods but the one in question."""
        return self.running + self.waiting

    @property
    def spec(self) -> Manifest:
        """The spec of the pod in question."""
        found: Manifest = self.pod["spec"]
        return found

    @property
    def node_names(self) -> list[str]:
        """The names of all nodes, in order."""
        return [node["metadata"]["name"] for node in self.nodes]

    def some_node(self) -> str:
        """Return a node's name, rarely one that nobody has."""
        return UNKNOWN_NODE if not self.nodes or self.draw.chance(0.03) else self.draw.choice(self.node_names)

    def node_label(self, node: str, key: str) -> str | None:
        """Return what the node's label says."""
        for one in self.nodes:
            if one["metadata"]["name"] == node:
                found: str | None = one["metadata"]["labels"].get(key)
                return found
        return None


def plain_world(draw: Draw, *, crowded: float = 1.0) -> World:
    """Return a cluster without oddities; `crowded` scales how many pods run in it."""
    world = World(draw)
    count = draw.weighted(NODE_COUNTS)
    world.nodes = [_node(draw, f"n{number:02d}") for number in range(count)]
    if draw.chance(0.06):
        for node in world.nodes:
            node["metadata"]["labels"][HOSTNAME] = draw.choice(["shared-1", "shared-2", node["metadata"]["name"]])
    pods = draw.randint(0, min(36, int(count * 3 * crowded) + 1))
    world.running = [_running(draw, world, f"run-{number}") for number in range(pods)]
    world.pod = _pod(draw, "pending", "default" if draw.chance(0.85) else draw.choice(NAMESPACES))
    world.others = [_namespace(draw, name) for name in NAMESPACES if draw.chance(0.8)]
    return world


def new_waiting_pod(world: World, node: str) -> Manifest:
    """Return a pod that waits for the room it was promised on `node`, added to the world."""
    draw = world.draw
    pod = _pod(draw, f"waiting-{len(world.waiting)}", draw.choice(NAMESPACES[:2]))
    pod["status"] = {"phase": "Pending", "nominatedNodeName": node}
    world.waiting.append(pod)
    return pod


def to_case(world: World, case_id: str, family: str) -> Case:
    """Return the world as a case, its objects by kind or, at times, in any order."""
    draw = world.draw
    objects = world.others + world.nodes + world.running + world.waiting
    if draw.chance(0.2):
        draw.shuffle(objects)
    case: Case = {"id": case_id, "family": family, "objects": objects, "pod": world.pod}
    if world.args or world.plugins or world.profile_names:
        case["config"] = _configuration(world)
    if world.gates:
        case["featureGates"] = world.gates
    return case


def _configuration(world: World) -> Manifest:
    profile: Manifest = {}
    if world.args:
        profile["pluginConfig"] = [{"name": name, "args": args} for name, args in world.args.items()]
    if world.plugins:
        profile["plugins"] = world.plugins
    own = world.spec.get("schedulerName")
    if own or world.profile_names or world.draw.chance(0.9):
        profile["schedulerName"] = own or "default-scheduler"
    profiles = [profile, *({"schedulerName": name} for name in world.profile_names)]
    world.draw.shuffle(profiles)
    return {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": profiles}


def _node(draw: Draw, name: str) -> Manifest:
    found = labels(draw, NODE_LABELS, 0.45)
    for key, values, share in ((HOSTNAME, (name,), 0.96), (ZONE, ZONES, 0.92), (REGION, REGIONS, 0.5)):
        found.pop(key, None)
        if draw.chance(share):
            found[key] = draw.choice(values)
    allocatable = {
        "cpu": draw.choice(["2", "4", "8", "16"]),
        "memory": draw.choice(["4Gi", "8Gi", "16Gi", "32Gi"]),
        "ephemeral-storage": "100Gi",
        "pods": draw.choice(["110", "110", "110", "8"]),
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": found},
        "spec": {},
        "status": {"allocatable": allocatable},
    }


def _pod(draw: Draw, name: str, namespace: str) -> Manifest:
    requests = {}
    if draw.chance(0.8):
        requests["cpu"] = draw.choice(["100m", "250m", "500m", "1"])
    if draw.chance(0.65):
        requests["memory"] = draw.choice(["128Mi", "256Mi", "512Mi", "1Gi"])
    containers = [{"name": "main", "image": "app:1", "resources": {"requests": requests}}]
    if draw.chance(0.15):
        containers.append({"name": "side", "image": "side:2"})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}", "labels": pod_labels(draw)},
        "spec": {"containers": containers},
        "status": {"phase": "Pending"},
    }


def _running(draw: Draw, world: World, name: str) -> Manifest:
    pod = _pod(draw, name, draw.weighted({"default": 8, "team-a": 2, "team-b": 1, "dev": 1}))
    pod["spec"]["nodeName"] = UNKNOWN_NODE if not world.nodes or draw.chance(0.01) else draw.choice(world.node_names)
    pod["status"] = {"phase": draw.weighted({"Running": 30, "Pending": 2, "Succeeded": 1, "Failed": 1})}
    if draw.chance(0.06):
        pod["metadata"] |= {"deletionTimestamp": "2026-03-01T00:00:00Z", "finalizers": ["example.com/wait"]}
    if draw.chance(0.3):
        pod["spec"]["priority"] = draw.choice([-10, 0, 10, 1000])
    return pod


def _namespace(draw: Draw, name: str) -> Manifest:
    found = labels(draw, NAMESPACE_LABELS, 0.6)
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": found}}
