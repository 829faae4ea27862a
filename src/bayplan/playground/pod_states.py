"""Pod states: what a kubelet writes into a pod's status as it starts, restarts and ends.

Not here: when (`kubelets.py`).
"""

from __future__ import annotations

from bayplan.playground.trees import Map, maps, opened, set_condition, text, whole


def started(new: Map, address: str, now: str) -> None:
    """Write that a pod runs."""
    status = opened(new, "status")
    status.update({"phase": "Running", "startTime": now, "podIP": address, "podIPs": [{"ip": address}]})
    for kind in ("Initialized", "ContainersReady", "Ready"):
        set_condition(status, kind, "True", now)
    running: Map = {"running": {"startedAt": now}}
    status["containerStatuses"] = [_container(one, running, is_ready=True) for one in maps(new, "spec", "containers")]


def ended(new: Map, phase: str, now: str) -> None:
    """Write that a pod has run to its end, well or badly."""
    failed = phase == "Failed"
    over: Map = {"exitCode": int(failed), "reason": "Error" if failed else "Completed", "finishedAt": now}
    status = opened(new, "status")
    status["phase"] = phase
    for kind in ("ContainersReady", "Ready"):
        set_condition(status, kind, "False", now, ("PodFailed" if failed else "PodCompleted", ""))
    state: Map = {"terminated": over}
    status["containerStatuses"] = [_container(one, state, is_ready=False) for one in maps(new, "spec", "containers")]


def restarted(new: Map, now: str, *, is_up: bool) -> None:
    """Write that a pod's containers went down with their node, or that they run again, each once more than before."""
    status = opened(new, "status")
    for kind in ("ContainersReady", "Ready"):
        why = ("", "") if is_up else ("ContainersNotReady", "")
        set_condition(status, kind, "True" if is_up else "False", now, why)
    for one in maps(status, "containerStatuses"):
        one["ready"] = one["started"] = is_up
        one["state"] = {"running": {"startedAt": now}} if is_up else {"waiting": {"reason": "ContainerCreating"}}
        one["restartCount"] = (whole(one, "restartCount") or 0) + int(is_up)


def _container(spec: Map, state: Map, *, is_ready: bool) -> Map:
    name, image = text(spec, "name"), text(spec, "image")
    known: Map = {"name": name, "image": image, "imageID": "", "restartCount": 0, "ready": is_ready}
    return {**known, "started": is_ready, "state": state}
