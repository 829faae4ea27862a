"""The life of nodes: taints by their conditions, silence that is noticed, pods of nodes that are gone.

Invariant: of the taints that this module owns, a node has those that its conditions ask for and no others; nobody
else's taint is touched.
Not here: the nodes' own heartbeats (`machines.py`), and whom a taint drives away (`evictions.py`).
"""

from __future__ import annotations

from typing import Final

from bayplan.api.yamltree import Tree
from bayplan.playground.agenda import Agenda
from bayplan.playground.kubelets import Pace
from bayplan.playground.machines import LEASES
from bayplan.playground.store import Change, Key
from bayplan.playground.trees import Map, maps, moment, opened, set_condition, stamp, text, whole
from bayplan.playground.verbs import Deletion, Verbs

_NODE_SHELF: Final = ("", "nodes")
_POD_SHELF: Final = ("", "pods")
_LEASE_SHELF: Final = ("coordination.k8s.io", "leases")
_ENDED: Final = frozenset({"Succeeded", "Failed"})
_PRESSURES: Final = {  # a condition, and the taint of a node for which it is true
    "MemoryPressure": "node.kubernetes.io/memory-pressure",
    "DiskPressure": "node.kubernetes.io/disk-pressure",
    "PIDPressure": "node.kubernetes.io/pid-pressure",
    "NetworkUnavailable": "node.kubernetes.io/network-unavailable",
}
_AWAY: Final = {"False": "node.kubernetes.io/not-ready", "Unknown": "node.kubernetes.io/unreachable"}
CORDONED: Final = "node.kubernetes.io/unschedulable"
_OURS: Final = frozenset({*_PRESSURES.values(), *_AWAY.values(), CORDONED})


class Lifecycle:
    """Looks after every node's taints, and after those that fall silent."""

    def __init__(self, verbs: Verbs, agenda: Agenda, pace: Pace) -> None:
        """Look at each node now and whenever it changes, and at the leases ten times between two heartbeats."""
        self._verbs = verbs
        self._agenda = agenda
        self._nodes, self._pods = verbs.kinds.core("nodes"), verbs.kinds.core("pods")
        self._away: set[str] = set()
        self._look_every_s = pace.heartbeat_s / 10
        agenda.listen(self._changed)
        agenda.soon("silence", self._look_for_silence, self._look_every_s)

    def _changed(self, of: tuple[str, str], change: Change) -> None:
        if of != _NODE_SHELF:
            return
        name = change.key[1]
        if change.type == "DELETED":
            self._away.discard(name)
            self._agenda.soon(("node is gone", name), lambda: self._bury(name))
        else:
            self._agenda.soon(("life", name), lambda: self._look(name))

    def _look(self, name: str) -> None:
        """Give a node the taints that it asks for, and tell of its pods that they are not ready while it is away."""
        stored = self._verbs.store.shelf(_NODE_SHELF).objects.get(("", name))
        if stored is None:
            return
        kept = [one for one in maps(stored.tree, "spec", "taints") if text(one, "key") not in _OURS]
        wanted = _wanted(stored.tree)
        have = [one for one in maps(stored.tree, "spec", "taints") if text(one, "key") in _OURS]
        if {_identity(one) for one in have} != {_identity(one) for one in wanted}:
            now = stamp(self._verbs.clock())
            since = {_identity(one): one.get("timeAdded", now) for one in have}
            taints: list[Tree] = [*kept]
            for one in wanted:
                is_hard = text(one, "effect") == "NoExecute"
                taints.append({**one, "timeAdded": since.get(_identity(one), now)} if is_hard else one)
            self._verbs.amend(self._nodes, ("", name), lambda new: _tainted(new, taints))
        is_away = any(text(one, "effect") == "NoExecute" for one in wanted)
        if is_away and name not in self._away:
            self._away.add(name)
            self._unready(name)
        elif not is_away:
            self._away.discard(name)

    def _unready(self, node: str) -> None:
        """Tell of the pods of a node that is away that they are not ready."""
        now = stamp(self._verbs.clock())

        def told(new: Map) -> None:
            set_condition(opened(new, "status"), "Ready", "False", now, ("NodeNotReady", ""))

        for key, pod in self._on(node):
            if text(pod, "status", "phase") not in _ENDED:
                self._verbs.amend(self._pods, key, told)

    def _bury(self, node: str) -> None:
        """Delete the pods of a node that is no more: nobody is left to end them."""
        if ("", node) not in self._verbs.store.shelf(_NODE_SHELF).objects:
            for key, _ in self._on(node):
                self._verbs.delete(self._pods, key, Deletion(grace=0))

    def _on(self, node: str) -> list[tuple[Key, Map]]:
        pods = self._verbs.store.shelf(_POD_SHELF).objects.items()
        return [(key, one.tree) for key, one in pods if text(one.tree, "spec", "nodeName") == node]

    # --- silence -----------------------------------------------------------------------------------------------------

    def _look_for_silence(self) -> None:
        """Notice the nodes whose lease has run out."""
        try:
            now = self._verbs.clock()
            nodes = self._verbs.store.shelf(_NODE_SHELF).objects
            for (namespace, name), stored in list(self._verbs.store.shelf(_LEASE_SHELF).objects.items()):
                if namespace == LEASES and ("", name) in nodes and _is_over(stored.tree, now):
                    self._lose(name)
        finally:
            self._agenda.soon("silence", self._look_for_silence, self._look_every_s)

    def _lose(self, name: str) -> None:
        """Tell of a silent node that nothing is known of it."""
        now = stamp(self._verbs.clock())
        why = ("NodeStatusUnknown", "Kubelet stopped posting node status.")

        def told(new: Map) -> None:
            status = opened(new, "status")
            for kind in ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure"):
                known = (text(one, "type") for one in maps(status, "conditions"))
                if kind == "Ready" or kind in known:
                    set_condition(status, kind, "Unknown", now, why)

        self._verbs.amend(self._nodes, ("", name), told)


def _wanted(node: Map) -> list[Map]:
    """Give the taints that a node's conditions ask for."""
    found: list[Map] = []
    for one in maps(node, "status", "conditions"):
        kind, value = text(one, "type"), text(one, "status")
        if kind == "Ready" and value in _AWAY:
            found.extend({"key": _AWAY[value], "effect": effect} for effect in ("NoSchedule", "NoExecute"))
        elif kind in _PRESSURES and value == "True":
            found.append({"key": _PRESSURES[kind], "effect": "NoSchedule"})
    spec = node.get("spec")
    if isinstance(spec, dict) and spec.get("unschedulable") is True:
        found.append({"key": CORDONED, "effect": "NoSchedule"})
    return found


def _identity(taint: Map) -> tuple[str, str]:
    return text(taint, "key"), text(taint, "effect")


def _tainted(new: Map, taints: list[Tree]) -> None:
    spec = opened(new, "spec")
    if taints:
        spec["taints"] = taints
    else:
        spec.pop("taints", None)


def _is_over(lease: Map, now: float) -> bool:
    seconds = whole(lease, "spec", "leaseDurationSeconds") or 0
    return moment(text(lease, "spec", "renewTime"), now) + seconds < now
