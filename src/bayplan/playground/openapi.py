"""OpenAPI: every path and verb of a group's version, with its parameters and the outline of its objects.

kubectl looks here for what it may ask of a server before it creates or applies.  Fields below an object's outline are
not described: any are taken.
Invariant: what a document names is served.
Not here: plain discovery (`discovery.py`), and serving any of it (`server.py`).
"""

from __future__ import annotations

import hashlib
from typing import Final

from bayplan.playground.discovery import GIT_VERSION
from bayplan.playground.kinds import Kind, Kinds
from bayplan.playground.trees import Map, encoded

_LIST: Final = ("labelSelector", "fieldSelector", "limit", "continue", "resourceVersion", "resourceVersionMatch")
_WATCH: Final = ("watch", "timeoutSeconds", "allowWatchBookmarks", "sendInitialEvents")
_WRITE: Final = ("dryRun", "fieldManager", "fieldValidation")
_DELETE: Final = ("dryRun", "gracePeriodSeconds", "propagationPolicy")
_QUERY: Final = {
    "get": ("pretty", "resourceVersion"),
    "list": ("pretty", *_LIST, *_WATCH),
    "post": _WRITE,
    "put": _WRITE,
    "patch": _WRITE,
    "delete": _DELETE,
    "deletecollection": (*_DELETE, *_LIST),
}
_TYPES: Final = {
    "limit": "integer",
    "timeoutSeconds": "integer",
    "gracePeriodSeconds": "integer",
    "watch": "boolean",
    "allowWatchBookmarks": "boolean",
    "sendInitialEvents": "boolean",
}
# strategic merge is served, and not named here: who finds it named takes the schemas for its rules, and they have none
_PATCHES: Final = ("application/merge-patch+json", "application/json-patch+json")
_OPEN: Final[Map] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_TEXTS: Final[Map] = {"type": "object", "additionalProperties": {"type": "string"}}
_META: Final[Map] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "generateName": {"type": "string"},
        "namespace": {"type": "string"},
        "uid": {"type": "string"},
        "resourceVersion": {"type": "string"},
        "labels": _TEXTS,
        "annotations": _TEXTS,
        "finalizers": {"type": "array", "items": {"type": "string"}},
        "ownerReferences": {"type": "array", "items": _OPEN},
    },
}
_POSTED: Final = frozenset({"binding", "eviction"})


def index(kinds: Kinds) -> Map:
    """Answer GET /openapi/v3: where each group's document is."""
    paths: Map = {}
    for group, versions in kinds.groups().items():
        for version in versions:
            path = f"apis/{group}/{version}" if group else f"api/{version}"
            mark = hashlib.sha256(encoded(document(kinds.of(group, version)))).hexdigest()[:32].upper()
            paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={mark}"}
    return {"paths": paths}


def document(kinds: list[Kind]) -> Map:
    """Answer GET /openapi/v3/...: the paths of one group's version."""
    paths: Map = {}
    for kind in kinds:
        paths.update(_paths(kind))
    info: Map = {"title": "Kubernetes", "version": GIT_VERSION}
    schemas: Map = {_named(kind): _schema(kind) for kind in kinds}
    return {"openapi": "3.0.0", "info": info, "paths": paths, "components": {"schemas": schemas}}


def _paths(kind: Kind) -> Map:
    """Give a kind's paths."""
    base = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    place = f"{base}/namespaces/{{namespace}}/{kind.plural}" if kind.namespaced else f"{base}/{kind.plural}"
    if kind.ephemeral:
        return {place: {"post": _operation(kind, "post")}}
    many = {"get": _operation(kind, "list"), "post": _operation(kind, "post")}
    if (kind.group, kind.plural) != ("", "namespaces"):
        many["delete"] = _operation(kind, "deletecollection")
    one = {verb: _operation(kind, verb, "name") for verb in ("get", "put", "patch", "delete")}
    found: Map = {place: {**many}, f"{place}/{{name}}": {**one}}
    if kind.namespaced:
        found[f"{base}/{kind.plural}"] = {"get": _operation(kind, "list", "all")}
    for part in kind.subresources:
        verbs = ("post",) if part in _POSTED else ("get", "put", "patch")
        found[f"{place}/{{name}}/{part}"] = {verb: _operation(kind, verb, "name", part) for verb in verbs}
    return found


def _operation(kind: Kind, verb: str, of: str = "", part: str = "") -> Map:
    """Describe a verb: on a collection, on what is named, or on a part of that."""
    parameters: Map = {name: _parameter(name, "query", _TYPES.get(name, "string")) for name in _QUERY[verb]}
    if of == "name":
        parameters["name"] = _parameter("name", "path", "string")
    if kind.namespaced and of != "all":
        parameters["namespace"] = _parameter("namespace", "path", "string")
    told: Map = {
        "operationId": f"{verb}{kind.group.replace('.', '')}{kind.version}{kind.name}{part}{of if of == 'all' else ''}",
        "parameters": [*parameters.values()],
        "responses": {"default": {"description": "an object, or a Status that says why not"}},
        "x-kubernetes-action": verb,
        "x-kubernetes-group-version-kind": {"group": kind.group, "version": kind.version, "kind": kind.name},
    }
    own: Map = _OPEN if part in {"scale", *_POSTED} else {"$ref": f"#/components/schemas/{_named(kind)}"}
    if verb in {"post", "put"}:
        told["requestBody"] = {"required": True, "content": {"application/json": {"schema": own}}}
    elif verb == "patch":
        told["requestBody"] = {"required": True, "content": {media: {"schema": {}} for media in _PATCHES}}
    return told


def _parameter(name: str, where: str, kind: str) -> Map:
    return {"name": name, "in": where, "required": where == "path", "schema": {"type": kind}}


def _named(kind: Kind) -> str:
    return f"{kind.group or 'core'}.{kind.version}.{kind.name}"


def _schema(kind: Kind) -> Map:
    """Outline an object of a kind."""
    outline: Map = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": _META, "spec": _OPEN}
    if kind.has_status:
        outline["status"] = _OPEN
    own: Map = {"group": kind.group, "version": kind.version, "kind": kind.name}
    return {**_OPEN, "properties": outline, "x-kubernetes-group-version-kind": [own]}
