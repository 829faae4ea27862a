"""Node selectors and node affinity, required and preferred, of the pod and of the scheduler's own settings."""

from tests.parity.case import Manifest
from tests.parity.topics.draw import Draw
from tests.parity.topics.words import NODE_LABELS, NOT_LABELS, node_requirement
from tests.parity.topics.world import World

NAME = "metadata.name"
WELL_PUT = ("pool", "disktype", "rack")


def decorate(world: World) -> None:
    """Give the pod wishes about nodes, and the scheduler wishes for every pod."""
    draw = world.draw
    for node in world.nodes:
        if world.chance(0.05):
            node["metadata"]["labels"]["cores"] = draw.choice(NOT_LABELS)
    for pod in [world.pod, *world.waiting]:
        if world.chance(0.25):
            pod["spec"]["nodeSelector"] = _node_selector(draw)
        affinity: Manifest = {}
        if world.chance(0.45):
            affinity["requiredDuringSchedulingIgnoredDuringExecution"] = _required(world)
        if world.chance(0.5):
            affinity["preferredDuringSchedulingIgnoredDuringExecution"] = _preferred(world)
        if affinity or world.chance(0.03):
            pod["spec"].setdefault("affinity", {})["nodeAffinity"] = affinity
    if world.chance(0.25):
        world.args["NodeAffinity"] = _added(world)


def _node_selector(draw: Draw) -> dict[str, str]:
    keys = draw.some([*WELL_PUT, "empty", "cores"], 2, least=0 if draw.chance(0.1) else 1)
    return {key: draw.choice(NODE_LABELS[key]) for key in keys}


def _required(world: World) -> Manifest:
    draw = world.draw
    if draw.chance(0.12):  # narrows the search by name, at times to nothing
        return {"nodeSelectorTerms": [_by_name(world) for _ in range(draw.randint(1, 2))]}
    least = 0 if draw.chance(0.03) else 1
    return {"nodeSelectorTerms": [_term(world, bad=0.05) for _ in range(draw.randint(least, 3))]}


def _by_name(world: World) -> Manifest:
    draw = world.draw
    term: Manifest = {"matchFields": [{"key": NAME, "operator": "In", "values": [world.some_node()]}]}
    if draw.chance(0.25):
        term["matchFields"].append({"key": NAME, "operator": "In", "values": [world.some_node()]})
    if draw.chance(0.3):
        term["matchExpressions"] = [node_requirement(draw)]
    return term


def _term(world: World, bad: float) -> Manifest:
    draw = world.draw
    term: Manifest = {}
    if draw.chance(0.9):
        term["matchExpressions"] = [node_requirement(draw, bad) for _ in range(draw.randint(1, 2))]
    if draw.chance(0.12):
        term["matchFields"] = [_field(world, bad)]
    return term


def _field(world: World, bad: float) -> Manifest:
    draw = world.draw
    if draw.chance(bad):
        return draw.choice(
            [
                {"key": "metadata.uid", "operator": "In", "values": ["x"]},
                {"key": NAME, "operator": "In", "values": world.node_names[:2]},
                {"key": NAME, "operator": "Exists"},
                {"key": NAME, "operator": "In"},
            ]
        )
    return {"key": NAME, "operator": draw.choice(["In", "NotIn"]), "values": [world.some_node()]}


def _preferred(world: World, bad: float = 0.01) -> list[Manifest]:
    draw = world.draw
    terms = []
    for _ in range(draw.randint(0 if draw.chance(0.05) else 1, 4)):
        weight = draw.choice([1, 5, 10, 33, 50, 100, draw.randint(1, 100)])
        preference = {} if draw.chance(0.04) else _term(world, bad)
        terms.append({"weight": 0 if bad and draw.chance(0.03) else weight, "preference": preference})
    return terms


def _added(world: World) -> Manifest:
    draw = world.draw
    added: Manifest = {}
    if draw.chance(0.55):
        terms = [{"matchExpressions": [node_requirement(draw)]} for _ in range(draw.randint(1, 3))]
        if draw.chance(0.2):
            terms.append({"matchFields": [_field(world, bad=0)]})
        added["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    if draw.chance(0.65):
        added["preferredDuringSchedulingIgnoredDuringExecution"] = _preferred(world, bad=0)
    return {"addedAffinity": added}
