"""Host ports of running and pending pods: addresses, protocols, sidecars."""

from tests.parity.case import Manifest
from tests.parity.topics.draw import Draw
from tests.parity.topics.world import World

PORTS = (80, 443, 8080, 9000)
ADDRESSES = {None: 6, "": 1, "0.0.0.0": 2, "127.0.0.1": 3, "10.0.0.1": 2, "::": 1, "::1": 0.5}  # noqa: S104 - the wildcard
PROTOCOLS = {None: 5, "TCP": 4, "UDP": 3, "SCTP": 1, "": 0.5}


def decorate(world: World) -> None:
    """Have pods ask for ports of their node."""
    for pod in world.others_pods:
        if world.chance(0.5):
            _ask(world.draw, pod)
    if world.chance(0.85):
        _ask(world.draw, world.pod)


def _ask(draw: Draw, pod: Manifest) -> None:
    spec = pod["spec"]
    for container in spec["containers"]:
        if draw.chance(0.8):
            container["ports"] = [_port(draw) for _ in range(draw.randint(1, 2))]
    if draw.chance(0.3):
        starter: Manifest = {"name": "first", "image": "init:1", "ports": [_port(draw)]}
        if draw.chance(0.6):
            starter["restartPolicy"] = draw.weighted({"Always": 5, "Never": 1})
        spec.setdefault("initContainers", []).append(starter)
    if draw.chance(0.05):
        spec["hostNetwork"] = True


def _port(draw: Draw) -> Manifest:
    port: Manifest = {"containerPort": draw.choice(PORTS)}
    if draw.chance(0.9):
        port["hostPort"] = 0 if draw.chance(0.05) else draw.choice(PORTS)
    address, protocol = draw.weighted(ADDRESSES), draw.weighted(PROTOCOLS)
    if address is not None:
        port["hostIP"] = address
    if protocol is not None:
        port["protocol"] = protocol
    return port
