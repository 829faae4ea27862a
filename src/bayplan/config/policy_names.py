"""What a Policy file's names mean today: old name -> the rules that do it, with which arguments.

The table is many to one.  Predicates stand in the order in which Kubernetes came to ask them.
Invariant: every default and every mandatory name is in the table.
Not here: the file (policy.py) and the rules made of it (policy_profile.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

Tree = Mapping[str, object]

RATIO: Final = "RequestedToCapacityRatio"
_CPU_AND_MEMORY: Final = ({"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1})
_CONDITIONS: Final = "conditions of nodes are taints today, which the node controller sets"
_LIMITS: Final = "limits are what the CSI drivers of a node report"


class Filter(msgspec.Struct, frozen=True):
    """What a predicate is today."""

    plugins: tuple[str, ...]
    note: str = ""


class Score(msgspec.Struct, frozen=True):
    """What a priority is today."""

    plugin: str
    arguments: Tree = {}
    note: str = ""


_BY_RATIO: Final = Score(
    "NodeResourcesFit",
    {
        "scoringStrategy": {
            "type": RATIO,
            "resources": _CPU_AND_MEMORY,
            "requestedToCapacityRatio": {
                "shape": ({"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}),
            },
        },
    },
    "its shape and resources are an argument, under any name",
)

PREDICATES: Final[Mapping[str, Filter]] = {
    "CheckNodeUnschedulable": Filter(("NodeUnschedulable",)),
    "GeneralPredicates": Filter(("NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity")),
    "HostName": Filter(("NodeName",)),
    "PodFitsHostPorts": Filter(("NodePorts",)),
    "PodFitsPorts": Filter(("NodePorts",), "its name in Kubernetes 1.0"),
    "MatchNodeSelector": Filter(("NodeAffinity",)),
    "PodFitsResources": Filter(("NodeResourcesFit",)),
    "NoDiskConflict": Filter(("VolumeRestrictions",)),
    "PodToleratesNodeTaints": Filter(("TaintToleration",)),
    "CheckNodeCondition": Filter(("TaintToleration",), _CONDITIONS),
    "CheckNodeMemoryPressure": Filter(("TaintToleration",), _CONDITIONS),
    "CheckNodeDiskPressure": Filter(("TaintToleration",), _CONDITIONS),
    "CheckNodePIDPressure": Filter(("TaintToleration",), _CONDITIONS),
    "CheckNodeLabelPresence": Filter(("LabelsPresence",), "with the argument labelsPresence, under any name"),
    "CheckServiceAffinity": Filter(("ServiceAffinity",), "with the argument serviceAffinity, under any name"),
    "MaxEBSVolumeCount": Filter(("NodeVolumeLimits",), _LIMITS),
    "MaxGCEPDVolumeCount": Filter(("NodeVolumeLimits",), _LIMITS),
    "MaxCSIVolumeCountPred": Filter(("NodeVolumeLimits",), _LIMITS),
    "MaxAzureDiskVolumeCount": Filter(("NodeVolumeLimits",), _LIMITS),
    "MaxCinderVolumeCount": Filter(("NodeVolumeLimits",), _LIMITS),
    "CheckVolumeBinding": Filter(("VolumeBinding",)),
    "NoVolumeZoneConflict": Filter(("VolumeZone",)),
    "EvenPodsSpread": Filter(("PodTopologySpread",), "a pod's own constraints only"),
    "MatchInterPodAffinity": Filter(("InterPodAffinity",)),
}  # in the order in which they are asked

NEED_ARGUMENT: Final[Mapping[str, str]] = {
    "CheckNodeLabelPresence": "labelsPresence",
    "CheckServiceAffinity": "serviceAffinity",
}

PRIORITIES: Final[Mapping[str, Score]] = {
    "SelectorSpreadPriority": Score("SelectorSpread", note="PodTopologySpread by the system's defaults only"),
    "ServiceSpreadingPriority": Score("SelectorSpread", note="the same rule as SelectorSpreadPriority: weights add up"),
    "EvenPodsSpreadPriority": Score("PodTopologySpread", {"defaultingType": "List"}, "by a pod's own constraints only"),
    "TaintTolerationPriority": Score("TaintToleration"),
    "NodeAffinityPriority": Score("NodeAffinity"),
    "InterPodAffinityPriority": Score("InterPodAffinity"),
    "LeastRequestedPriority": Score(
        "NodeResourcesFit", {"scoringStrategy": {"type": "LeastAllocated", "resources": _CPU_AND_MEMORY}}
    ),
    "MostRequestedPriority": Score(
        "NodeResourcesFit", {"scoringStrategy": {"type": "MostAllocated", "resources": _CPU_AND_MEMORY}}
    ),
    "RequestedToCapacityRatioPriority": _BY_RATIO,
    "RequestedToCapacityRatio": _BY_RATIO,
    "BalancedResourceAllocation": Score("NodeResourcesBalancedAllocation"),
    "ImageLocalityPriority": Score("ImageLocality"),
    "NodePreferAvoidPodsPriority": Score("NodePreferAvoidPods"),
    "EqualPriority": Score("EqualPriority"),
}

GONE: Final[Mapping[str, str]] = {
    "ResourceLimitsPriority": "it was removed in Kubernetes 1.20, and nothing scores by limits today",
    "ServiceAntiAffinityPriority": "give a rule of any name the argument serviceAntiAffinity",
    "NodeLabelPriority": "give a rule of any name the argument labelPreference",
}  # what files name and nothing does by that name alone -> what to do instead

EQUAL: Final = "EqualPriority"
MANDATORY: Final = ("CheckNodeUnschedulable", "PodToleratesNodeTaints")

DEFAULT_PREDICATES: Final = (
    "CheckNodeUnschedulable",
    "GeneralPredicates",
    "NoDiskConflict",
    "PodToleratesNodeTaints",
    "MaxEBSVolumeCount",
    "MaxGCEPDVolumeCount",
    "MaxCSIVolumeCountPred",
    "MaxAzureDiskVolumeCount",
    "CheckVolumeBinding",
    "NoVolumeZoneConflict",
    "EvenPodsSpread",
    "MatchInterPodAffinity",
)

DEFAULT_PRIORITIES: Final[Mapping[str, int]] = {
    "SelectorSpreadPriority": 1,
    "EvenPodsSpreadPriority": 2,
    "TaintTolerationPriority": 1,
    "NodeAffinityPriority": 1,
    "InterPodAffinityPriority": 1,
    "LeastRequestedPriority": 1,
    "BalancedResourceAllocation": 1,
    "ImageLocalityPriority": 1,
    "NodePreferAvoidPodsPriority": 10000,
}  # name -> weight

ARGUMENTS: Final[Mapping[str, str]] = {
    "service_affinity": "ServiceAffinity",
    "labels_presence": "LabelsPresence",
    "service_anti_affinity": "ServiceAntiAffinity",
    "label_preference": "LabelPreference",
    "requested_to_capacity_ratio_arguments": "NodeResourcesFit",
}  # what makes a rule one's own -> the rule that does it today
