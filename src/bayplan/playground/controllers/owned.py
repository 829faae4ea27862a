"""Who owns what: the objects that name an owner, by the owner's uid.

Invariant: it holds what the store holds, from the moment it listens on.
Not here: what follows from it.
"""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.playground.agenda import Agenda
from bayplan.playground.store import Change, Key, Store
from bayplan.playground.trees import Map, maps, text


class Owned:
    """The dependents of each owner."""

    def __init__(self, store: Store, agenda: Agenda) -> None:
        """Learn of everything that is there, and of what comes."""
        self._store = store
        self._by_owner: dict[str, dict[tuple[tuple[str, str], Key], None]] = {}
        agenda.listen(self._changed)

    def _changed(self, of: tuple[str, str], change: Change) -> None:
        for uid in owners(change.before.tree) if change.before is not None else ():
            dependents = self._by_owner.get(uid, {})
            dependents.pop((of, change.key), None)
            if not dependents:
                self._by_owner.pop(uid, None)
        for uid in owners(change.now.tree) if change.type != "DELETED" else ():
            self._by_owner.setdefault(uid, {})[of, change.key] = None

    def of(self, uid: str) -> list[tuple[tuple[str, str], Key]]:
        """Give everything that names an owner."""
        return list(self._by_owner.get(uid, ()))

    def controlled(self, uid: str, shelf: tuple[str, str]) -> Iterator[Map]:
        """Give the objects of one kind whose controller somebody is."""
        for of, key in self.of(uid):
            stored = self._store.shelf(shelf).objects.get(key) if of == shelf else None
            if stored is not None and controller(stored.tree) == uid:
                yield stored.tree


def owners(tree: Map) -> set[str]:
    """Give the uids of an object's owners."""
    return {text(one, "uid") for one in maps(tree, "metadata", "ownerReferences")}


def controller(tree: Map) -> str:
    """Give the uid of the owner who controls an object."""
    found = (text(one, "uid") for one in maps(tree, "metadata", "ownerReferences") if one.get("controller") is True)
    return next(found, "")


def reference(owner: Map) -> Map:
    """Give the reference by which an object names its controller."""
    head: Map = {"apiVersion": text(owner, "apiVersion"), "kind": text(owner, "kind")}
    meta: Map = {"name": text(owner, "metadata", "name"), "uid": text(owner, "metadata", "uid")}
    return {**head, **meta, "controller": True, "blockOwnerDeletion": True}
