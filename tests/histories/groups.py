"""The group lane of the histories: pods of one group go together or not at all, and may have others evicted.

A group is what its label says: so many pods of one template.  Whoever has no such label goes alone.  It is the second
user of the Lane protocol: it tries in a trial, pauses with the trial open when its budget is spent, keeps the trial
when all fit, and otherwise makes room: victims are asked to leave, and the group waits, nominated.
Not here: gangs as Kubernetes has them.
"""

from collections.abc import Generator, Iterator
from typing import Final

from bayplan.api.objects import Pod
from bayplan.cluster.claims import Reservation
from bayplan.cluster.residents import Resident
from bayplan.cluster.trial import Trial
from bayplan.core.pod_lane import rejection_of
from bayplan.framework.lane import (
    UNSCHEDULABLE,
    Entity,
    Eviction,
    Ground,
    LaneKind,
    Placement,
    Plan,
    Rejection,
    Unplaced,
    Waiters,
)
from bayplan.framework.plugin import Change, Plugin
from bayplan.framework.profile import Instance, Profile
from bayplan.framework.verdict import Verdict
from bayplan.sim.draws import GROUP, SIZE

VICTIMS_MOST: Final = 3
TRIED_MOST: Final = 3
TRIED: Final = 3
"""Work units of one question."""


class Together(Plugin[None, None]):
    """Whoever's group is not complete waits until somebody came."""

    points = frozenset({"reserve"})
    wakes = (Change.POD_ADDED, Change.POD_LABELS, Change.POD_GONE, Change.OWN_OBJECT)


def kin(pod: Pod) -> str:
    """Return a pod's group."""
    return pod.metadata.labels.get(GROUP, "")


class GroupLane:
    """Tries groups."""

    def __init__(self, ground: Ground, profile: Profile, *, evicts: bool) -> None:
        self._ground = ground
        self._evicts = evicts
        self._steps: Generator[int, None, Plan] | None = None
        self._everybody = frozenset(one.name for one in profile.filter) | {"Together"}

    def next_ms(self) -> int | None:
        """Groups are tried when one of their pods is handed out."""
        return None

    def plan(self, first: Entity | None, waiting: Waiters, now_ms: int, budget: int) -> Plan:
        """Try a pod's group, or go on with it."""
        if self._steps is None:
            if first is None:
                return Plan(1)
            self._steps = self._tried(first, sorted(waiting.kin(first), key=lambda one: one.uid))
        spent = 0
        while spent < budget:
            try:
                spent += next(self._steps)
            except StopIteration as end:
                self._steps = None
                plan: Plan = end.value
                return plan._replace(spent=max(1, spent))
        return Plan(spent, is_done=False)

    def _tried(self, first: Entity, members: list[Entity]) -> Generator[int, None, Plan]:
        missing = self._missing(first, members)
        if missing:
            rejection = Rejection(UNSCHEDULABLE, missing, self._everybody, is_late=True)
            return Plan(1, verdicts=[Unplaced(first.uid, rejection)])
        placements: list[Placement] = []
        victims: list[str] = []
        cause = f"attempt {first.attempts} of {first.pod.key}"
        is_promised = any(self._is_being_emptied(one) for one in members)
        with Trial(self._ground.table, cause) as trial:
            for member in members:
                verdict = self._ground.rules.ask(member.pod, member.profile)
                yield TRIED
                why = None if verdict.row is not None else rejection_of(verdict)
                if why is not None and self._evicts and not is_promised:
                    verdict = yield from self._with_victims(trial, member, verdict, victims)
                if verdict.row is None and why is not None:
                    told = self._turned_down(first, members, why)
                    return Plan(1, verdicts=[one._replace(keeps=is_promised) for one in told])
                assert verdict.row is not None
                taken = tuple(one for one in verdict.reservations() if isinstance(one, Reservation))
                reserved = tuple(trial.reserve(member.pod, one, verdict.row) for one in taken)
                trial.place(member.pod, verdict.row)
                placements.append(Placement(member.uid, verdict.row, taken, reserved))
            if not victims:
                trial.commit()
                return Plan(1, placements)
        rejection = Rejection(UNSCHEDULABLE, f"{len(victims)} others have to leave first", self._everybody)
        verdicts = [Unplaced(one.uid, rejection, one.row) for one in placements]
        return Plan(1, verdicts=verdicts, evictions=[Eviction(uid, first.uid, cause) for uid in victims])

    def _missing(self, first: Entity, members: list[Entity]) -> str:
        """Say how many of a group are here, unless all are."""
        group = kin(first.pod)
        if not group:
            return ""
        placed = sum(kin(one.pod) == group for one in self._ground.table.pods.values())
        size, here = int(first.pod.metadata.labels[SIZE]), len(members) + placed
        return "" if here >= size else f"{here} of {size} members of {group} are here"

    def _is_being_emptied(self, member: Entity) -> bool:
        """Say whether somebody is about to leave the node to which a pod is nominated."""
        row = self._ground.table.row_of.get(member.nominated_to)
        there = [] if row is None else self._ground.table.on_row[row].values()
        return any(self._is_going(one) for one in there)

    def _is_going(self, one: Resident) -> bool:
        return one.pod.metadata.deletion_timestamp is not None or one.uid in self._ground.evicting

    def _turned_down(self, first: Entity, members: list[Entity], rejection: Rejection) -> list[Unplaced]:
        """Have all of them wait for whatever might help any of them."""
        if not rejection.by:
            return [Unplaced(first.uid, rejection)]
        return [Unplaced(one.uid, rejection._replace(by=self._everybody, shape=None)) for one in members]

    def _with_victims(
        self, trial: Trial, member: Entity, verdict: Verdict, victims: list[str]
    ) -> Generator[int, None, Verdict]:
        """Evict one that helps, if there is any; return what is said then."""
        for count, victim in enumerate(self._victims(member)):
            if count == TRIED_MOST or len(victims) == VICTIMS_MOST:
                break
            mark = trial.mark()
            trial.evict(victim.uid)
            found = self._ground.rules.ask(member.pod, member.profile)
            yield TRIED
            if found.row is not None:
                victims.append(victim.uid)
                return found
            trial.rollback(mark)
        return verdict

    def _victims(self, member: Entity) -> Iterator[Resident]:
        priority = member.pod.spec.priority or 0
        residents = sorted(self._ground.table.pods.values(), key=lambda one: (one.pod.spec.priority or 0, one.uid))
        for one in residents:
            if (one.pod.spec.priority or 0) < priority and not one.is_assumed and not self._is_going(one):
                yield one


def with_groups(plain: Profile, *, evicts: bool) -> Profile:
    """Return a profile whose pods are tried by group."""
    points = {**plain.points, "reserve": [*plain.points.get("reserve", ()), Instance("Together", Together())]}
    kind = LaneKind("group", lambda ground, profile: GroupLane(ground, profile, evicts=evicts), kin=kin)
    return Profile(plain.scheduler_name, points, plain.gates, kind)
