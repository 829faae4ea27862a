"""The workloads: for each name in workloads.toml (warm-start apart), its scene.

Request vectors come from a generator of a given seed, always drawn in the same order, so that figures can be compared
from one day to the next.
Not here: thresholds (workloads.toml), how nodes and pods are written (nodes.py, templates.py), warm-start
(warm_start.py).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any, Final

from bayplan.api.decode import decode_pod
from bayplan.api.objects import Pod
from bayplan.api.share import Sharer
from bench.nodes import HOSTNAME, ZONE, Machine, machines, nodes
from bench.placing import Placing
from bench.scenes import Change, Scene
from bench.storage import claims_for, storage_of
from bench.templates import JOB, REPLICA_SET, STATEFUL_SET, Mould, Template, owners, waiting

MIB: Final = 1 << 20
GIB: Final = 1 << 30
FIRST_RUNNING: Final = 1_000_000  # running pods are numbered from here

Vector = tuple[int, int]  # cpu milli, memory bytes
Spec = dict[str, Any]


def scene(name: str, rows: int) -> Scene:
    """Make a workload's scene over so many nodes."""
    return SCENES[name](machines(rows))


# --- pods that no selector speaks of ----------------------------------------------------------------------------------


def one_shape(drawn: Sequence[Machine]) -> Scene:
    """All pods are of one job."""
    return Scene(nodes(drawn), waiting([job(0, (100, 200 * MIB))], 20_000))


def thousand_shapes(drawn: Sequence[Machine]) -> Scene:
    """200 vectors, each with five sets of constraints."""
    luck = random.Random(2)
    vectors = [(luck.randrange(50, 1000, 10), luck.randrange(64, 2048, 8) * MIB) for _ in range(200)]
    jobs = [job(number, vector, spec) for number, (vector, spec) in enumerate(product(vectors, CONSTRAINTS))]
    return Scene(nodes(drawn), waiting(jobs, 20_000))


def new_shapes(drawn: Sequence[Machine]) -> Scene:
    """Each pod is its own job's, with a vector of its own."""
    luck = random.Random(3)
    jobs = [job(number, (luck.randrange(10, 1000), luck.randrange(MIB, 2 * GIB))) for number in range(4000)]
    return Scene(nodes(drawn), waiting(jobs, len(jobs)))


def no_fit(drawn: Sequence[Machine]) -> Scene:
    """Each pod asks for more than any node has; before each decision a small pod comes to a row, or goes."""
    number = 2000
    large = [(20_000, 16 * MIB), (100, 100 * GIB)]
    jobs = [job(place, vector, spec) for place, (vector, spec) in enumerate(product(large, CONSTRAINTS))]
    luck, small = random.Random(10), Mould(job(len(jobs), (100, 200 * MIB)), runs=True)
    changes = []
    for place in range(number // 2):
        pod = decode_pod(small.raw(FIRST_RUNNING + place, luck.choice(drawn).name))
        changes += [Change(pod), Change(pod, is_gone=True)]
    return Scene(nodes(drawn), waiting(jobs, number), changes, fits=False)


def job(number: int, vector: Vector, spec: Spec | None = None) -> Template:
    """Return a Job's template."""
    name = f"job-{number}"
    labels = {"batch.kubernetes.io/job-name": name, "job-name": name}
    return Template(owner=name, image="work", kind=JOB, cpu_milli=vector[0], memory_bytes=vector[1], labels=labels,
                    spec=spec or {})  # fmt: skip


def _tolerating(*keys: str) -> Spec:
    return {"tolerations": [{"key": key, "operator": "Exists"} for key in keys]}


def _preferring(*wishes: tuple[int, str, str]) -> Spec:
    terms = [
        {"weight": weight, "preference": {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}}
        for weight, key, value in wishes
    ]
    return {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}}


CONSTRAINTS: Final[tuple[Spec, ...]] = (
    {},
    {"nodeSelector": {"disk": "ssd"}},
    _tolerating("gpu") | _preferring((10, "disk", "ssd"), (5, "pool", "p1")),
    _preferring((20, "pool", "p2")),
    _tolerating("spot", "gpu") | {"nodeSelector": {"pool": "p0"}},
)


# --- pods of services -------------------------------------------------------------------------------------------------


def services(drawn: Sequence[Machine]) -> Scene:
    """Spread by the system's defaults."""
    return _of_services(drawn, [deployment(number, vector) for number, vector in enumerate(vectors(20, 4))])


def hard_spread(drawn: Sequence[Machine]) -> Scene:
    """Spread over zones by a hard constraint, and one to a node."""
    pairs = enumerate(vectors(20, 5))
    return _of_services(drawn, [deployment(number, vector, spread_apart(number)) for number, vector in pairs])


def scoped_spread(drawn: Sequence[Machine]) -> Scene:
    """As hard_spread, but every other service counts only the nodes that it may use."""
    pairs = enumerate(vectors(20, 5))
    specs = ({"nodeSelector": {"disk": "ssd"}} | spread_apart(number, honours_taints=True) if number % 2
             else spread_apart(number) for number in range(20))  # fmt: skip
    return _of_services(
        drawn, [deployment(number, vector, spec) for (number, vector), spec in zip(pairs, specs, strict=True)]
    )


def preferred_affinity(drawn: Sequence[Machine]) -> Scene:
    """Each service likes the zones of another one's pods."""
    pairs = enumerate(vectors(20, 6))
    return _of_services(drawn, [deployment(number, vector, liking(number // 2)) for number, vector in pairs])


def churn(drawn: Sequence[Machine]) -> Scene:
    """Fill the house; before each decision a running pod goes, and its owner makes another."""
    number, decisions = 60_000, 9000
    vector = vectors(200, 8)
    kinds: Sequence[Callable[[int], Spec]] = (lambda _: {}, spread_apart, lambda number: liking(number // 2))
    templates = [deployment(place, vector[place % 200], kinds[place % 3](place)) for place in range(300)]
    there = running(templates, number, Placing(drawn))
    owner_of = [place % len(templates) for place in range(number)]
    luck, share, moulds = random.Random(9), Sharer().share, [Mould(template) for template in templates]
    alive, new, changes = list(there), [], []
    for place in range(decisions):
        at = luck.randrange(number)
        changes.append(Change(alive[at], is_gone=True))
        alive[at] = share(decode_pod(moulds[owner_of[at]].raw(place)))
        new.append(alive[at])
    return Scene([*nodes(drawn), *owners(templates, services_of(templates)), *there], new, changes)


def stateful(drawn: Sequence[Machine]) -> Scene:
    """Each pod with a name label and a claim of its own; volumes are made where the pod goes."""
    number, sets = 5000, 10
    templates = [_stateful_set(place, vector) for place, vector in enumerate(vectors(sets, 11))]
    pods = waiting(templates, number)
    objects = [*nodes(drawn), *storage_of(drawn), *owners(templates, services_of(templates))]
    return Scene([*objects, *claims_for(pods)], pods)


def running(templates: Sequence[Template], number: int, placing: Placing) -> list[Pod]:
    """Read running pods, of some templates in turn."""
    share, moulds = Sharer().share, [Mould(template, runs=True) for template in templates]
    there = []
    for place in range(number):
        turn, which = divmod(place, len(templates))
        node = placing.node_for(templates[which], turn)
        there.append(share(decode_pod(moulds[which].raw(FIRST_RUNNING + place, node))))
    return there


def vectors(number: int, seed: int) -> list[Vector]:
    """Draw request vectors."""
    luck = random.Random(seed)
    return [(luck.randrange(50, 800, 10), luck.randrange(64, 1600, 8) * MIB) for _ in range(number)]


def spread_apart(number: int, *, honours_taints: bool = False) -> Spec:
    """Constrain a service to be even over zones, and to one pod on a node."""
    alike = {"matchLabels": {"app": f"a{number}"}}
    even: Spec = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": alike}
    if honours_taints:
        even["nodeTaintsPolicy"] = "Honor"
    apart = [{"labelSelector": alike, "topologyKey": HOSTNAME}]
    return {
        "topologySpreadConstraints": [even],
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": apart}},
    }


def liking(other: int) -> Spec:
    """Prefer the zones where pods of a service are."""
    term = {"labelSelector": {"matchLabels": {"app": f"a{other}"}}, "topologyKey": ZONE}
    wishes = [{"weight": 50, "podAffinityTerm": term}]
    return {"affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": wishes}}}


def _of_services(drawn: Sequence[Machine], templates: Sequence[Template]) -> Scene:
    objects = [*nodes(drawn), *owners(templates, services_of(templates))]
    return Scene(objects, waiting(templates, 20_000))


def deployment(number: int, vector: Vector, spec: Spec | None = None) -> Template:
    """Return the template of a Deployment's newest ReplicaSet."""
    revision = f"{number:03}c9f6b7d5"
    labels = {"app": f"a{number}", "pod-template-hash": revision}
    return Template(owner=f"a{number}-{revision}", image=f"a{number}", kind=REPLICA_SET, cpu_milli=vector[0],
                    memory_bytes=vector[1], labels=labels, spec=spec or {})  # fmt: skip


def _stateful_set(number: int, vector: Vector) -> Template:
    name = f"s{number}"
    own = {"statefulset.kubernetes.io/pod-name": f"{name}-@number@", "apps.kubernetes.io/pod-index": "@number@",
           "controller-revision-hash": f"{name}-7d9c5b6f4"}  # fmt: skip
    return Template(owner=name, image=name, kind=STATEFUL_SET, cpu_milli=vector[0], memory_bytes=vector[1],
                    labels={"app": name}, own_labels=own, claim=f"data-{name}")  # fmt: skip


def services_of(templates: Iterable[Template]) -> Mapping[str, Mapping[str, str]]:
    """Return a service for each template, by name and selector."""
    return {template.labels["app"]: {"app": template.labels["app"]} for template in templates}


SCENES: Final[Mapping[str, Callable[[Sequence[Machine]], Scene]]] = {
    "one-shape": one_shape,
    "thousand-shapes": thousand_shapes,
    "new-shapes": new_shapes,
    "services": services,
    "hard-spread": hard_spread,
    "scoped-spread": scoped_spread,
    "preferred-affinity": preferred_affinity,
    "stateful": stateful,
    "churn": churn,
    "no-fit": no_fit,
}
