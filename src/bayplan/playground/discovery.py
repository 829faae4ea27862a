"""Discovery: what is served, told the plain way, the aggregated way, and as an OpenAPI document a group.

The OpenAPI documents say of each kind that it can be posted and patched, with the parameters that kubectl looks for
before it creates or applies; they carry no schemas.
Not here: serving any of it (`server.py`).
"""

from __future__ import annotations

import hashlib
from typing import Final

from bayplan.api.yamltree import Tree
from bayplan.playground.kinds import Kind, Kinds
from bayplan.playground.trees import Map, encoded

GIT_VERSION: Final = "v1.37.0+bayplan"
VERSION: Final[Map] = {
    "major": "1",
    "minor": "37",
    "gitVersion": GIT_VERSION,
    "gitCommit": "",
    "gitTreeState": "",
    "buildDate": "",
    "goVersion": "",
    "compiler": "",
    "platform": "python",
}
_SUBKINDS: Final = {"binding": ("", "v1", "Binding"), "eviction": ("policy", "v1", "Eviction")}
_SCALE: Final = ("autoscaling", "v1", "Scale")


def api_versions(address: str) -> Map:
    """Answer GET /api."""
    where: Map = {"clientCIDR": "0.0.0.0/0", "serverAddress": address}
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [where]}


def api_groups(kinds: Kinds) -> Map:
    """Answer GET /apis."""
    groups: list[Tree] = [api_group(group, versions) for group, versions in kinds.groups().items() if group]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def api_group(group: str, versions: list[str]) -> Map:
    """Answer GET /apis/GROUP."""
    known: list[Tree] = [{"groupVersion": f"{group}/{version}", "version": version} for version in versions]
    return {"kind": "APIGroup", "apiVersion": "v1", "name": group, "versions": known, "preferredVersion": known[0]}


def resources(kinds: list[Kind]) -> Map:
    """Answer GET /api/v1 and /apis/GROUP/VERSION."""
    found: list[Tree] = []
    for kind in kinds:
        one: Map = {
            "name": kind.plural,
            "singularName": kind.singular,
            "namespaced": kind.namespaced,
            "kind": kind.name,
            "verbs": [*kind.verbs],
        }
        if kind.short:
            one["shortNames"] = [*kind.short]
        if kind.categories:
            one["categories"] = [*kind.categories]
        found.append(one)
        for part in kind.subresources:
            group, version, name = _subkind(kind, part)
            below: Map = {"name": f"{kind.plural}/{part}", "singularName": "", "namespaced": kind.namespaced}
            if (group, version) != (kind.group, kind.version):
                below.update(group=group, version=version)
            below.update(kind=name, verbs=[*_subverbs(part)])
            found.append(below)
    head: Map = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": kinds[0].api_version}
    return {**head, "resources": found}


def aggregated(kinds: Kinds, version: str, *, core: bool) -> Map:
    """Answer GET /api or /apis where everything is asked for at once."""
    groups: list[Tree] = []
    for group, versions in kinds.groups().items():
        if (group == "") != core:
            continue
        told: list[Tree] = []
        for one in versions:
            found: list[Tree] = [_aggregated(kind) for kind in kinds.of(group, one)]
            told.append({"version": one, "resources": found, "freshness": "Current"})
        groups.append({"metadata": {"name": group} if group else {}, "versions": told})
    head: Map = {"kind": "APIGroupDiscoveryList", "apiVersion": f"apidiscovery.k8s.io/{version}", "metadata": {}}
    return {**head, "items": groups}


def _aggregated(kind: Kind) -> Map:
    told: Map = {
        "resource": kind.plural,
        "responseKind": {"group": kind.group, "version": kind.version, "kind": kind.name},
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": [*kind.verbs],
    }
    if kind.short:
        told["shortNames"] = [*kind.short]
    if kind.categories:
        told["categories"] = [*kind.categories]
    below: list[Tree] = []
    for part in kind.subresources:
        group, version, name = _subkind(kind, part)
        shown: Map = {"group": group, "version": version, "kind": name}
        below.append({"subresource": part, "responseKind": shown, "verbs": [*_subverbs(part)]})
    if below:
        told["subresources"] = below
    return told


def _subkind(kind: Kind, part: str) -> tuple[str, str, str]:
    return _SUBKINDS.get(part) or (_SCALE if part == "scale" else (kind.group, kind.version, kind.name))


def _subverbs(part: str) -> tuple[str, ...]:
    return ("create",) if part in _SUBKINDS else ("get", "patch", "update")


# --- OpenAPI ---------------------------------------------------------------------------------------------------------


def openapi_index(kinds: Kinds) -> Map:
    """Answer GET /openapi/v3: where each group's document is."""
    paths: Map = {}
    for group, versions in kinds.groups().items():
        for version in versions:
            path = f"apis/{group}/{version}" if group else f"api/{version}"
            mark = hashlib.sha256(encoded(openapi(kinds.of(group, version)))).hexdigest()[:32].upper()
            paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={mark}"}
    return {"paths": paths}


def openapi(kinds: list[Kind]) -> Map:
    """Answer GET /openapi/v3/...: the paths of one group's version."""
    paths: Map = {}
    for kind in kinds:
        base = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
        place = f"{base}/namespaces/{{namespace}}/{kind.plural}" if kind.namespaced else f"{base}/{kind.plural}"
        paths[place] = {"post": _operation(kind, "post")}
        if not kind.ephemeral:
            paths[place] = {"get": _operation(kind, "list"), "post": _operation(kind, "post")}
            one = {verb: _operation(kind, verb) for verb in ("get", "put", "patch", "delete")}
            paths[f"{place}/{{name}}"] = {**one}
    info: Map = {"title": "Kubernetes", "version": GIT_VERSION}
    return {"openapi": "3.0.0", "info": info, "paths": paths, "components": {"schemas": _schemas(kinds)}}


def _schemas(kinds: list[Kind]) -> Map:
    return {
        f"{kind.group or 'core'}.{kind.version}.{kind.name}": {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "x-kubernetes-group-version-kind": [{"group": kind.group, "version": kind.version, "kind": kind.name}],
        }
        for kind in kinds
    }


def _operation(kind: Kind, verb: str) -> Map:
    named = ["dryRun", "fieldManager", "fieldValidation"] if verb in {"post", "put", "patch"} else ["pretty"]
    parameters: list[Tree] = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in named]
    told: Map = {
        "operationId": f"{verb}{kind.group.replace('.', '')}{kind.version}{kind.name}",
        "parameters": parameters,
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": verb,
        "x-kubernetes-group-version-kind": {"group": kind.group, "version": kind.version, "kind": kind.name},
    }
    return told
