"""Kinds: which objects are watched: those that some rule of some profile reads, and no other.

Invariant: pods and nodes always; what a rule waits for is among what is watched for it.
Not here: where each kind is found (`kube/resources.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from bayplan.core.wakeups import kinds_of
from bayplan.framework.profile import Instance, Profile

ALWAYS: Final = ("Node", "Pod")
OWNERS: Final = ("Service", "ReplicationController", "ReplicaSet", "StatefulSet")
VOLUMES: Final = ("PersistentVolume", "PersistentVolumeClaim", "StorageClass")
DRIVERS: Final = ("CSINode", "CSIDriver", "CSIStorageCapacity", "VolumeAttachment")
EVERY: Final = (*ALWAYS, "Namespace", *OWNERS, *VOLUMES, *DRIVERS, "DeviceClass")
BUDGETS: Final = "PodDisruptionBudget"
OURS: Final = "bayplan."

READS: Final[dict[str, tuple[str, ...]]] = {
    "PodTopologySpread": OWNERS,
    "SelectorSpread": OWNERS,
    "ServiceAffinity": ("Service",),
    "ServiceAntiAffinity": ("Service",),
    "InterPodAffinity": ("Namespace",),
    "VolumeBinding": (*VOLUMES, *DRIVERS),
    "VolumeRestrictions": VOLUMES,
    "VolumeZone": VOLUMES,
    "NodeVolumeLimits": (*VOLUMES, *DRIVERS),
    "DynamicResources": ("DeviceClass",),
    "DefaultPreemption": (BUDGETS,),
}
"""What our own rules read beside pods and nodes, whether or not a change of it can help a pod that waits."""


def watched(profiles: Iterable[Profile]) -> tuple[str, ...]:
    """Return the kinds that the rules of some profiles need."""
    rules = [one for profile in profiles for instances in profile.points.values() for one in instances]
    needed = {kind for rule in rules for kind in _needed(rule)}
    return tuple(kind for kind in (*EVERY, BUDGETS) if kind in {*ALWAYS, *needed})


def _needed(rule: Instance) -> Iterable[str]:
    plugin = type(rule.plugin)
    if not plugin.__module__.startswith(OURS):
        return EVERY  # nobody knows what it reads
    return (*READS.get(plugin.name, ()), *kinds_of(rule.plugin.wakes or ()))
