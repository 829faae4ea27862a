"""The world: a core, a simulated API server, a clock that jumps, and what goes wrong between them, all from a seed.

Events come late, twice, in another order across kinds, or are lost until a list tells all; writes fail before or after
they are applied, or nobody hears of them; the scheduler crashes and starts anew; another believes that it leads; others
create, change, delete and bind what they like; the volume controller takes its time; an exception of our own happens
inside a step.
Invariant: one seed is one history.
Not here: judging it (audit.py, tests/histories).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import NamedTuple

from msgspec.structs import replace

from bayplan.api.claims import ObjectReference, PersistentVolumeClaim
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
    Listed,
    Nominate,
    SelectNode,
    Stop,
)
from bayplan.api.objects import Node, Pod
from bayplan.core.queue import PARKED, WAITED_LONG, Settings
from bayplan.core.scheduler import Core, Turn
from bayplan.core.settings import CoreSettings
from bayplan.framework.profile import DEFAULT_SCHEDULER, Profile
from bayplan.sim import draws
from bayplan.sim.audit import Audit
from bayplan.sim.server import BIND_COMPLETED, SELECTED_NODE, Server

KINDS = ("Node", "StorageClass", "PersistentVolume", "PersistentVolumeClaim", "Pod")
QUIET_MS = 60_000
TURNS_MAX = 20_000
GROUPED_MOST = 30
FULL_SHARE = 0.25  # of histories that begin with little room
FILLED_MOST = 12  # pods a node is filled with
CROWDED_SHARE = 0.05  # of histories that begin with hundreds of pods
CROWDS = (150, 300, 500)
CRASHES_MOST = 3
NEEDLESS_SHARE = 0.1  # of histories in which those who wait are also tried for no reason, and never with success
LEFT_OVER_MS = 60_000
EVERYBODY = "everybody is woken"
WOKEN_SHARE = 0.1  # of idle turns after which everybody is


class Rates(NamedTuple):
    """How often what goes wrong."""

    write: float = 0.0  # a write fails, or nobody hears of it
    lost: float = 0.0  # an event is lost, and all after it until the next list
    repeated: float = 0.0  # a stream is told again from a little earlier
    bug: float = 0.0  # an exception of our own, per step

    @classmethod
    def drawn(cls, luck: Random) -> Rates:
        """Draw rates from a thousandth to a fifth."""
        rate = 10 ** luck.uniform(-3.0, -0.7)
        return cls(rate, rate / 4, rate, 0.002 if luck.random() < 0.05 else 0.0)


class Tripped(Exception):
    """The exception of our own that a history asks for."""


class Watched(Core):
    """A core in which some step raises, at its beginning or at its end, and that tells who was tried for no reason."""

    trips: Callable[[], bool] = staticmethod(lambda: False)

    def __init__(self, profiles: Mapping[str, Profile], *, seed: int, with_settings: CoreSettings) -> None:
        super().__init__(profiles, seed=seed, with_settings=with_settings)
        self._needless: set[str] = set()  # since then nothing has happened that might have helped them
        self.missed: list[str] = []  # those of them who found a node: somebody forgot to wake them

    def _step(self) -> int:
        if self.trips():
            raise Tripped("before a step")
        if self._inbox:
            self._needless.clear()
        cost = super()._step()
        for uid in sorted(self._needless & self.binding.flights.keys()):
            self.missed.append(f"{uid} waited, but fits on {self.binding.flights[uid].node}: {self.stories.of(uid)}")
        if self.missed or self.intake.has_changes:
            self._needless.clear()
        if cost and self.trips():
            raise Tripped("after a step")
        return cost

    def tell(self, uid: str, what: str, why: str = "") -> None:
        """Add a line to a pod's story, and see whether it says that there is no reason."""
        super().tell(uid, what, why)
        if why in {WAITED_LONG, EVERYBODY}:
            self._needless.add(uid)

    def wake_everybody(self) -> None:
        """Have everybody tried who waits for a change or is held back; whom a rule at permit let go may come back."""
        for waiting in self.queue.all.values():
            self.queue.wake(waiting, EVERYBODY, self.now_ms)


class World:
    """One history."""

    def __init__(self, seed: str, profiles: Mapping[str, Profile], *, with_groups: bool = False) -> None:
        self.luck = Random(seed)
        self.profiles = profiles
        self.server = Server()
        self.counts: Counter[str] = Counter()
        self.now_ms = 1_000_000
        self.rates = Rates.drawn(self.luck)
        self.templates = draws.templates(self.luck, with_groups=with_groups)
        self.audit = Audit()
        self.is_needless = self.luck.random() < NEEDLESS_SHARE
        self.core = self._new_core()
        self.wrong: list[str] = []
        self.effects: list[AnyEffect] = []
        self._writes: list[tuple[int, int, AnyEffect]] = []  # when it arrives, in which order, what
        self._results: list[tuple[int, int, Event]] = []
        self._ready: dict[str, int] = {}  # by kind: until when its stream is late
        self._told: dict[str, list[Event]] = {}  # by kind: the last of its events
        self._deaf: dict[str, int] = {}  # kinds that hear nothing until they are listed
        self._sent = 0
        self._pods = 0
        self._to_come: list[Pod] = []  # of groups that are not complete
        self._nodes = 0

    def _new_core(self) -> Watched:
        with_settings = CoreSettings(Settings(left_over_ms=LEFT_OVER_MS if self.is_needless else None))
        core = Watched(self.profiles, seed=self.luck.randrange(100), with_settings=with_settings)
        core.trips = lambda: self.luck.random() < self.rates.bug  # each history has its own luck
        return core

    # -- one history

    def live(self, steps: int, steps_most: int) -> Iterator[Turn]:
        """Let a history happen, or its first steps, then let it come to rest; hand out every turn."""
        size = self.luck.choice((1, 3, 5, 8, 8, 12, 12, 20, 20, 40, 100, 200))
        self.server.put(draws.storage_class())
        for _ in range(size):
            self._add_node()
        if self.luck.random() < FULL_SHARE:
            self._fill()
        if self.luck.random() < CROWDED_SHARE:
            self._crowd(self.luck.choice(CROWDS))
        crashes = Counter(self.luck.randrange(steps) for _ in range(self.luck.randint(0, CRASHES_MOST)))
        yield from self._start()
        for step in range(min(steps, steps_most)):
            for _ in range(self.luck.choice((0, 1, 1, 2, 5))):
                self._something()
            self.now_ms += self.luck.choice((0, 1, 20, 300, 1500, 12_000))
            for _ in range(crashes[step]):
                self.counts["fault: crash"] += 1
                yield from self._crash()
            turn = self._turn(self._heard(), self.luck.choice((1, 2, 5, 20, 100, 1000)))
            yield turn
            if self.is_needless and turn.is_idle and self.luck.random() < WOKEN_SHARE:
                yield self._woken()
        yield from self._rest()

    def _rest(self) -> Iterator[Turn]:
        """Let nothing more go wrong, list everything, and wait until nobody has anything to do."""
        self.rates = Rates()
        self._deaf.clear()
        for count in range(TURNS_MAX):
            events: list[Event] = [self.server.listed(kind) for kind in KINDS] if count in {0, 100} else []
            turn = self._turn([*events, *self._heard()], 1000)
            yield turn
            is_quiet = not self._writes and not self._results and not any(self.server.streams.values())
            is_quiet = is_quiet and not self._ending()
            if turn.is_idle and is_quiet and count > 110 and self._is_settled(turn):
                if self.is_needless:
                    yield self._woken()
                return
            due = [*(when for when, *_ in (*self._writes, *self._results)), *self._ready.values()]
            due = [when for when in due if when > self.now_ms]
            if turn.is_idle:
                soon = min([*due, turn.wake_at_ms or self.now_ms + 1000, self.now_ms + QUIET_MS])
                self.now_ms = max(self.now_ms + 1, soon)
        self.wrong.append("it did not come to rest")

    def _is_settled(self, turn: Turn) -> bool:
        if self.is_needless:  # there is always another time at which some will have waited long
            return not self.core.binding.flights and self.core.queue.places().keys() <= PARKED
        return turn.wake_at_ms is None or turn.wake_at_ms > self.now_ms + QUIET_MS

    def _woken(self) -> Turn:
        """Wake everybody, while nothing happens."""
        self.counts["everybody woken"] += 1
        self.core.wake_everybody()
        return self._turn([], 10_000)

    def _start(self) -> Iterator[Turn]:
        for kind in KINDS:
            yield self._turn([self.server.listed(kind)], 10_000)

    def _crash(self) -> Iterator[Turn]:
        """Lose everything that is not the API server's; what was on its way arrives, or not."""
        for _, _, effect in sorted(self._writes, key=lambda one: one[:2]):
            if self.luck.random() < 0.5:
                self.server.write(effect)
        self._writes.clear()
        self._results.clear()
        self._deaf.clear()
        self._told.clear()
        self.core, self.audit = self._new_core(), Audit()
        yield from self._start()

    def _turn(self, events: list[Event], budget: int) -> Turn:
        for event in events:
            self.counts[f"event: {type(event).__name__}"] += 1
            self.audit.hear(event)
        turn = self.core.turn(events, self.now_ms, budget)
        if turn.fault:
            self.counts["fault: exception of our own"] += 1
            if "Tripped" not in turn.fault:
                self.wrong.append(f"turn {turn.number}: {turn.fault}")
        self.effects += turn.effects
        for effect in turn.effects:
            self.counts[f"effect: {type(effect).__name__}"] += 1
            self.wrong += self.audit.judge(effect)
            if not isinstance(effect, Stop):
                self._sent += 1
                self._writes.append((self.now_ms + self.luck.choice((0, 5, 50, 2000)), self._sent, effect))
        self.wrong += self.core.missed
        self.core.missed.clear()
        self.wrong += self.audit.judge_doubts()
        self.wrong += self.audit.judge_groups(turn.effects, draws.GROUP, draws.SIZE)
        return turn

    # -- between the core and the server

    def _heard(self) -> list[Event]:
        """Carry out what has arrived, and return what the scheduler hears now."""
        self._arrive()
        self._control_volumes()
        self._end_pods()
        heard = [event for when, _, event in sorted(self._results, key=lambda one: one[:2]) if when <= self.now_ms]
        self._results = [one for one in self._results if one[0] > self.now_ms]
        for kind in self.luck.sample(KINDS, len(KINDS)):
            heard += self._from_stream(kind)
        return heard

    def _from_stream(self, kind: str) -> list[Event]:
        stream, luck = self.server.streams.get(kind), self.luck
        if kind in self._deaf:
            if stream is not None:
                stream.clear()
            if self._deaf[kind] > self.now_ms:
                return []
            del self._deaf[kind]
            self._told.pop(kind, None)
            return [self.server.listed(kind)]
        if not stream or self._ready.get(kind, 0) > self.now_ms:
            return []
        self._ready[kind] = self.now_ms + luck.choice((0, 0, 10, 500, 4000))
        if luck.random() < self.rates.lost:
            self.counts["fault: events lost"] += 1
            self._deaf[kind] = self.now_ms + luck.choice((10, 5000, 40_000))
            return []
        told = self._told.setdefault(kind, [])
        news = list(stream)[: luck.choice((1, 3, 1000))]
        for _ in news:
            stream.popleft()
        again: list[Event] = []
        if luck.random() < self.rates.repeated:
            self.counts["fault: events repeated"] += 1
            again = told[-luck.randint(1, 5) :]
        told += news
        del told[:-10]
        return [*again, *news]

    def _arrive(self) -> None:
        due = sorted((one for one in self._writes if one[0] <= self.now_ms), key=lambda one: one[:2])
        self._writes = [one for one in self._writes if one[0] > self.now_ms]
        for _, number, effect in due:
            if isinstance(effect, Ask):
                self._answer(effect, number)
                continue
            ending, text = self._carried_out(effect)
            if not isinstance(effect, Stop) and effect.write:
                self._result(Ended(cause="write", write=effect.write, ending=ending, text=text), number)
                if self.luck.random() < self.rates.repeated:
                    self.counts["fault: result told twice"] += 1
                    self._result(Ended(cause="write", write=effect.write, ending=ending, text=text), number)

    def _carried_out(self, effect: AnyEffect) -> tuple[Ending, str]:
        if self.luck.random() >= self.rates.write:
            ending = self.server.write(effect)
            if isinstance(effect, Bind):
                self.counts[f"bind: {ending[0]}"] += 1
            return ending
        how = self.luck.choice(("refused", "lost before", "lost after"))
        self.counts[f"fault: write {how}"] += 1
        if how == "refused":
            return Ending.REFUSED, "the server is busy"
        if how == "lost after":
            self.server.write(effect)
        return Ending.UNKNOWN, "timed out"

    def _answer(self, ask: Ask, number: int) -> None:
        if self.luck.random() < self.rates.write:
            self.counts["fault: read failed"] += 1
            self._result(Answered(cause="read", write=ask.write, has_failed=True), number)
        else:  # heard at once: what is read is what is there now
            self._results.append(
                (self.now_ms, number, Answered(cause="read", write=ask.write, thing=self.server.read(ask)))
            )

    def _result(self, event: Event, number: int) -> None:
        self._results.append((self.now_ms + self.luck.choice((0, 5, 3000)), number, event))

    # -- what others do

    def _control_volumes(self) -> None:
        """Do the volume controller's work, now and then, for some."""
        for thing in self.server.of(PersistentVolumeClaim):
            assert isinstance(thing, PersistentVolumeClaim)  # noqa: S101 - what was asked for
            if thing.spec.volume_name or self.luck.random() < 0.5:
                continue
            name = next((name for name in self._volumes_for(thing)), None)
            if name is None and SELECTED_NODE in thing.metadata.annotations:
                name = f"made-{thing.metadata.name}"
                made = draws.volume(self.luck, name)
                self.server.put(replace(made, spec=replace(made.spec, claim_ref=_reference(thing))))
            if name is not None:
                notes = {**thing.metadata.annotations, BIND_COMPLETED: "yes"}
                meta = replace(thing.metadata, annotations=notes)
                self.server.put(replace(thing, metadata=meta, spec=replace(thing.spec, volume_name=name)))

    def _end_pods(self) -> None:
        """Do the kubelets' work, now and then: pods that are to end are gone."""
        for pod in self._ending():
            if self.luck.random() < 0.3:
                self.server.drop(pod)

    def _ending(self) -> list[Pod]:
        return [pod for pod in self.server.pods() if pod.spec.node_name and pod.metadata.deletion_timestamp is not None]

    def _volumes_for(self, claim: PersistentVolumeClaim) -> Iterator[str]:
        for key, thing in self.server.objects.items():
            kept = getattr(getattr(thing, "spec", None), "claim_ref", None)
            if key[0] == "PersistentVolume" and kept is not None and kept.uid == claim.metadata.uid:
                yield key[2]

    def _something(self) -> None:
        """Have somebody do something."""
        deeds: dict[Callable[[], None], float] = {
            self._add_pods: 10,
            self._end_pod: 5,
            self._delete_pod: 2,
            self._bind_pod: 1,
            self._change_pod: 2,
            self._add_node: 1,
            self._change_node: 2,
            self._drop_node: 0.5,
            self._add_volume: 1,
            self._rival_leads: 0.1,
        }
        deed = self.luck.choices(list(deeds), list(deeds.values()))[0]
        self.counts[f"deed: {deed.__name__[1:]}"] += 1
        deed()

    def _add_pods(self) -> None:
        template = self.luck.choice(self.templates)
        if template.size and sum(not pod.spec.node_name for pod in self.server.pods()) > GROUPED_MOST:
            return  # to try groups takes its time
        while self._to_come:
            self.server.put(self._to_come.pop())
        group = f"{template.app}-{self._pods}" if template.size else ""
        for _ in range(template.size or self.luck.choice((1, 1, 3, 10))):
            self._pods += 1
            pod = draws.pod(self.luck, template, self._pods, DEFAULT_SCHEDULER, group)
            if template.kind == "claims":
                self.server.put(draws.claim(self.luck, f"{pod.metadata.name}-data"))
            if group and self.luck.random() < 0.1:
                self._to_come.append(pod)
            else:
                self.server.put(pod)

    def _fill(self) -> None:
        """Have pods run already, so that little room is left."""
        filler = draws.Template("filler", "plain", "250m", "128Mi")
        for node in self.server.nodes():
            milli = 1000 * int(node.status.allocatable["cpu"])
            most = min(int(milli * self.luck.uniform(0.8, 1.0)) // 250, int(node.status.allocatable["pods"]))
            for _ in range(min(most, FILLED_MOST)):
                self._pods += 1
                pod = draws.pod(self.luck, filler, self._pods, DEFAULT_SCHEDULER)
                self.server.put(replace(pod, spec=replace(pod.spec, node_name=node.metadata.name)))

    def _crowd(self, most: int) -> None:
        """Have hundreds of pods come before anybody looks; those that go in groups are fewer."""
        for _ in range(most):
            if len(self.server.pods()) >= most:
                break
            self._add_pods()

    def _rival_leads(self) -> None:
        """Have another scheduler believe for a while that it leads: what it wants done arrives among ours."""
        rival = Core(self.profiles, seed=self.luck.randrange(100))
        told = tuple(Listed(cause="list", kind=kind, things=self.server.things(kind)) for kind in KINDS)
        for effect in rival.turn(told, self.now_ms, self.luck.choice((50, 400))).effects:
            if isinstance(effect, Bind | BindVolume | SelectNode | Nominate | Evict):
                self._sent += 1
                self._writes.append(
                    (self.now_ms + self.luck.choice((0, 50, 2000)), self._sent, replace(effect, write=0))
                )

    def _pod(self, *, bound: bool) -> Pod | None:
        pods = [pod for pod in self.server.pods() if bool(pod.spec.node_name) == bound]
        return self.luck.choice(pods) if pods else None

    def _end_pod(self) -> None:
        pod = self._pod(bound=True)
        if pod is not None:
            self.server.put(replace(pod, status=replace(pod.status, phase="Succeeded")))
            if self.luck.random() < 0.7:
                self.server.drop(pod)

    def _delete_pod(self) -> None:
        pod = self._pod(bound=self.luck.random() < 0.5)
        if pod is not None:
            if self.luck.random() < 0.5:
                self.server.delete(pod)
            else:
                self.server.drop(pod)

    def _bind_pod(self) -> None:
        pod, nodes = self._pod(bound=False), self.server.nodes()
        if pod is not None and nodes:
            node = self.luck.choice(nodes)
            self.server.put(replace(pod, spec=replace(pod.spec, node_name=node.metadata.name, scheduling_gates=())))

    def _change_pod(self) -> None:
        pod = self._pod(bound=self.luck.random() < 0.3)
        if pod is None:
            return
        if pod.spec.scheduling_gates:
            self.server.put(replace(pod, spec=replace(pod.spec, scheduling_gates=())))
        else:
            labels = {**pod.metadata.labels, "app": self.luck.choice(self.templates).app}
            self.server.put(replace(pod, metadata=replace(pod.metadata, labels=labels)))

    def _add_node(self) -> None:
        self._nodes += 1
        self.server.put(draws.node(self.luck, f"n{self._nodes:03d}"))

    def _change_node(self) -> None:
        nodes = self.server.nodes()
        if not nodes:
            return
        node = self.luck.choice(nodes)
        other = draws.node(self.luck, node.metadata.name)
        what = self.luck.choice(("labels", "taints", "room", "cordon"))
        changed: dict[str, Node] = {
            "labels": replace(node, metadata=replace(node.metadata, labels=other.metadata.labels)),
            "taints": replace(node, spec=other.spec),
            "room": replace(node, status=other.status),
            "cordon": replace(node, spec=replace(node.spec, unschedulable=not node.spec.unschedulable)),
        }
        self.server.put(changed[what])

    def _drop_node(self) -> None:
        nodes = self.server.nodes()
        if len(nodes) > 1:
            self.server.drop(self.luck.choice(nodes))

    def _add_volume(self) -> None:
        self.server.put(draws.volume(self.luck, f"v{self.luck.randrange(1 << 20)}"))


def _reference(claim: PersistentVolumeClaim) -> ObjectReference:
    meta = claim.metadata
    return ObjectReference(kind="PersistentVolumeClaim", namespace=meta.namespace, name=meta.name, uid=meta.uid)
