"""The nodes of every workload: three sizes, three zones, some taints, a label to choose by; a function of the seed.

Not here: what runs on them.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec

from bayplan.api.decode import decode
from bayplan.api.objects import Object

GIB: Final = 1 << 30
SIZES: Final = ((4000, 16 * GIB), (8000, 32 * GIB), (16000, 48 * GIB))  # cpu milli, memory bytes
PODS_MAX: Final = 110
ZONES: Final = 3
ZONE: Final = "topology.kubernetes.io/zone"
HOSTNAME: Final = "kubernetes.io/hostname"


class Machine(NamedTuple):
    """One node, before it is written as Kubernetes writes it."""

    name: str
    zone: str
    cpu_milli: int
    memory_bytes: int
    labels: dict[str, str]
    is_gpu: bool  # keeps pods off
    is_spot: bool  # is avoided


def machines(number: int, seed: int = 1) -> list[Machine]:
    """Draw nodes."""
    luck = random.Random(seed)
    drawn = []
    for place in range(number):
        cpu, memory = SIZES[place % len(SIZES)]
        labels = {"disk": "ssd" if luck.random() < 0.4 else "hdd", "pool": f"p{luck.randrange(3)}"}
        is_gpu, is_spot = luck.random() < 0.05, luck.random() < 0.05
        drawn.append(Machine(f"node-{place}", f"z{luck.randrange(ZONES)}", cpu, memory, labels, is_gpu, is_spot))
    return drawn


def nodes(drawn: Sequence[Machine]) -> list[Object]:
    """Write nodes as the API server would, and read them."""
    return [decode(msgspec.json.encode(_tree(machine, place))) for place, machine in enumerate(drawn)]


def _tree(machine: Machine, place: int) -> dict[str, Any]:
    taints = [{"key": "gpu", "effect": "NoSchedule"}] if machine.is_gpu else []
    taints += [{"key": "spot", "effect": "PreferNoSchedule"}] if machine.is_spot else []
    room = {"cpu": f"{machine.cpu_milli}m", "memory": f"{machine.memory_bytes >> 10}Ki", "pods": str(PODS_MAX)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": machine.name,
            "uid": f"{place:08x}-0000-4000-a000-000000000000",
            "resourceVersion": str(1000 + place),
            "creationTimestamp": "2026-03-01T06:00:00Z",
            "annotations": {"node.alpha.kubernetes.io/ttl": "0"},
            "labels": {
                HOSTNAME: machine.name,
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/os": "linux",
                "topology.kubernetes.io/region": "r0",
                ZONE: machine.zone,
                **machine.labels,
            },
        },
        "spec": {"podCIDR": f"10.{place >> 8}.{place & 255}.0/24", "taints": taints},
        "status": {
            "allocatable": room,
            "capacity": room,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
            "nodeInfo": {"kubeletVersion": "v1.37.0", "operatingSystem": "linux", "architecture": "amd64"},
        },
    }
