"""Binding: a placement's way to the cluster, whatever lane decided it, and back again when it fails.

Assume, reserve, permit, pre-bind (volumes and claims are written, then the volume controller is waited for), bind; then
the watch confirms.  A write whose end is unknown keeps its room until the object has been read.  A failure undoes what
was done, the last first.
Invariant: a pod has at most one flight; while it has, its room and its volumes are taken in the table; when it has
none any more, they are either confirmed by an object or free.
Not here: what becomes of the pod afterwards (scheduler.py).
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Final, TypeAlias

from bayplan.api.claims import PersistentVolume, PersistentVolumeClaim
from bayplan.api.durations import Duration
from bayplan.api.messages import Ask, Bind, BindVolume, Effect, Ending, Nominate, Record, SelectNode, who
from bayplan.api.objects import Object, Pod
from bayplan.cluster.books.volumes import Reserved
from bayplan.cluster.claims import BIND_COMPLETED, SELECTED_NODE, Reservation
from bayplan.cluster.columns import Row
from bayplan.cluster.reach import reach_terms
from bayplan.cluster.table import Stray, Table
from bayplan.core.points import Around, Permitted, Wait, guarded
from bayplan.core.slow import Slow
from bayplan.core.waiting import SECOND_MS, Attempt, Result, Waiting
from bayplan.framework.guard import PluginFault
from bayplan.framework.lane import ERROR, UNSCHEDULABLE, Placement, Rejection
from bayplan.framework.plugin import Code, Outcome
from bayplan.framework.profile import Instance, Profile

PERMIT_MS_MAX: Final = 15 * 60 * SECOND_MS
VOLUMES_SECONDS: Final = 600
NANOSECONDS: Final = 1_000_000_000

Written: TypeAlias = Bind | BindVolume | SelectNode


class Stage(enum.StrEnum):
    """How far a placement has come."""

    RESERVED = "reserved"
    PERMIT = "waiting for permission"
    VOLUMES = "waiting for its volumes"
    BIND = "being bound"
    BOUND = "bound, to be confirmed"


class Flight:
    """A pod on its way to a node."""

    __slots__ = (
        "cause",
        "deadline_ms",
        "node",
        "permits",
        "refused",
        "reservations",
        "reserved",
        "reserving",
        "stage",
        "waiting",
        "writes",
    )

    def __init__(self, waiting: Waiting, node: str, reservations: tuple[Reservation, ...]) -> None:
        self.waiting = waiting
        self.node = node
        self.reservations = reservations
        self.reserved: list[Reserved] = []
        self.reserving: list[Instance] = []  # rules that are to give back what they took
        self.stage = Stage.RESERVED
        self.permits: dict[str, tuple[int, int]] = {}  # by rule: until when, and how many seconds that was
        self.refused: Rejection | None = None  # by a permit rule, to be acted upon
        self.writes: dict[int, Written] = {}  # those that have not ended, by number
        self.deadline_ms = 0  # for the volumes
        self.cause = f"attempt {waiting.attempts}"

    @property
    def pod(self) -> Pod:
        """The pod as it was last seen."""
        return self.waiting.pod

    def claims(self) -> Iterator[tuple[str, str | None]]:
        """Return the claims that are being bound, each with the volume it is to have, None: one that is made."""
        for reservation in self.reservations:
            taking = reservation.named(self.pod)
            yield from taking.bind.items()
            yield from ((claim, None) for claim in taking.provision)


class Binding:
    """All flights."""

    def __init__(self, table: Table, out: list[Effect]) -> None:
        self.table = table
        self.flights: dict[str, Flight] = {}  # by uid
        self.slow = Slow()  # those that wait for permission or volumes
        self._by_write: dict[int, Flight] = {}
        self.out = out
        self.over: list[Attempt] = []  # attempts that ended in this turn
        self._around: dict[int, Around] = {}  # by profile
        self._writes = 0

    # 1 assume, reserve, ask for permission

    def start(self, waiting: Waiting, placement: Placement, now_ms: int) -> Rejection | None:
        """Take a node for a pod, unless its lane has; return why it may not go there after all."""
        pod, row = waiting.pod, placement.row
        node = self._name(row)
        flight = Flight(waiting, node, placement.reservations)
        self.table.drop_nomination(waiting.uid)
        if waiting.uid not in self.table.pods:
            self.table.place(pod, row, is_assumed=True)
        if placement.reserved is None:
            flight.reserved = [self.table.volumes.reserve(pod, one, node) for one in placement.reservations]
        else:
            flight.reserved = list(placement.reserved)
        self.flights[waiting.uid] = flight
        self.slow.add(flight)
        return self._reserve(flight) or self._permit(flight, now_ms)

    def _name(self, row: Row) -> str:
        node = self.table.nodes[row]
        if node is None:
            raise ValueError(f"row {row} was chosen, but has no node")
        return node.metadata.name

    def around(self, profile: Profile) -> Around:
        """Return a profile's rules around a placement."""
        found = self._around.get(id(profile))
        if found is None:
            found = self._around[id(profile)] = Around(profile)
        return found

    def _reserve(self, flight: Flight) -> Rejection | None:
        rules = self.around(flight.waiting.profile).reserving
        flight.reserving = [instance for instance, _ in rules]  # all of them, should any fail
        for instance, rule in rules:
            try:
                found = guarded(
                    instance,
                    "reserve",
                    flight.pod,
                    lambda rule=rule: rule.reserve(flight.pod, flight.node),  # type: ignore[misc]
                )
            except PluginFault as fault:
                return Rejection(ERROR, str(fault))
            if found is not None:
                return _rejection(instance, found, "Reserve")
        return None

    def _permit(self, flight: Flight, now_ms: int) -> Rejection | None:
        for instance, rule in self.around(flight.waiting.profile).permitting:
            try:
                found = guarded(
                    instance,
                    "permit",
                    flight.pod,
                    lambda rule=rule: rule.permit(flight.pod, flight.node, self),  # type: ignore[misc]
                )
            except PluginFault as fault:
                return Rejection(ERROR, str(fault))
            if isinstance(found, Wait):
                wait_ms = min(found.seconds * SECOND_MS, PERMIT_MS_MAX)
                flight.permits[instance.name] = (now_ms + wait_ms, wait_ms // SECOND_MS)
                self.slow.at(flight.waiting.uid, now_ms + wait_ms)
            elif found is not None:
                return _rejection(instance, found, "Permit")
        flight.stage = Stage.PERMIT
        if flight.permits or flight.reservations:  # it will be a while: whoever looks at the pod sees its node
            self.out.append(Nominate(**who(flight.pod, flight.cause), node=flight.node))
        return None  # advance() goes on, at once if nobody is waited for

    # -- what permit rules may do with those who wait

    def waiting(self) -> Iterator[Permitted]:
        """Return who waits for permission."""
        for uid, flight in self.flights.items():
            if flight.stage is Stage.PERMIT and flight.permits:
                yield Permitted(uid, flight.pod, flight.node, tuple(flight.permits))

    def allow(self, uid: str, rule: str) -> None:
        """Let a pod go as far as one rule is concerned."""
        flight = self.flights.get(uid)
        if flight is not None and flight.stage is Stage.PERMIT:
            flight.permits.pop(rule, None)
            self.slow.stir(uid)

    def reject(self, uid: str, rule: str, text: str) -> None:
        """Turn down a pod that waits; whoever says so first is heard."""
        flight = self.flights.get(uid)
        if flight is not None and flight.stage is Stage.PERMIT and flight.refused is None:
            flight.refused = _late(rule, text)
            self.slow.stir(uid)

    # 2 go on

    def advance(self, flight: Flight, now_ms: int) -> Rejection | None:
        """Go on with whoever has what it waited for; return why it cannot."""
        if flight.stage is Stage.PERMIT:
            if flight.refused is not None:
                return flight.refused
            late = [(until, rule, seconds) for rule, (until, seconds) in flight.permits.items() if until <= now_ms]
            if late:
                _, rule, seconds = min(late)
                waited = Duration(seconds * NANOSECONDS)
                return _late(rule, f"rejected due to timeout after waiting {waited} at plugin {rule}")
            if not flight.permits:
                self._pre_bind(flight, now_ms)
        if flight.stage is Stage.VOLUMES and not flight.writes:
            problem = self._volumes_problem(flight)
            if problem is None:
                self._bind(flight)
            elif problem or flight.deadline_ms <= now_ms:
                text = problem or "context deadline exceeded"
                return Rejection(ERROR, f'running PreBind plugin "VolumeBinding": binding volumes: {text}')
        return None

    def _pre_bind(self, flight: Flight, now_ms: int) -> None:
        flight.stage = Stage.VOLUMES
        if flight.reservations:
            flight.deadline_ms = now_ms + _volumes_seconds(flight) * SECOND_MS
            self.slow.at(flight.waiting.uid, flight.deadline_ms)
        me = who(flight.pod, flight.cause)
        for reserved in flight.reserved:
            for old_volume, volume in reserved.volumes:
                claim = volume.spec.claim_ref
                if volume is not old_volume and claim is not None:
                    name = volume.metadata.name
                    number = self._numbered(flight)
                    effect = BindVolume(**me, write=number, volume=name, claim=claim.name, claim_uid=claim.uid)
                    self._write(flight, effect)
            for old_claim, chosen in reserved.claims:
                if old_claim.metadata.annotations != chosen.metadata.annotations:
                    number, name = self._numbered(flight), chosen.metadata.name
                    self._write(flight, SelectNode(**me, write=number, claim=name, node=flight.node))

    def _volumes_problem(self, flight: Flight) -> str | None:
        """Say what is wrong with the volumes: a text, nothing yet (empty), or None when all are bound."""
        volumes, namespace, unbound = self.table.volumes, flight.pod.metadata.namespace, False
        for name, expected in flight.claims():
            claim = volumes.claims.get(f"{namespace}/{name}")
            if claim is None:
                return f'persistentvolumeclaim "{name}" not found'
            if claim.spec.volume_name and BIND_COMPLETED in claim.metadata.annotations:
                volume = volumes.volumes.get(claim.spec.volume_name)
                if volume is not None and not self._reaches(volume, flight.node):
                    return f'PersistentVolume "{volume.metadata.name}" cannot be reached from node "{flight.node}"'
                unbound |= volume is None
                continue
            unbound = True
            if expected is None and claim.metadata.annotations.get(SELECTED_NODE) != flight.node:
                return f'selected node of persistentvolumeclaim "{name}" was taken back'
            if expected is not None and not self._is_kept(expected, claim):
                return f'PersistentVolume "{expected}" is kept for persistentvolumeclaim "{name}" no more'
        return "" if unbound else None

    def _is_kept(self, volume_name: str, claim: PersistentVolumeClaim) -> bool:
        volume = self.table.volumes.volumes.get(volume_name)
        kept = volume.spec.claim_ref if volume is not None else None
        meta = claim.metadata
        return kept is not None and (kept.namespace, kept.name) == (meta.namespace, meta.name)

    def _reaches(self, volume: PersistentVolume, node_name: str) -> bool:
        terms, row = reach_terms(volume), self.table.row_of.get(node_name)
        node = None if row is None else self.table.nodes[row]
        return terms is None or node is None or terms.matches(node.metadata.labels, node_name)

    def _bind(self, flight: Flight) -> None:
        flight.stage = Stage.BIND
        self.slow.drop(flight.waiting.uid)
        me = who(flight.pod, flight.cause)
        self._write(flight, Bind(**me, write=self._numbered(flight), node=flight.node))

    def _numbered(self, flight: Flight) -> int:
        """Return the number of a write whose end is told to a flight."""
        number = self.next_write()
        self._by_write[number] = flight
        return number

    def _write(self, flight: Flight, effect: Written) -> None:
        flight.writes[effect.write] = effect
        self.out.append(effect)

    def next_write(self) -> int:
        """Return a number under which the end of a write or read is told."""
        self._writes += 1
        return self._writes

    # 3 how writes end

    def flight_of(self, write: int) -> Flight | None:
        """Return whose write a number is, if anybody still waits for it."""
        return self._by_write.get(write)

    def ended(self, flight: Flight, write: int, ending: Ending, text: str) -> Rejection | None:
        """Take in how a write ended; return what is wrong."""
        effect = flight.writes.pop(write)
        del self._by_write[write]
        if ending is Ending.UNKNOWN:
            self.ask(flight, effect)
        elif ending is Ending.REFUSED:
            return _refused(effect, text)
        elif isinstance(effect, Bind):
            flight.stage = Stage.BOUND
            self._tell_scheduled(flight)
        return None

    def ask(self, flight: Flight, effect: Written) -> None:
        """Have an object read whose write ended nobody knows how."""
        number = self.next_write()
        kind, name = {
            Bind: ("Pod", effect.name),
            BindVolume: ("PersistentVolume", getattr(effect, "volume", "")),
            SelectNode: ("PersistentVolumeClaim", getattr(effect, "claim", "")),
        }[type(effect)]
        flight.writes[number] = effect
        self._by_write[number] = flight
        self.out.append(Ask(**who(flight.pod, flight.cause), write=number, kind=kind, of=name))

    def ask_whether_bound(self, flight: Flight) -> None:
        """Have a pod read that ought to be bound, unless that is being done."""
        if flight.stage is Stage.BOUND and not flight.writes:
            self.ask(flight, Bind(**who(flight.pod, flight.cause), node=flight.node))

    def ask_again(self, flight: Flight, write: int) -> None:
        """Have an object read once more of which nothing was learnt."""
        effect = flight.writes.pop(write)
        del self._by_write[write]
        self.ask(flight, effect)

    def is_about_pod(self, write: int) -> bool:
        """Say whether it is the pod itself that is read."""
        return isinstance(self._by_write[write].writes[write], Bind)

    def answered(self, flight: Flight, write: int, thing: Object | None) -> Rejection | None:
        """Take in what a read found, after it was folded in; return what is wrong."""
        effect = flight.writes.pop(write)
        del self._by_write[write]
        meta = flight.pod.metadata
        match effect, thing:
            case BindVolume(), PersistentVolume() if (kept := thing.spec.claim_ref) is not None:
                if (kept.namespace, kept.name, kept.uid) == (meta.namespace, effect.claim, effect.claim_uid):
                    return None
            case SelectNode(), PersistentVolumeClaim():
                if thing.metadata.annotations.get(SELECTED_NODE) == flight.node:
                    return None
            case _:
                pass
        return _refused(effect, "the write was not applied")

    def _tell_scheduled(self, flight: Flight) -> None:
        self.over.append(flight.waiting.over(Result.SCHEDULED))
        note = f"Successfully assigned {flight.pod.key} to {flight.node}"
        self.out.append(
            Record(**who(flight.pod, flight.cause), type="Normal", reason="Scheduled", action="Binding", note=note)
        )

    # 4 the end

    def confirm(self, pod: Pod, uid: str) -> Flight | None:
        """End a flight whose pod was seen on a node: what was taken stays, if it is where we sent it."""
        is_unsent = uid in self.slow  # somebody else sent it: what was to be written first never will be
        flight = self._drop(uid)
        if flight is not None:
            if pod.spec.node_name != flight.node or is_unsent:
                self._give_back(flight)
            elif flight.stage is not Stage.BOUND:
                self._tell_scheduled(flight)
        return flight

    def undo(self, uid: str) -> Flight | None:
        """Take back everything that was done for a flight, the last first."""
        flight = self._drop(uid)
        if flight is not None:
            self._give_back(flight)
            if self.table.is_assumed(uid):
                self.table.drop_pod(uid)
        return flight

    def forget(self, uid: str) -> None:
        """End a flight of which nothing is in the table any more."""
        flight = self._drop(uid)
        if flight is not None:
            flight.reserved = []
            self._give_back(flight)

    def _drop(self, uid: str) -> Flight | None:
        flight = self.flights.pop(uid, None)
        self.slow.drop(uid)
        if flight is not None:
            for write in flight.writes:
                self._by_write.pop(write, None)
        return flight

    def _give_back(self, flight: Flight) -> None:
        plugins = dict(self.around(flight.waiting.profile).reserving)
        for instance in reversed(flight.reserving):
            try:
                guarded(
                    instance,
                    "unreserve",
                    flight.pod,
                    lambda one=instance: plugins[one].unreserve(flight.pod, flight.node),  # type: ignore[misc]
                )
            except PluginFault:
                continue  # it had its chance to give back; the others still have theirs
        for reserved in reversed(flight.reserved):
            self.table.volumes.release(reserved)

    # -- what events do to flights

    def take_again(self, thing: PersistentVolume | PersistentVolumeClaim) -> None:
        """Keep a volume or claim taken that an event has just told of as it was before."""
        for flight in self.slow.with_volumes():
            flight.reserved = [self._again(reserved, thing) for reserved in flight.reserved]

    def _again(self, reserved: Reserved, thing: PersistentVolume | PersistentVolumeClaim) -> Reserved:
        books, name = self.table.volumes, thing.metadata.name
        if isinstance(thing, PersistentVolume):
            pairs = list(reserved.volumes)
            for place, (_, taken) in enumerate(pairs):
                if taken.metadata.name == name and thing.spec.claim_ref is None:
                    books.put(taken)
                    pairs[place] = (thing, taken)
            return reserved._replace(volumes=tuple(pairs))
        return reserved

    def again(self, table: Table) -> Iterator[Flight]:
        """Assume and reserve on a table built anew what is in flight, one after another."""
        self.table = table
        for flight in list(self.flights.values()):
            table.drop_nomination(flight.waiting.uid)
            row = table.row_of.get(flight.node)
            if row is None:
                table.strays.setdefault(flight.node, {})[flight.waiting.uid] = Stray(flight.pod, is_assumed=True)
            else:
                table.place(flight.pod, row, is_assumed=True)
            if flight.waiting.uid in self.slow:
                flight.reserved = [
                    table.volumes.reserve(flight.pod, reservation, flight.node)
                    for reservation in flight.reservations
                    if self._can_reserve(flight, reservation)
                ]
            if flight.stage is Stage.BIND and not flight.writes:
                flight.stage = Stage.BOUND  # how its write ended was lost
            self.ask_whether_bound(flight)
            yield flight

    def _can_reserve(self, flight: Flight, reservation: Reservation) -> bool:
        taking, books = reservation.named(flight.pod), self.table.volumes
        namespace = flight.pod.metadata.namespace
        return all(volume in books.volumes.entries for volume in taking.bind.values()) and all(
            f"{namespace}/{claim}" in books.claims.entries for claim in (*taking.bind, *taking.provision)
        )


def _rejection(instance: Instance, found: Outcome, point: str) -> Rejection | None:
    text = ", ".join(found.texts)
    match found.code:
        case Code.SUCCESS:
            return None
        case Code.UNSCHEDULABLE | Code.UNRESOLVABLE:
            return _late(instance.name, text)
        case _:
            return Rejection(ERROR, f'running {point} plugin "{instance.name}": {text}')


def _refused(effect: Written, text: str) -> Rejection:
    if isinstance(effect, Bind):
        return Rejection(ERROR, f'running Bind plugin "DefaultBinder": {text}')
    return Rejection(ERROR, f'running PreBind plugin "VolumeBinding": binding volumes: {text}')


def _late(rule: str, text: str) -> Rejection:
    return Rejection(UNSCHEDULABLE, f"0/1 nodes are available: 1 {text}.", frozenset({rule}), is_late=True)


def _volumes_seconds(flight: Flight) -> int:
    for instance in flight.waiting.profile.points.get("preBind", ()):
        seconds = getattr(instance.plugin.arguments, "bind_timeout_seconds", None)
        if isinstance(seconds, int):
            return seconds
    return VOLUMES_SECONDS
