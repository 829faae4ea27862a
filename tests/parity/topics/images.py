"""Images that nodes have and pods want: names with and without tag, digests, sizes, image volumes."""

from tests.parity.case import Manifest
from tests.parity.topics.quantities import MI
from tests.parity.topics.world import World

DIGEST = "sha256:" + "ab" * 32
NAMES = (
    "app:1",
    "app",
    "app:latest",
    "registry.example/app:1",
    "registry.example:5000/app",
    "registry.example:5000/app:latest",
    f"app@{DIGEST}",
    "side:2",
    "init:1",
    "docker.io/library/app:1",
)
SIZES = (0, 1, 22 * MI, 23 * MI, 24 * MI, 100 * MI, 333 * MI + 7, 700 * MI, 1000 * MI, 2500 * MI, 9000 * MI)


def decorate(world: World) -> None:
    """Put images on nodes and have the pod use some."""
    draw = world.draw
    sizes = {name: draw.choice(SIZES) for name in NAMES}
    disputed = world.chance(0.4)  # one image with two sizes: the earliest node's counts
    for place, node in enumerate(world.nodes):
        at_an_end = disputed and place in {0, len(world.nodes) - 1}  # has all, so that the order does not matter
        if at_an_end or world.chance(0.75):
            images = []
            for name in NAMES if at_an_end else draw.some(NAMES, 6):
                names = [name, *draw.some(NAMES, 1)] if draw.chance(0.2) and not at_an_end else [name]
                strays = disputed and draw.chance(0.03 if at_an_end else 0.5)
                size = draw.choice(SIZES) if strays else sizes[name]
                images.append({"names": names} | ({"sizeBytes": size} if draw.chance(0.97) else {}))
            if not disputed:
                images = _once(images, sizes)
            node["status"]["images"] = images
    _use(world)


def _once(images: list[Manifest], sizes: dict[str, int]) -> list[Manifest]:
    """Return the images with each name once and one size for all nodes."""
    seen: set[str] = set()
    kept = []
    for image in images:
        names = [name for name in image["names"] if name not in seen and sizes[name] == sizes[image["names"][0]]]
        seen.update(names)
        if names:
            kept.append({"names": names, "sizeBytes": sizes[names[0]]})
    return kept


def _use(world: World) -> None:
    draw, spec = world.draw, world.spec
    for container in spec["containers"]:
        container["image"] = draw.choice(NAMES)
    for number in range(draw.randint(0, 2) if world.chance(0.5) else 0):
        spec["containers"].append({"name": f"more-{number}", "image": draw.choice([*NAMES, ""])})
    if world.chance(0.3):
        spec.setdefault("initContainers", []).append({"name": "load", "image": draw.choice(NAMES)})
    if world.chance(0.25):
        source = {"reference": draw.choice(NAMES), "pullPolicy": "IfNotPresent"}
        spec.setdefault("volumes", []).append({"name": "from-image", "image": source})
