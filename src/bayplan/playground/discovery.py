"""Discovery: what is served, told the plain way and the aggregated way.

Not here: OpenAPI documents (`openapi.py`), and serving any of it (`server.py`).
"""

from __future__ import annotations

from typing import Final

from bayplan.api.yamltree import Tree
from bayplan.playground.kinds import Kind, Kinds
from bayplan.playground.trees import Map

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
