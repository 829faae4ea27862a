"""Resizing in place: what a pod's status says it has, beside what its spec asks for."""

from tests.parity.case import Manifest
from tests.parity.topics.draw import Draw

CONDITION = "PodResizePending"


def resize(draw: Draw, pod: Manifest, requests: Manifest) -> None:
    """Give the pod a status with other resources than its spec's: `requests`, in some of the places they may stand."""
    status = pod["status"]
    if draw.chance(0.35):
        reason = draw.weighted({"Infeasible": 4, "Deferred": 2, "Other": 1})
        condition = {"type": CONDITION, "status": "True", "reason": reason}
        status["conditions"] = [{"type": "Ready", "status": "True"}, condition]
        if draw.chance(0.05):
            status["conditions"].append(condition | {"reason": "Infeasible"})
    for field, containers in (("containerStatuses", "containers"), ("initContainerStatuses", "initContainers")):
        found = [
            _of_container(draw, one["name"], requests) for one in pod["spec"].get(containers, []) if draw.chance(0.8)
        ]
        if found:
            status[field] = found
    if draw.chance(0.25):
        status["resources"] = {"requests": requests} if draw.chance(0.85) else {}
    if draw.chance(0.25):
        status["allocatedResources"] = _part(draw, requests)


def _of_container(draw: Draw, name: str, requests: Manifest) -> Manifest:
    found: Manifest = {"name": name, "image": "app:1", "imageID": "", "ready": True, "restartCount": 0}
    if draw.chance(0.5):
        found["allocatedResources"] = _part(draw, requests)
    if draw.chance(0.5):
        found["resources"] = {"requests": _part(draw, requests)} if draw.chance(0.85) else {}
    return found


def _part(draw: Draw, requests: Manifest) -> Manifest:
    return {name: amount for name, amount in requests.items() if draw.chance(0.8)}
