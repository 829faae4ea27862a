"""The verbs: create, read, update, patch and delete objects the way a Kubernetes API server does.

Versions are checked here, so that of two writers who read the same object one is refused; the subresources that are
verbs of their own (binding, eviction, scale) stand on these.
Invariant: a verb either changes the store as a whole or raises Refused and changes nothing.
Not here: HTTP (`server.py`), what a kind fills in (`admission.py`) and what of it may not change (`guards.py`).
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from typing import Final, NamedTuple

from bayplan.api.names import go_quoted, subdomain_faults
from bayplan.playground import guards
from bayplan.playground.admission import NAMESPACES, admit, bear_away
from bayplan.playground.defaulting import fill
from bayplan.playground.kinds import Kind, Kinds, defined
from bayplan.playground.refusals import (
    Refused,
    already_exists,
    bad_request,
    conflict,
    forbidden,
    invalid,
    modified,
    not_found,
)
from bayplan.playground.store import Key, Store, Stored
from bayplan.playground.trees import Map, copied, items, mapping, opened, stamp, text, whole
from bayplan.playground.users import Users

PREFIX_MAX: Final = 58
_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_OURS: Final = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation")
_FREE_NAMES: Final = frozenset({"roles", "rolebindings", "clusterroles", "clusterrolebindings"})
_KEEPERS: Final = {"Orphan": "orphan", "Foreground": "foregroundDeletion"}
PODS: Final = ("", "pods")
# fields of a spec that an update which says nothing of them leaves as they are
_KEPT: Final = {PODS: ("priority", "preemptionPolicy"), NAMESPACES: ("finalizers",)}
_DEFINITIONS: Final = ("apiextensions.k8s.io", "customresourcedefinitions")


class Deletion(NamedTuple):
    """How an object is to be deleted."""

    grace: int | None = None
    uid: str = ""
    revision: str = ""
    propagation: str = ""
    dry: bool = False


AT_ONCE: Final = Deletion()


class Verbs:
    """What may be done to the objects of a store."""

    def __init__(self, store: Store, kinds: Kinds, clock: Callable[[], float]) -> None:
        """Act on a store; the clock gives seconds since 1970."""
        self.store = store
        self.kinds = kinds
        self.clock = clock
        self.users = Users()
        self.luck = random.Random()  # noqa: S311  # suffixes of names need no secrecy

    # --- reading -----------------------------------------------------------------------------------------------------

    def get(self, kind: Kind, key: Key) -> Stored:
        """Give an object."""
        found = self.store.shelf(kind.stored_as).objects.get(key)
        if found is None:
            raise not_found(kind, key[1])
        return found

    # --- creating ----------------------------------------------------------------------------------------------------

    def create(self, kind: Kind, namespace: str, tree: Map, *, dry: bool = False) -> Stored:
        """Store a new object; the tree becomes the store's."""
        tree = self._headed(kind, tree)
        meta = opened(tree, "metadata")
        self._place(kind, namespace, meta)
        name = self._named(kind, meta)
        if text(meta, "resourceVersion") not in {"", "0"}:
            # a real server answers 500 here, which tells a client to try the same again
            raise bad_request("resourceVersion should not be set on objects to be created")
        for field in _OURS:
            meta.pop(field, None)
        for field in ("resourceVersion", "selfLink", "managedFields"):
            meta.pop(field, None)
        meta["uid"] = self._uid()
        meta["creationTimestamp"] = stamp(self.clock())
        if kind.generations:
            meta["generation"] = 1
        fill(kind, tree)
        admit(kind, tree, self.store)
        key = (namespace, name)
        if key in self.store.shelf(kind.stored_as).objects:
            raise already_exists(kind, name)
        if kind.stored_as == _DEFINITIONS:
            self._define(kind, tree)
        return Stored(tree, self.store.revision) if dry else self.store.put(kind.stored_as, key, tree)

    def _headed(self, kind: Kind, tree: Map) -> Map:
        """Check what an object says that it is, and put that first."""
        version, name = text(tree, "apiVersion"), text(tree, "kind")
        if version and version != kind.api_version:
            raise bad_request(
                f"the API version in the data ({version}) does not match the expected API version ({kind.api_version})"
            )
        if name and name != kind.name:
            raise bad_request(f"{name} in version {go_quoted(kind.version)} cannot be handled as a {kind.name}")
        rest = {key: value for key, value in tree.items() if key not in {"kind", "apiVersion", "metadata"}}
        meta = tree.get("metadata")
        if meta is not None and not isinstance(meta, dict):
            raise bad_request(
                f"{kind.name} in version {go_quoted(kind.version)} cannot be handled: metadata: not a map"
            )
        return {"kind": kind.name, "apiVersion": kind.api_version, "metadata": {**(meta or {})}, **rest}

    def _place(self, kind: Kind, namespace: str, meta: Map) -> None:
        """Put an object into the namespace of the request."""
        given = text(meta, "namespace")
        if not kind.namespaced:
            if given:
                raise bad_request("namespace is not allowed on this type")
            return
        if given and given != namespace:
            raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
        meta["namespace"] = namespace

    def _named(self, kind: Kind, meta: Map) -> str:
        """Give the object's name, made up where only its beginning is given."""
        name, prefix = text(meta, "name"), text(meta, "generateName")
        if not name and prefix:
            name = prefix[:PREFIX_MAX] + "".join(self.luck.choice(_LETTERS) for _ in range(5))
            meta["name"] = name
        if not name and kind.plural == "limitranges":
            name = meta["name"] = self._uid()  # the one kind whose objects a real server names itself
        if not name:
            fault = "Required value: name or generateName is required"
            raise invalid(kind, "", "metadata.name", fault, "FieldValueRequired")
        faults = ["may not contain '/'"] if "/" in name or name in {".", ".."} else []
        if kind.plural not in _FREE_NAMES:
            faults = subdomain_faults(name)
        if faults:
            raise invalid(kind, name, "metadata.name", f"Invalid value: {go_quoted(name)}: {'; '.join(faults)}")
        return name

    def _uid(self) -> str:
        return str(uuid.UUID(int=self.luck.getrandbits(128), version=4))

    def _define(self, kind: Kind, tree: Map) -> None:
        """Serve the kinds of a definition, which says in its status that they are."""
        found = defined(tree)
        name = text(tree, "metadata", "name")
        if not found or name != found[0].resource:
            wanted = 'must be spec.names.plural+"."+spec.group, and one version at least must be served'
            raise invalid(kind, name, "metadata.name", f"Invalid value: {go_quoted(name)}: {wanted}")
        for one in found:
            self.kinds.add(one)
        now = stamp(self.clock())
        tree["status"] = {
            "conditions": [
                {"type": what, "status": "True", "lastTransitionTime": now, "reason": reason, "message": ""}
                for what, reason in (("NamesAccepted", "NoConflicts"), ("Established", "InitialNamesAccepted"))
            ],
            "acceptedNames": {**mapping(tree, "spec", "names")},
            "storedVersions": [found[0].version],
        }

    # --- changing ----------------------------------------------------------------------------------------------------

    def update(self, kind: Kind, key: Key, tree: Map, *, part: str = "", dry: bool = False) -> Stored:
        """Store a new state of an object, or of its status alone; the tree becomes the store's."""
        new = self._headed(kind, tree)
        meta = opened(new, "metadata")
        self._place(kind, key[0], meta)
        if not text(meta, "name"):
            raise bad_request(
                f"the name of the object ({key[1]} based on URL) was undeterminable: name must be provided"
            )
        if text(meta, "name") != key[1]:
            raise bad_request(
                f"the name of the object ({text(meta, 'name')}) does not match the name on the URL ({key[1]})"
            )
        if kind.made_by_update and not part and key not in self.store.shelf(kind.stored_as).objects:
            return self.create(kind, key[0], new, dry=dry)
        old = self.get(kind, key)
        self._check_version(kind, old.tree, meta)
        fill(kind, new)
        if kind.stored_as == PODS and not part:
            bear_away(opened(new, "spec"))
        new = self._carried(kind, old.tree, new, part)
        guards.check(kind, old.tree, new, part)
        return self.replace(kind, key, new, dry=dry)

    def _check_version(self, kind: Kind, old: Map, meta: Map) -> None:
        have, name = mapping(old, "metadata"), text(old, "metadata", "name")
        uid, revision = text(meta, "uid"), text(meta, "resourceVersion")
        if uid and uid != have["uid"]:
            why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {have['uid']}"
            raise conflict(kind, name, why)
        if kind.needs_version and revision in {"", "0"}:
            fault = "Invalid value: 0: must be specified for an update"
            raise invalid(kind, name, "metadata.resourceVersion", fault)
        if revision not in {"", "0"} and revision != have["resourceVersion"]:
            if not revision.isdigit():
                fault = f"Invalid value: {go_quoted(revision)}: must be a number"
                raise invalid(kind, name, "metadata.resourceVersion", fault)
            raise modified(kind, name)

    def _carried(self, kind: Kind, old: Map, new: Map, part: str) -> Map:
        """Bring over what a writer of this part does not decide."""
        if part == "status":
            new = {**{key: value for key, value in old.items() if key != "status"}, "metadata": new["metadata"]} | (
                {"status": new["status"]} if "status" in new else {}
            )
        elif kind.has_status and "status" in old:
            new["status"] = old["status"]
        elif kind.has_status:
            new.pop("status", None)
        for field in _KEPT.get(kind.stored_as, ()) if part != "status" else ():
            if field in mapping(old, "spec"):
                opened(new, "spec").setdefault(field, mapping(old, "spec")[field])
        have, meta = mapping(old, "metadata"), opened(new, "metadata")
        for field in ("managedFields", "selfLink"):
            meta.pop(field, None)
        for field in ("name", "resourceVersion", *_OURS):
            meta.pop(field, None)
            if field in have:
                meta[field] = have[field]
        if kind.generations and part != "status" and _wish(kind, old) != _wish(kind, new):
            meta["generation"] = (whole(have, "generation") or 0) + 1
        return new

    def replace(self, kind: Kind, key: Key, new: Map, *, dry: bool = False) -> Stored:
        """Store a new state that is known to be allowed; what is equal is not stored, what is finished goes."""
        old = self.get(kind, key)
        if new == old.tree:
            return old
        if dry:
            return Stored(new, old.revision)
        if _is_finished(kind, new):
            self._let_go(kind, key)
            return self.store.remove(kind.stored_as, key, new)
        if kind.stored_as == _DEFINITIONS:
            self.kinds.drop(text(new, "spec", "group"), text(new, "spec", "names", "plural"))
            for one in defined(new):
                self.kinds.add(one)
        return self.store.put(kind.stored_as, key, new)

    def amend(self, kind: Kind, key: Key, change: Callable[[Map], None]) -> Stored:
        """Change a copy of an object and store it; for what the server itself and its controllers write."""
        new = copied(self.get(kind, key).tree)
        change(new)
        return self.replace(kind, key, new)

    # --- deleting ----------------------------------------------------------------------------------------------------

    def delete(self, kind: Kind, key: Key, how: Deletion = AT_ONCE) -> tuple[Stored, bool]:
        """Delete an object, or mark it as being deleted; give its last state and whether it is gone."""
        old = self.get(kind, key)
        self._check_preconditions(kind, old.tree, how)
        if how.propagation not in {"", "Background", *_KEEPERS}:
            fault = f"Invalid value: {go_quoted(how.propagation)}: must be Background, Foreground or Orphan"
            raise invalid(kind, key[1], "propagationPolicy", fault)
        if kind.stored_as == NAMESPACES and key[1] in {"default", "kube-system", "kube-public"}:
            raise forbidden(kind, key[1], "this namespace may not be deleted")
        new = copied(old.tree)
        meta = opened(new, "metadata")
        keeper = _KEEPERS.get(how.propagation or ("Orphan" if kind.leaves_dependents else ""))
        if keeper is not None:
            others = [one for one in items(meta, "finalizers") if one not in _KEEPERS.values()]
            meta["finalizers"] = [*others, keeper]
        grace = _grace(kind, new, how)
        before = whole(meta, "deletionGracePeriodSeconds")
        stays = bool(items(meta, "finalizers")) or kind.stored_as in {PODS, NAMESPACES}
        if stays and (not text(meta, "deletionTimestamp") or (before is not None and grace < before)):
            if "generation" in meta and before is None:
                meta["generation"] = (whole(meta, "generation") or 0) + 1
            meta["deletionTimestamp"] = stamp(self.clock() + grace)
            meta["deletionGracePeriodSeconds"] = grace
        if kind.stored_as == NAMESPACES:
            meta.pop("deletionGracePeriodSeconds", None)
            opened(new, "status")["phase"] = "Terminating"
        is_gone = not stays or _is_finished(kind, new)
        if how.dry:
            return Stored(new, old.revision), is_gone
        if is_gone:
            if kind.stored_as == PODS and "deletionTimestamp" not in mapping(old.tree, "metadata"):
                self.store.put(kind.stored_as, key, copied(new))  # that a pod is to go is told before it is gone
            self._let_go(kind, key)
            return self.store.remove(kind.stored_as, key, new), True
        return self.replace(kind, key, new), False

    def _check_preconditions(self, kind: Kind, old: Map, how: Deletion) -> None:
        meta, name = mapping(old, "metadata"), text(old, "metadata", "name")
        for what, asked, have in (
            ("UID", how.uid, meta["uid"]),
            ("ResourceVersion", how.revision, meta["resourceVersion"]),
        ):
            if asked and asked != have:
                where = f"{what} in precondition: {asked}, {what} in object meta: {have}"
                raise conflict(kind, name, f"Precondition failed: {where}")

    def _let_go(self, kind: Kind, key: Key) -> None:
        """Take down what hangs on a definition that goes."""
        if kind.stored_as != _DEFINITIONS:
            return
        for one in defined(self.get(kind, key).tree):
            for below, stored in list(self.store.shelf(one.stored_as).objects.items()):
                self.store.remove(one.stored_as, below, copied(stored.tree))
            self.kinds.drop(one.group, one.plural)


def _wish(kind: Kind, tree: Map) -> Map:
    """Give the part of an object whose changes its generation counts; of a deployment its annotations too."""
    wish = {key: value for key, value in tree.items() if key not in {"metadata", "status"}}
    if kind.plural == "deployments":
        wish["annotations"] = mapping(tree, "metadata", "annotations")
    return wish


def _is_finished(kind: Kind, tree: Map) -> bool:
    """Say whether an object that is being deleted has nothing left to wait for."""
    meta = mapping(tree, "metadata")
    if not text(meta, "deletionTimestamp") or items(meta, "finalizers"):
        return False
    if kind.stored_as == NAMESPACES:
        return not items(tree, "spec", "finalizers")
    return kind.plural != "pods" or not whole(meta, "deletionGracePeriodSeconds")


def _grace(kind: Kind, tree: Map, how: Deletion) -> int:
    """Give how many seconds an object is left; only a pod that somebody runs needs any."""
    if kind.stored_as != ("", "pods"):
        return 0
    if how.grace is not None and how.grace < 0:
        return 1
    ended = text(tree, "status", "phase") in {"Succeeded", "Failed"}
    if ended or not text(tree, "spec", "nodeName"):
        return 0
    asked = how.grace if how.grace is not None else whole(tree, "spec", "terminationGracePeriodSeconds")
    return 30 if asked is None else asked


def refused_in_dry_run(values: list[str]) -> bool:
    """Read the query parameter dryRun: whether nothing is to be stored."""
    if any(value not in {"", "All"} for value in values):
        raise Refused(422, "Invalid", f"dryRun: Invalid value: {go_quoted(values[0])}: must be All")
    return "All" in values
