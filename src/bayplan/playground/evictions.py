"""Evictions: the pods that a NoExecute taint drives from its node, each when its patience is over.

Invariant: a pod that bears every such taint of its node for ever is left alone.
Not here: who taints nodes (`controllers/lifecycle.py`), and evictions that a client asks for (`subresources.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from bayplan.api.decode import DecodeError, decode_tree
from bayplan.api.objects import Node, Pod, Taint
from bayplan.api.selectors import tolerates
from bayplan.playground.agenda import Agenda
from bayplan.playground.reach import Reach
from bayplan.playground.store import Change, Key
from bayplan.playground.trees import Map, maps, text, whole
from bayplan.playground.verbs import Deletion

_POD_SHELF: Final = ("", "pods")
_NODE_SHELF: Final = ("", "nodes")
_ENDED: Final = frozenset({"Succeeded", "Failed"})


class Evictions:
    """Looks after the pods of nodes that have NoExecute taints."""

    def __init__(self, reach: Reach, agenda: Agenda) -> None:
        """Look at every node that has such a taint, and at the pods that come to it."""
        self._reach = reach
        self._agenda = agenda
        self._pods = reach.kinds.core("pods")
        self._hard: dict[str, list[Taint]] = {}  # by node; most have none
        agenda.listen(self._changed)

    def _changed(self, of: tuple[str, str], change: Change) -> None:
        if of == _NODE_SHELF:
            name = change.key[1]
            hard = _hard(change.now.tree) if change.type != "DELETED" else []
            if hard:
                self._hard[name] = hard
                self._agenda.soon(("taints", name), lambda: self._drive_away(name))
            else:
                self._hard.pop(name, None)
        elif of == _POD_SHELF and change.type != "DELETED":
            node = text(change.now.tree, "spec", "nodeName")
            if node in self._hard:
                self._judge(change.key, change.now.tree, node)

    def _drive_away(self, node: str) -> None:
        for key, stored in list(self._reach.store.shelf(_POD_SHELF).objects.items()):
            if text(stored.tree, "spec", "nodeName") == node:
                self._judge(key, stored.tree, node)

    def _judge(self, key: Key, tree: Map, node: str) -> None:
        """Let a pod go when its patience is over, if that ever is."""
        if text(tree, "status", "phase") in _ENDED or text(tree, "metadata", "deletionTimestamp"):
            return
        seconds = _patience(tree, self._hard.get(node, []))
        if seconds is not None:
            uid = text(tree, "metadata", "uid")
            self._agenda.soon(("away", uid, seconds), lambda: self._evict(key, uid), seconds)

    def _evict(self, key: Key, uid: str) -> None:
        """Delete a pod whose node still has a taint that it does not bear."""
        stored = self._reach.store.shelf(_POD_SHELF).objects.get(key)
        if stored is None or text(stored.tree, "metadata", "uid") != uid:
            return
        if _patience(stored.tree, self._hard.get(text(stored.tree, "spec", "nodeName"), [])) is not None:
            self._reach.delete(self._pods, key, Deletion(uid=uid))


def _hard(tree: Map) -> list[Taint]:
    with suppress(DecodeError):
        node = decode_tree(tree)
        if isinstance(node, Node):
            return [taint for taint in node.spec.taints if taint.effect == "NoExecute"]
    return []


def _patience(tree: Map, hard: list[Taint]) -> float | None:
    """Give for how many seconds a pod bears taints; None where that is for ever."""
    pod = None
    with suppress(DecodeError):
        pod = decode_tree(tree)
    if not isinstance(pod, Pod):
        return None
    bounds: list[float] = []
    for taint in hard:
        borne = [place for place, one in enumerate(pod.spec.tolerations) if tolerates(one, taint, compares=False)]
        if not borne:
            return 0.0
        bounds.extend(_ends(tree, borne))
    return min(bounds, default=None)


def _ends(tree: Map, borne: list[int]) -> Iterator[float]:
    """Give the seconds after which tolerations are over, where they ever are."""
    tolerations = maps(tree, "spec", "tolerations")
    for place in borne:
        seconds = whole(tolerations[place], "tolerationSeconds")
        if seconds is not None:
            yield max(seconds, 0)
