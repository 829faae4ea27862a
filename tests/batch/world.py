"""A random cluster of queues, gangs and nodes, and the rest of the world between sessions.

What is bound runs, what is evicted leaves (and comes back as a waiting pod, as its controller would have it), jobs end
and come.

Every session starts from what the lane has kept, so that what it keeps is tried, too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from bayplan.api.decode import decode_tree
from bayplan.api.objects import Pod
from bayplan.batch.intake import drop as drop_batch
from bayplan.batch.lane import BatchLane
from bayplan.batch.session import Session
from bayplan.batch.tasks import Status
from bayplan.cluster.fold import drop
from bayplan.cluster.reading import Reader
from bayplan.cluster.table import Table
from bayplan.framework.run import Rules
from bayplan.framework.tiers import BatchConfiguration, Behaviour
from tests.unit.batch.worlds import ALL, REGISTRY, WIDE, Manifest, a_lane, configuration, gang, node, pod, queue, tell

TIERS = (
    ALL,
    ("gang proportion predicates nodeorder drf priority",),
    ("drf proportion predicates",),
    ("gang drf", "proportion predicates"),
    ("priority gang", "proportion"),
)
ACTIONS = ("reclaim allocate backfill preempt", "allocate reclaim", "reclaim allocate preempt", "allocate backfill")


@dataclass
class World:
    """A cluster and its lane."""

    lane: BatchLane
    configuration: BatchConfiguration
    luck: Random
    comes_back: bool  # an evicted pod is made again
    pods: dict[str, Manifest] = field(default_factory=dict)  # by uid
    groups: dict[str, Manifest] = field(default_factory=dict)
    unchanging: list[Manifest] = field(default_factory=list)  # nodes, queues, priorities
    least: dict[str, int] = field(default_factory=dict)  # by gang
    capability: dict[str, int] = field(default_factory=dict)  # CPU in milli, by queue
    cpu: dict[str, int] = field(default_factory=dict)  # in milli, by node
    born: int = 0
    singles: bool = False

    def tell(self, manifest: Manifest) -> None:
        """Have the lane hear of an object."""
        if manifest["kind"] == "Pod":
            self.pods[manifest["metadata"]["uid"]] = manifest
        elif manifest["kind"] == "PodGroup":
            self.groups[manifest["metadata"]["name"]] = manifest
        else:
            self.unchanging.append(manifest)
        tell(self.lane, manifest)

    def gone(self, uid: str) -> None:
        """Have the lane hear that a pod is gone."""
        thing = decode_tree(self.pods.pop(uid), WIDE)
        drop(self.lane.table, thing)
        drop_batch(self.lane.jobs, thing)

    def live(self) -> None:
        """Have jobs end and come."""
        for one in self.running():
            if self.luck.random() < 0.2:
                self.gone(one["metadata"]["uid"])
        if self.luck.random() < 0.5:
            self.born += 1
            name = f"h{self.born}"
            _add_gang(self, name, self.luck.choice(list(self.lane.jobs.queues)), singles=self.singles, starts=False)

    def go_on(self, session: Session) -> None:
        """Carry out what a session decided."""
        for step in session.steps:
            uid = step.task.uid
            if step.verb is Status.BINDING:
                old = self.pods[uid]
                self.tell(_running(old, session.node_name(step.row)))
            elif step.verb is Status.RELEASING:
                old = self.pods[uid]
                self.gone(uid)
                if self.comes_back:
                    self.born += 1
                    self.tell(_again(old, f"{uid.partition('+')[0]}+{self.born}"))

    def running(self) -> list[Manifest]:
        """Return the pods that run."""
        return [one for one in self.pods.values() if one["spec"].get("nodeName")]


def _running(old: Manifest, node_name: str) -> Manifest:
    return {**old, "spec": {**old["spec"], "nodeName": node_name}, "status": {"phase": "Running"}}


def _again(old: Manifest, uid: str) -> Manifest:
    spec = {name: value for name, value in old["spec"].items() if name != "nodeName"}
    meta = {**old["metadata"], "uid": uid, "name": uid}
    return {**old, "metadata": meta, "spec": spec, "status": {"phase": "Pending"}}


def a_world(seed: int, behaviour: Behaviour = "bayplan", *, singles: bool = False) -> World:
    """Draw a world; `singles`: jobs of one task each, all alike, whose request divides every node."""
    luck = Random(seed)
    given = configuration(*luck.choice(TIERS), actions=luck.choice(ACTIONS), behaviour=behaviour)
    if singles:
        given = configuration(actions="reclaim allocate", behaviour=behaviour)
    world = World(a_lane(given), given, luck, comes_back=luck.random() < 0.7, singles=singles)
    for place in range(luck.randint(1, 6)):
        cpu = luck.randint(1, 6)
        world.cpu[f"n{place}"] = cpu * 1000
        world.tell(node(f"n{place}", cpu=str(cpu), memory=f"{luck.choice((2, 4, 8)) * (1 if not singles else 9)}Gi"))
    for level in range(luck.randint(0, 3)):
        world.tell(_priority(f"p{level}", level))
    names = [f"q{place}" for place in range(luck.randint(1, 4))]
    for name in names:
        limit = {"cpu": str(luck.randint(1, 8))} if luck.random() < 0.25 and not singles else {}
        if limit:
            world.capability[name] = int(limit["cpu"]) * 1000
        world.tell(queue(name, luck.randint(1, 4) if luck.random() < 0.95 else 0, **limit))
    for number in range(luck.randint(1, 10 if not singles else 30)):
        _add_gang(world, f"g{number}", luck.choice(names), singles=singles)
    return world


def _priority(name: str, value: int) -> Manifest:
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}


def _add_gang(world: World, name: str, within: str, *, singles: bool, starts: bool = True) -> None:
    luck = world.luck
    members = 1 if singles else luck.randint(1, 5)
    least = 1 if singles else luck.randint(0, members + (luck.random() < 0.05))
    world.least[name] = least
    special = _special(luck) if not singles else {}
    level = luck.choice(("", "p0", "p1", "p2"))
    world.tell(gang(name, least, within, created=luck.randint(0, 600), priorityClassName=level))
    requests = {"cpu": "1", "memory": "1Gi"} if singles else _requests(luck)
    made = [
        pod(f"{name}-{place}", name, created=luck.randint(0, 600), priority=luck.choice((None, 0, 1, 2)), **requests)
        for place in range(members)
    ]
    for one in made:
        _add(one, special)
    on = _room_for(world, made) if starts and luck.random() < 0.5 else None
    for place, one in enumerate(made):
        world.tell(_running(one, on[place]) if on is not None else one)


def _special(luck: Random) -> Manifest:
    """Draw what else a gang's pods ask for: a port of their own, or to be apart."""
    drawn = luck.random()
    if drawn < 0.1:
        return {"ports": [{"containerPort": 1, "hostPort": luck.randint(1, 2)}]}
    if drawn < 0.2:
        term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"apart": "yes"}}}
        return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    return {}


def _add(one: Manifest, special: Manifest) -> None:
    if "ports" in special:
        one["spec"]["containers"][0]["ports"] = special["ports"]
    if "affinity" in special:
        one["spec"]["affinity"] = special["affinity"]
        one["metadata"]["labels"] = {"apart": "yes"}


def alone_with(world: World, name: str, waiting: list[Manifest]) -> BatchLane:
    """Return a lane with the same empty nodes and queues, and one job."""
    given = configuration("gang predicates", actions="allocate backfill")
    lane = BatchLane(Rules(table := Table(), Reader(table)), given, REGISTRY)
    for one in world.unchanging:
        tell(lane, one)
    tell(lane, world.groups[name])
    for one in waiting:
        tell(lane, one)
    return lane


def _requests(luck: Random) -> dict[str, str]:
    if luck.random() < 0.05:
        return {}
    return {"cpu": luck.choice(("500m", "1", "1", "2", "3")), "memory": luck.choice(("256Mi", "1Gi", "2Gi"))}


def _room_for(world: World, made: list[Manifest]) -> list[str] | None:
    """Return nodes where a whole gang has room, if there are any: what runs at the start fits, too."""
    left = dict.fromkeys(world.cpu, 0)
    memory = dict.fromkeys(world.cpu, 0.0)
    table = world.lane.table
    for name, row in table.row_of.items():
        left[name] = int(table.columns.allocatable[0, row] - table.columns.requested[0, row])
        memory[name] = int(table.columns.allocatable[1, row] - table.columns.requested[1, row])
    on = []
    for one in made:
        charge = world.lane.charges.charge(_decoded(one)).request
        names = [name for name in left if left[name] >= charge.cpu and memory[name] >= charge.memory]
        if not names:
            return None
        name = world.luck.choice(names)
        left[name] -= int(charge.cpu)
        memory[name] -= charge.memory
        on.append(name)
    return on


def _decoded(one: Manifest) -> Pod:
    read = decode_tree(one, WIDE)
    assert isinstance(read, Pod)
    return read
