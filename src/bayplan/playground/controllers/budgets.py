"""Disruption budgets: how many of the pods that a budget covers may be disrupted now.

Invariant: what a status allows, and all that is below the wanted number, add up to no more than is healthy.
Not here: spending it (`subresources.py`).
"""

from __future__ import annotations

from typing import Final

from bayplan.api.yamltree import Tree
from bayplan.playground.agenda import Agenda
from bayplan.playground.matching import selection
from bayplan.playground.store import Change, Key
from bayplan.playground.subresources import BUDGETS, tell_allowed
from bayplan.playground.trees import Map, at, mapping, maps, opened, pairs, stamp, text, whole
from bayplan.playground.verbs import Verbs

_POD_SHELF: Final = ("", "pods")
_ENDED: Final = frozenset({"Succeeded", "Failed"})


class Budgets:
    """Keeps the status of every budget."""

    def __init__(self, verbs: Verbs, agenda: Agenda) -> None:
        """Look at the budgets now, and whenever they or pods change."""
        self._verbs = verbs
        self._agenda = agenda
        agenda.listen(self._changed)

    def _changed(self, of: tuple[str, str], change: Change) -> None:
        if of == BUDGETS.stored_as and change.type != "DELETED":
            key = change.key
            self._agenda.soon(("budget", key), lambda: self._count(key))
        elif of == _POD_SHELF:
            for key in self._verbs.store.shelf(BUDGETS.stored_as).objects:
                if key[0] == change.key[0]:
                    self._agenda.soon(("budget", key), lambda key=key: self._count(key))  # type: ignore[misc]

    def _count(self, key: Key) -> None:
        stored = self._verbs.store.shelf(BUDGETS.stored_as).objects.get(key)
        covers = selection(at(stored.tree, "spec", "selector")) if stored is not None else None
        if stored is None or covers is None:
            return
        pods = [
            one.tree
            for (namespace, _), one in self._verbs.store.shelf(_POD_SHELF).objects.items()
            if namespace == key[0] and covers(pairs(one.tree, "metadata", "labels"))
        ]
        there = [pod for pod in pods if text(pod, "status", "phase") not in _ENDED]
        named = {text(pod, "metadata", "name") for pod in there if not text(pod, "metadata", "deletionTimestamp")}
        leaving = {
            name: when for name, when in mapping(stored.tree, "status", "disruptedPods").items() if name in named
        }
        healthy = sum(_is_healthy(pod) and text(pod, "metadata", "name") not in leaving for pod in there)
        wanted = _wanted(stored.tree, len(there))
        told: Map = {"currentHealthy": healthy, "desiredHealthy": wanted, "expectedPods": len(there)}
        told["disruptionsAllowed"] = max(healthy - wanted, 0)

        now = stamp(self._verbs.clock())

        def written(new: Map) -> None:
            status = opened(new, "status")
            status.update({**told, "observedGeneration": whole(new, "metadata", "generation") or 0})
            status.pop("disruptedPods", None)
            if leaving:
                status["disruptedPods"] = leaving
            tell_allowed(new, now)

        self._verbs.amend(BUDGETS, key, written)


def _wanted(budget: Map, expected: int) -> int:
    """Give how many pods are to stay healthy; a share is rounded up."""
    least, most = at(budget, "spec", "minAvailable"), at(budget, "spec", "maxUnavailable")
    if least is not None:
        return _amount(least, expected)
    if most is not None:
        return max(expected - _amount(most, expected), 0)
    return expected


def _amount(written: Tree, of: int) -> int:
    if isinstance(written, int):
        return int(written)
    share = written.removesuffix("%") if isinstance(written, str) else ""
    return -(-int(share) * of // 100) if share.isascii() and share.isdigit() and len(share) < 6 else 0


def _is_healthy(pod: Map) -> bool:
    if text(pod, "metadata", "deletionTimestamp"):
        return False
    conditions = maps(pod, "status", "conditions")
    return any(text(one, "type") == "Ready" and text(one, "status") == "True" for one in conditions)
