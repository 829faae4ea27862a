"""Affinity and anti-affinity between pods: required and preferred, of the pod and of those that run."""

from tests.parity.case import Manifest
from tests.parity.topics.draw import Draw
from tests.parity.topics.words import NAMESPACE_LABELS, NAMESPACES, TOPOLOGY_KEYS, label_selector
from tests.parity.topics.world import World

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
GATE = "InterPodAffinityHostnameFastPath"


def decorate(world: World) -> None:
    """Have pods attract and repel each other, and set what the scheduler makes of it."""
    draw = world.draw
    if world.chance(0.95):
        _wish(world, world.pod, {"affinity": 0.3, "anti": 0.35, "prefers": 0.4, "avoids": 0.35}, bad=0.02)
    for pod in world.others_pods:
        if world.chance(0.35):
            _wish(world, pod, {"affinity": 0.3, "anti": 0.25, "prefers": 0.5, "avoids": 0.4}, bad=0.01)
    if world.chance(0.15):
        world.gates[GATE] = draw.chance(0.9)
    if world.chance(0.3):
        args: Manifest = {}
        if draw.chance(0.7):
            args["hardPodAffinityWeight"] = draw.choice([0, 1, 5, 50, 100])
        if draw.chance(0.5):
            args["ignorePreferredTermsOfExistingPods"] = draw.chance(0.8)
        world.args["InterPodAffinity"] = args


def _wish(world: World, pod: Manifest, shares: dict[str, float], bad: float) -> None:
    draw = world.draw
    affinity: Manifest = {}
    anti: Manifest = {}
    if draw.chance(shares["affinity"]):
        affinity[REQUIRED] = _terms(draw, pod, bad, towards_itself=0.4)
    if draw.chance(shares["prefers"]):
        affinity[PREFERRED] = _weighted_terms(draw, pod, bad)
    if draw.chance(shares["anti"]):
        anti[REQUIRED] = _terms(draw, pod, bad, towards_itself=0.3)
    if draw.chance(shares["avoids"]):
        anti[PREFERRED] = _weighted_terms(draw, pod, bad)
    wishes: Manifest = pod["spec"].setdefault("affinity", {})
    if affinity or draw.chance(0.03):
        wishes["podAffinity"] = affinity
    if anti or draw.chance(0.03):
        wishes["podAntiAffinity"] = anti


def _terms(draw: Draw, pod: Manifest, bad: float, towards_itself: float) -> list[Manifest]:
    terms = [_term(draw, bad) for _ in range(draw.weighted({1: 7, 2: 3, 3: 0.5}))]
    app = pod["metadata"]["labels"].get("app")
    if app and draw.chance(towards_itself):
        terms[0]["labelSelector"] = {"matchLabels": {"app": app}}
    return terms


def _weighted_terms(draw: Draw, pod: Manifest, bad: float) -> list[Manifest]:
    return [
        {"weight": draw.choice([1, 10, 50, 100, draw.randint(1, 100)]), "podAffinityTerm": term}
        for term in _terms(draw, pod, bad, towards_itself=0.15)
    ]


def _term(draw: Draw, bad: float) -> Manifest:
    term: Manifest = {"topologyKey": draw.weighted(TOPOLOGY_KEYS)}
    selector = label_selector(draw, bad=bad)
    if selector is not None:
        term["labelSelector"] = selector
    if draw.chance(0.2):
        term["namespaces"] = draw.some([*NAMESPACES, "nowhere"], 3)
    if draw.chance(0.25):
        among = label_selector(draw, NAMESPACE_LABELS, bad=bad / 2)
        if among is not None:
            term["namespaceSelector"] = {} if draw.chance(0.2) else among
    if draw.chance(0.04):
        term[draw.choice(["matchLabelKeys", "mismatchLabelKeys"])] = ["pod-template-hash"]
    return term
