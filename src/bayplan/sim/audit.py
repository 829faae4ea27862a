"""The audit: an independent referee: it recounts everything from the API's objects and shares no code with the table.

It hears the same events as the scheduler and sees its effects.  A binding that is asked for must be good as far as the
scheduler could know: room, number of pods, ports, taints, labels, and volumes used once; what was asked for and is not
settled yet counts.
Invariant: it imports what Kubernetes says, and nothing of ours that decides.
Not here: spread and affinity, which are no promise of safety.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from bayplan.api.messages import (
    Answered,
    AnyEffect,
    Ask,
    Bind,
    BindVolume,
    Ended,
    Ending,
    Event,
    Evict,
    Gone,
    Listed,
    Nominate,
    Record,
    Seen,
)
from bayplan.api.objects import Meta, Node, Object, Pod, Taint, Toleration
from bayplan.api.quantity import nanos

KEPT_OUT = frozenset({"NoSchedule", "NoExecute"})
ENDED = frozenset({"Succeeded", "Failed"})
CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


class Audit:
    """What a scheduler was told, and what it asked for."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._pods: dict[tuple[str, str], Pod] = {}
        self._sent: dict[str, tuple[Bind, Pod]] = {}  # by uid: bindings asked for that are not settled
        self._held: dict[str, tuple[Nominate, Pod]] = {}  # by uid: those whose volumes are being bound first
        self._volumes: dict[str, BindVolume] = {}  # by volume: asked for, not settled
        self._by_write: dict[int, Bind | BindVolume] = {}
        self._asks: dict[int, Ask] = {}
        self._doubts: dict[str, list[str]] = {}  # by uid: what is wrong with where it is held, unless it failed
        self._begun: set[str] = set()  # groups of which some were sent off

    # -- what the scheduler hears

    def hear(self, event: Event) -> None:
        """Take in an event."""
        match event:
            case Seen():
                self._put(event.thing)
            case Gone():
                self._drop(event.thing)
            case Listed():
                self._list(event)
            case Answered():
                if event.thing is not None:
                    self._put(event.thing)
                if not event.has_failed:
                    self._answered(event.write)
            case Ended() if event.ending is Ending.REFUSED:
                self._settle(event.write)
            case _:
                pass

    def _list(self, event: Listed) -> None:
        if event.kind == "Pod":
            self._pods.clear()
        elif event.kind == "Node":
            self._nodes.clear()
        for thing in event.things:
            self._put(thing)
        if event.kind == "Pod":
            here = {pod.metadata.uid for pod in self._pods.values()}
            for uid in (self._sent.keys() | self._held.keys()) - here:
                self._sent.pop(uid, None)
                self._let_go(uid)

    def _put(self, thing: Object) -> None:
        if isinstance(thing, Node):
            self._nodes[thing.metadata.name] = thing
        elif isinstance(thing, Pod):
            key = _key(thing.metadata)
            known = self._pods.get(key)
            if known is not None and known.metadata.uid != thing.metadata.uid:
                self._sent.pop(known.metadata.uid, None)
                self._let_go(known.metadata.uid)
            if known is None or int(known.metadata.resource_version) <= int(thing.metadata.resource_version):
                self._pods[key] = thing
            if thing.metadata.deletion_timestamp is not None:
                self._let_go(thing.metadata.uid)
            if thing.spec.node_name or thing.status.phase in ENDED:
                self._sent.pop(thing.metadata.uid, None)
                self._let_go(thing.metadata.uid)

    def _drop(self, thing: Object) -> None:
        if isinstance(thing, Node):
            self._nodes.pop(thing.metadata.name, None)
        elif isinstance(thing, Pod):
            known = self._pods.get(_key(thing.metadata))
            if known is not None and known.metadata.uid == thing.metadata.uid:
                del self._pods[_key(thing.metadata)]
            self._sent.pop(thing.metadata.uid, None)
            self._let_go(thing.metadata.uid)

    def _settle(self, write: int) -> None:
        effect = self._by_write.pop(write, None)
        if isinstance(effect, Bind):
            sent = self._sent.get(effect.uid)
            if sent is not None and sent[0].write == effect.write:
                del self._sent[effect.uid]
        elif isinstance(effect, BindVolume):
            self._volumes.pop(effect.volume, None)

    def _let_go(self, uid: str) -> None:
        """Forget what a pod was to have whose attempt is over; what is still written meets a conflict, if it must."""
        self._held.pop(uid, None)
        self._doubts.pop(uid, None)
        for volume in [volume for volume, effect in self._volumes.items() if effect.uid == uid]:
            del self._volumes[volume]

    def _answered(self, write: int) -> None:
        ask = self._asks.pop(write, None)
        if ask is not None and ask.kind == "Pod":
            self._sent.pop(ask.uid, None)
        elif ask is not None:
            self._volumes.pop(ask.of, None)

    # -- what it does

    def judge(self, effect: AnyEffect) -> Iterator[str]:
        """Name what is wrong with an effect."""
        if not effect.cause:
            yield f"{effect} has no cause"
        match effect:
            case Ask():
                self._asks[effect.write] = effect
            case BindVolume():
                yield from self._judge_volume(effect)
            case Record(reason="FailedScheduling"):
                self._let_go(effect.uid)
            case Record(reason="Scheduled"):
                yield from self._judge_claim(effect)
            case Nominate():
                self._hold(effect)
            case Bind():
                yield from self._judge_binding(effect)
            case Evict():
                yield from self._judge_eviction(effect)
            case _:
                pass

    def _judge_eviction(self, effect: Evict) -> Iterator[str]:
        pod = self._pods.get((effect.namespace, effect.name))
        if pod is None or pod.metadata.uid != effect.uid or pod.spec.node_name != effect.node:
            yield f"{effect} is about a pod that does not run there"
        elif pod.metadata.deletion_timestamp is not None:
            yield f"{effect} is about a pod that is leaving"

    def _judge_volume(self, effect: BindVolume) -> Iterator[str]:
        other = self._volumes.get(effect.volume, effect)
        if other.claim_uid != effect.claim_uid:
            yield f"volume {effect.volume} is asked for twice: for {other.claim} and {effect.claim}"
        self._volumes[effect.volume] = effect
        self._by_write[effect.write] = effect

    def _judge_binding(self, effect: Bind) -> Iterator[str]:
        pod, node = self._pods.get((effect.namespace, effect.name)), self._nodes.get(effect.node)
        if pod is None or pod.metadata.uid != effect.uid:
            yield f"{effect} is about a pod that nobody has told of"
            return
        if pod.spec.node_name:
            yield f"{effect} is about a pod that was seen on {pod.spec.node_name}"
        if effect.uid in self._sent:
            yield f"{effect} comes while another is not settled: {self._sent[effect.uid][0]}"
        held = self._held.pop(effect.uid, None)
        if held is not None and held[0].node != effect.node:
            yield f"{effect} is not where its volumes were bound for: {held[0].node}"
        elif held is None and node is not None:
            yield from self._misfits(pod, node)
        self._sent[effect.uid] = (effect, pod)
        self._by_write[effect.write] = effect

    def _judge_claim(self, effect: Record) -> Iterator[str]:
        """Doubt a pod that is said to be scheduled, though it has no node and no binding that may yet succeed."""
        pod = self._pods.get((effect.namespace, effect.name))
        is_known = pod is not None and pod.metadata.uid == effect.uid
        if pod is not None and is_known and not pod.spec.node_name and effect.uid not in self._sent:
            yield f"{effect.name} is said to be scheduled, but its binding was refused"

    def _hold(self, effect: Nominate) -> None:
        """Count a pod in from when its volumes are about to be bound; one that failed is only hoping for room."""
        pod, node = self._pods.get((effect.namespace, effect.name)), self._nodes.get(effect.node)
        if pod is None or not effect.node:
            self._let_go(effect.uid)
            return
        if node is not None:
            self._doubts[effect.uid] = list(self._misfits(pod, node))
        self._held[effect.uid] = (effect, pod)

    def _there(self, name: str) -> list[Pod]:
        there = {
            pod.metadata.uid: pod
            for pod in self._pods.values()
            if pod.spec.node_name == name and pod.status.phase not in ENDED
        }
        there |= {uid: pod for uid, (bind, pod) in self._sent.items() if bind.node == name}
        there |= {uid: pod for uid, (held, pod) in self._held.items() if held.node == name}
        return list(there.values())

    def judge_doubts(self) -> Iterator[str]:
        """Name what is wrong with pods held in this turn whose attempts did not fail in it."""
        for doubts in self._doubts.values():
            yield from doubts
        self._doubts.clear()

    def judge_groups(self, effects: Sequence[AnyEffect], name: str, size: str) -> Iterator[str]:
        """Name groups, by two labels, of which only some are sent off the first time that any is."""
        binds = (effect for effect in effects if isinstance(effect, Bind))
        for bind in binds:
            pod = self._pods.get((bind.namespace, bind.name))
            group = pod.metadata.labels.get(name) if pod is not None else None
            if pod is None or not group or group in self._begun:
                continue
            self._begun.add(group)
            members = [one for one in self._pods.values() if one.metadata.labels.get(name) == group]
            placed = sum(bool(one.spec.node_name) or one.metadata.uid in self._sent for one in members)
            if placed < int(pod.metadata.labels[size]):
                yield f"only {placed} of group {group} go, of {pod.metadata.labels[size]}"

    def _misfits(self, pod: Pod, node: Node) -> Iterator[str]:
        name, there = node.metadata.name, self._there(node.metadata.name)
        where = f"{pod.metadata.namespace}/{pod.metadata.name} to {name}"
        asked, taken = requests_of(pod), Counter[str]()
        for other in there:
            taken.update(requests_of(other))
        room = {resource: nanos(amount) for resource, amount in node.status.allocatable.items()}
        for resource, amount in asked.items():
            if amount and taken[resource] + amount > room.get(resource, 0):
                yield f"{where}: {resource} is overcommitted: {taken[resource]} + {amount} > {room.get(resource, 0)}"
        if (len(there) + 1) * 10**9 > room.get("pods", 0):
            yield f"{where}: {len(there)} pods are there, and no room for another"
        held = {port for other in there for port in ports_of(other)}
        if held & ports_of(pod):
            yield f"{where}: host ports {sorted(held & ports_of(pod))} are taken"
        taints = (*node.spec.taints, *((CORDON,) if node.spec.unschedulable else ()))
        for taint in taints:
            if taint.effect in KEPT_OUT and not any(_bears(one, taint) for one in pod.spec.tolerations):
                yield f"{where}: taint {taint.key} is not tolerated"
        for key, value in (pod.spec.node_selector or {}).items():
            if node.metadata.labels.get(key) != value:
                yield f"{where}: label {key} is not {value}"


def requests_of(pod: Pod) -> Mapping[str, int]:
    """Add up what a pod of plain containers asks for, in billionths."""
    total: Counter[str] = Counter()
    for container in pod.spec.containers:
        for resource, amount in (container.resources.requests or {}).items():
            total[resource] += nanos(amount)
    return total


def ports_of(pod: Pod) -> frozenset[tuple[int, str]]:
    """Return the host ports that a pod takes."""
    ports = (port for container in pod.spec.containers for port in container.ports)
    return frozenset((port.host_port, port.protocol or "TCP") for port in ports if port.host_port)


def _bears(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect not in {"", taint.effect} or toleration.key not in {"", taint.key}:
        return False
    return toleration.operator == "Exists" or toleration.value == taint.value


def _key(meta: Meta) -> tuple[str, str]:
    return meta.namespace, meta.name


def overcommitted(nodes: Iterable[Node], pods: Iterable[Pod]) -> Iterator[str]:
    """Name every node that holds more than it has: what any moment of a cluster is asked, whoever made it."""
    there: dict[str, list[Pod]] = {}
    for pod in pods:
        if pod.spec.node_name and pod.status.phase not in ENDED:
            there.setdefault(pod.spec.node_name, []).append(pod)
    for node in nodes:
        name, held = node.metadata.name, there.get(node.metadata.name, [])
        taken = Counter[str]()
        for pod in held:
            taken.update(requests_of(pod))
        room = {resource: nanos(amount) for resource, amount in node.status.allocatable.items()}
        for resource, amount in taken.items():
            if amount > room.get(resource, 0):
                yield f"{name}: {resource} is overcommitted: {amount} > {room.get(resource, 0)}"
        if len(held) * 10**9 > room.get("pods", 0):
            yield f"{name}: {len(held)} pods are there"
        ports = Counter(port for pod in held for port in ports_of(pod))
        for port, count in ports.items():
            if count > 1:
                yield f"{name}: host port {port} is taken {count} times"
