"""Taints and tolerations, cordoned nodes, numeric operators (with their gate on or off)."""

from tests.parity.case import Manifest
from tests.parity.topics.draw import Draw
from tests.parity.topics.world import World

KEYS = ("dedicated", "gpu", "tier", "node.kubernetes.io/unschedulable")
VALUES = ("a", "b", "", "true")
NUMBERS = ("5", "10", "100", "-7", "007", "+5", "-0", "many", "9223372036854775808", "")
EFFECTS = {"NoSchedule": 5, "PreferNoSchedule": 6, "NoExecute": 2}
GATE = "TaintTolerationComparisonOperators"


def decorate(world: World) -> None:
    """Taint and cordon nodes, and have the pod tolerate some of it."""
    draw = world.draw
    numeric = world.chance(0.35)
    if numeric and draw.chance(0.75):
        world.gates[GATE] = True
    elif world.chance(0.05):
        world.gates[GATE] = draw.chance(0.5)
    for node in world.nodes:
        if world.chance(0.55):
            node["spec"]["taints"] = [_taint(draw, numeric=numeric) for _ in range(draw.randint(1, 3))]
        if world.chance(0.1):
            node["spec"]["unschedulable"] = draw.chance(0.9)
    for pod in [world.pod, *world.waiting]:
        if world.chance(0.75):
            pod["spec"]["tolerations"] = [_toleration(draw, numeric=numeric) for _ in range(draw.randint(0, 4))]


def _taint(draw: Draw, *, numeric: bool) -> Manifest:
    if numeric and draw.chance(0.6):
        taint = {"key": "score", "value": draw.choice(NUMBERS)}
    else:
        taint = {"key": draw.choice(KEYS[:3] if draw.chance(0.95) else KEYS)}
        if draw.chance(0.7):
            taint["value"] = draw.choice(VALUES)
    return taint | {"effect": draw.weighted(EFFECTS)}


def _toleration(draw: Draw, *, numeric: bool) -> Manifest:
    if numeric and draw.chance(0.6):
        found: Manifest = {"key": "score", "operator": draw.choice(["Gt", "Lt"]), "value": draw.choice(NUMBERS)}
    else:
        form = draw.weighted({"Equal": 4, "": 3, "Exists": 4, "all": 0.6, "empty key": 0.5, "odd": 0.2})
        found = _plain_toleration(draw, form)
    if draw.chance(0.6):
        found["effect"] = draw.weighted(EFFECTS)
    if draw.chance(0.1):
        found["tolerationSeconds"] = 300
    return found


def _plain_toleration(draw: Draw, form: str) -> Manifest:
    value = draw.choice(VALUES)
    if form == "all":
        return {"operator": "Exists"}
    if form == "empty key":
        return {"operator": draw.choice(["Equal", "Exists"]), "value": value}
    key = draw.choice(KEYS)
    if form == "Exists":
        return {"key": key, "operator": "Exists"} | ({"value": value} if draw.chance(0.05) else {})
    if form == "odd":
        return {"key": key, "operator": draw.choice(["Near", "Lt", "Gt"]), "value": value}
    return {"key": key, "value": value} | ({"operator": "Equal"} if form else {})
