"""Places: the extension points, and which of them each of kube-scheduler's own plugins acts at.

A configuration is checked and expanded against these, whether or not the plugin has code here: so the order at every
point, and what is refused, stay kube-scheduler's.  Plugins without code are places that nothing is asked at.
Not here: finding the code (registry.py) and putting profiles together (config).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from bayplan.api.durations import Duration

POINTS: Final = (
    "preEnqueue",
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
    "placementGenerate",
    "placementScore",
    "podGroupPostFilter",
)


class DefaultPreemptionArgs(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How many nodes preemption looks at: at least so many, and so many of a hundred."""

    min_candidate_nodes_percentage: int = 10
    min_candidate_nodes_absolute: int = 100

    def problems(self) -> list[str]:
        """List what is wrong, as upstream validates."""
        percentage, absolute = self.min_candidate_nodes_percentage, self.min_candidate_nodes_absolute
        problems = []
        if not 0 <= percentage <= 100:
            problems.append(f"minCandidateNodesPercentage: {percentage} is not in the range 0..100")
        if absolute < 0:
            problems.append(f"minCandidateNodesAbsolute: {absolute} must not be negative")
        if percentage == absolute == 0:
            problems.append("minCandidateNodesPercentage: must not be 0 together with minCandidateNodesAbsolute")
        return problems


class DynamicResourcesArgs(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How long looking for devices on a node, and waiting for them to be bound, may take."""

    filter_timeout: Duration = Duration.seconds(10)
    binding_timeout: Duration = Duration.seconds(600)

    def problems(self) -> list[str]:
        """List what is wrong, as upstream validates."""
        problems = []
        if self.filter_timeout < 0:
            problems.append(f"filterTimeout: {self.filter_timeout} must not be negative")
        if self.binding_timeout < Duration.seconds(1):
            problems.append(f"bindingTimeout: {self.binding_timeout} must be at least 1s")
        return problems


_FILTER: Final = frozenset({"preFilter", "filter"})
_SCORE: Final = frozenset({"preScore", "score"})
_BIND: Final = frozenset({"reserve", "preBind"})

PLACES: Final[Mapping[str, frozenset[str]]] = {
    "SchedulingGates": frozenset({"preEnqueue"}),
    "PrioritySort": frozenset({"queueSort"}),
    "NodeName": _FILTER,
    "NodeUnschedulable": _FILTER,
    "TaintToleration": _FILTER | _SCORE,
    "NodeAffinity": _FILTER | _SCORE,
    "NodePorts": _FILTER,
    "DeferredPodScheduling": _FILTER | {"permit"},
    "NodeResourcesFit": _FILTER | _SCORE | {"placementScore"},
    "VolumeRestrictions": _FILTER,
    "NodeVolumeLimits": _FILTER,
    "VolumeBinding": _FILTER | _SCORE | _BIND,
    "VolumeZone": _FILTER,
    "PodTopologySpread": _FILTER | _SCORE,
    "InterPodAffinity": _FILTER | _SCORE,
    "DynamicResources": _FILTER | _BIND | {"preEnqueue", "postFilter", "podGroupPostFilter", "score"},
    "DefaultPreemption": frozenset({"preEnqueue", "postFilter", "podGroupPostFilter"}),
    "NodeResourcesBalancedAllocation": _SCORE,
    "ImageLocality": frozenset({"score"}),
    "DefaultBinder": frozenset({"bind"}),
    "NodeDeclaredFeatures": _FILTER,
    "GangScheduling": frozenset({"preEnqueue", "permit"}),
    "TopologyPlacementGenerator": frozenset({"placementGenerate"}),
    "PodGroupPodsCount": frozenset({"placementScore"}),
}

ARGUMENTS: Final[Mapping[str, type[msgspec.Struct]]] = {
    "DefaultPreemption": DefaultPreemptionArgs,
    "DynamicResources": DynamicResourcesArgs,
}  # of places; a rule's own arguments go first
