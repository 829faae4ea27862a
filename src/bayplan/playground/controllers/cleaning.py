"""Cleaning up: dependents of what was deleted, the contents of namespaces that end.

Invariant: nothing is deleted whose owner is there, and a namespace goes when nothing is left in it.
Not here: the rules of deletion itself (`verbs.py`).
"""

from __future__ import annotations

from typing import Final

from bayplan.playground.admission import NAMESPACES
from bayplan.playground.agenda import Agenda
from bayplan.playground.controllers.owned import Owned
from bayplan.playground.kinds import Kind
from bayplan.playground.store import Change, Key
from bayplan.playground.trees import Map, items, maps, opened, text
from bayplan.playground.verbs import Deletion, Verbs

ORPHAN: Final = "orphan"
FOREGROUND: Final = "foregroundDeletion"


class Cleaning:
    """The garbage collector and the end of namespaces."""

    def __init__(self, verbs: Verbs, agenda: Agenda, owned: Owned) -> None:
        """Look at everything that is deleted or about to be."""
        self._verbs = verbs
        self._agenda = agenda
        self._owned = owned
        agenda.listen(self._changed)

    def _changed(self, of: tuple[str, str], change: Change) -> None:
        tree, key = change.now.tree, change.key
        uid = text(tree, "metadata", "uid")
        if change.type == "DELETED":
            if self._owned.of(uid):
                self._agenda.soon(("orphaned", uid), lambda: self._collect(uid))
            for owner in maps(tree, "metadata", "ownerReferences"):
                self._agenda.soon(("waits", text(owner, "uid")), lambda owner=owner: self._retry(key[0], owner))  # type: ignore[misc]
            self._agenda.soon(("empty", key[0]), lambda: self._empty(key[0]))
        elif text(tree, "metadata", "deletionTimestamp"):
            self._agenda.soon(("deleting", uid), lambda: self._deleting(of, key))

    def _collect(self, uid: str) -> None:
        """Delete the dependents of an owner who is gone, unless another owner is left."""
        for of, key in self._owned.of(uid):
            stored = self._verbs.store.shelf(of).objects.get(key)
            others = [
                one
                for one in maps(stored.tree if stored else None, "metadata", "ownerReferences")
                if text(one, "uid") != uid
            ]
            if stored is None:
                continue
            if others:
                self._verbs.amend(self._kind(of), key, lambda new: _without_owner(new, uid))
            else:
                self._verbs.delete(self._kind(of), key, Deletion(propagation="Background"))

    def _retry(self, namespace: str, owner: Map) -> None:
        """Look again at an owner who waits for dependents to go."""
        group = text(owner, "apiVersion").rpartition("/")[0]
        for kind in self._verbs.kinds:
            if kind.name == text(owner, "kind") and kind.group == group:
                key = (namespace if kind.namespaced else "", text(owner, "name"))
                self._deleting(kind.stored_as, key)
                return

    def _deleting(self, of: tuple[str, str], key: Key) -> None:
        """Do what an object that is being deleted still waits for."""
        stored = self._verbs.store.shelf(of).objects.get(key)
        if stored is None or not text(stored.tree, "metadata", "deletionTimestamp"):
            return
        finalizers, uid = items(stored.tree, "metadata", "finalizers"), text(stored.tree, "metadata", "uid")
        if of == NAMESPACES:
            self._empty(key[1])
        elif ORPHAN in finalizers:
            for dependent, name in self._owned.of(uid):
                self._verbs.amend(self._kind(dependent), name, lambda new: _without_owner(new, uid))
            self._verbs.amend(self._kind(of), key, lambda new: _without_finalizer(new, ORPHAN))
        elif FOREGROUND in finalizers:
            for dependent, name in self._owned.of(uid):
                self._verbs.delete(self._kind(dependent), name, Deletion(propagation="Foreground"))
            if not self._owned.of(uid):
                self._verbs.amend(self._kind(of), key, lambda new: _without_finalizer(new, FOREGROUND))

    def _empty(self, name: str) -> None:
        """Delete what is in a namespace that ends, and then let it go."""
        namespace = self._verbs.store.shelf(NAMESPACES).objects.get(("", name))
        if namespace is None or not text(namespace.tree, "metadata", "deletionTimestamp"):
            return
        left = False
        for of, shelf in self._verbs.store.shelves():
            for key in [key for key in shelf.objects if key[0] == name]:
                left = not self._verbs.delete(self._kind(of), key, Deletion())[1] or left
        if not left:
            self._verbs.amend(self._kind(NAMESPACES), ("", name), _finalized)

    def _kind(self, of: tuple[str, str]) -> Kind:
        return next(kind for kind in self._verbs.kinds if kind.stored_as == of)


def _without_owner(tree: Map, uid: str) -> None:
    kept = [one for one in maps(tree, "metadata", "ownerReferences") if text(one, "uid") != uid]
    opened(tree, "metadata")["ownerReferences"] = [*kept]


def _without_finalizer(tree: Map, name: str) -> None:
    kept = [one for one in items(tree, "metadata", "finalizers") if one != name]
    opened(tree, "metadata")["finalizers"] = kept


def _finalized(tree: Map) -> None:
    opened(tree, "spec")["finalizers"] = []
