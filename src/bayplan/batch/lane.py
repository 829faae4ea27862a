"""The batch lane: what a profile of sessions keeps between them, and how one is opened.

Invariant: sessions of a profile share jobs, room and remembered answers; between them nothing is held.
Not here: when a session is due (core) and what happens in one (session.py).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from bayplan.batch.actions.allocate import allocate
from bayplan.batch.actions.backfill import backfill
from bayplan.batch.actions.preempt import preempt
from bayplan.batch.actions.reclaim import reclaim
from bayplan.batch.amounts import EXACT, TOLERANT
from bayplan.batch.choosing import Chooser, Way
from bayplan.batch.jobs import Jobs, Terms
from bayplan.batch.kubebatch import allocate as kb_allocate
from bayplan.batch.kubebatch import backfill as kb_backfill
from bayplan.batch.kubebatch import preempt as kb_preempt
from bayplan.batch.kubebatch import reclaim as kb_reclaim
from bayplan.batch.kubebatch.gang import KubeBatchGang
from bayplan.batch.kubebatch.proportion import KubeBatchProportion
from bayplan.batch.plugins.conformance import Conformance
from bayplan.batch.plugins.drf import Drf
from bayplan.batch.plugins.gang import Gang
from bayplan.batch.plugins.nearness import Nearness
from bayplan.batch.plugins.nodeorder import (
    WEIGHTS,
    BalancedResource,
    LeastRequested,
    MostRequested,
    Nodeorder,
    Tenth,
)
from bayplan.batch.plugins.predicates import (
    DEFAULT_RULES,
    PRESSURES,
    HasPlace,
    HasRoom,
    IsAvailable,
    Predicates,
    Which,
)
from bayplan.batch.plugins.priority import Priority
from bayplan.batch.plugins.proportion import Proportion
from bayplan.batch.room import Room
from bayplan.batch.session import Ground, Kit, Session
from bayplan.batch.tasks import Charges
from bayplan.batch.voting import Voter
from bayplan.framework.profile import Instance, Profile

if TYPE_CHECKING:
    from bayplan.batch.jobs import GroupStatus
    from bayplan.framework.registry import Registry
    from bayplan.framework.run import Rules
    from bayplan.framework.tiers import BatchConfiguration, TierPlugin

_EVERYWHERE: Final = (Priority, Drf, Predicates, Nodeorder, Conformance)
KITS: Final[Mapping[str, Kit]] = {
    "bayplan": Kit(
        {"allocate": allocate, "backfill": backfill, "preempt": preempt, "reclaim": reclaim},
        {voter.name: voter for voter in (*_EVERYWHERE, Gang, Proportion)},
    ),
    "kube-batch": Kit(
        {
            "allocate": kb_allocate.allocate,
            "backfill": kb_backfill.backfill,
            "preempt": kb_preempt.preempt,
            "reclaim": kb_reclaim.reclaim,
        },
        {voter.name: voter for voter in (*_EVERYWHERE, KubeBatchGang, KubeBatchProportion)},
    ),
}  # by behaviour


class BatchLane:
    """Sessions over one table."""

    def __init__(self, rules: Rules, configuration: BatchConfiguration, registry: Registry) -> None:
        table = self.table = rules.table
        self.configuration = configuration
        is_kube_batch = configuration.behaviour == "kube-batch"
        self.charges = Charges(table.columns, as_kube_batch=is_kube_batch)
        self.jobs = Jobs(
            Terms(configuration.scheduler_name, configuration.default_queue, configuration.namespace_as_queue),
            self.charges,
        )
        self.room = Room(table, self.charges, self.jobs.tasks, TOLERANT if is_kube_batch else EXACT)
        profiles = _profiles(configuration, registry, self.room)
        self._kit = _with_others(KITS[configuration.behaviour], configuration)
        self.said: dict[str, GroupStatus] = {}  # by job: what the last session said of PodGroups
        self._nothing_new_since: tuple[int, ...] | None = None
        self._promises: dict[str, str] = {}  # by task: the node where others leave for it
        self.chooser = Chooser(rules, rules.reader, profiles)

    def open(self) -> Session:
        """Open a session on the table as it is."""
        ground = Ground(self.table, self.jobs, self.room, self.chooser)
        session = Session(ground, self.configuration, self._kit)
        if self.configuration.behaviour == "bayplan":
            session.redeem(self._promises)
        return session

    @property
    def is_news(self) -> bool:
        """Whether anything has changed since the last session, or that one changed something."""
        return self._seen() != self._nothing_new_since

    def run(self, look: Callable[[Session], None] | None = None) -> Session | None:
        """Run a session, which may be looked at before what may not start is taken off; None: there is no news."""
        if not self.is_news:
            return None
        session = self.open()
        session.run()
        if look is not None:
            look(session)
        self.said = self.close(session)
        self._nothing_new_since = None if session.effects or session.promises else self._seen()
        return session

    def _seen(self) -> tuple[int, ...]:
        """Return versions of all that a session looks at."""
        table = self.table
        return (self.jobs.version, table.row_log.position, table.ticks.value, table.volumes.changes)

    def close(self, session: Session) -> dict[str, GroupStatus]:
        """Close a session, and remember what was promised in it."""
        said = session.close()
        self._promises = session.promises
        return said


class VoterNotLoaded(Exception):
    """A plugin that a configuration names as `module:Class` and that cannot be had."""


def _with_others(kit: Kit, configuration: BatchConfiguration) -> Kit:
    """Add plugins of somebody's own, which are named as `module:Class`."""
    voters = dict(kit.voters)
    for place in configuration.plugins:
        module, _, name = place.name.partition(":")
        if not name or place.name in voters:
            continue
        try:
            found = getattr(importlib.import_module(module), name, None)
        except ImportError as error:
            raise VoterNotLoaded(f"plugin {place.name}: {error}; install the module, or leave it out") from error
        if not (isinstance(found, type) and issubclass(found, Voter)):
            raise VoterNotLoaded(f"plugin {place.name}: expected a subclass of bayplan.batch.voting.Voter")
        voters[place.name] = found
    return kit._replace(voters=voters)


def _profiles(configuration: BatchConfiguration, registry: Registry, room: Room) -> dict[tuple[Way, bool], Profile]:
    """Make the rules of a batch profile, for each way in which they are asked."""
    is_kube_batch = configuration.behaviour == "kube-batch"
    filters = filters_of(configuration, registry)
    scores: list[Instance] = []
    social: list[Instance] = []
    for place in configuration.plugins:
        if place.name == "nodeorder" and place.enable_node_order:
            by_use, near = _scores(place, registry, room, is_kube_batch=is_kube_batch)
            scores += by_use
            social += near
    ignored = frozenset({"ephemeral-storage"}) if is_kube_batch else frozenset[str]()
    rooms = {Way.NOW: Which.IDLE, Way.EITHER: Which.EITHER, Way.LATER: Which.LATER}
    found = {}
    for way in Way:
        own = [one for one in filters if one.name != "HasPlace"] if way is Way.LATER else filters
        with_room = [*own, Instance("HasRoom", HasRoom(room, rooms[way], ignored))] if way in rooms else own
        found[way, False] = _profile(configuration.scheduler_name, with_room, scores)
        found[way, True] = _profile(configuration.scheduler_name, with_room, [*scores, *social])
    return found


def _profile(name: str, filters: list[Instance], scores: list[Instance]) -> Profile:
    return Profile(name, {"preFilter": filters, "filter": filters, "preScore": scores, "score": scores})


def filters_of(configuration: BatchConfiguration, registry: Registry) -> list[Instance]:
    """Make the rules about where a profile's tasks may run at all, but for how much room there is."""
    places = (place for place in configuration.plugins if place.name == "predicates" and place.enable_predicate)
    return [instance for place in places for instance in _filters(place, registry)]


def _filters(place: TierPlugin, registry: Registry) -> list[Instance]:
    pressures = frozenset(kind for name, kind in PRESSURES.items() if place.truth(name, default=False))
    found = [Instance("HasPlace", HasPlace()), Instance("IsAvailable", IsAvailable(pressures))]
    for name in DEFAULT_RULES:
        rule = registry.rule(name)
        if rule is not None:
            found.append(Instance(name, rule()))
    return found


def _scores(
    place: TierPlugin, registry: Registry, room: Room, *, is_kube_batch: bool
) -> tuple[list[Instance], list[Instance]]:
    """Return the rules that score, and those that are asked only about pods whom they concern."""
    weight = {name: place.number(name, default) for name, default in WEIGHTS.items()}
    rules = {"leastrequested": LeastRequested(room), "mostrequested": MostRequested(room),
             "balancedresource": BalancedResource(room)}  # fmt: skip
    found = [Instance(name, rule, weight[f"{name}.weight"]) for name, rule in rules.items() if weight[f"{name}.weight"]]
    affinity, near = registry.rule("NodeAffinity"), registry.rule("InterPodAffinity")
    if affinity is not None and weight["nodeaffinity.weight"]:
        found.append(Instance("nodeaffinity", Tenth(affinity()), weight["nodeaffinity.weight"]))
    if near is None or not weight["podaffinity.weight"]:
        return found, []
    rule = Nearness() if is_kube_batch else Tenth(near())
    return found, [Instance("podaffinity", rule, weight["podaffinity.weight"])]
