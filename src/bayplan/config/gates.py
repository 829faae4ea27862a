"""Feature gates: which are known, what they are by default, and which of them choose something here.

Four choose a rule's form; any other may be set to what it is by default, and is refused by name when set otherwise, so
that nobody believes a feature to be on that is not there.
Not here: what a gate changes (the rules that read `Gates`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bayplan.config.complaints import Complaints, meant
from bayplan.framework.plugin import Gates

CHOOSE: Final[Mapping[str, str]] = {
    "TaintTolerationComparisonOperators": "toleration_comparison",
    "InterPodAffinityHostnameFastPath": "hostname_fast_path",
    "VolumeLimitScaling": "volume_limit_scaling",
    "StorageCapacityScoring": "storage_capacity_scoring",
}  # gate -> the field of Gates that it sets

_ON: Final = """
    ClearingNominatedNodeNameAfterBinding ComponentFlagz ComponentStatusz ContextualLogging DRAAdminAccess
    DRAConsumableCapacity DRADeviceBindingConditions DRADeviceTaintRules DRADeviceTaints DRAExtendedResource
    DRAPartitionableDevices DRAPrioritizedList DRAResourceClaimDeviceStatus DRAResourceClaimGranularStatusAuthorization
    DRASchedulerFilterTimeout DynamicResourceAllocation InPlacePodLevelResourcesVerticalScaling
    InPlacePodVerticalScaling InformerResourceVersion MatchLabelKeysInPodAffinity MatchLabelKeysInPodTopologySpread
    MatchLabelKeysInPodTopologySpreadSelectorMerge MutableCSINodeAllocatableCount NativeHistograms NodeDeclaredFeatures
    NodeInclusionPolicyInPodTopologySpread NominatedNodeNameForExpectation OpportunisticBatching PodLevelResources
    PodLevelResourcesFixDefaulting PodObservedGenerationTracking PodSchedulingReadiness PodTopologyLabelsAdmission
    SchedulerAsyncPreemption SchedulerPopFromBackoffQ VolumeAttributesClass WatchListClient
"""
# DRAFractionalCapacityRange counts as off: it acts only at a minimum compatibility version that is not the default.
_OFF: Final = """
    AllAlpha AllBeta CompositePodGroup CoordinatedLeaderElection DRADerivedAttributes DRADeviceCompatibilityGroups
    DRAFractionalCapacityRange DRAListTypeAttributes DRANodeAllocatableResources DRAOptionalNodeOperations
    DRAPartitionableDevicesType DRAResourcePoolStatus DRAWorkloadResourceClaims GenericWorkload
    InPlacePodVerticalScalingSchedulerPreemption PodGroupPreemptionPolicy SchedulerAsyncAPICalls
    SchedulerPreQueueingHints TopologyAwareWorkloadScheduling WorkloadWithJob
"""

KNOWN: Final[Mapping[str, bool]] = {
    **dict.fromkeys(_ON.split(), True),
    **dict.fromkeys(_OFF.split(), False),
    **{name: getattr(Gates(), field) for name, field in CHOOSE.items()},
}  # gate -> its default in Kubernetes 1.37

_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "FALSE", "false", "False"})


def gates(settings: Mapping[str, bool]) -> Gates:
    """Return the gates in force; a ConfigError names every one that cannot be set so."""
    complaints = Complaints("--feature-gates")
    for name, setting in settings.items():
        if name not in KNOWN:
            complaints.add((name,), f"unknown feature gate; {meant(name, KNOWN)}")
        elif name not in CHOOSE and setting is not KNOWN[name]:
            state = "true" if KNOWN[name] else "false"
            complaints.add((name,), f"only {state}, its default in Kubernetes 1.37, is supported; leave it out")
    complaints.settle()
    return Gates(**{CHOOSE[name]: setting for name, setting in settings.items() if name in CHOOSE})


def settings_of(flag: str) -> dict[str, bool]:
    """Read `A=true,B=false`; where a gate is named twice the last one counts, as in kube-scheduler.

    >>> settings_of("VolumeLimitScaling=false, GenericWorkload=false")
    {'VolumeLimitScaling': False, 'GenericWorkload': False}
    """
    complaints = Complaints("--feature-gates")
    settings = {}
    for one in filter(None, (part.strip() for part in flag.split(","))):
        name, equals, value = (part.strip() for part in one.partition("="))
        if not equals or value not in _TRUE | _FALSE:
            complaints.add((name,), f"expected {name}=true or {name}=false")
        settings[name] = value in _TRUE
    complaints.settle()
    return settings
