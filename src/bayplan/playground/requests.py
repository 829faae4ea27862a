"""Requests: each verb of HTTP on the API's objects, from its query and body to the object that answers.

Everything here is plain calls on the verbs, without waiting: a request is a transaction.
Not here: sockets, lists and watches, which stream (`server.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from bayplan.playground import patches, subresources
from bayplan.playground.bodies import read, read_map
from bayplan.playground.fields import unknown
from bayplan.playground.kinds import Kind
from bayplan.playground.matching import wanted
from bayplan.playground.refusals import bad_request, method_not_allowed, success, unsupported_media
from bayplan.playground.reviews import answered
from bayplan.playground.routing import Target
from bayplan.playground.store import Stored
from bayplan.playground.trees import Map, at, items, mapping, opened, text, whole
from bayplan.playground.verbs import Deletion, Verbs, refused_in_dry_run
from bayplan.playground.views import inward, outward

DONE: Final[Map] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
_PATCHES: Final = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
)
# what is answered with its last state when it is deleted at once, as its registry upstream does
_RETURNED: Final = frozenset(
    {
        *("pods", "services", "persistentvolumes", "persistentvolumeclaims", "serviceaccounts", "resourcequotas"),
        *("namespaces", "storageclasses", "csinodes", "csidrivers", "volumeattachments"),
        *("resourceclaims", "resourceclaimtemplates", "resourceslices", "deviceclasses"),
    }
)


class Request(NamedTuple):
    """What a client sent."""

    method: str
    target: Target
    query: Mapping[str, str]
    media: str
    body: bytes

    @property
    def is_dry(self) -> bool:
        """Say whether nothing is to be stored."""
        return refused_in_dry_run([self.query.get("dryRun", "")])


class Answer(NamedTuple):
    """What is answered: an object of the kind, or a tree of another."""

    code: int
    stored: Stored | None = None
    tree: Map | None = None
    warnings: tuple[str, ...] = ()


def answer(verbs: Verbs, request: Request) -> Answer:
    """Do what a request asks for; raise Refused where that cannot be."""
    part = request.target.part
    if request.target.kind.ephemeral and (request.method != "POST" or request.target.name):
        raise method_not_allowed()
    act = _ACTS.get((request.method, bool(request.target.name), part if part in _PARTS else ""))
    if act is None:
        raise method_not_allowed()
    return act(verbs, request)


def _get(verbs: Verbs, request: Request) -> Answer:
    return Answer(200, verbs.get(request.target.kind, request.target.key))


def _get_scale(verbs: Verbs, request: Request) -> Answer:
    kind = request.target.kind
    return Answer(200, tree=subresources.scale_of(kind, verbs.get(kind, request.target.key).tree))


def _create(verbs: Verbs, request: Request) -> Answer:
    kind = request.target.kind
    tree = read_map(request.body, request.media)
    if kind.ephemeral:
        return Answer(201, tree=answered(kind, tree, verbs.users))
    if kind.namespaced and not request.target.namespace:
        raise method_not_allowed()
    warnings = _warnings(request, tree)
    tree = inward(kind, tree)
    stored = verbs.create(_stored_kind(verbs, kind), request.target.namespace, tree, dry=request.is_dry)
    if kind.plural == "customresourcedefinitions":
        warnings += ("the schema of a CustomResourceDefinition is stored, but not enforced: any shape is taken",)
    return Answer(201, stored, warnings=warnings)


def _put(verbs: Verbs, request: Request) -> Answer:
    kind, key = request.target.kind, request.target.key
    sent = read_map(request.body, request.media)
    tree = inward(kind, sent)
    if request.target.part == "scale":
        return Answer(200, tree=subresources.rescale(verbs, kind, key, tree, dry=request.is_dry))
    if request.target.part == "finalize":
        spec = mapping(tree, "spec")
        return Answer(200, verbs.amend(kind, key, lambda new: _finalized(new, spec)))
    stored_kind, warnings = _stored_kind(verbs, kind), _warnings(request, sent)
    is_new = key not in verbs.store.shelf(kind.stored_as).objects
    stored = verbs.update(stored_kind, key, tree, part=request.target.part, dry=request.is_dry)
    return Answer(201 if is_new else 200, stored, warnings=warnings)


def _warnings(request: Request, tree: Map) -> tuple[str, ...]:
    """Warn of fields that the kind does not know, unless the client wants to hear nothing of them."""
    if request.query.get("fieldValidation") == "Ignore":
        return ()
    return tuple(f'unknown field "{path}"' for path in unknown(request.target.kind, tree))


def _patch(verbs: Verbs, request: Request) -> Answer:
    kind, key, part = request.target.kind, request.target.key, request.target.part
    media = request.media.partition(";")[0].strip().lower()
    if media not in _PATCHES or (kind.custom and media == _PATCHES[2]):
        known = ", ".join(_PATCHES[:2] if kind.custom else _PATCHES)
        why = " (server-side apply is not served)" if "apply-patch" in media else ""
        raise unsupported_media(
            f"the body of the request was in an unknown format - accepted media types include: {known}{why}"
        )
    patch = read(request.body, "application/json")
    old = verbs.get(kind, key).tree
    shown = subresources.scale_of(kind, old) if part == "scale" else outward(kind, old)
    if media == _PATCHES[0]:
        new = patches.json_patched(shown, patch)
    elif not isinstance(patch, dict):
        raise bad_request("cannot apply a patch that is not a map")
    else:
        new = patches.merged(shown, patch) if media == _PATCHES[1] else patches.strategic(shown, patch)
    if not isinstance(new, dict):
        raise bad_request("the patch leaves no object")
    if part == "scale":
        return Answer(200, tree=subresources.rescale(verbs, kind, key, new, dry=request.is_dry))
    stored_kind = _stored_kind(verbs, kind)
    warnings = _warnings(request, patch if isinstance(patch, dict) else new)
    stored = verbs.update(stored_kind, key, inward(kind, new), part=part, dry=request.is_dry)
    return Answer(200, stored, warnings=warnings)


def _act(verbs: Verbs, request: Request) -> Answer:
    """Bind or evict a pod."""
    pods, (namespace, name), part = request.target.kind, request.target.key, request.target.part
    tree = read_map(request.body, request.media)
    name = name or text(tree, "metadata", "name")
    if text(tree, "metadata", "name") not in {"", name}:
        raise bad_request("name in URL does not match name in the object sent")
    if part == "binding":
        if not request.is_dry:
            subresources.bind(verbs, pods, (namespace, name), tree)
        return Answer(201, tree=DONE)
    how = _deletion(mapping(tree, "deleteOptions"), request)
    subresources.evict(verbs, pods, (namespace, name), how)
    return Answer(201, tree=DONE)


# --- deleting --------------------------------------------------------------------------------------------------------


def _delete(verbs: Verbs, request: Request) -> Answer:
    kind = request.target.kind
    if request.target.part:
        raise method_not_allowed()
    how = _deletion(_options(request), request)
    stored, is_gone = verbs.delete(_stored_kind(verbs, kind), request.target.key, how)
    if is_gone and kind.plural not in _RETURNED:
        return Answer(200, tree=success(kind, request.target.name, text(stored.tree, "metadata", "uid")))
    return Answer(200, stored)


def _delete_many(verbs: Verbs, request: Request) -> Answer:
    kind = _stored_kind(verbs, request.target.kind)
    if kind.plural == "namespaces" and not kind.group:
        raise method_not_allowed()
    if kind.namespaced and not request.target.namespace:
        raise method_not_allowed()
    how = _deletion(_options(request), request)
    query = request.query
    meant = wanted(kind, request.target.namespace, query.get("labelSelector", ""), query.get("fieldSelector", ""))
    shelf = verbs.store.shelf(kind.stored_as)
    keys = [key for key in shelf.ordered() if meant.takes(shelf.objects[key].tree)]
    deleted = [verbs.delete(kind, key, how)[0] for key in keys if key in shelf.objects]
    head: Map = {"kind": f"{kind.name}List", "apiVersion": kind.api_version}
    head["metadata"] = {"resourceVersion": str(verbs.store.revision)}
    return Answer(200, tree={**head, "items": [_headless(stored.tree) for stored in deleted]})


def _finalized(namespace: Map, spec: Map) -> None:
    opened(namespace, "spec").update(spec)
    if not items(namespace, "spec", "finalizers"):
        opened(namespace, "spec").pop("finalizers", None)


def _headless(tree: Map) -> Map:
    """Give an object as lists tell it: the list says of which kind it is."""
    return {key: value for key, value in tree.items() if key not in {"kind", "apiVersion"}}


def _options(request: Request) -> Map:
    return read_map(request.body, request.media) if request.body.strip() else {}


def _deletion(options: Map, request: Request) -> Deletion:
    """Read how to delete, from a body and from the query, whose word is weaker."""
    query = request.query
    grace = whole(options, "gracePeriodSeconds")
    written = query.get("gracePeriodSeconds", "")
    if grace is None and written:
        if not written.lstrip("-").isdigit() or not written.isascii() or len(written) > 18:
            raise bad_request(f'strconv.ParseInt: parsing "{written[:40]}": invalid syntax (gracePeriodSeconds)')
        grace = int(written)
    propagation = text(options, "propagationPolicy") or query.get("propagationPolicy", "")
    if at(options, "orphanDependents") is True:
        propagation = propagation or "Orphan"
    return Deletion(
        grace=grace,
        uid=text(options, "preconditions", "uid"),
        revision=text(options, "preconditions", "resourceVersion"),
        propagation=propagation,
        dry=request.is_dry or "All" in items(options, "dryRun"),
    )


def _stored_kind(verbs: Verbs, kind: Kind) -> Kind:
    """Give the kind in whose words an object is stored: of events, that of the core group."""
    if kind.group != "events.k8s.io":
        return kind
    return verbs.kinds.core(kind.plural)


# by method, whether an object is named, and those parts that are not simply parts of an object
_PARTS: Final = frozenset({"binding", "eviction", "scale", "finalize"})
_ACTS: Final[dict[tuple[str, bool, str], Callable[[Verbs, Request], Answer]]] = {
    ("GET", True, ""): _get,
    ("GET", True, "scale"): _get_scale,
    ("POST", False, ""): _create,
    ("POST", False, "binding"): _act,
    ("POST", True, "binding"): _act,
    ("POST", True, "eviction"): _act,
    ("PUT", True, ""): _put,
    ("PUT", True, "scale"): _put,
    ("PUT", True, "finalize"): _put,
    ("PATCH", True, ""): _patch,
    ("PATCH", True, "scale"): _patch,
    ("DELETE", True, ""): _delete,
    ("DELETE", False, ""): _delete_many,
}
