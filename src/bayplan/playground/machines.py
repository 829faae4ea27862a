"""Machines: the pretend nodes under the kubelets, their heartbeats, and what befalls them on command.

A node that is not ready says so itself and keeps on beating; one that vanishes says nothing more, and only the age of
its lease tells; one that reboots is away for a moment, and its containers start anew.
Invariant: a node of which nobody commanded anything beats, and its own word on its readiness is left as it is.
Not here: what follows for others from a node that is away (`controllers/lifecycle.py`).
"""

from __future__ import annotations

import uuid
from typing import Final, Literal, TypeAlias

import msgspec

from bayplan.playground.agenda import Agenda
from bayplan.playground.kinds import Kind
from bayplan.playground.kubelets import Kubelets, Pace
from bayplan.playground.reach import Reach
from bayplan.playground.refusals import Refused, bad_request, not_found
from bayplan.playground.store import Change
from bayplan.playground.trees import Map, fine_stamp, maps, opened, set_condition, stamp, text

Fate: TypeAlias = Literal["not-ready", "reboot", "vanish", "ready"]

LEASES: Final = "kube-node-lease"
BEATS_PER_S: Final = 100  # of all nodes together, at most
SLICES: Final = 10  # of the time between two beats of a node
PATIENCE: Final = 4  # beats that may be missed
_NODE_SHELF: Final = ("", "nodes")
_LEASE_SHELF: Final = ("coordination.k8s.io", "leases")
_READY: Final = ("KubeletReady", "pretending to be ready")


class Command(msgspec.Struct, forbid_unknown_fields=True):
    """What is to befall a node."""

    node: str
    fate: Fate
    seconds: float = 5.0  # how long a reboot takes


class Machines:
    """The machines of all nodes."""

    def __init__(self, reach: Reach, agenda: Agenda, pace: Pace, kubelets: Kubelets) -> None:
        """Let every node beat that is there or comes."""
        self._reach = reach
        self._agenda = agenda
        self._pace = pace
        self._kubelets = kubelets
        self._nodes = reach.kinds.core("nodes")
        self._gone: set[str] = set()
        self._turn = 0
        agenda.listen(self._changed)
        self._agenda.soon("beat", self._beat)

    # --- what befalls them -------------------------------------------------------------------------------------------

    def befall(self, raw: bytes) -> Command:
        """Do to a node as a command's JSON says; raise Refused on what cannot be done."""
        try:
            command = msgspec.json.decode(raw, type=Command)
        except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
            raise bad_request(f'a fate is expected, such as {{"node": "node-0", "fate": "reboot"}}: {error}') from None
        if not 0 <= command.seconds <= 3600:
            raise bad_request(f"seconds: expected 0 to 3600, got {command.seconds}")
        self.decree(command)
        return command

    def decree(self, command: Command) -> None:
        """Do to a node as is commanded."""
        name = command.node
        if ("", name) not in self._reach.store.shelf(_NODE_SHELF).objects:
            raise not_found(self._nodes, name)
        match command.fate:
            case "not-ready":
                self._kubelets.rest(name)
                self._tell(name, "False", ("KubeletNotReady", "told not to be ready"))
            case "vanish":
                self._gone.add(name)
                self._kubelets.rest(name)
            case "ready":
                self._come_back(name)
            case "reboot":
                self._kubelets.rest(name)
                self._tell(name, "False", ("KubeletNotReady", "the node is starting"))
                self._kubelets.restart(name, is_up=False)
                self._agenda.soon(("reboot", name), lambda: self._rebooted(name), command.seconds)

    def _come_back(self, name: str) -> None:
        self._gone.discard(name)
        self._tell(name, "True", _READY)
        self._renew(name)
        self._kubelets.resume(name)

    def _rebooted(self, name: str) -> None:
        boot = str(uuid.uuid4())
        self._reach.amend(self._nodes, ("", name), lambda new: _booted(new, boot))
        self._kubelets.restart(name, is_up=True)
        self._come_back(name)

    def _tell(self, name: str, value: str, why: tuple[str, str]) -> None:
        """Write a node's own word on its readiness."""
        now = stamp(self._reach.clock())

        def told(new: Map) -> None:
            set_condition(opened(new, "status"), "Ready", value, now, why)
            for one in maps(new, "status", "conditions"):
                if text(one, "type") == "Ready":
                    one["lastHeartbeatTime"] = now

        self._reach.amend(self._nodes, ("", name), told)

    # --- heartbeats --------------------------------------------------------------------------------------------------

    def _changed(self, of: tuple[str, str], change: Change) -> None:
        name = change.key[1]
        if of == _NODE_SHELF and change.type == "DELETED":
            self._gone.discard(name)
        elif of == _NODE_SHELF and change.type == "ADDED":
            self._agenda.soon(("greet", name), lambda: self._greet(name))

    def _greet(self, name: str) -> None:
        """Let a node beat for the first time, and say that it is ready if it says nothing of that."""
        stored = self._reach.store.shelf(_NODE_SHELF).objects.get(("", name))
        if stored is None:
            return
        self._renew(name)
        if not any(text(one, "type") == "Ready" for one in maps(stored.tree, "status", "conditions")):
            self._tell(name, "True", _READY)

    @property
    def _interval_s(self) -> float:
        """Give the time between two beats of a node."""
        return max(self._pace.heartbeat_s, len(self._reach.store.shelf(_NODE_SHELF).objects) / BEATS_PER_S)

    def _beat(self) -> None:
        """Let a slice of the nodes beat, and the next one soon."""
        names = [name for _, name in self._reach.store.shelf(_NODE_SHELF).ordered()]
        self._turn = (self._turn + 1) % SLICES
        try:
            for name in names[self._turn :: SLICES]:
                if name not in self._gone:
                    self._renew(name)
        finally:
            self._agenda.soon("beat", self._beat, self._interval_s / SLICES)

    def _renew(self, name: str) -> None:
        """Renew a node's lease, or make it."""
        leases, now = self._leases, fine_stamp(self._reach.clock())
        seconds = max(int(PATIENCE * self._interval_s), 1)

        def renewed(new: Map) -> None:
            opened(new, "spec").update({"renewTime": now, "leaseDurationSeconds": seconds})

        try:
            if (LEASES, name) in self._reach.store.shelf(_LEASE_SHELF).objects:
                self._reach.amend(leases, (LEASES, name), renewed)
                return
            lease: Map = {"metadata": {"name": name}, "spec": {"holderIdentity": name}}
            renewed(lease)
            self._reach.create(leases, LEASES, lease)
        except Refused:  # its namespace is going, say: the next beat tries again
            return

    @property
    def _leases(self) -> Kind:
        kind = self._reach.kinds.find("coordination.k8s.io", "v1", "leases")
        if kind is None:
            raise not_found(self._nodes, "leases")
        return kind


def _booted(new: Map, boot: str) -> None:
    opened(new, "status", "nodeInfo")["bootID"] = boot
