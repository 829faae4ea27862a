"""Migration: what an in-tree volume is called by the CSI driver that took its place.

Upstream's scheduler counts and places such volumes as their drivers' own.  A source has a name as an in-tree plugin, a
driver, and, where the driver's topology differs from the node labels, a topology key.
Not here: whether a node has migrated (that is the rule's question, asked of the node's CSINode).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple
from urllib.parse import unquote

import msgspec

from bayplan.api.claims import PersistentVolume
from bayplan.api.disks import AWSElasticBlockStore, AzureDisk, Cinder, GCEPersistentDisk, Portworx
from bayplan.api.objects import Labels, NodeSelector, NodeSelectorTerm, Requirement, Volume

ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
ZONE_BETA: Final = "failure-domain.beta.kubernetes.io/zone"
REGION_BETA: Final = "failure-domain.beta.kubernetes.io/region"
ZONES_APART: Final = "__"
UNSPECIFIED: Final = "UNSPECIFIED"


class Untranslatable(ValueError):
    """A volume that its driver could not be told about; the text is kube-scheduler's."""


class InTree(NamedTuple):
    """An in-tree plugin and the driver that took its place."""

    field: str  # of a pod's volume and of a PersistentVolume's spec
    name: str
    driver: str
    counts: bool  # where a node knows the driver, it is the driver's
    topology: str | None = None  # the driver's key for a zone


IN_TREE: Final = (
    InTree("gce_persistent_disk", "kubernetes.io/gce-pd", "pd.csi.storage.gke.io", True, "topology.gke.io/zone"),
    InTree(
        "aws_elastic_block_store", "kubernetes.io/aws-ebs", "ebs.csi.aws.com", True, "topology.ebs.csi.aws.com/zone"
    ),
    InTree(
        "cinder", "kubernetes.io/cinder", "cinder.csi.openstack.org", True, "topology.cinder.csi.openstack.org/zone"
    ),
    InTree("azure_disk", "kubernetes.io/azure-disk", "disk.csi.azure.com", True),
    InTree("azure_file", "kubernetes.io/azure-file", "file.csi.azure.com", False),
    InTree("vsphere_volume", "kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com", False),
    InTree("portworx_volume", "kubernetes.io/portworx-volume", "pxd.portworx.com", True),
)
BY_NAME: Final = {plugin.name: plugin for plugin in IN_TREE}


class Inline(msgspec.Struct, frozen=True, gc=False):
    """A volume given in the pod itself that a CSI driver serves."""

    driver: str
    handle: str
    counts: bool  # on nodes that have a CSINode
    error: str = ""  # why it cannot be counted there: kube-scheduler's text


def inline_of(volume: Volume) -> Inline | None:
    """Return a pod's own volume as its driver sees it, or None where no driver took over."""
    plugin = next((plugin for plugin in IN_TREE if getattr(volume, plugin.field) is not None), None)
    if plugin is None:
        return None
    if not plugin.counts:
        return Inline(plugin.driver, "", counts=False)
    try:
        handle = _handle(getattr(volume, plugin.field), {})
    except Untranslatable as error:
        text = f"converting volume({volume.name}) from inline to csi: {error}"
        return Inline(plugin.driver, "", counts=True, error=text)
    return Inline(plugin.driver, handle, counts=True)


def plugin_of(volume: PersistentVolume) -> InTree | None:
    """Return the in-tree plugin of a PersistentVolume, or None where it has no such source."""
    return next((plugin for plugin in IN_TREE if getattr(volume.spec, plugin.field) is not None), None)


def handle_of(volume: PersistentVolume, plugin: InTree) -> str:
    """Return the driver's name for an in-tree volume; raise Untranslatable where there is none."""
    return _handle(getattr(volume.spec, plugin.field), volume.metadata.labels)


def reach_of(volume: PersistentVolume, plugin: InTree) -> NodeSelector | None:
    """Return the node affinity that the driver's form of an in-tree volume has; raise Untranslatable without a form."""
    handle_of(volume, plugin)
    affinity = volume.spec.node_affinity
    required = affinity.required if affinity is not None else None
    if plugin.topology is None:
        return required
    terms = required.node_selector_terms if required is not None else ()
    labels = volume.metadata.labels
    zone_key, region_key = _keys(terms, labels)
    if _values(terms, zone_key):
        terms = _renamed(terms, zone_key, plugin.topology)
    elif zone_key in labels:
        zones = tuple(sorted({zone.strip() for zone in labels[zone_key].split(ZONES_APART)} - {""}))
        if zones:
            more = Requirement(key=plugin.topology, operator="In", values=zones)
            terms = tuple(_with(term, (*term.match_expressions, more)) for term in terms or (NodeSelectorTerm(),))
    if region_key == REGION_BETA and _values(terms, region_key):
        terms = _renamed(terms, region_key, REGION)
    return NodeSelector(node_selector_terms=terms) if terms or required is not None else None


def _keys(terms: Iterable[NodeSelectorTerm], labels: Labels) -> tuple[str, str]:
    """Return the zone and region keys in whose words a volume speaks."""
    used = {line.key for term in terms for line in term.match_expressions}
    for keys in (used, labels.keys()):
        if ZONE in keys:
            return ZONE, REGION
        if ZONE_BETA in keys:
            return ZONE_BETA, REGION_BETA
    return ZONE, REGION


def _values(terms: Iterable[NodeSelectorTerm], key: str) -> bool:
    return any(line.values for term in terms for line in term.match_expressions if line.key == key)


def _renamed(terms: Iterable[NodeSelectorTerm], old: str, new: str) -> tuple[NodeSelectorTerm, ...]:
    return tuple(
        _with(
            term,
            tuple(
                msgspec.structs.replace(line, key=new) if line.key == old else line for line in term.match_expressions
            ),
        )
        for term in terms
    )


def _with(term: NodeSelectorTerm, lines: tuple[Requirement, ...]) -> NodeSelectorTerm:
    return msgspec.structs.replace(term, match_expressions=lines)


def _handle(source: object, labels: Labels) -> str:
    return _HANDLES[type(source)](source, labels)


def _of_gce(source: GCEPersistentDisk, labels: Labels) -> str:
    zones = (labels.get(ZONE_BETA) or labels.get(ZONE) or "").split(ZONES_APART)
    if len(zones) == 1:
        return f"projects/{UNSPECIFIED}/zones/{zones[0] or UNSPECIFIED}/disks/{source.pd_name}"
    return f"projects/{UNSPECIFIED}/regions/{_region(zones)}/disks/{source.pd_name}"


def _region(zones: Iterable[str]) -> str:
    regions = set()
    for zone in zones:
        parts = zone.split("-")
        if len(parts) != 3:
            raise Untranslatable(
                "failed to get region from zones: zone in unexpected format, "
                f"expected: {{locale}}-{{region}}-{{zone}}, got: {zone}"
            )
        regions.add("-".join(parts[:2]))
    if len(regions) != 1:
        found = " ".join(f"{region}:{{}}" for region in sorted(regions))
        raise Untranslatable(
            f"failed to get region from zones: multiple or no regions gotten from zones, got: map[{found}]"
        )
    return regions.pop()


def _of_ebs(source: AWSElasticBlockStore, _: Labels) -> str:
    written = source.volume_id
    if not written.startswith("aws://"):
        return written
    path = re.split(r"[?#]", written.removeprefix("aws://"), maxsplit=1)[0].partition("/")[2]
    found = unquote(path).strip("/")
    if not re.fullmatch(r"vol-[^/]*", found):
        raise Untranslatable(
            f"failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume ({written})"
        )
    return found


def _of_azure(source: AzureDisk, _: Labels) -> str:
    if source.kind is not None and source.kind.lower() != "managed":
        raise Untranslatable(f"kind({source.kind}) is not supported in csi migration")
    return source.disk_uri


def _of_volume_id(source: Cinder | Portworx, _: Labels) -> str:
    return source.volume_id


_HANDLES: Final[dict[type, Callable[..., str]]] = {
    GCEPersistentDisk: _of_gce,
    AWSElasticBlockStore: _of_ebs,
    AzureDisk: _of_azure,
    Cinder: _of_volume_id,
    Portworx: _of_volume_id,
}
