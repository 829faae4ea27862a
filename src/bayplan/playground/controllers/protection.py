"""Protection: claims, volumes and pod groups that are deleted stay until nobody uses them any more.

Admission gives each its finalizer (`admission.py`); this takes it away.
Invariant: a finalizer is taken from an object only when it is being deleted and nobody uses it.
Not here: everybody else's finalizers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from bayplan.playground.agenda import Agenda
from bayplan.playground.store import Change, Key
from bayplan.playground.trees import Map, at, items, maps, opened, text
from bayplan.playground.verbs import Verbs

_POD_SHELF: Final = ("", "pods")
_ENDED: Final = frozenset({"Succeeded", "Failed"})


class Protection:
    """Lets go of what nobody uses."""

    def __init__(self, verbs: Verbs, agenda: Agenda) -> None:
        """Look at what is being deleted, and again whenever a pod ends or a volume changes."""
        self._verbs = verbs
        self._agenda = agenda
        self._waiting: dict[tuple[tuple[str, str], Key], None] = {}
        agenda.listen(self._changed)

    def _changed(self, of: tuple[str, str], change: Change) -> None:
        if of in _GUARDS:
            where = (of, change.key)
            self._waiting.pop(where, None)
            if change.type != "DELETED" and text(change.now.tree, "metadata", "deletionTimestamp"):
                self._waiting[where] = None
        if self._waiting and (of in _GUARDS or of == _POD_SHELF):
            self._agenda.soon("protection", self._look)

    def _look(self) -> None:
        for of, key in list(self._waiting):
            finalizer, is_used = _GUARDS[of]
            stored = self._verbs.store.shelf(of).objects.get(key)
            if stored is None or finalizer not in items(stored.tree, "metadata", "finalizers"):
                self._waiting.pop((of, key), None)
            elif not is_used(stored.tree, self._pods(key[0])):
                kind = next(kind for kind in self._verbs.kinds if kind.stored_as == of)
                self._verbs.amend(kind, key, lambda new, finalizer=finalizer: _let_go(new, finalizer))  # type: ignore[misc]

    def _pods(self, namespace: str) -> list[Map]:
        """Give the pods of a namespace that have not ended."""
        pods = self._verbs.store.shelf(_POD_SHELF).objects.items()
        return [
            one.tree for key, one in pods if key[0] == namespace and text(one.tree, "status", "phase") not in _ENDED
        ]


def _claimed(claim: Map, pods: list[Map]) -> bool:
    name = text(claim, "metadata", "name")
    return any(
        text(volume, "persistentVolumeClaim", "claimName") == name
        for pod in pods
        for volume in maps(pod, "spec", "volumes")
    )


def _bound(volume: Map, _: list[Map]) -> bool:
    return text(volume, "status", "phase") == "Bound"


def _joined(group: Map, pods: list[Map]) -> bool:
    name = text(group, "metadata", "name")
    return any(at(pod, "spec", "schedulingGroup", "podGroupName") == name for pod in pods)


def _let_go(tree: Map, finalizer: str) -> None:
    opened(tree, "metadata")["finalizers"] = [one for one in items(tree, "metadata", "finalizers") if one != finalizer]


_GUARDS: Final[dict[tuple[str, str], tuple[str, Callable[[Map, list[Map]], bool]]]] = {
    ("", "persistentvolumeclaims"): ("kubernetes.io/pvc-protection", _claimed),
    ("", "persistentvolumes"): ("kubernetes.io/pv-protection", _bound),
    ("scheduling.k8s.io", "podgroups"): ("scheduling.k8s.io/podgroup-protection", _joined),
}
