"""Settings: other plugin sets, orders and weights, several profiles, and settings that change nothing.

A set is always one that kube-scheduler starts with.  Where a plugin's Filter or Score needs what its PreFilter or
PreScore found, both are switched off together: the other way the scheduler fails on every pod.
"""

from collections.abc import Callable

from tests.parity.case import Manifest
from tests.parity.topics.draw import Draw
from tests.parity.topics.world import World

FILTERS = (
    "NodeName",
    "NodeUnschedulable",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread",
    "InterPodAffinity",
    "NodeDeclaredFeatures",
)
SCORES = (
    "TaintToleration",
    "NodeAffinity",
    "NodeResourcesFit",
    "VolumeBinding",
    "PodTopologySpread",
    "InterPodAffinity",
    "NodeResourcesBalancedAllocation",
    "ImageLocality",
)
EITHER = tuple(dict.fromkeys([*FILTERS, *SCORES]))
PREFILTERS_THAT_SCORE = ("VolumeBinding",)
"""Their PreScore reads what their PreFilter found, so it cannot go alone."""
ALWAYS = ("PrioritySort", "DefaultBinder")
REST = ("SchedulingGates", "DynamicResources", "DefaultPreemption")
SECOND = "second-scheduler"


def decorate(world: World) -> None:
    """Choose a plugin set and the profile that the pod is for."""
    draw = world.draw
    if world.chance(0.85):
        ways: list[tuple[float, Callable[[Draw], Manifest]]] = [
            (2, _reweighted),
            (2, _without),
            (2, _chosen),
            (2, _scored_by),
            (2, _filtered_by),
            (3, _some_points),
            (0.8, _ungated),
        ]
        way = draw.choices([way for _, way in ways], weights=[weight for weight, _ in ways])[0]
        world.plugins = way(draw)
    if world.chance(0.3):
        world.profile_names = ["default-scheduler"]
        world.spec["schedulerName"] = SECOND
    elif world.chance(0.2):
        world.profile_names = [SECOND]
    if world.chance(0.1):
        world.args["DefaultPreemption"] = {"minCandidateNodesPercentage": 20, "minCandidateNodesAbsolute": 5}


def _named(names: list[str]) -> list[Manifest]:
    return [{"name": name} for name in names]


def _with_weights(draw: Draw, names: list[str]) -> list[Manifest]:
    found: list[Manifest] = []
    for name in names:
        weight = draw.choice([None, 1, 2, 3, 7, 20, 100]) if name in SCORES else None
        found.append({"name": name} | ({} if weight is None else {"weight": weight}))
    return found


def _reweighted(draw: Draw) -> Manifest:
    return {"multiPoint": {"enabled": _with_weights(draw, draw.some(SCORES, 4, least=1))}}


def _without(draw: Draw) -> Manifest:
    return {"multiPoint": {"disabled": _named(draw.some(EITHER, 4, least=1))}}


def _chosen(draw: Draw) -> Manifest:
    """Return a set of a few plugins, in an order of its own."""
    names = list(dict.fromkeys([*ALWAYS, *draw.some(FILTERS, 13, least=3), *draw.some(SCORES, 8, least=1)]))
    names += [name for name in REST if draw.chance(0.6)]
    draw.shuffle(names)
    return {"multiPoint": {"disabled": [{"name": "*"}], "enabled": _with_weights(draw, names)}}


def _scored_by(draw: Draw) -> Manifest:
    enabled = _with_weights(draw, draw.some(SCORES, 5, least=0 if draw.chance(0.1) else 1))
    if draw.chance(0.5):
        return {"score": {"disabled": [{"name": "*"}], "enabled": enabled}}
    gone = _named(draw.some(SCORES, 4, least=1))
    return {"score": {"disabled": gone} | ({"enabled": enabled} if draw.chance(0.6) else {})}


def _filtered_by(draw: Draw) -> Manifest:
    """Return other filters, or the same ones in another order."""
    form = draw.weighted({"without": 4, "reordered": 3, "only": 2})
    names = draw.some(FILTERS, 8, least=1)
    if form == "without":
        return {"filter": {"disabled": _named(names[:3])}}
    if form == "reordered":
        return {"filter": {"enabled": _named(names)}}
    return {"filter": {"disabled": [{"name": "*"}], "enabled": _named(names)}}


def _some_points(draw: Draw) -> Manifest:
    """Return a set where plugins act at some of their points only."""
    filters = _named([name for name in draw.some(FILTERS, 3, least=1) if name not in PREFILTERS_THAT_SCORE])
    scores = _named(draw.some(SCORES, 2, least=1))
    found: Manifest = {}
    if filters and draw.chance(0.6):
        found |= {"preFilter": {"disabled": filters}, "filter": {"disabled": filters}}
    if draw.chance(0.6):
        found |= {"preScore": {"disabled": scores}, "score": {"disabled": scores}}
    if draw.chance(0.5) or not found:
        names = _named(["NodeName"])
        found = {"preFilter": {"disabled": names}}
        if draw.chance(0.3):
            found["filter"] = {"disabled": names}
    return found


def _ungated(draw: Draw) -> Manifest:
    name = draw.choice(["*", "SchedulingGates"])
    return {"preEnqueue": {"disabled": [{"name": name}]}}
