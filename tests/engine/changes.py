"""Changes: what can happen to a cluster, drawn at random from a pool.

Each change is a function of a world and its luck, and finds its object by itself: so steps can be left out of a history
and the rest still makes sense.
Not here: decisions (check.py).
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from msgspec.structs import replace

from bayplan.api.objects import (
    Affinity,
    Labels,
    LabelSelector,
    Node,
    Pod,
    PodAffinityTerm,
    PodAntiAffinity,
    PodMeta,
    Taint,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
    uid_of,
)
from bayplan.cluster.claims import Reservation, claim_name
from bayplan.cluster.columns import Row
from bayplan.cluster.table import Table
from bayplan.cluster.trial import Trial
from tests.engine.pool import Pool
from tests.engine.twin import Twin
from tests.parity.topics.draw import Draw
from tests.parity.topics.words import HOSTNAME, POD_LABELS, TOPOLOGY_KEYS, pod_labels

NODES_MOST: Final = 60
GHOST: Final = "n99"
"""A node that never is, unless a node of that name is drawn."""
TAINT: Final = Taint(key="dedicated", value="a", effect="NoSchedule")
"""A taint that the spread cases' pods tolerate or not."""
SINCE: Final = "2026-03-01T00:00:00Z"


class World(Twin):
    """A twin, what it draws from, and the shapes of pods that are in use."""

    def __init__(self, draw: Draw, pool: Pool, prepare: Callable[[Table], None] | None = None) -> None:
        super().__init__()
        if prepare is not None:
            prepare(self.table)
        self.pool = pool
        self.size = draw.choice([3, 8, 8, 16, 16, 24, 40, NODES_MOST])  # about so many nodes
        self.names = 0  # pods ever named
        self.templates = draw.some(pool.pods, draw.randint(3, 14), least=3)
        self.waiting: list[Pod] = []  # asked about again and again
        for _ in range(self.size):
            add_node(self, draw)
        for thing in draw.some(pool.others, len(pool.others), least=len(pool.others) // 2):
            self.put(thing)
        for _ in range(draw.randint(0, 2 * self.size)):
            bind_pod(self, draw)
        self.waiting += [self.new_pod(self.template(draw)) for _ in range(draw.randint(0, 5))]

    def template(self, draw: Draw) -> Pod:
        """Return a pod to make others from: mostly one in use."""
        if draw.chance(0.03):
            self.templates[draw.randrange(len(self.templates))] = draw.choice(self.pool.pods)
        found = draw.choice(self.templates)
        if draw.chance(0.1):
            found = replace(found, metadata=_meta(found, labels=pod_labels(draw)))
        if draw.chance(0.1):
            found = replace(found, spec=replace(found.spec, topology_spread_constraints=(_spreading(draw),)))
        if draw.chance(0.05):
            found = replace(found, spec=replace(found.spec, volumes=draw.choice(self.pool.pods).spec.volumes))
        return found

    def new_pod(self, template: Pod, *, node: str = "", nominated: str = "") -> Pod:
        """Return a pod like another, with a name of its own."""
        name = f"p{self.names}"
        self.names += 1
        meta = replace(template.metadata, name=name, uid=f"uid-{name}", deletion_timestamp=None)
        status = replace(template.status, nominated_node_name=nominated, phase="Pending")
        return replace(template, metadata=meta, spec=replace(template.spec, node_name=node), status=status)


Change: TypeAlias = Callable[[World, Draw], None]


# --- nodes -----------------------------------------------------------------------------------------------------------


def add_node(world: World, draw: Draw) -> None:
    """Have a node come, or come back."""
    names = {node.metadata.name for node in world.nodes()}
    free = [name for number in range(NODES_MOST) if (name := f"n{number:02d}") not in names]
    if not free or len(names) >= world.size:
        return
    world.put(_called(draw.choice(world.pool.nodes), draw.choice(free[:4])))


def change_node(world: World, draw: Draw) -> None:
    """Have something about a node change, or nothing at all."""
    nodes = world.nodes()
    if not nodes:
        return
    node = draw.choice(nodes)
    other = _called(draw.choice(world.pool.nodes), node.metadata.name)
    spec, status = node.spec, node.status
    whats = ["labels", "labels", "taints", "taints", "allocatable", "images", "features", "cordon", "all", "nothing"]
    what = draw.choice(whats)
    changed = {
        "labels": replace(node, metadata=other.metadata),
        "taints": replace(node, spec=replace(spec, taints=draw.choice([(), (TAINT,), other.spec.taints]))),
        "allocatable": replace(node, status=replace(status, allocatable=other.status.allocatable)),
        "images": replace(node, status=replace(status, images=other.status.images)),
        "features": replace(node, status=replace(status, declared_features=other.status.declared_features)),
        "cordon": replace(node, spec=replace(spec, unschedulable=not spec.unschedulable)),
        "all": other,
        "nothing": replace(node),
    }
    world.put(changed[what])


def drop_node(world: World, draw: Draw) -> None:
    """Have a node go; its pods stay behind."""
    nodes = world.nodes()
    if len(nodes) > 1:
        world.drop(draw.choice(nodes))


def _called(node: Node, name: str) -> Node:
    labels: Labels = dict(node.metadata.labels)
    if labels.get(HOSTNAME) == node.metadata.name:
        labels[HOSTNAME] = name
    return replace(node, metadata=replace(node.metadata, name=name, uid=f"uid-{name}", labels=labels))


def _some_node(world: World, draw: Draw) -> str:
    nodes = world.nodes()
    if not nodes or draw.chance(0.05):
        return draw.choice([GHOST, f"n{draw.randrange(NODES_MOST):02d}"])
    return draw.choice(nodes).metadata.name


# --- pods ------------------------------------------------------------------------------------------------------------


def bind_pod(world: World, draw: Draw) -> None:
    """Have a pod appear on a node, placed there by somebody else."""
    template = draw.choice(world.pool.pods) if draw.chance(0.3) else world.template(draw)
    pod = world.new_pod(template, node=_some_node(world, draw))
    if draw.chance(0.25):
        pod = replace(pod, spec=replace(pod.spec, affinity=_minding(draw)))
    world.put(replace(pod, status=replace(pod.status, phase="Running")))


def _spreading(draw: Draw) -> TopologySpreadConstraint:
    """Return a constraint within a scope of its own: whose nodes count depends on their taints."""
    return TopologySpreadConstraint(
        max_skew=draw.randint(1, 3),
        topology_key=draw.weighted(TOPOLOGY_KEYS),
        when_unsatisfiable=draw.choice(["DoNotSchedule", "ScheduleAnyway"]),
        label_selector=LabelSelector(match_labels={"app": draw.choice(POD_LABELS["app"])}),
        node_taints_policy="Honor",
    )


def _minding(draw: Draw) -> Affinity:
    """Return a term that hardly anybody has carried before: pods of some app are kept away, or wished away."""
    term = PodAffinityTerm(
        topology_key=draw.weighted(TOPOLOGY_KEYS),
        label_selector=LabelSelector(match_labels={"app": draw.choice(POD_LABELS["app"])}),
    )
    if draw.chance(0.2):
        return Affinity(pod_anti_affinity=PodAntiAffinity(required_during_scheduling_ignored_during_execution=(term,)))
    wish = WeightedPodAffinityTerm(weight=draw.randint(1, 100), pod_affinity_term=term)
    return Affinity(pod_anti_affinity=PodAntiAffinity(preferred_during_scheduling_ignored_during_execution=(wish,)))


def nominate_pod(world: World, draw: Draw) -> None:
    """Have a waiting pod appear that was promised a node, or have the promise change or go."""
    waiting = [pod for pod in world.pods() if not pod.spec.node_name and uid_of(pod) not in world.assumed]
    if waiting and draw.chance(0.5):
        pod = draw.choice(waiting)
        where = "" if draw.chance(0.4) else _some_node(world, draw)
        world.put(replace(pod, status=replace(pod.status, nominated_node_name=where)))
    else:
        pod = world.new_pod(world.template(draw), nominated=_some_node(world, draw))
        priority = draw.choice([None, -1, 0, 0, 5, 1000])
        world.put(replace(pod, spec=replace(pod.spec, priority=priority)))


def confirm_pod(world: World, draw: Draw) -> None:
    """See an assumed pod bound: where it was assumed or, rarely, elsewhere; or see its binding fail."""
    assumed = [pod for pod in world.pods() if uid_of(pod) in world.assumed]
    for pod in draw.some(assumed, 4):
        node = world.assumed[uid_of(pod)] if draw.chance(0.95) else _some_node(world, draw)
        if draw.chance(0.1):
            world.forget(pod)
        else:
            world.put(replace(pod, spec=replace(pod.spec, node_name=node)))


def change_pod(world: World, draw: Draw) -> None:
    """Have a running pod terminate, finish, be labelled or sized anew, or stay as it is."""
    pods = [pod for pod in world.on_nodes() if pod.spec.node_name]
    if not pods:
        return
    pod = draw.choice(pods)
    other = draw.choice(world.pool.pods)
    changed = {
        "terminates": replace(pod, metadata=_meta(pod, deletion_timestamp=SINCE)),
        "is labelled": replace(pod, metadata=_meta(pod, labels=pod_labels(draw))),
        "finishes": replace(pod, status=replace(pod.status, phase=draw.choice(["Succeeded", "Failed"]))),
        "is sized": replace(pod, spec=replace(pod.spec, containers=other.spec.containers)),
        "stays": replace(pod),
    }
    world.put(changed[draw.weighted({"terminates": 4, "is labelled": 2, "finishes": 1, "is sized": 2, "stays": 1})])


def _meta(pod: Pod, **changes: object) -> PodMeta:
    found: PodMeta = replace(pod.metadata, **changes)
    return found


def drop_pod(world: World, draw: Draw) -> None:
    """Have a pod go, wherever it is."""
    pods = list(world.pods())
    for pod in draw.some(pods, 3, least=1):
        world.drop(pod)


def empty(world: World, draw: Draw) -> None:
    """Have nearly all pods go at once."""
    share = draw.choice([0.6, 0.9, 1.0])
    for pod in list(world.pods()):
        if draw.chance(share):
            world.drop(pod)


# --- everything else -------------------------------------------------------------------------------------------------


def put_other(world: World, draw: Draw) -> None:
    """Have a namespace, service, owner, volume, claim, class, driver, capacity or attachment come or change."""
    if world.pool.others:
        world.put(draw.choice(world.pool.others))


def drop_other(world: World, draw: Draw) -> None:
    """Have one of them go."""
    others = world.others()
    if others:
        world.drop(draw.choice(others))


def try_and_take_back(world: World, draw: Draw) -> None:
    """Try a plan on the live table, and roll it back."""
    with Trial(world.table, cause="what if") as trial:
        for _ in range(draw.randint(1, 12)):
            try_something(world, trial, draw)


def try_something(world: World, trial: Trial, draw: Draw) -> None:
    """Place, evict or nominate a pod within a trial."""
    table = world.table
    rows = list(table.row_of.values())
    what = draw.weighted({"place": 4, "evict": 3, "nominate": 2, "reserve": 2})
    if what == "evict" and table.pods:
        trial.evict(draw.choice(list(table.pods)))
    elif what == "place" and rows:
        waiting = [one.pod for one in table.nominations.values() if world.waits(one.pod)]
        new = world.new_pod(draw.choice(world.pool.pods))
        trial.place(draw.choice(waiting) if waiting and draw.chance(0.3) else new, Row(draw.choice(rows)))
    elif what == "nominate" and rows:
        trial.nominate(world.new_pod(draw.choice(world.pool.pods)), Row(draw.choice(rows)))
    elif what == "reserve" and rows and (found := _reservation(world, draw)) is not None:
        trial.reserve(*found, Row(draw.choice(rows)))


def _reservation(world: World, draw: Draw) -> tuple[Pod, Reservation] | None:
    """Return a pod and volumes that it might be given, whether or not they suit it."""
    books = world.table.volumes
    free = [name for name, volume in books.volumes.entries.items() if volume.spec.claim_ref is None]
    pod = draw.choice(world.pool.pods)
    wants = [
        place
        for place, volume in enumerate(pod.spec.volumes)
        if volume.persistent_volume_claim is not None or volume.ephemeral is not None
        if f"{pod.metadata.namespace}/{claim_name(pod, place)}" in books.claims.entries
    ]
    if not wants:
        return None
    place, *others = draw.sample(wants, len(wants))
    bind = ((place, draw.choice(free)),) if free else ()
    return pod, Reservation(bind, tuple(others) if bind else (place, *others))


CHANGES: Final[dict[str, tuple[Change, float]]] = {
    "add node": (add_node, 5),
    "change node": (change_node, 8),
    "drop node": (drop_node, 2),
    "bind pod": (bind_pod, 8),
    "nominate pod": (nominate_pod, 3),
    "confirm pod": (confirm_pod, 10),
    "change pod": (change_pod, 10),
    "drop pod": (drop_pod, 14),
    "empty": (empty, 0.4),
    "put other": (put_other, 8),
    "drop other": (drop_other, 2),
    "try and take back": (try_and_take_back, 4),
}
"""Every change, and how often it comes up."""
