"""Volumes of pods: what they mount, and plots that bring each rule about volumes to bear.

Not here: claims and what they are bound to (claims.py), classes, drivers and capacities (storage.py).
"""

from typing import NamedTuple

from tests.parity.case import Manifest
from tests.parity.topics import claims
from tests.parity.topics.claims import Shelf, Story, available, claim_spec
from tests.parity.topics.draw import Draw
from tests.parity.topics.inline_disks import inline_disk
from tests.parity.topics.scoring import shape
from tests.parity.topics.storage import attach, furnish, zone_capacity
from tests.parity.topics.words import HOSTNAME, ZONES
from tests.parity.topics.world import World

PLUGINS = ("VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone")

Stories = dict[Story, float]
WELL: Stories = {claims.bound: 6, claims.bound_in_tree: 2, claims.left_for_later: 9, claims.taken_again: 6}
STORIES: Stories = WELL | {
    claims.missing: 0.5,
    claims.volume_gone: 0.6,
    claims.lost: 0.6,
    claims.deleted: 0.6,
    claims.not_bound_at_once: 0.8,
    claims.half_bound: 0.6,
    claims.classless: 0.3,
    claims.modeless: 0.4,
}
MIXED_KINDS = {"claim": 12, "inline": 2.5, "own": 2, "none": 0.3}


class Plot(NamedTuple):
    """What the pod in question brings, and which volume plugin alone is there to judge it; None for all of them."""

    stories: Stories
    kinds: dict[str, float] = MIXED_KINDS
    judge: str | None = None


PLOTS = {"life": 28, "well": 26, "disks": 19, "room": 17, "doom": 60, "some plugins": 5}
DOOMS = (
    Plot({claims.missing: 1}, {"claim": 1}),
    Plot({claims.nameless: 1}, {"claim": 1}),
    Plot({claims.volume_gone: 1}, {"claim": 1}),
    Plot({claims.volume_gone: 1}, {"own": 1}),
    Plot({claims.in_use: 1}, {"claim": 1}),
    Plot({claims.lost: 1}, {"claim": 1}),
    Plot({claims.deleted: 1}, {"claim": 1}),
    Plot({claims.not_bound_at_once: 1}, {"claim": 1}),
    Plot({claims.modeless: 1}, {"claim": 1}),
    Plot({claims.missing: 1}, {"own": 1}),
    Plot({claims.left_for_later: 1}, {"not own": 1}),
    Plot({claims.bound: 1}, {"not own": 1}, "NodeVolumeLimits"),
    Plot({claims.missing: 1}, {"claim": 1}, "NodeVolumeLimits"),
    Plot({claims.nameless: 1}, {"claim": 1}, "NodeVolumeLimits"),
    Plot({claims.missing: 1}, {"claim": 1}, "VolumeBinding"),
    Plot({claims.volume_gone: 2, claims.bound: 1}, {"claim": 1}, "VolumeBinding"),
    Plot({claims.missing: 1}, {"claim": 1}, "VolumeZone"),
    Plot({claims.nameless: 1}, {"claim": 1}, "VolumeZone"),
    Plot({claims.not_bound_at_once: 1}, {"claim": 1}, "VolumeZone"),
    Plot({claims.not_bound_at_once: 1}, {"claim": 1}, "VolumeZone"),
    Plot({claims.classless: 1}, {"claim": 1}, "VolumeZone"),
    Plot({claims.modeless: 1}, {"claim": 1}, "VolumeZone"),
)
"""One thing wrong each, or half of the time: what a plugin says comes up however early another would object."""


def decorate(world: World) -> None:
    """Furnish the cluster with storage, and pods with volumes."""
    if not world.chance(0.97):
        return
    furnish(world)
    draw, shelf = world.draw, Shelf(world)
    name = draw.weighted(PLOTS)
    plot = _plot(shelf, name)
    for pod in world.others_pods:
        if draw.chance(0.4):
            stories = WELL if draw.chance(0.98) else STORIES
            _mount(shelf, pod, stories, plot.kinds if name == "disks" else MIXED_KINDS)
    for _ in range(draw.randint(0, 6)):
        available(shelf)
    for _ in range(1 if name == "doom" else draw.weighted({1: 5, 2: 3, 3: 1})):
        _mount(shelf, world.pod, plot.stories, plot.kinds)
    if shelf.volumes and world.nodes:
        for number in range(draw.randint(0, 5)):
            volume = draw.choice([*shelf.volumes, "unknown"])
            world.others.append(attach(draw, number, world.some_node(), volume))
    if draw.chance(0.2):
        world.args["VolumeBinding"] = _args(world)


def _plot(shelf: Shelf, name: str) -> Plot:
    """Return what the pod brings, having prepared the cluster for it."""
    draw, world = shelf.draw, shelf.world
    if name == "well":
        return Plot(WELL)
    if name == "disks":
        return Plot(WELL, {"inline": 1})
    if name == "room":
        _make_room(shelf)
        return Plot({claims.small: 9, claims.bound: 1}, {"claim": 1})
    if name == "doom":
        plot = draw.choice(DOOMS)
        if plot.judge is not None:
            _switch_off(world, [one for one in PLUGINS if one != plot.judge])
        return plot
    if name == "some plugins":
        _switch_off(world, draw.some(PLUGINS, 3, least=1))
    return Plot(STORIES)


def _switch_off(world: World, names: list[str]) -> None:
    world.plugins = {"multiPoint": {"disabled": [{"name": name} for name in names]}}


def _make_room(shelf: Shelf) -> None:
    """Give every zone capacity and every node a volume, so that nodes differ in how well a claim fits there."""
    draw, world = shelf.draw, shelf.world
    world.others = [one for one in world.others if one["kind"] != "CSIStorageCapacity"]
    world.others += [zone_capacity(draw, zone) for zone in ZONES if draw.chance(0.85)]
    for node in world.nodes:
        if draw.chance(0.8) and HOSTNAME in node["metadata"]["labels"]:
            available(shelf, "local")
            host = {"key": HOSTNAME, "operator": "In", "values": [node["metadata"]["labels"][HOSTNAME]]}
            terms = [{"matchExpressions": [host]}]
            world.others[-1]["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}


def _args(world: World) -> Manifest:
    args: Manifest = {"bindTimeoutSeconds": 30} if world.draw.chance(0.3) else {}
    if world.gates.get("StorageCapacityScoring", True) and world.draw.chance(0.85):
        args["shape"] = shape(world.draw)
    return args


def _mount(shelf: Shelf, pod: Manifest, stories: Stories, kinds: dict[str, float]) -> None:
    draw = shelf.draw
    volumes: list[Manifest] = pod["spec"].setdefault("volumes", [])
    name = f"volume-{len(volumes)}"
    kind = draw.weighted(kinds)
    if kind == "claim":
        claim = draw.weighted(stories)(shelf, pod["metadata"]["namespace"])
        volumes.append({"name": name, "persistentVolumeClaim": {"claimName": claim}})
    elif kind == "inline":
        volumes.append({"name": name} | inline_disk(draw))
    elif kind == "none":
        volumes.append({"name": name, "emptyDir": {}})
    else:
        volumes.append({"name": name, "ephemeral": {"volumeClaimTemplate": {"spec": claim_spec(shelf, "late")}}})
        story, claim = draw.weighted(stories), f"{pod['metadata']['name']}-{name}"
        _own_claim(shelf, pod, claim, claims.bound if story is claims.taken_again else story)
        if kind == "not own":
            _disown(draw, shelf, claim)


def _own_claim(shelf: Shelf, pod: Manifest, name: str, story: Story) -> None:
    """Make the claim that Kubernetes makes for a volume of the pod's own, unless the story has none."""
    namespace = pod["metadata"]["namespace"]
    made = story(shelf, namespace)
    if made not in shelf.claims.get(namespace, ()):
        return
    shelf.claims[namespace].remove(made)
    for one in shelf.world.others:
        reference = one.get("spec", {}).get("claimRef") or {}
        if one["kind"] == "PersistentVolume" and reference.get("name") == made:
            reference["name"] = name
        if one["kind"] == "PersistentVolumeClaim" and one["metadata"]["name"] == made:
            owner = {"apiVersion": "v1", "kind": "Pod", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
            one["metadata"] |= {"name": name, "ownerReferences": [owner | {"controller": True}]}


def _disown(draw: Draw, shelf: Shelf, name: str) -> None:
    """Have the claim belong to another pod, to nobody, or to the pod without being controlled by it."""
    for one in shelf.world.others:
        if one["metadata"]["name"] == name:
            metadata = one["metadata"]
            form = draw.choice(["nobody", "another", "no controller"])
            if form == "nobody":
                del metadata["ownerReferences"]
            else:
                other: Manifest = {"uid": "uid-another"} if form == "another" else {"controller": False}
                metadata["ownerReferences"] = [metadata["ownerReferences"][0] | other]
