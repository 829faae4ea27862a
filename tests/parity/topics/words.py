"""Words: the labels, names and selectors that random cases are written in; few enough that they meet each other."""

from tests.parity.case import Manifest
from tests.parity.topics.draw import Draw

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"
RACK = "rack"
NOBODY_HAS = "nobody/has"
TOPOLOGY_KEYS = {ZONE: 8, HOSTNAME: 7, RACK: 3, REGION: 2, NOBODY_HAS: 0.5}

ZONES = ("z0", "z1", "z2", "z3")
REGIONS = ("r0", "r1")
RACKS = ("k0", "k1", "k2", "k3", "k4")
CORES = ("2", "4", "8", "16", "08", "many", "9223372036854775807", "")
NOT_LABELS = ("+4", "-3")
"""Numbers that no label of a real node says, though the scheduler would read them."""

NODE_LABELS: dict[str, tuple[str, ...]] = {
    ZONE: ZONES,
    REGION: REGIONS,
    RACK: RACKS,
    "pool": ("a", "b", "c"),
    "disktype": ("ssd", "hdd"),
    "cores": CORES,
    "empty": ("",),
}

NAMESPACES = ("default", "team-a", "team-b", "dev")
NAMESPACE_LABELS: dict[str, tuple[str, ...]] = {"env": ("prod", "test"), "team": ("a", "b")}
POD_LABELS: dict[str, tuple[str, ...]] = {
    "app": ("web", "cache", "db"),
    "track": ("stable", "canary"),
    "pod-template-hash": ("h1", "h2"),
    "tier": ("", "front"),
}

SPECIAL_NODES = ("ghost", "")


def labels(draw: Draw, of: dict[str, tuple[str, ...]], share: float) -> dict[str, str]:
    """Return some of the labels, each present in that share of draws."""
    return {key: draw.choice(values) for key, values in of.items() if draw.chance(share)}


def pod_labels(draw: Draw) -> dict[str, str]:
    """Return a pod's labels: nearly always an app, sometimes more."""
    found = labels(draw, POD_LABELS, 0.35)
    if draw.chance(0.85):
        found["app"] = draw.choice(POD_LABELS["app"])
    return found


def label_selector(draw: Draw, of: dict[str, tuple[str, ...]] | None = None, bad: float = 0.0) -> Manifest | None:
    """Return a label selector: none, an empty one, equal labels, requirements; unparsable in a share `bad`."""
    words = of or POD_LABELS
    if draw.chance(bad):
        return {"matchExpressions": [draw.choice(_bad_requirements())]}
    form = draw.weighted({"none": 3, "empty": 5, "labels": 60, "expressions": 25, "both": 7})
    if form == "none":
        return None
    found: Manifest = {}
    if form in {"labels", "both"}:
        key = draw.choice(list(words)) if draw.chance(0.3) else next(iter(words))
        found["matchLabels"] = {key: draw.choice(words[key])}
    if form in {"expressions", "both"}:
        found["matchExpressions"] = [requirement(draw, words) for _ in range(draw.randint(1, 2))]
    return found


def requirement(draw: Draw, words: dict[str, tuple[str, ...]]) -> Manifest:
    """Return one requirement of a label selector."""
    key = draw.choice(list(words)) if draw.chance(0.5) else next(iter(words))
    operator = draw.weighted({"In": 6, "NotIn": 3, "Exists": 2, "DoesNotExist": 1})
    if operator in {"Exists", "DoesNotExist"}:
        return {"key": key, "operator": operator}
    return {"key": key, "operator": operator, "values": draw.some(words[key], 3, least=1)}


def node_requirement(draw: Draw, bad: float = 0.0) -> Manifest:
    """Return one requirement on a node's labels, numeric operators included; unparsable in a share `bad`."""
    if draw.chance(bad):
        return draw.choice([*_bad_requirements(), *_bad_numbers()])
    if draw.chance(0.15):
        bound = draw.choice(["3", "4", "7", "08", "9223372036854775807", *(NOT_LABELS if bad else ())])
        return {
            "key": draw.choice(["cores", "cores", "pool"]),
            "operator": draw.choice(["Gt", "Lt"]),
            "values": [bound],
        }
    key = draw.weighted(
        {ZONE: 5, "pool": 5, "disktype": 4, RACK: 3, REGION: 2, "cores": 1, "empty": 1, NOBODY_HAS: 0.4}
    )
    operator = draw.weighted({"In": 6, "NotIn": 3, "Exists": 2, "DoesNotExist": 1})
    if operator in {"Exists", "DoesNotExist"}:
        return {"key": key, "operator": operator}
    values = NODE_LABELS.get(key, ("x",))
    return {"key": key, "operator": operator, "values": draw.some(values, 3, least=1)}


def _bad_requirements() -> list[Manifest]:
    return [
        {"key": "app", "operator": "In"},
        {"key": "app", "operator": "NotIn", "values": []},
        {"key": "app", "operator": "Exists", "values": ["web"]},
        {"key": "app", "operator": "DoesNotExist", "values": ["web"]},
        {"key": "app", "operator": "Near", "values": ["web"]},
        {"key": "not a key", "operator": "Exists"},
        {"key": "app", "operator": "In", "values": ["not a value!"]},
    ]


def _bad_numbers() -> list[Manifest]:
    return [
        {"key": "cores", "operator": "Gt", "values": ["many"]},
        {"key": "cores", "operator": "Lt", "values": ["1", "2"]},
        {"key": "cores", "operator": "Gt"},
        {"key": "cores", "operator": "Lt", "values": ["9223372036854775808"]},
    ]
