"""Histories through the core: an API server that fails now and then, and what must hold whatever it does.

The clusters are those of world.py.  Writes are refused, or end unknown, applied or not; what is seen comes late; pods
and nodes go; the core has an exception of its own.
Not here: what a session alone must not break (rules.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random

import numpy as np

from bayplan.api.decode import decode_tree
from bayplan.api.messages import Answered, AnyEffect, Ask, Bind, Ended, Ending, Event, Evict, Gone, Seen
from bayplan.batch.jobs import GroupStatus
from bayplan.batch.session import Session
from bayplan.batch.sessions import Sessions, batch_profile
from bayplan.batch.tasks import Status
from bayplan.core.scheduler import Core
from tests.batch.rules import cpu
from tests.batch.world import World, a_world
from tests.unit.batch.worlds import REGISTRY, WIDE, Manifest, gang, node, pod

ROUNDS = 30
TURNS_MOST = 400


class Served:
    """A core, and the rest of the cluster as an API server has it."""

    def __init__(self, seed: int) -> None:
        self.luck = Random(seed)
        self.world: World = a_world(seed)
        self.pods = {uid: dict(one) for uid, one in self.world.pods.items()}
        self.nodes = {one["metadata"]["name"]: one for one in self.world.unchanging if one["kind"] == "Node"}
        self.core = self.a_core()
        self.now_ms = 1_000_000
        self.late: list[Event] = []
        self.held: dict[str, Event] = {}  # by pod: what is heard only after a while
        self.version = 0
        self.born = 0
        self.counts: Counter[str] = Counter()

    def a_core(self) -> Core:
        """Return a core that knows nothing yet."""
        profile = batch_profile(self.world.configuration, REGISTRY)
        return Core({profile.scheduler_name: profile})

    def everything(self) -> list[Event]:
        """Return what is seen of all that there is."""
        fixed = [one for one in self.world.unchanging if one["kind"] != "Node"]
        return [seen(one) for one in (*fixed, *self.nodes.values(), *self.world.groups.values(), *self.pods.values())]

    def work(self, *, may_fail: bool = True) -> Iterator[str]:
        """Have the core work until it is idle and hears of nothing more; yield what is wrong."""
        for _ in range(TURNS_MOST):
            events, self.late = self.late, []
            turn = self.core.turn(events, self.now_ms, self.luck.choice((1, 5, 50, 100_000)))
            self.counts["fault"] += bool(turn.fault)
            yield from self.core.queue.check()
            yield from self.overfull()
            for effect in turn.effects:
                self.late += self.carried_out(effect, may_fail=may_fail)
            if turn.is_idle and not self.late:
                return
        yield "the core does not come to rest"

    def carried_out(self, effect: AnyEffect, *, may_fail: bool) -> list[Event]:
        """Do what is asked for, or fail to; return what is heard of it."""
        if isinstance(effect, Ask):
            one = self.pods.get(effect.uid)
            return [Answered(cause="read", write=effect.write, thing=None if one is None else decode_tree(one, WIDE))]
        if not isinstance(effect, Bind | Evict):
            return []
        how = self.luck.choice(("done", "done", "done", "refused", "lost before", "lost after")) if may_fail else "done"
        self.counts[f"{type(effect).__name__.lower()} {how}"] += 1
        one = self.pods.get(effect.uid)
        if one is None or (isinstance(effect, Bind) and one["spec"].get("nodeName")):
            how = "refused"
        found: list[Event] = []
        if effect.uid in self.held and isinstance(effect, Evict):
            how = "refused"
        if one is not None and how in {"done", "lost after"}:
            found = [self.bound(one, effect.node) if isinstance(effect, Bind) else self.gone(effect.uid)]
        ending = {"done": Ending.DONE, "refused": Ending.REFUSED}.get(how, Ending.UNKNOWN)
        found.append(Ended(cause="write", write=effect.write, ending=ending))
        self.luck.shuffle(found)
        return found

    def bound(self, one: Manifest, on: str) -> Event:
        """Have a pod run on a node."""
        uid = one["metadata"]["uid"]
        self.pods[uid] = {**one, "spec": {**one["spec"], "nodeName": on}, "status": {"phase": "Running"}}
        if self.luck.random() < 0.7:
            return self.again(uid)
        form = {**one, "metadata": {**one["metadata"], "resourceVersion": str(self.version + 1)}}
        self.version += 1
        self.held[uid] = self.again(uid)
        return seen(form)  # as it was

    def again(self, uid: str) -> Event:
        """Have a pod be seen in a new form that differs in nothing that matters."""
        self.version += 1
        one = self.pods[uid]
        self.pods[uid] = {**one, "metadata": {**one["metadata"], "resourceVersion": str(self.version)}}
        return seen(self.pods[uid])

    def gone(self, uid: str) -> Event:
        """Have a pod be gone."""
        return Gone(cause="watch", thing=decode_tree(self.pods.pop(uid), WIDE))

    def live(self) -> None:
        """Have something happen that nobody asked the core about."""
        self.late += self.held.values()
        for uid in [uid for uid in self.pods if uid not in self.held]:
            drawn = self.luck.random()
            if drawn < 0.08:
                self.late.append(self.gone(uid))
            elif drawn < 0.2:
                self.late.append(self.again(uid))
        self.held.clear()
        drawn = self.luck.random()
        if drawn < 0.15:
            name = self.luck.choice(list(self.nodes))
            smaller = node(name, cpu=str(self.luck.randint(1, 6)), memory="8Gi")
            if sum(cpu(one) for one in self.on(name)) <= int(smaller["status"]["allocatable"]["cpu"]) * 1000:
                self.nodes[name] = smaller
                self.late.append(seen(smaller))
        elif drawn < 0.5:
            self.born += 1
            name, members = f"new{self.born}", self.luck.randint(1, 4)
            queues = [one["metadata"]["name"] for one in self.world.unchanging if one["kind"] == "Queue"]
            self.world.groups[name] = gang(name, self.luck.randint(1, members), self.luck.choice(queues))
            made = [pod(f"{name}-{place}", name, cpu="1", memory="256Mi") for place in range(members)]
            self.pods |= {one["metadata"]["uid"]: one for one in made}
            self.late += [seen(self.world.groups[name]), *(seen(one) for one in made)]
        elif drawn < 0.6:
            self.break_a_session()
        self.luck.shuffle(self.late)

    def break_a_session(self) -> None:
        """Have the next session fail when all is decided."""
        (lane,) = self.core.hearing
        assert isinstance(lane, Sessions)
        inner, close = lane.lane, lane.lane.close

        def fails(session: Session) -> dict[str, GroupStatus]:
            close(session)
            raise RuntimeError("broken on purpose")

        inner.close = fails  # type: ignore[method-assign]

    def on(self, name: str) -> list[Manifest]:
        """Return the pods of a node."""
        return [one for one in self.pods.values() if one["spec"].get("nodeName") == name]

    def overfull(self) -> Iterator[str]:
        """Name nodes on which more runs than there is."""
        for name, one in self.nodes.items():
            asked, whole = sum(cpu(other) for other in self.on(name)), int(one["status"]["allocatable"]["cpu"]) * 1000
            if asked > whole:
                yield f"node {name} has {whole}m of CPU, and {asked}m run there"

    def unlike_a_recount(self) -> Iterator[str]:
        """Name what the lane keeps that is not as the table and the objects have it."""
        (lane,) = self.core.hearing
        assert isinstance(lane, Sessions)
        room, table = lane.lane.room, self.core.table
        room.catch_up()
        kept = room.idle.copy(), room.leaving.copy()
        for row in table.row_of.values():
            table.row_log.append(row)
        room.catch_up()
        if not all(np.array_equal(one, other) for one, other in zip(kept, (room.idle, room.leaving), strict=True)):
            yield "room is not what a recount gives"
        flights = self.core.binding.flights
        told = {uid for uid, one in self.core.queue.all.items() if one.nominated and uid not in flights}
        if table.nominations.keys() != told:
            yield f"room is kept for {sorted(table.nominations)}, and {sorted(told)} were told so"
        for uid, task in lane.lane.jobs.tasks.items():
            is_undone = task.status is Status.BINDING  # or it has failed: the next session sees that first
            if not is_undone and (task.status is Status.PENDING) == (uid in table.pods):
                yield f"{task} is {'' if uid in table.pods else 'not '}on the table"


def seen(manifest: Manifest) -> Event:
    """Return the event of an object that is seen."""
    return Seen(cause="watch", thing=decode_tree(manifest, WIDE))


def lived(seed: int, counts: Counter[str]) -> Iterator[str]:
    """Live through a history; yield what is wrong."""
    served = Served(seed)
    served.counts = counts
    served.late = served.everything()
    for _ in range(ROUNDS):
        yield from served.work()
        yield from served.unlike_a_recount()
        served.now_ms += served.luck.choice((300, 1000, 5000))
        served.live()
    for _ in range(40):
        served.now_ms += 1000
        served.late += served.held.values()
        served.held.clear()
        before = counts.total()
        yield from served.work(may_fail=False)
        if counts.total() == before:
            break
    else:
        yield "there is no end of binding and evicting"
    served.core, served.late = served.a_core(), served.everything()
    turn = served.core.turn(served.late, served.now_ms, 1_000_000)
    forgotten = [effect.name for effect in turn.effects if isinstance(effect, Bind)]
    if forgotten:
        yield f"a core that knows nothing but the objects would bind {forgotten}"
