"""The pod lane: one pod at a time, by priority, then in the order in which they came.

Each is held back, or asked about, and what is decided is then placed: assumed in the table, its volumes reserved, so
that the next pod finds the room and the volumes taken.  A decision may be asked for its details until the next one is.
Invariant: the same table, pods, profiles and seed give the same decisions.
Not here: retrying what fits nowhere (queue.py) and telling anybody (binding.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from bayplan.api.objects import Pod, uid_of
from bayplan.cluster.claims import Reservation
from bayplan.cluster.reading import Reader
from bayplan.cluster.table import Table
from bayplan.cluster.view import View
from bayplan.core import settings
from bayplan.framework.guard import Guard, PluginFault
from bayplan.framework.lane import ERROR, UNSCHEDULABLE, Entity, Ground, Placement, Plan, Rejection, Unplaced, Waiters
from bayplan.framework.plugin import Outcome
from bayplan.framework.profile import DEFAULT_SCHEDULER, Instance, Profile
from bayplan.framework.run import Rules
from bayplan.framework.verdict import NO_NODES, Verdict


class Decision:
    """What became of one pod: a node, or why none; details are worked out when asked for."""

    __slots__ = ("_fault", "held_by", "node", "pod", "profile", "verdict")

    def __init__(self, pod: Pod, profile: Profile) -> None:
        self.pod = pod
        self.profile = profile
        self.node: str | None = None  # the chosen node's name
        self.verdict: Verdict | None = None  # None: the pod was held back before it was asked about
        self.held_by: tuple[Instance, Outcome] | None = None
        self._fault: PluginFault | None = None

    @property
    def score(self) -> int | None:
        """The chosen node's total."""
        return self.verdict.score if self.verdict is not None else None

    @property
    def among(self) -> int:
        """How many nodes were equally good; 0 when none is."""
        return self.verdict.among if self.verdict is not None and self.verdict.row is not None else 0

    @property
    def message(self) -> str | None:
        """Why there is no node, in kube-scheduler's words."""
        if self._fault is not None:
            return str(self._fault)
        if self.held_by is not None:
            return ", ".join(self.held_by[1].texts)
        return self.verdict.message if self.verdict is not None else None

    @property
    def fault(self) -> PluginFault | None:
        """What a rule did that no rule may do."""
        if self.verdict is None or self.verdict.row is not None:
            return self._fault
        return self.verdict.evaluation.fault

    def fail(self, fault: PluginFault) -> Decision:
        """Note that a rule broke the contract."""
        self._fault = fault
        return self


class PodLane:
    """Tries pods on a table and places what fits."""

    def __init__(self, table: Table, profiles: Mapping[str, Profile], *, seed: int = 0) -> None:
        self.table = table
        self.profiles = dict(profiles)
        self.reader = Reader(table)
        self.rules = Rules(table, self.reader, seed=seed)
        self._no_node: dict[tuple[int, int], tuple[tuple[int, ...], Rejection]] = {}  # by profile and shape

    def ground(self, evicting: Mapping[str, int]) -> Ground:
        """Return what other lanes of the same core work on."""
        return Ground(self.table, self.reader, self.rules, evicting)

    # -- as a lane

    def next_ms(self) -> int | None:
        """Return None: every pod is handed to it."""
        return None

    def plan(self, first: Entity | None, waiting: Waiters, now_ms: int, budget: int) -> Plan:
        """Choose a row for a pod, or say why there is none."""
        if first is None:
            return Plan(settings.ATTEMPT)
        pod, profile = first.pod, first.profile
        shape = self.reader.shape(pod)
        key, stamp = (id(profile), id(shape)), self._stamp()
        known = self._no_node.get(key)
        if known is not None and known[0] == stamp and not pod.status.nominated_node_name:
            return Plan(settings.ATTEMPT, verdicts=(Unplaced(first.uid, known[1]),))  # its like was just told so
        plans, rows = self.rules.plans(profile), self.table.columns.rows
        made = plans.made
        verdict = self.rules.ask(pod, profile)
        spent = settings.ATTEMPT + rows // settings.ROWS_PER_UNIT
        if plans.made > made or verdict.row is None:
            spent += rows // settings.ROWS_PER_UNIT_AFRESH
        if verdict.row is not None:
            self._no_node.clear()
            reservations = tuple(one for one in verdict.reservations() if isinstance(one, Reservation))
            return Plan(spent, (Placement(first.uid, verdict.row, reservations),))
        rejection = rejection_of(verdict)._replace(shape=shape)
        if not self.table.nominated_on and not pod.status.nominated_node_name and rejection.by:
            self._no_node[key] = (stamp, rejection)
        return Plan(spent, verdicts=(Unplaced(first.uid, rejection),))

    def _stamp(self) -> tuple[int, ...]:
        """Return what rises whenever an answer may be another."""
        table = self.table
        books = table.volumes
        return (table.ticks.value, table.row_log.position, books.changes, books.version, len(table.nominations))

    # -- without a queue

    def run(self, waiting: Iterable[Pod]) -> Iterator[Decision]:
        """Decide about every pod, and place it when the next decision is asked for."""
        for pod in in_order(waiting):
            decision = self.ask(pod)
            yield decision  # before anything changes: whoever wants details asks now
            self.settle(decision)

    def profile_of(self, pod: Pod) -> Profile:
        """Return the profile of the pod's schedulerName, else the first."""
        found = self.profiles.get(pod.spec.scheduler_name or DEFAULT_SCHEDULER)
        return found if found is not None else next(iter(self.profiles.values()))

    def ask(self, pod: Pod) -> Decision:
        """Say what would become of a pod; nothing changes."""
        profile = self.profile_of(pod)
        decision, guard = Decision(pod, profile), Guard(pod)
        for instance in profile.pre_enqueue:
            try:
                outcome = guard.pre_enqueue(instance, View(self.table))
            except PluginFault as fault:
                return decision.fail(fault)
            if outcome is not None:
                decision.held_by = (instance, outcome)
                return decision
        verdict = decision.verdict = self.rules.ask(pod, profile)
        node = None if verdict.row is None else self.table.nodes[verdict.row]
        decision.node = None if node is None else node.metadata.name
        return decision

    def settle(self, decision: Decision) -> None:
        """Place a pod where it was decided that it goes; what it takes there is taken from then on."""
        pod, verdict = decision.pod, decision.verdict
        self.reader.forget(uid_of(pod))
        if verdict is None or verdict.row is None or decision.node is None:
            return
        for reservation in verdict.reservations():
            if isinstance(reservation, Reservation):
                self.table.volumes.reserve(pod, reservation, decision.node)
        self.table.drop_nomination(uid_of(pod))
        self.table.place(pod, verdict.row, is_assumed=True)


def rejection_of(verdict: Verdict) -> Rejection:
    """Return why a verdict has no row: an error, or the rules that turned the rows down."""
    message = verdict.message or ""
    if verdict.error is not None:
        return Rejection(ERROR, message)
    by = frozenset[str]() if message == NO_NODES else verdict.evaluation.rejectors() - {""}
    return Rejection(UNSCHEDULABLE, message, by)


def in_order(waiting: Iterable[Pod]) -> Sequence[Pod]:
    """Put pods in the order in which they are tried: by priority, then as they came."""
    return sorted(waiting, key=lambda pod: -(pod.spec.priority or 0))
