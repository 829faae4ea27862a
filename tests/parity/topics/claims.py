"""Claims in every state, the volumes they are bound to or might be: what pods' volumes stand on.

A story is a function that puts a claim into a namespace, or does not, and returns its name.
Not here: the pods that name the claims (volumes.py), classes and drivers (storage.py).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from tests.parity.case import Manifest
from tests.parity.topics.draw import Draw
from tests.parity.topics.inline_disks import in_tree_source
from tests.parity.topics.quantities import GI, MI, size
from tests.parity.topics.storage import CSI, DRIVERS, TRACKED
from tests.parity.topics.words import BETA_REGION, BETA_ZONE, HOSTNAME, REGION, ZONE, ZONES
from tests.parity.topics.world import World

BOUND = "pv.kubernetes.io/bind-completed"
SELECTED = "volume.kubernetes.io/selected-node"
OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
LATE_CLASSES = {"late": 4, "local": 5, "tracked": 6, "placed": 3, "nobody": 0.7, "in-tree": 1, "in-tree-ebs": 0.5}


@dataclass
class Shelf:
    """The claims and volumes of a world; every name is used once."""

    world: World
    claims: dict[str, list[str]] = field(default_factory=dict)
    volumes: list[str] = field(default_factory=list)
    number: int = 0

    @property
    def draw(self) -> Draw:
        """The world's luck."""
        return self.world.draw

    def next_name(self, of: str) -> str:
        """Return a name that was not used before."""
        self.number += 1
        return f"{of}-{self.number}"


Story: TypeAlias = Callable[[Shelf, str], str]


# --- stories of claims ------------------------------------------------------------------------------------------------


def bound(shelf: Shelf, namespace: str) -> str:
    """Bind a claim to a CSI volume, which may be tied to a zone or a node."""
    claim = _claim(shelf, namespace, shelf.draw.choice(["late", "soon", "tracked"]))
    volume = _volume(shelf, claim["spec"].get("storageClassName", ""), 10 * GI)
    driver = shelf.draw.choice([CSI, CSI, *DRIVERS])
    volume["spec"]["csi"] = {"driver": driver, "volumeHandle": shelf.next_name("handle")}
    return _tie(shelf, claim, volume)


def bound_in_tree(shelf: Shelf, namespace: str) -> str:
    """Bind a claim to a volume of a driver that Kubernetes once had built in."""
    claim = _claim(shelf, namespace, "in-tree")
    volume = _volume(shelf, "in-tree", 10 * GI)
    volume["spec"] |= in_tree_source(shelf.draw, shelf.next_name("disk"))
    if "gcePersistentDisk" in volume["spec"]:  # in a zone that Google does not have, it could not be translated
        volume["metadata"]["labels"] = {}
    return _tie(shelf, claim, volume)


def left_for_later(shelf: Shelf, namespace: str) -> str:
    """Leave a claim for the scheduler to bind or to have provisioned."""
    draw = shelf.draw
    name = draw.weighted(LATE_CLASSES)
    claim = _claim(shelf, namespace, name)
    spec, metadata = claim["spec"], claim["metadata"]
    if draw.chance(0.12):
        spec["selector"] = {"matchLabels": {"kind": draw.choice(["fast", "slow"])}}
    if draw.chance(0.12):
        metadata.setdefault("annotations", {})[SELECTED] = shelf.world.some_node()
    if draw.chance(0.05):
        metadata.setdefault("annotations", {})[OLD_CLASS] = spec["storageClassName"]
        # Left out, it takes kube-scheduler down where capacity is scored.
        spec["storageClassName"] = draw.choice([name, "another"])
    for _ in range(draw.randint(0, 2)):
        available(shelf, name, claim if draw.chance(0.15) else None)
    return str(metadata["name"])


def small(shelf: Shelf, namespace: str) -> str:
    """Leave a small claim where there is room on most nodes."""
    claim = _claim(shelf, namespace, shelf.draw.choice(["tracked", "tracked", "local"]))
    claim["spec"] |= {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "3Gi"}}}
    claim["spec"].pop("volumeMode", None)
    return str(claim["metadata"]["name"])


def taken_again(shelf: Shelf, namespace: str) -> str:
    """Take a claim that is there already."""
    known = shelf.claims.get(namespace)
    return shelf.draw.choice(known) if known else bound(shelf, namespace)


def in_use(shelf: Shelf, namespace: str) -> str:
    """Bind a claim that one pod alone may use, and have a pod use it."""
    name = bound(shelf, namespace)
    claim = next(one for one in shelf.world.others if one["metadata"]["name"] == name)
    claim["spec"]["accessModes"] = ["ReadWriteOncePod"]
    users = [pod for pod in shelf.world.running if pod["metadata"]["namespace"] == namespace]
    if users:
        volumes = shelf.draw.choice(users)["spec"].setdefault("volumes", [])
        volumes.append({"name": "alone", "persistentVolumeClaim": {"claimName": name}})
    return name


def missing(shelf: Shelf, namespace: str) -> str:
    """Name a claim that is not there."""
    return "absent"


def nameless(shelf: Shelf, namespace: str) -> str:
    """Name no claim at all."""
    return ""


def volume_gone(shelf: Shelf, namespace: str) -> str:
    """Bind a claim to a volume that is no longer there."""
    claim = _claim(shelf, namespace, "late")
    claim["spec"]["volumeName"] = "gone"
    claim["metadata"]["annotations"] = {BOUND: "yes"}
    return str(claim["metadata"]["name"])


def lost(shelf: Shelf, namespace: str) -> str:
    """Leave a claim whose volume was lost."""
    name = volume_gone(shelf, namespace)
    shelf.world.others[-1]["status"]["phase"] = "Lost"
    return name


def deleted(shelf: Shelf, namespace: str) -> str:
    """Leave a claim that is being deleted."""
    claim = _claim(shelf, namespace, "late")
    claim["metadata"] |= {"deletionTimestamp": "2026-03-01T00:00:00Z", "finalizers": ["kubernetes.io/pvc-protection"]}
    return str(claim["metadata"]["name"])


def not_bound_at_once(shelf: Shelf, namespace: str) -> str:
    """Leave a claim that its class should have bound at once, or whose class nobody knows."""
    return str(_claim(shelf, namespace, shelf.draw.choice(["soon", "unknown"]))["metadata"]["name"])


def classless(shelf: Shelf, namespace: str) -> str:
    """Leave a claim that belongs to no class."""
    claim = _claim(shelf, namespace, "")
    if shelf.draw.chance(0.5):
        claim["spec"].pop("storageClassName")
    return str(claim["metadata"]["name"])


def half_bound(shelf: Shelf, namespace: str) -> str:
    """Name a claim's volume without saying that the binding is complete."""
    name = bound(shelf, namespace)
    claim = next(one for one in shelf.world.others if one["metadata"]["name"] == name)
    claim["metadata"].pop("annotations", None)
    return name


def modeless(shelf: Shelf, namespace: str) -> str:
    """Leave a claim whose class does not say when to bind."""
    return str(_claim(shelf, namespace, "modeless")["metadata"]["name"])


# --- claims and volumes -----------------------------------------------------------------------------------------------


def _claim(shelf: Shelf, namespace: str, class_name: str) -> Manifest:
    name = shelf.next_name("claim")
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{name}"}
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata,
        "spec": claim_spec(shelf, class_name),
        "status": {"phase": "Pending"},
    }
    shelf.world.others.append(claim)
    shelf.claims.setdefault(namespace, []).append(name)
    return claim


def claim_spec(shelf: Shelf, class_name: str) -> Manifest:
    """Return the spec of a claim that is bound to nothing."""
    draw = shelf.draw
    spec: Manifest = {
        "accessModes": draw.weighted({"ReadWriteOnce": 6, "ReadWriteOncePod": 3, "ReadOnlyMany": 1, "many": 1}),
        "resources": {"requests": {"storage": size(draw, draw.choice([GI, 5 * GI, 10 * GI, 20 * GI]), 0.2)}},
        "storageClassName": class_name,
    }
    many = ["ReadWriteOnce", "ReadWriteMany"]
    spec["accessModes"] = many if spec["accessModes"] == "many" else [spec["accessModes"]]
    if draw.chance(0.04):
        spec["resources"] = {}
    if draw.chance(0.3):
        spec["volumeMode"] = draw.weighted({"Filesystem": 6, "Block": 1})
    if draw.chance(0.06):
        spec["volumeAttributesClassName"] = draw.choice(["gold", "silver", ""])
    return spec


def _volume(shelf: Shelf, class_name: str, at_least: int) -> Manifest:
    draw, name = shelf.draw, shelf.next_name("pv")
    count = draw.choice([at_least, 2 * at_least, 30 * GI, GI])
    if draw.chance(0.96):  # among equals the choice is random
        count += shelf.number * MI
    spec: Manifest = {
        "capacity": {"storage": size(draw, count, 0.1)},
        "accessModes": draw.choice(
            [["ReadWriteOnce"], ["ReadWriteOnce", "ReadWriteOncePod", "ReadWriteMany", "ReadOnlyMany"]]
        ),
        "storageClassName": class_name,
    }
    if draw.chance(0.3):
        spec["volumeMode"] = draw.weighted({"Filesystem": 6, "Block": 1})
    if draw.chance(0.06):
        spec["volumeAttributesClassName"] = draw.choice(["gold", "silver", ""])
    metadata: Manifest = {"name": name, "labels": _volume_labels(draw)}
    if draw.chance(0.55):
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": _reach(shelf)}}
    volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec, "status": {}}
    shelf.world.others.append(volume)
    shelf.volumes.append(name)
    return volume


def _volume_labels(draw: Draw) -> dict[str, str]:
    found = {"kind": draw.choice(["fast", "slow"])} if draw.chance(0.5) else {}
    if draw.chance(0.22):
        text = draw.choice([*ZONES, "z0__z1", "z2__ z3", "z0__z1__z2", "z1__", ""])
        found[draw.choice([ZONE, ZONE, BETA_ZONE])] = text
    if draw.chance(0.06):
        found[draw.choice([REGION, BETA_REGION])] = draw.choice(["r0", "r1"])
    return found


def _reach(shelf: Shelf) -> list[Manifest]:
    """Return the terms of a volume's node affinity: one node, some zones, at times odd ones."""
    draw = shelf.draw
    terms: list[Manifest] = []
    for _ in range(draw.weighted({1: 9, 2: 2, 0: 0.1})):
        form = draw.weighted({"zone": 6, "node": 4, "odd": 1})
        if form == "zone":
            terms.append(
                {"matchExpressions": [{"key": ZONE, "operator": "In", "values": draw.some(ZONES, 3, least=1)}]}
            )
        elif form == "node":
            names = [shelf.world.some_node() for _ in range(draw.randint(1, 3))]
            terms.append({"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": names}]})
        else:
            terms.append(draw.choice(_odd_terms(shelf.world)))
    return terms


def _odd_terms(world: World) -> list[Manifest]:
    return [
        {},
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [world.some_node()]}]},
        {"matchExpressions": [{"key": "pool", "operator": "Exists"}]},
        {"matchExpressions": [{"key": "cores", "operator": "Gt", "values": ["3"]}]},
        {"matchExpressions": [{"key": ZONE, "operator": "NotIn", "values": ["z0"]}]},
    ]


def _tie(shelf: Shelf, claim: Manifest, volume: Manifest) -> str:
    """Bind the two, completely, and return the claim's name."""
    names = claim["metadata"]
    claim["spec"]["volumeName"] = volume["metadata"]["name"]
    names.setdefault("annotations", {})[BOUND] = "yes"
    claim["status"]["phase"] = volume["status"]["phase"] = "Bound"
    volume["spec"]["claimRef"] = _reference(names)
    return str(names["name"])


def _reference(names: Manifest) -> Manifest:
    return {"kind": "PersistentVolumeClaim", "apiVersion": "v1"} | {
        key: names[key] for key in ("namespace", "name", "uid")
    }


def available(shelf: Shelf, class_name: str | None = None, claim: Manifest | None = None) -> None:
    """Add a volume that may be bound; with `claim`, one that is kept for it."""
    draw = shelf.draw
    volume = _volume(shelf, class_name or draw.choice(["local", "local", "late", "tracked", ""]), 5 * GI)
    handle = {"driver": draw.choice([CSI, TRACKED]), "volumeHandle": shelf.next_name("handle")}
    volume["spec"] |= {"local": {"path": "/disk"}} if draw.chance(0.6) else {"csi": handle}
    volume["status"]["phase"] = draw.weighted({"Available": 12, "Released": 1, "Pending": 1, "": 0.5})
    if claim is not None:
        volume["spec"]["claimRef"] = _reference(claim["metadata"])
        if draw.chance(0.3):
            volume["spec"]["claimRef"].pop("uid")
    elif draw.chance(0.08):
        other = {"namespace": "default", "name": draw.choice(["other", "absent"]), "uid": "uid-other"}
        volume["spec"]["claimRef"] = _reference(other)
    if draw.chance(0.04):
        stamp = {"deletionTimestamp": "2026-03-01T00:00:00Z", "finalizers": ["kubernetes.io/pv-protection"]}
        volume["metadata"] |= stamp
