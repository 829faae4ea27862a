"""What is not built yet: pods that ask for it wait with that reason, and are never bound without it.

A pod group is to be placed as one, a resource claim to be allocated: a pod that was placed regardless would not have
what its owner was promised.
Invariant: whatever a profile leaves out, a pod that asks for one of these is turned down.
Not here: what is missing of claims (the plugin DynamicResources says it).
"""

from __future__ import annotations

from typing import Final

from bayplan.cluster.shapes import GROUP
from bayplan.cluster.view import View
from bayplan.framework.plugin import NODE, Change, Code, Plugin, Prepared, Rejected
from bayplan.framework.profile import Instance, Profile
from bayplan.framework.registry import Registry

GROUPS: Final = 'pod groups are not placed here yet: the pod belongs to the group "{}"'
DEVICES: Final = "DynamicResources"
POINTS: Final = ("preFilter", "filter")


class PodGroups(Plugin[str, None]):
    """Turn down the members of pod groups: one placed alone may be one too few."""

    reads = GROUP
    depends = NODE
    wakes = (Change.OWN_OBJECT,)
    points = frozenset(POINTS)

    def prepare(self, part: str, view: View) -> Prepared[None] | Rejected:
        """Let everybody else pass."""
        if part:
            return Rejected(Code.UNRESOLVABLE, (GROUPS.format(part),))
        return Prepared(None, filters=False)


def guarded(profile: Profile, registry: Registry) -> Profile:
    """Return a profile that turns down what is not built, whatever its configuration leaves out."""
    added = [Instance("PodGroups", PodGroups())]
    devices = registry.rule(DEVICES)
    if devices is not None and DEVICES not in {one.name for one in profile.filter}:
        added.append(Instance(DEVICES, devices()))
    points = dict(profile.points)
    for point in POINTS:
        points[point] = (*points.get(point, ()), *added)
    return Profile(profile.scheduler_name, points, profile.gates, profile.lane)


def said() -> str:
    """Say at start what is not built."""
    return "pods with resource claims or in pod groups wait, and are never bound: neither is built yet"
