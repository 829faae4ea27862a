"""Reasons: the closed set of why something waits, each with its numbers.

A filter speaks in kube-scheduler's texts, which are for people.  A reason is the same for programs: one of these kinds,
what it is about (a resource, a driver), which rule said so, on how many nodes, and how much is missing where that is a
number.  Whatever a rule says has a kind; what a rule of somebody's own says is OWN_RULE.
Invariant: every text that a default rule can give has a kind of its own rule (docs/reasons.md lists them).
Not here: the texts (plugins) and who said what (verdict.py).
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
import numpy as np

from bayplan.api.quantity import in_text
from bayplan.framework.plugin import Code

if TYPE_CHECKING:
    from bayplan.cluster.columns import Int64s
    from bayplan.framework.verdict import Evaluation


class Kind(enum.StrEnum):
    """Why something waits."""

    NO_NODES = "NoNodes"
    GATED = "Gated"
    WRONG_NODE = "WrongNode"
    NODES_NARROWED = "NodesNarrowed"
    CORDONED = "Cordoned"
    UNTOLERATED_TAINT = "UntoleratedTaint"
    ADDED_AFFINITY = "AddedAffinity"
    NODE_AFFINITY = "NodeAffinity"
    NODE_AFFINITY_CONFLICT = "NodeAffinityConflict"
    PORT_TAKEN = "PortTaken"
    TOO_MANY_PODS = "TooManyPods"
    INSUFFICIENT = "Insufficient"
    DISK_TAKEN = "DiskTaken"
    CLAIM_TAKEN = "ClaimTaken"
    DRIVER_MISSING = "DriverMissing"
    VOLUME_LIMIT = "VolumeLimit"
    VOLUME_ELSEWHERE = "VolumeElsewhere"
    NO_VOLUME = "NoVolume"
    NO_STORAGE = "NoStorage"
    VOLUME_GONE = "VolumeGone"
    VOLUME_ZONE = "VolumeZone"
    CLAIM_UNBOUND = "ClaimUnbound"
    STORAGE_OBJECT = "StorageObject"
    SPREAD_LABEL = "SpreadLabel"
    SPREAD_SKEW = "SpreadSkew"
    POD_AFFINITY = "PodAffinity"
    POD_ANTI_AFFINITY = "PodAntiAffinity"
    EXISTING_ANTI_AFFINITY = "ExistingAntiAffinity"
    UNREADABLE_TERM = "UnreadableTerm"
    FEATURE_MISSING = "FeatureMissing"
    DEVICES = "Devices"
    DEFERRED = "Deferred"
    OWN_RULE = "OwnRule"
    FAILED = "Failed"


class Form(NamedTuple):
    """How one kind is recognised, and what it means."""

    kind: Kind
    plugin: str  # "" is any
    pattern: re.Pattern[str]  # of the whole text; a group is what the reason is about
    meaning: str


def _form(kind: Kind, plugin: str, pattern: str, meaning: str) -> Form:
    return Form(kind, plugin, re.compile(pattern, re.DOTALL), meaning)


_NODES: Final = r"node\(s\) "

FORMS: Final[tuple[Form, ...]] = (
    _form(Kind.NO_NODES, "", "no nodes available to schedule pods", "there is no node at all"),
    _form(
        Kind.GATED,
        "SchedulingGates",
        r"waiting for scheduling gates: \[(.*)\]",
        "somebody set scheduling gates on the pod and has not removed them",
    ),
    _form(Kind.WRONG_NODE, "NodeName", _NODES + "didn't match the requested node name", "the pod names another node"),
    _form(
        Kind.NODES_NARROWED,
        "",
        _NODES + r"didn't satisfy plugin(?:\(s\))? \[?([^\]]*?)\]?(?: simultaneously)?",
        "rules named the only nodes to look at, and this is none of them",
    ),
    _form(
        Kind.CORDONED,
        "NodeUnschedulable",
        _NODES + "were unschedulable",
        "the node is cordoned and the pod does not tolerate that",
    ),
    _form(
        Kind.UNTOLERATED_TAINT,
        "TaintToleration",
        _NODES + r"had untolerated taint\(s\)",
        "the node has a taint that the pod does not tolerate",
    ),
    _form(
        Kind.ADDED_AFFINITY,
        "NodeAffinity",
        _NODES + "didn't match scheduler-enforced node affinity",
        "the configuration adds a node affinity that the node does not match",
    ),
    _form(
        Kind.NODE_AFFINITY,
        "NodeAffinity",
        _NODES + "didn't match Pod's node affinity/selector",
        "the node's labels are not what the pod's nodeSelector or node affinity asks for",
    ),
    _form(
        Kind.NODE_AFFINITY_CONFLICT,
        "NodeAffinity",
        "pod affinity terms conflict",
        "the pod's node affinity names nodes that cannot all be meant",
    ),
    _form(
        Kind.PORT_TAKEN,
        "NodePorts",
        _NODES + "didn't have free ports for the requested pod ports",
        "a host port that the pod asks for is taken",
    ),
    _form(Kind.TOO_MANY_PODS, "NodeResourcesFit", "Too many pods", "the node has as many pods as it may"),
    _form(Kind.INSUFFICIENT, "NodeResourcesFit", "Insufficient (.+)", "the node has not enough of a resource left"),
    _form(
        Kind.DISK_TAKEN,
        "VolumeRestrictions",
        _NODES + "had no available disk",
        "a pod on the node has the disk that the pod names",
    ),
    _form(
        Kind.CLAIM_TAKEN,
        "VolumeRestrictions",
        _NODES + "unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
        "already in-use by another pod",
        "another pod has a claim that only one may have",
    ),
    _form(
        Kind.DRIVER_MISSING,
        "NodeVolumeLimits",
        "(.+) CSI driver is not installed on the node",
        "the node does not run the CSI driver of a volume",
    ),
    _form(
        Kind.VOLUME_LIMIT,
        "NodeVolumeLimits",
        _NODES + "exceed max volume count",
        "no more volumes of a driver can be attached to the node",
    ),
    _form(
        Kind.VOLUME_ELSEWHERE,
        "VolumeBinding",
        _NODES + "didn't match PersistentVolume's node affinity",
        "the pod's volume cannot be reached from the node",
    ),
    _form(
        Kind.NO_VOLUME,
        "VolumeBinding",
        _NODES + "didn't find available persistent volumes to bind",
        "there is no free volume for a claim, and none can be made there",
    ),
    _form(
        Kind.NO_STORAGE,
        "VolumeBinding",
        _NODES + "did not have enough free storage",
        "the storage reachable from the node has no room for a new volume",
    ),
    _form(
        Kind.VOLUME_GONE,
        "VolumeBinding",
        _NODES + r"unavailable due to one or more pvc\(s\) bound to non-existent pv\(s\)",
        "a claim is bound to a volume that does not exist",
    ),
    _form(
        Kind.VOLUME_ZONE,
        "VolumeZone",
        _NODES + "had no available volume zone",
        "the pod's volume is in another zone or region",
    ),
    _form(
        Kind.CLAIM_UNBOUND,
        "VolumeBinding",
        "pod has unbound immediate PersistentVolumeClaims",
        "a claim that does not wait for a pod has no volume yet",
    ),
    _form(
        Kind.STORAGE_OBJECT,
        "",
        r"(?:looking up PVC .*"
        r"|waiting for ephemeral volume controller to create the persistentvolumeclaim \"(.*)\""
        r"|(?:persistentvolumeclaim|persistentvolume|storageclass\.storage\.k8s\.io) \"(.*?)\" .*"
        r"|PersistentVolumeClaim had no .*|PersistentVolume had no name|VolumeBindingMode not set for .*)",
        "a claim, volume or class that the pod needs is missing, going or incomplete",
    ),
    _form(
        Kind.SPREAD_LABEL,
        "PodTopologySpread",
        _NODES + r"didn't match pod topology spread constraints \(missing required label\)",
        "the node lacks a label over which the pod is to be spread",
    ),
    _form(
        Kind.SPREAD_SKEW,
        "PodTopologySpread",
        _NODES + "didn't match pod topology spread constraints",
        "the node's domain has too many of these pods already",
    ),
    _form(
        Kind.POD_AFFINITY,
        "InterPodAffinity",
        _NODES + "didn't match pod affinity rules",
        "the pods that it must be near are not there",
    ),
    _form(
        Kind.POD_ANTI_AFFINITY,
        "InterPodAffinity",
        _NODES + "didn't match pod anti-affinity rules",
        "pods that it must be far from are there",
    ),
    _form(
        Kind.EXISTING_ANTI_AFFINITY,
        "InterPodAffinity",
        _NODES + "didn't satisfy existing pods anti-affinity rules",
        "a pod there must be far from this one",
    ),
    _form(
        Kind.UNREADABLE_TERM,
        "InterPodAffinity",
        "parsing pod: (.*)",
        "a selector of the pod's affinity to other pods cannot be read",
    ),
    _form(
        Kind.FEATURE_MISSING,
        "NodeDeclaredFeatures",
        _NODES + "didn't match Pod's required features",
        "the node does not declare a feature that the pod needs",
    ),
    _form(
        Kind.DEVICES,
        "DynamicResources",
        "(?:device allocation is not available here yet: .*|cannot allocate all claims"
        "|resourceclaim not available on the node|invalid resource pools were encountered|cannot fit resource"
        "|cannot schedule extended resource claim|could not find ResourceClaim .*|resourceclaim .*"
        "|resource claim .*|request .*|pod .*: ResourceClaim not created yet)",
        "devices that the pod claims are not to be had",
    ),
    _form(
        Kind.DEFERRED,
        "DeferredPodScheduling",
        "(?:node had resize preemption disabled|pod assigned to different node)",
        "the pod is held for another node or a resize",
    ),
)


class Short(msgspec.Struct, frozen=True):
    """How much is missing: at least, at most, and where it is least; amounts as people write them."""

    least: str
    most: str
    nearest: str  # the node where the least is missing


class Reason(msgspec.Struct, frozen=True):
    """Why nodes, or the pod as a whole, were turned down."""

    kind: Kind
    plugin: str
    text: str  # kube-scheduler's
    subject: str = ""  # what it is about: a resource, a driver, gates
    nodes: int = 0
    short: Short | None = None


def named(text: str, plugin: str, code: Code = Code.UNSCHEDULABLE) -> tuple[Kind, str]:
    """Return the kind of a text, and what it is about."""
    for form in FORMS if code is not Code.ERROR else ():
        if form.plugin in {"", plugin}:
            match = form.pattern.fullmatch(text)
            if match is not None:
                return form.kind, next((group for group in match.groups() if group), "")
    return (Kind.FAILED if code is Code.ERROR else Kind.OWN_RULE), ""


def unit_of(resource: str) -> str:
    """Say how a resource is counted."""
    if resource == "cpu":
        return "milli"
    return "bytes" if resource in {"memory", "ephemeral-storage"} or resource.startswith("hugepages-") else "count"


def amount(text: str, number: int) -> str:
    """Write how much is missing of what a text says is missing.

    >>> amount("Insufficient cpu", 350), amount("Insufficient memory", 2**31), amount("Too many pods", 1)
    ('350m', '2Gi', '1')
    """
    unit = unit_of(text.removeprefix("Insufficient "))
    return in_text(number, "milli" if unit == "milli" else "bytes" if unit == "bytes" else "count")


def reasons_of(evaluation: Evaluation) -> list[Reason]:
    """Return why nodes were turned down: the commonest first, each with its numbers."""
    counts = evaluation.reasons()
    said_by, shorts = _rulings(evaluation)
    first = evaluation.turned_down_first
    for answer in (*evaluation.single.values(), evaluation.untried, *((first,) if first is not None else ())):
        for text in answer.texts:
            said_by.setdefault(text, (answer.plugin, answer.code))
    found = []
    for text, nodes in counts.items():
        plugin, code = said_by.get(text, ("", Code.UNSCHEDULABLE))
        kind, subject = named(text, plugin, code)
        found.append(Reason(kind, plugin, text, subject, nodes, _short(text, shorts.get(text, ()), evaluation)))
    return sorted(found, key=lambda reason: (-reason.nodes, reason.text))


def of_outcome(texts: Iterable[str], plugin: str, code: Code = Code.UNSCHEDULABLE) -> list[Reason]:
    """Return the reasons of a rule that spoke about the pod as a whole."""
    return [Reason(*_first(named(text, plugin, code), plugin, text)) for text in texts]


def _first(kind: tuple[Kind, str], plugin: str, text: str) -> tuple[Kind, str, str, str]:
    return kind[0], plugin, text, kind[1]


def _rulings(
    evaluation: Evaluation,
) -> tuple[dict[str, tuple[str, Code]], dict[str, list[tuple[Int64s, Int64s]]]]:
    """Return who said each text and, per text, the rows it was said of with how much is missing there."""
    said_by: dict[str, tuple[str, Code]] = {}
    shorts: dict[str, list[tuple[Int64s, Int64s]]] = {}
    for which, (instance, ruling) in enumerate(evaluation.rulings):
        rows = np.flatnonzero(evaluation.live & (evaluation.turned_down_by == which))
        for code in np.unique(ruling.codes[rows]).tolist():
            for text in ruling.outcomes[code].texts:
                said_by.setdefault(text, (instance.name, ruling.outcomes[code].code))
        for text, column in (ruling.short or {}).items():
            missing = column[rows]
            some = missing > 0
            if some.any():
                shorts.setdefault(text, []).append((rows[some], missing[some]))
    return said_by, shorts


def _short(text: str, parts: Iterable[tuple[Int64s, Int64s]], evaluation: Evaluation) -> Short | None:
    parts = list(parts)
    if not parts:
        return None
    rows, missing = (np.concatenate(column) for column in zip(*parts, strict=True))
    nearest = evaluation.names[int(rows[missing.argmin()])]
    return Short(amount(text, int(missing.min())), amount(text, int(missing.max())), nearest)
