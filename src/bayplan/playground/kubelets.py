"""Pretend kubelets: what becomes of pods that were given a node.

A pod that fits becomes Running after a while, runs for as long as its annotation says, and ends as another says; one
that does not fit fails as a kubelet would let it fail, so that a scheduler that overcommits is seen to be wrong.  A
deleted pod goes after a moment, never later than its grace; a NoExecute taint that is not borne drives pods away.
Invariant: of pods that were let in, no node ever holds more than it has to share out.
Not here: making pods (`controllers/`), and the nodes themselves (`nodes.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from bayplan.api.decode import DecodeError, decode_tree
from bayplan.api.durations import Duration
from bayplan.api.objects import Node, Pod
from bayplan.api.requests import PODS, allocatable, fit_request
from bayplan.api.selectors import tolerates
from bayplan.playground.agenda import Agenda
from bayplan.playground.store import Change, Key
from bayplan.playground.trees import Map, maps, opened, set_condition, stamp, text, whole
from bayplan.playground.verbs import Deletion, Verbs

RUNS_FOR: Final = "playground.bayplan.dev/runs-for"
ENDS: Final = "playground.bayplan.dev/ends"
_POD_SHELF: Final = ("", "pods")
_NODE_SHELF: Final = ("", "nodes")
_ENDED: Final = frozenset({"Succeeded", "Failed"})


class Pace(NamedTuple):
    """How long things take, in seconds."""

    start_s: float = 0.5
    end_s: float = 1.0


class Kubelets:
    """The kubelets of all nodes of one store."""

    def __init__(self, verbs: Verbs, agenda: Agenda, pace: Pace) -> None:
        """Take care of every pod that has a node."""
        self._verbs = verbs
        self._agenda = agenda
        self._pace = pace
        self._pods, self._nodes = verbs.kinds.core("pods"), verbs.kinds.core("nodes")
        self._held: dict[str, dict[Key, dict[str, int]]] = {}  # by node: what its pods were let in with
        agenda.listen(self._changed)

    # --- what happens ------------------------------------------------------------------------------------------------

    def _changed(self, of: tuple[str, str], change: Change) -> None:
        if of == _POD_SHELF:
            self._pod_changed(change)
        elif of == _NODE_SHELF and change.type != "DELETED" and maps(change.now.tree, "spec", "taints"):
            name = change.key[1]
            self._agenda.soon(("taints", name), lambda: self._drive_away(name))

    def _pod_changed(self, change: Change) -> None:
        pod, key = change.now.tree, change.key
        node, phase, uid = text(pod, "spec", "nodeName"), text(pod, "status", "phase"), text(pod, "metadata", "uid")
        if not node:
            return
        if change.type == "DELETED" or phase in _ENDED:
            self._held.get(node, {}).pop(key, None)
        if change.type == "DELETED":
            return
        if text(pod, "metadata", "deletionTimestamp"):
            grace = whole(pod, "metadata", "deletionGracePeriodSeconds") or 0
            self._agenda.soon(("end", uid), lambda: self._end(key, uid), min(self._pace.end_s, grace))
        elif phase == "Pending" and key not in self._held.get(node, {}):
            self._agenda.soon(("admit", uid), lambda: self._admit(key, uid))

    # --- letting in --------------------------------------------------------------------------------------------------

    def _admit(self, key: Key, uid: str) -> None:
        """Let a pod in, or let it fail as what its node cannot give."""
        tree = self._same(key, uid)
        if tree is None:
            return
        name = text(tree, "spec", "nodeName")
        node = self._verbs.store.shelf(_NODE_SHELF).objects.get(("", name))
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
        wanted = {**fit_request(pod), PODS: 1}
        free = allocatable(there)
        for resource, asked in wanted.items():
            used = sum(one.get(resource, 0) for one in held.values())
            if asked and used + asked > free.get(resource, 0):
                amounts = f"requested: {asked}, used: {used}, capacity: {free.get(resource, 0)}"
                why = f"Pod was rejected: Node didn't have enough resource: {resource}, {amounts}"
                self._fail(key, f"OutOf{resource}", why)
                return
        held[key] = wanted
        self._agenda.soon(("start", uid), lambda: self._start(key, uid), self._pace.start_s)

    def _fail(self, key: Key, reason: str, message: str) -> None:
        def failed(new: Map) -> None:
            opened(new, "status").update({"phase": "Failed", "reason": reason, "message": message})

        self._verbs.amend(self._pods, key, failed)

    # --- running -----------------------------------------------------------------------------------------------------

    def _start(self, key: Key, uid: str) -> None:
        tree = self._same(key, uid)
        if tree is None or text(tree, "metadata", "deletionTimestamp") or text(tree, "status", "phase") != "Pending":
            return
        now = stamp(self._verbs.clock())

        def started(new: Map) -> None:
            status = opened(new, "status")
            status.update({"phase": "Running", "startTime": now, "podIP": _address(self._verbs.store.revision)})
            for kind in ("Initialized", "ContainersReady", "Ready"):
                set_condition(status, kind, "True", now)
            running: Map = {"running": {"startedAt": now}}
            status["containerStatuses"] = [
                _container(one, running, is_ready=True) for one in maps(new, "spec", "containers")
            ]

        self._verbs.amend(self._pods, key, started)
        written = text(tree, "metadata", "annotations", RUNS_FOR)
        if written:
            self._agenda.soon(("finish", uid), lambda: self._finish(key, uid), _seconds(written))

    def _finish(self, key: Key, uid: str) -> None:
        """End a pod that has run for as long as it was to."""
        tree = self._same(key, uid)
        if tree is None or text(tree, "status", "phase") != "Running":
            return
        now = stamp(self._verbs.clock())
        phase = "Failed" if text(tree, "metadata", "annotations", ENDS) == "Failed" else "Succeeded"
        ended: Map = {"exitCode": 0, "reason": "Completed", "finishedAt": now}
        if phase == "Failed":
            ended.update({"exitCode": 1, "reason": "Error"})

        def finished(new: Map) -> None:
            status = opened(new, "status")
            status["phase"] = phase
            for kind in ("ContainersReady", "Ready"):
                set_condition(status, kind, "False", now, ("PodCompleted", ""))
            over: Map = {"terminated": ended}
            status["containerStatuses"] = [
                _container(one, over, is_ready=False) for one in maps(new, "spec", "containers")
            ]

        self._verbs.amend(self._pods, key, finished)

    # --- ending ------------------------------------------------------------------------------------------------------

    def _end(self, key: Key, uid: str) -> None:
        if self._same(key, uid) is not None:
            self._verbs.delete(self._pods, key, Deletion(grace=0, uid=uid))

    def _drive_away(self, name: str) -> None:
        """Delete the pods that do not bear a node's NoExecute taints, each when its patience is over."""
        node = self._verbs.store.shelf(_NODE_SHELF).objects.get(("", name))
        decoded = None if node is None else decode_tree(node.tree)
        if not isinstance(decoded, Node):
            return
        hard = [taint for taint in decoded.spec.taints if taint.effect == "NoExecute"]
        for key in list(self._held.get(name, {})) if hard else ():
            stored = self._verbs.store.shelf(_POD_SHELF).objects.get(key)
            if stored is None:
                continue
            uid = text(stored.tree, "metadata", "uid")
            pod = decode_tree(stored.tree)
            if not isinstance(pod, Pod):
                continue
            borne = [
                next((at for at, one in enumerate(pod.spec.tolerations) if tolerates(one, taint, compares=False)), None)
                for taint in hard
            ]
            patience = list(_patience(stored.tree, [at for at in borne if at is not None]))
            seconds = 0 if None in borne else min(patience, default=None)
            if seconds is not None:
                self._agenda.soon(("away", uid), lambda key=key, uid=uid: self._evict(name, key, uid), seconds)  # type: ignore[misc]

    def _evict(self, name: str, key: Key, uid: str) -> None:
        """Delete a pod from a node that still has a taint that it does not bear."""
        node = self._verbs.store.shelf(_NODE_SHELF).objects.get(("", name))
        taints = maps(node.tree, "spec", "taints") if node is not None else []
        if self._same(key, uid) is not None and any(text(one, "effect") == "NoExecute" for one in taints):
            self._verbs.delete(self._pods, key, Deletion(uid=uid))

    def _same(self, key: Key, uid: str) -> Map | None:
        """Give a pod if it is still the one that is meant."""
        stored = self._verbs.store.shelf(_POD_SHELF).objects.get(key)
        return stored.tree if stored is not None and text(stored.tree, "metadata", "uid") == uid else None


def _patience(pod: Map, borne: list[int]) -> Iterator[int]:
    """Give the seconds for which tolerations are good, where they end at all."""
    tolerations = maps(pod, "spec", "tolerations")
    for at in borne:
        seconds = whole(tolerations[at], "tolerationSeconds")
        if seconds is not None:
            yield max(seconds, 0)


def _container(spec: Map, state: Map, *, is_ready: bool) -> Map:
    name, image = text(spec, "name"), text(spec, "image")
    known: Map = {"name": name, "image": image, "imageID": "", "restartCount": 0, "ready": is_ready}
    return {**known, "started": is_ready, "state": state}


def _address(number: int) -> str:
    return f"172.{16 + number // 62_500 % 16}.{number // 250 % 250}.{number % 250 + 1}"


def _seconds(written: str) -> float:
    """Read a length of time; one that cannot be read is none."""
    try:
        return max(Duration.parse(written) / 1e9, 0.0)
    except ValueError:
        return 0.0
