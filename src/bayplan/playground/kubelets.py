"""Pretend kubelets: what becomes of pods that were given a node.

A pod that fits becomes Running after a while, runs for as long as its annotation says, and ends as another says; one
that does not fit fails as a kubelet would let it fail, so that a scheduler that overcommits is seen to be wrong.  A
deleted pod goes after a moment, never later than its grace.
Invariants: of pods that were let in, no node ever holds more than it has to share out; on a node whose kubelet rests
nothing happens, and when it goes on everything that was due is done.
Not here: the nodes and what befalls them (`nodes.py`, `machines.py`), and who is driven away (`evictions.py`).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from bayplan.api.decode import DecodeError, decode_tree
from bayplan.api.durations import Duration
from bayplan.api.objects import Node, Pod
from bayplan.api.requests import allocatable
from bayplan.playground.agenda import Agenda
from bayplan.playground.node_fit import refusal_of, shortage, taken, taken_by
from bayplan.playground.pod_states import ended, restarted, started
from bayplan.playground.reach import Reach
from bayplan.playground.store import Change, Key
from bayplan.playground.trees import Map, moment, opened, stamp, text, whole
from bayplan.playground.verbs import Deletion

RUNS_FOR: Final = "playground.bayplan.dev/runs-for"
ENDS: Final = "playground.bayplan.dev/ends"
_POD_SHELF: Final = ("", "pods")
_NODE_SHELF: Final = ("", "nodes")
_ENDED_PHASES: Final = frozenset({"Succeeded", "Failed"})


class Pace(NamedTuple):
    """How long things take, in seconds."""

    start_s: float = 0.5
    end_s: float = 1.0
    heartbeat_s: float = 10.0  # at the least: many nodes take longer, so that heartbeats never fill the day


class Kubelets:
    """The kubelets of all nodes of one cluster."""

    def __init__(self, reach: Reach, agenda: Agenda, pace: Pace) -> None:
        """Take care of every pod that has a node."""
        self._reach = reach
        self._agenda = agenda
        self._pace = pace
        self._pods = reach.kinds.core("pods")
        self._held: dict[str, dict[Key, dict[str, int]]] = {}  # by node: what its pods were let in with
        self._idle: set[str] = set()  # nodes whose kubelet does nothing
        agenda.listen(self._changed)

    # --- what happens ------------------------------------------------------------------------------------------------

    def _changed(self, of: tuple[str, str], change: Change) -> None:
        if of == _POD_SHELF:
            self._pod_changed(change)
        elif of == _NODE_SHELF and change.type == "ADDED":
            name = change.key[1]
            self._agenda.soon(("node", name), lambda: self.resume(name))

    def _pod_changed(self, change: Change) -> None:
        pod, key = change.now.tree, change.key
        node = text(pod, "spec", "nodeName")
        if not node:
            return
        if change.type == "DELETED" or text(pod, "status", "phase") in _ENDED_PHASES:
            self._held.get(node, {}).pop(key, None)
        if change.type != "DELETED" and node not in self._idle:
            self._look(key, node, pod)

    def _look(self, key: Key, node: str, pod: Map) -> None:
        """See to the next thing that a pod needs."""
        uid, phase = text(pod, "metadata", "uid"), text(pod, "status", "phase")
        is_held = key in self._held.get(node, {})
        if text(pod, "metadata", "deletionTimestamp"):
            grace = whole(pod, "metadata", "deletionGracePeriodSeconds") or 0
            self._agenda.soon(("end", uid), lambda: self._end(key, uid), min(self._pace.end_s, grace))
        elif phase == "Pending" and not is_held:
            self._agenda.soon(("admit", uid), lambda: self._admit(key, uid))
        elif phase == "Running" and not is_held:  # it ran before these kubelets were there
            self._held.setdefault(node, {})[key] = taken_by(pod)
            self._await_finish(key, pod)

    # --- nodes that do nothing for a while ---------------------------------------------------------------------------

    def rest(self, node: str) -> None:
        """Do nothing more on a node."""
        self._idle.add(node)

    def resume(self, node: str) -> None:
        """Go on with what is to be done on a node."""
        self._idle.discard(node)
        for key, pod in self._on(node):
            if text(pod, "status", "phase") == "Running":
                self._await_finish(key, pod)
            elif text(pod, "status", "phase") == "Pending" and key in self._held.get(node, {}):
                self._await_start(key, pod)
            self._look(key, node, pod)

    def restart(self, node: str, *, is_up: bool) -> None:
        """Let the containers of a node go down with it, or come up again."""
        now = stamp(self._reach.clock())
        for key, pod in self._on(node):
            if text(pod, "status", "phase") != "Running":
                continue
            if text(pod, "spec", "restartPolicy") == "Never":
                self._reach.amend(self._pods, key, lambda new: ended(new, "Failed", now))
            else:
                self._reach.amend(self._pods, key, lambda new: restarted(new, now, is_up=is_up))

    def _on(self, node: str) -> list[tuple[Key, Map]]:
        """Give the pods of a node."""
        pods = self._reach.store.shelf(_POD_SHELF).objects.items()
        return [(key, one.tree) for key, one in pods if text(one.tree, "spec", "nodeName") == node]

    # --- letting in --------------------------------------------------------------------------------------------------

    def _admit(self, key: Key, uid: str) -> None:
        """Let a pod in, or let it fail as what its node cannot give."""
        tree = self._same(key, uid)
        if tree is None:
            return
        name = text(tree, "spec", "nodeName")
        node = self._reach.store.shelf(_NODE_SHELF).objects.get(("", name))
        if node is None:
            return  # nobody is there to do anything
        try:
            pod, there = decode_tree(tree), decode_tree(node.tree)
        except DecodeError as error:
            self._fail(key, "UnexpectedAdmissionError", f"Pod was rejected: {error}")
            return
        if not isinstance(pod, Pod) or not isinstance(there, Node):
            return
        held = self._held.setdefault(name, {})
        wanted = taken(pod)
        refusal = refusal_of(pod, there) or shortage(wanted, list(held.values()), allocatable(there))
        if refusal is not None:
            self._fail(key, *refusal)
            return
        held[key] = wanted
        self._await_start(key, tree)

    def _fail(self, key: Key, reason: str, message: str) -> None:
        def failed(new: Map) -> None:
            opened(new, "status").update({"phase": "Failed", "reason": reason, "message": message})

        self._reach.amend(self._pods, key, failed)

    # --- running -----------------------------------------------------------------------------------------------------

    def _await_start(self, key: Key, pod: Map) -> None:
        uid = text(pod, "metadata", "uid")
        self._agenda.soon(("start", uid), lambda: self._start(key, uid), self._pace.start_s)

    def _start(self, key: Key, uid: str) -> None:
        tree = self._same(key, uid)
        if tree is None or text(tree, "metadata", "deletionTimestamp") or text(tree, "status", "phase") != "Pending":
            return
        address, now = _address(self._reach.store.revision), stamp(self._reach.clock())
        self._reach.amend(self._pods, key, lambda new: started(new, address, now))
        self._await_finish(key, tree)

    def _await_finish(self, key: Key, pod: Map) -> None:
        """Let a pod end in time that says how long it runs."""
        written, uid = text(pod, "metadata", "annotations", RUNS_FOR), text(pod, "metadata", "uid")
        if written:
            ran_s = max(self._reach.clock() - moment(text(pod, "status", "startTime"), self._reach.clock()), 0.0)
            self._agenda.soon(("finish", uid), lambda: self._finish(key, uid), max(_seconds(written) - ran_s, 0.0))

    def _finish(self, key: Key, uid: str) -> None:
        """End a pod that has run for as long as it was to."""
        tree = self._same(key, uid)
        if tree is None or text(tree, "status", "phase") != "Running":
            return
        now = stamp(self._reach.clock())
        phase = "Failed" if text(tree, "metadata", "annotations", ENDS) == "Failed" else "Succeeded"
        self._reach.amend(self._pods, key, lambda new: ended(new, phase, now))

    # --- ending ------------------------------------------------------------------------------------------------------

    def _end(self, key: Key, uid: str) -> None:
        if self._same(key, uid) is not None:
            self._reach.delete(self._pods, key, Deletion(grace=0, uid=uid))

    def _same(self, key: Key, uid: str) -> Map | None:
        """Give a pod if it is still the one that is meant, and its node's kubelet is at work."""
        stored = self._reach.store.shelf(_POD_SHELF).objects.get(key)
        if stored is None or text(stored.tree, "metadata", "uid") != uid:
            return None
        return None if text(stored.tree, "spec", "nodeName") in self._idle else stored.tree


def _address(number: int) -> str:
    return f"172.{16 + number // 62_500 % 16}.{number // 250 % 250}.{number % 250 + 1}"


def _seconds(written: str) -> float:
    """Read a length of time; one that cannot be read is none."""
    try:
        return max(Duration.parse(written) / 1e9, 0.0)
    except ValueError:
        return 0.0
