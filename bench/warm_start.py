"""Warm start: a running cluster's pods read and folded in, page by page, then the first decision with a new selector.

The clock runs over each page's decoding and folding in; writing the page is not counted.  Nodes, services, volumes and
claims are there before.  The first decision is the first of the process as well: reading the pod, asking, placing.
Not here: the other workloads (workloads.py, decisions.py).
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

from bayplan.api.decode import decode_pod
from bayplan.api.objects import Object
from bayplan.api.share import Sharer
from bayplan.cluster.fold import put
from bench.decisions import Round, UnsoundError
from bench.nodes import HOSTNAME, ZONE, machines, nodes
from bench.placing import Placing
from bench.storage import claim, storage_of, volume
from bench.templates import JOB, REPLICA_SET, STATEFUL_SET, Mould, Template, owners, waiting
from bench.workloads import FIRST_RUNNING, spread_apart, vectors

PODS: Final = 150_000
PAGE: Final = 500
SERVED, APART, WITH_PORTS, WITH_CLAIMS, PLAIN = 300, 50, 20, 50, 80  # templates


class Page(msgspec.Struct):
    """A list as the API server sends it; its items are decoded one by one, so that a bad one spoils no other."""

    items: list[msgspec.Raw]


class Start(NamedTuple):
    """What is there when pods begin to come."""

    objects: list[Object]
    pages: list[list[tuple[int, int, str]]]  # template, number, node
    moulds: list[Mould]


def start(rows: int) -> Start:
    """Lay out the cluster."""
    drawn = machines(rows)
    templates = list(_templates())
    placing, zone_of = Placing(drawn), {machine.name: machine.zone for machine in drawn}
    services = {template.labels["app"]: template.labels for template in templates[:SERVED]}
    objects = [*nodes(drawn), *storage_of(drawn), *owners(templates[:SERVED], services)]
    places = []
    for number in range(PODS):
        turn, which = divmod(number, len(templates))
        node = placing.node_for(templates[which], turn)
        places.append((which, FIRST_RUNNING + number, node))
        if templates[which].claim:
            name = f"{templates[which].claim}-{FIRST_RUNNING + number}"
            objects += [volume(f"pv-{name}", name, zone_of[node]), claim(name, f"pv-{name}")]
    pages = [places[begin : begin + PAGE] for begin in range(0, PODS, PAGE)]
    return Start(objects, pages, [Mould(template, runs=True) for template in templates])


def _templates() -> Iterator[Template]:
    sizes = vectors(SERVED + APART + WITH_PORTS + WITH_CLAIMS + PLAIN, 12)
    for number, (cpu, memory) in enumerate(sizes):
        name = f"w{number}"
        template = Template(owner=name, image=name, kind=REPLICA_SET, cpu_milli=cpu // 5, memory_bytes=memory // 4,
                            labels={"app": f"a{number}", "tier": f"t{number % 7}"})  # fmt: skip
        after = number - SERVED
        if after < 0:
            yield template
        elif after < APART:
            yield msgspec.structs.replace(template, spec={"affinity": spread_apart(number)["affinity"]})
        elif after < APART + WITH_PORTS:
            yield msgspec.structs.replace(template, host_port=9000 + number)
        elif after < APART + WITH_PORTS + WITH_CLAIMS:
            yield msgspec.structs.replace(template, kind=STATEFUL_SET, claim=f"data-{name}")
        else:
            yield msgspec.structs.replace(template, kind=JOB)


class Warm(NamedTuple):
    """What one round took, in CPU time."""

    folding_s: float
    first_decision_ms: float
    decode_us: float


def warm(given: Start) -> Warm:
    """Fold the pods in, then decide once."""
    round_ = Round(given.objects)
    table, share, page_of = round_.table, Sharer().share, msgspec.json.Decoder(Page).decode
    folding_s = 0.0
    gc.collect()
    gc.disable()
    for page in given.pages:
        raw = b'{"apiVersion":"v1","kind":"PodList","metadata":{"resourceVersion":"1"},"items":[%s]}' % b",".join(
            given.moulds[which].raw(number, node) for which, number, node in page
        )
        begin = time.process_time()
        for item in page_of(raw).items:
            put(table, share(decode_pod(bytes(item))))
        folding_s += time.process_time() - begin
    if len(table.pods) != PODS:
        raise UnsoundError(f"expected {PODS:,} pods to run, got {len(table.pods):,}")
    [newcomer] = waiting([_newcomer()], 1)
    begin = time.process_time()
    message = round_.decide(newcomer)
    first_decision_ms = 1000 * (time.process_time() - begin)
    gc.enable()
    if message is not None:
        raise UnsoundError(f"expected the first pod to fit, got: {message}")
    return Warm(folding_s, first_decision_ms, decoding_us(given))


def decoding_us(given: Start) -> float:
    """Decode the first pods once more, each as it came, nothing shared; return what one takes in CPU time."""
    pods = [given.moulds[which].raw(number, node) for page in given.pages[:4] for which, number, node in page]
    begin = time.process_time()
    for raw in pods:
        decode_pod(raw)
    return 1e6 * (time.process_time() - begin) / len(pods)


def _newcomer() -> Template:
    """Return a pod whose selectors nobody has used: even over zones among many, one to a node among its own."""
    many = {"matchExpressions": [{"key": "tier", "operator": "In", "values": ["t1", "t3"]}]}
    own = {"matchLabels": {"app": "newcomer"}}
    even = {"maxSkew": 1000, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": many}
    apart = {"requiredDuringSchedulingIgnoredDuringExecution": [{"labelSelector": own, "topologyKey": HOSTNAME}]}
    spec = {"topologySpreadConstraints": [even], "affinity": {"podAntiAffinity": apart}}
    return Template(owner="newcomer", image="newcomer", kind=JOB, cpu_milli=100, memory_bytes=1 << 27,
                    labels={"app": "newcomer"}, spec=spec)  # fmt: skip
