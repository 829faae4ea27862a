"""One history: a world that lives, and what must hold of it after every turn and at its end.

Not here: how many, and what is printed (run.py).
"""

from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple
from zlib import crc32

import msgspec

from bayplan.api.messages import Bind, Event, Record
from bayplan.api.objects import Pod
from bayplan.cluster import fold
from bayplan.cluster.table import Table
from bayplan.config.profiles import profiles
from bayplan.core.points import Gatehouse, Wait
from bayplan.core.queue import Settings
from bayplan.core.scheduler import Core, Turn
from bayplan.core.settings import CoreSettings
from bayplan.core.waiting import Place
from bayplan.framework.plugin import Plugin
from bayplan.framework.profile import DEFAULT_SCHEDULER, Instance, Profile
from bayplan.framework.registry import Registry
from bayplan.sim.world import KINDS, World
from tests.dump import ask_alike, differences, dump
from tests.histories.groups import with_groups

COMPARE_EVERY = 25
OPTIONAL = (
    "PodTopologySpread",
    "InterPodAffinity",
    "NodeVolumeLimits",
    "ImageLocality",
    "NodeResourcesBalancedAllocation",
)
"""Rules that a profile may do without: the referee does not look at what they look at."""


STAGES = {
    'running Bind plugin "DefaultBinder"': "a bind was refused",
    'running PreBind plugin "VolumeBinding"': "volumes were not bound",
    "rejected due to timeout": "a permit took too long",
    "skip schedule deleting pod": "it is being deleted",
}
"""Words of an event, and what failed."""


class Told(NamedTuple):
    """What became of a history."""

    wrong: tuple[str, ...]
    counts: Counter[str]
    effects: bytes


@cache
def usual() -> dict[str, Profile]:
    """Return the default profile."""
    return profiles(None, Registry.installed())


class Dawdling(Plugin[None, None]):
    """A permit rule: some pods wait, in vain or until another comes by that lets all go."""

    points = frozenset({"permit"})

    def __init__(self) -> None:
        """Nobody has waited yet."""
        super().__init__()
        self.has_waited: set[str] = set()

    def permit(self, pod: Pod, node: str, gatehouse: Gatehouse) -> Wait | None:
        """Have a third of the pods wait, once each."""
        uid = pod.metadata.uid
        luck = crc32(uid.encode()) % 6
        if luck == 0:
            for other in list(gatehouse.waiting()):
                gatehouse.allow(other.uid, "Dawdling")
        if luck > 1 or uid in self.has_waited:
            return None
        self.has_waited.add(uid)
        return Wait(5)


class Kind(NamedTuple):
    """What is drawn for a history before it begins."""

    permits: bool  # a rule at permit has some wait
    groups: bool  # pods go in groups, and have others evicted
    without: frozenset[str]  # rules that the profile does not have

    @classmethod
    def of(cls, seed: str) -> "Kind":
        """Draw it: a tenth of the histories has groups."""
        luck = crc32(seed.encode())
        chosen = {rule for place, rule in enumerate(OPTIONAL) if luck >> (8 + place) & 7 == 0}
        return cls(luck % 4 == 0, luck % 10 == 1, frozenset(chosen))


def lacking(profile: Profile, rules: frozenset[str]) -> Profile:
    """Return a profile without some of its rules."""
    if not rules:
        return profile
    points = {point: [one for one in instances if one.name not in rules] for point, instances in profile.points.items()}
    return Profile(profile.scheduler_name, points, profile.gates)


def some_profiles(kind: Kind, *, evicts: bool) -> dict[str, Profile]:
    """Return the default profile, one with a rule at permit, or one with groups."""
    plain = lacking(usual()[DEFAULT_SCHEDULER], kind.without)
    if kind.groups:
        return {DEFAULT_SCHEDULER: with_groups(plain, evicts=evicts)}
    if not kind.permits:
        return {DEFAULT_SCHEDULER: plain}
    return {
        DEFAULT_SCHEDULER: Profile(DEFAULT_SCHEDULER, {**plain.points, "permit": [Instance("Dawdling", Dawdling())]})
    }


def live(seed: str, *, every_turn: bool = False, steps_most: int | None = None) -> Told:
    """Live through a history, or its first steps and its rest; say what was wrong with it."""
    kind = Kind.of(seed)
    world = World(seed, some_profiles(kind, evicts=True), with_groups=kind.groups)
    steps = world.luck.choice((20, 60, 120))
    for number, turn in enumerate(world.live(steps, steps if steps_most is None else steps_most)):
        world.wrong += world.core.queue.check()
        world.counts += failed_stages(turn)
        if number % COMPARE_EVERY == 0:
            groups = world.core.queue.all_groups()
            world.counts.update(f"turned down by: {rule}" for group in groups for rule in group.by)
        if (every_turn or number % COMPARE_EVERY == 0) and has_heard_of_storage(world):
            world.wrong += table_differences(world.core)
        if world.wrong:
            break
    world.counts += transitions(world.core)
    if not world.wrong:
        world.wrong += table_differences(world.core)
        world.wrong += forgotten(world, some_profiles(kind, evicts=False))
    return Told(tuple(world.wrong), world.counts, msgspec.json.encode(world.effects))


def has_heard_of_storage(world: World) -> bool:
    """Say whether the core knows the storage there is; until it does, what it wrote there is an assumption."""
    kinds = ("PersistentVolume", "PersistentVolumeClaim")
    return all(world.core.known.like(thing) == thing for key, thing in world.server.objects.items() if key[0] in kinds)


def failed_stages(turn: Turn) -> Counter[str]:
    """Count at which stage of binding attempts failed."""
    notes = [effect.note for effect in turn.effects if isinstance(effect, Record) and effect.type == "Warning"]
    return Counter(f"failed: {name}" for note in notes for words, name in STAGES.items() if words in note)


def transitions(core: Core) -> Counter[str]:
    """Count how pods moved through the queue, and what moved them."""
    counts: Counter[str] = Counter()
    for line in core.stories.lines():
        if line.what in set(Place):
            counts[f"queue: {line.what}"] += 1
        if line.what in {Place.ACTIVE, Place.BACKING_OFF}:
            counts.update(f"moved by: {why}" for why in line.why.split(", "))
    return counts


def table_differences(core: Core) -> Iterator[str]:
    """Compare the table with one made from the objects, while nothing is on its way."""
    if core.binding.flights or core._jobs or core._inbox or core._late or core.table.has_trial:
        return
    fresh = Table()
    for thing in core.known:
        if not isinstance(thing, Pod) or thing.spec.node_name:
            fold.put(fresh, thing)
    names = {row: name for name, row in core.table.row_of.items()}
    for uid in sorted(core.table.nominations):  # others were dropped with the attempt, before the API server said so
        one = core.table.nominations[uid].pod
        if core.known.like(one) != one:
            yield f"{one.key} is nominated as it was, not as it is known"
        fresh.nominate(one, fresh.row_of[names[core.table.nominations[uid].row]])
    for waiting in core.table.nominated_away.values():
        for one in waiting.values():
            fresh.put_nomination(one)
    ask_alike(fresh, core.table)
    yield from (f"the table differs: {line}" for line in differences(dump(core.table), dump(fresh)))


def forgotten(world: World, with_profiles: dict[str, Profile]) -> Iterator[str]:
    """Name the pods that a second scheduler would bind: nobody waits for nothing."""
    if world.core.binding.flights:
        yield f"on their way at the end: {[flight.pod.key for flight in world.core.binding.flights.values()]}"
    second = Core(with_profiles, with_settings=CoreSettings(Settings(left_over_ms=None)))
    events: list[Event] = [world.server.listed(kind) for kind in KINDS]
    turn = second.turn(events, world.now_ms, 1_000_000)
    for effect in turn.effects:
        if isinstance(effect, Bind):
            yield f"{effect.name} waits, but fits on {effect.node}: {world.core.where(effect.uid)}"
            for line in world.core.stories.of(effect.uid):
                yield f"    {line}"
            return
