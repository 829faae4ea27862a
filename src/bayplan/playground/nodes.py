"""Pretend nodes: their objects, as kubelets would have registered them.

Invariant: the nodes of a profile are the same each time.
Not here: what runs on them (`kubelets.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bayplan.playground.trees import Map

PROFILES: Final = ("plain", "gpu-cluster")
ZONES: Final = 3
PODS_MAX: Final = "110"


def nodes(number: int, profile: str, now: str) -> Iterator[Map]:
    """Give the nodes of a profile: in a gpu-cluster one in four has eight GPUs, and is tainted for it."""
    for place in range(number):
        capacity: Map = {"cpu": "32", "memory": "128Gi", "ephemeral-storage": "500Gi", "pods": PODS_MAX}
        node = _node(f"node-{place}", place, capacity, now)
        if profile == "gpu-cluster" and place % 4 == 3:
            capacity.update({"cpu": "96", "memory": "1Ti", "example.com/gpu": "8"})
            taint: Map = {"key": "example.com/gpu", "value": "present", "effect": "NoSchedule"}
            node["spec"] = {"taints": [taint]}
        yield node


def _node(name: str, place: int, capacity: Map, now: str) -> Map:
    labels: Map = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "topology.kubernetes.io/zone": f"zone-{place % ZONES}",
        "topology.kubernetes.io/region": "playground",
    }
    ready: Map = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "pretending to be ready"}
    address: Map = {"type": "InternalIP", "address": f"10.{place // 62500}.{place // 250 % 250}.{place % 250 + 1}"}
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {},
        "status": {
            "capacity": capacity,
            "allocatable": capacity,
            "conditions": [{**ready, "lastHeartbeatTime": now, "lastTransitionTime": now}],
            "addresses": [address, {"type": "Hostname", "address": name}],
            "nodeInfo": {
                "kubeletVersion": "v1.37.0",
                "osImage": "bayplan playground",
                "operatingSystem": "linux",
                "architecture": "amd64",
                "kernelVersion": "0.0.0",
                "containerRuntimeVersion": "pretend://1.0",
            },
        },
    }
