"""How fast a live cluster is scheduled: bayplan, kube-scheduler and the ceiling, in turn, on one real API server.

The pods wait before the scheduler starts.  The rate is from the first bound pod to the last; CPU is the scheduler's own
from the first bound pod until every pod has its event, its start apart.  One JSON line for each scheduler and round,
then one with the ratios of the medians.
    python -m bench.live [--kind plain|mixed] [--rounds 3] [--nodes N] [--pods N]
Not here: the engine alone (`engine.py`), and the programs (`tests/cluster`).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from bayplan.kube import loop
from bayplan.kube.auth import Access
from bayplan.kube.calls import Answer, Call, Failure, Outcome
from bayplan.kube.transport import Client
from tests.cluster.control_plane import ADMIN, ControlPlane, control_plane, kube_scheduler
from tests.cluster.live import BAYPLAN, COMMAND, NAME, PODS, install

THEIRS: Final = "kube-scheduler"
CEILING: Final = "ceiling"
ZONE: Final = "topology.kubernetes.io/zone"
HOST: Final = "kubernetes.io/hostname"
WITHIN_S: Final = 300.0
LOOK_S: Final = 0.05
TICKS: Final = os.sysconf("SC_CLK_TCK")
SIZES: Final = {"plain": (1000, 3000), "mixed": (5000, 2000)}
EVENTS: Final = "/apis/events.k8s.io/v1/namespaces/default/events"


class Measured(NamedTuple):
    """One scheduler in one round."""

    scheduler: str
    nodes: int
    pods: int
    kind: str
    pods_per_s: float
    cpu_us_per_pod: float
    start_cpu_s: float
    peak_mib: float
    events_written: int


class Counting:
    """Counts the lines of a watch, and when the first and the last came."""

    def __init__(self) -> None:
        self.count = 0
        self.first = self.last = 0.0

    def opened(self) -> None:
        """Take note of nothing."""

    def received(self, data: bytes) -> None:
        """Count."""
        lines = data.count(b"\n")
        if lines:
            self.last = time.monotonic()
            self.first = self.first or self.last
            self.count += lines


# --- objects ---------------------------------------------------------------------------------------------------------


def node(number: int) -> dict[str, Any]:
    """Give a node."""
    room = {"cpu": "32", "memory": "128Gi", "pods": "110"}
    name = f"n{number}"
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""}
    labels = {HOST: name, ZONE: f"zone-{number % 3}"}
    return {
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": room, "capacity": room, "conditions": [ready]},
    }


def pod(number: int, kind: str, scheduler: str) -> dict[str, Any]:
    """Give a pod of a kind."""
    requests = {"cpu": "100m", "memory": "200Mi"}
    container = {"name": "c", "image": "registry.example.com/app:1", "resources": {"requests": requests}}
    spec: dict[str, Any] = {"schedulerName": scheduler, "containers": [container]}
    form = ("plain", "zones", "hosts", "near")[number % 4] if kind == "mixed" else "plain"
    labels = {"app": form}
    alike = {"matchLabels": labels}
    if form == "zones":
        rule = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": alike}
        spec["topologySpreadConstraints"] = [rule]
    elif form == "hosts":
        rule = {"maxSkew": 1, "topologyKey": HOST, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": alike}
        spec["topologySpreadConstraints"] = [rule]
    elif form == "near":
        term = {"weight": 50, "podAffinityTerm": {"topologyKey": ZONE, "labelSelector": alike}}
        spec["affinity"] = {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}
    return {"metadata": {"name": f"p{number}", "labels": labels}, "spec": spec}


async def create(client: Client, path: str, things: Iterator[dict[str, Any]]) -> None:
    """Create many objects, as fast as they are taken."""
    done, wanted = asyncio.Event(), 0
    failed: list[str] = []
    left = 0

    def end(_: Call, outcome: Outcome) -> None:
        nonlocal left
        left -= 1
        if isinstance(outcome, Failure) or not outcome.is_good:
            failed.append(str(outcome))
        if not left:
            done.set()

    for thing in things:
        wanted += 1
        left += 1
        call = Call(f"POST {path}".encode(), json.dumps(thing).encode(), end)
        call.timeout_s = WITHIN_S
        client.submit(call)
    if wanted:
        await done.wait()
    if failed:
        raise RuntimeError(f"{len(failed)} of {wanted} were not created: {failed[0]}")


async def clear(client: Client) -> None:
    """Delete every pod and every event."""
    for path in (PODS, EVENTS):
        answer = await client.request("DELETE", path, b'{"gracePeriodSeconds": 0}', timeout_s=WITHIN_S)
        if not answer.is_good:
            raise RuntimeError(f"{path} could not be cleared: {answer.status}")
    while json.loads((await client.request("GET", f"{PODS}?limit=1")).body)["items"]:  # noqa: ASYNC110
        await asyncio.sleep(LOOK_S)


# --- schedulers ------------------------------------------------------------------------------------------------------


@contextmanager
def scheduling(plane: ControlPlane, scheduler: str, decisions: Path) -> Iterator[int]:
    """Run a scheduler; give its process id."""
    if scheduler == THEIRS:
        with kube_scheduler(plane, THEIRS) as process:
            yield process.pid
        return
    if scheduler == NAME:
        flags = ("--leader-elect-resource-namespace", NAME, "--secure-port", "0", "--logging-format", "json")
        command = [*COMMAND, "run", "--kubeconfig", str(plane.kubeconfig(BAYPLAN.name)), *flags]
    else:
        command = [sys.executable, "-m", "bench.bare_client", "127.0.0.1", str(plane.port), ADMIN.token, str(decisions)]
    with (
        (plane.folder / f"{scheduler}.log").open("ab") as out,
        subprocess.Popen(command, stdout=out, stderr=out) as own,  # noqa: S603 - our own
    ):
        try:
            yield own.pid
        finally:
            own.terminate()
            own.wait()


def cpu_s(pid: int) -> float:
    """Return the CPU that a process has used, all of its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def peak_mib(pid: int) -> float:
    """Return the most memory that a process has had."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return 0.0


# --- one round -------------------------------------------------------------------------------------------------------


class Round(NamedTuple):
    """What one scheduler is put to."""

    scheduler: str
    kind: str
    nodes: int
    pods: int
    decisions: Path


async def measured(plane: ControlPlane, client: Client, one: Round) -> Measured:
    """Let a backlog arise, start a scheduler, and watch it."""
    await clear(client)
    name = NAME if one.scheduler == CEILING else one.scheduler
    await create(client, PODS, (pod(number, one.kind, name) for number in range(one.pods)))
    if one.scheduler == CEILING:
        await _renumbered(client, one.decisions)
    bound, events = Counting(), Counting()
    fields = "fieldSelector=spec.nodeName!%3D"
    revision = json.loads((await client.request("GET", f"{PODS}?limit=1")).body)["metadata"]["resourceVersion"]
    streams = ((f"{PODS}?watch=1&resourceVersion={revision}&{fields}", bound),
               (f"{EVENTS}?watch=1&resourceVersion={revision}", events))  # fmt: skip
    watches = [asyncio.create_task(client.stream(path, sink, timeout_s=WITHIN_S)) for path, sink in streams]
    try:
        with scheduling(plane, one.scheduler, one.decisions) as pid:
            await _until(lambda: bound.count > 0)
            at_first = cpu_s(pid)
            at_last, peak = at_first, 0.0
            while bound.count < one.pods or events.count < one.pods:
                with_pid = _read(pid)
                at_last, peak = with_pid or (at_last, peak)
                await asyncio.sleep(LOOK_S)
                if with_pid is None and one.scheduler != CEILING:
                    raise RuntimeError(f"{one.scheduler} ended: see {plane.folder}")
                if time.monotonic() - max(bound.last, events.last) > 30:
                    break
            at_last, peak = _read(pid) or (at_last, peak)
    finally:
        for watch in watches:
            watch.cancel()
        await asyncio.gather(*watches, return_exceptions=True)
    if one.scheduler == NAME:
        await _keep(client, one.decisions)
    return Measured(
        one.scheduler, one.nodes, one.pods, one.kind,
        round((bound.count - 1) / (bound.last - bound.first), 1),
        round((at_last - at_first) / one.pods * 1e6, 1),
        round(at_first, 2), round(peak, 1), events.count,
    )  # fmt: skip


def _read(pid: int) -> tuple[float, float] | None:
    try:
        return cpu_s(pid), peak_mib(pid)
    except (OSError, IndexError):
        return None


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(WITHIN_S):
        while not holds():  # noqa: ASYNC110 - a watch counts
            await asyncio.sleep(0.002)


async def _pods(client: Client) -> list[dict[str, Any]]:
    answer: Answer = await client.request("GET", PODS, timeout_s=WITHIN_S)
    return list(json.loads(answer.body)["items"])


async def _keep(client: Client, file: Path) -> None:
    """Keep where bayplan's pods went."""
    _write(file, [(one["metadata"]["name"], "", one["spec"]["nodeName"]) for one in await _pods(client)])


async def _renumbered(client: Client, file: Path) -> None:
    """Give kept decisions the pods of this round."""
    uids = {one["metadata"]["name"]: one["metadata"]["uid"] for one in await _pods(client)}
    _write(file, [(name, uids[name], where) for name, _, where in _kept(file)])


def _write(file: Path, decisions: list[tuple[str, str, str]]) -> None:
    file.write_text(json.dumps(decisions), encoding="utf-8")


def _kept(file: Path) -> list[tuple[str, str, str]]:
    return [(name, uid, where) for name, uid, where in json.loads(file.read_text(encoding="utf-8"))]


async def compared(plane: ControlPlane, kind: str, nodes: int, pods: int, rounds: int) -> None:
    """Measure all, in turn, and compare their medians."""
    access = Access.from_kubeconfig([plane.kubeconfig()], environ=os.environ)
    client = Client(access)
    found: dict[str, list[Measured]] = {}
    try:
        await create(client, "/api/v1/nodes", map(node, range(nodes)))
        for _ in range(rounds):
            for scheduler in (NAME, THEIRS, CEILING):
                one = await measured(plane, client, Round(scheduler, kind, nodes, pods, plane.folder / "decisions"))
                found.setdefault(scheduler, []).append(one)
                print(json.dumps(one._asdict()), flush=True)
    finally:
        await client.close()

    def median(scheduler: str, field: str) -> float:
        return float(statistics.median(getattr(one, field) for one in found[scheduler]))

    print(
        json.dumps(
            {
                "kind": kind,
                "nodes": nodes,
                "pods": pods,
                "times_their_rate": round(median(NAME, "pods_per_s") / median(THEIRS, "pods_per_s"), 2),
                "share_of_the_ceiling": round(median(NAME, "pods_per_s") / median(CEILING, "pods_per_s"), 2),
                "share_of_their_cpu": round(median(NAME, "cpu_us_per_pod") / median(THEIRS, "cpu_us_per_pod"), 3),
                "share_of_their_memory": round(median(NAME, "peak_mib") / median(THEIRS, "peak_mib"), 2),
            }
        ),
        flush=True,
    )


def main() -> None:
    """Read what is asked for, and measure it."""
    parser = argparse.ArgumentParser(description="Measure bayplan on a real API server, beside kube-scheduler.")
    parser.add_argument("--kind", choices=sorted(SIZES), action="append")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--nodes", type=int)
    parser.add_argument("--pods", type=int)
    given = parser.parse_args()
    for kind in given.kind or SIZES:
        nodes, pods = given.nodes or SIZES[kind][0], given.pods or SIZES[kind][1]
        with (
            tempfile.TemporaryDirectory(prefix="bayplan-bench-") as folder,
            control_plane(Path(folder), (BAYPLAN,)) as plane,
        ):
            install(plane)
            loop.run(compared(plane, kind, nodes, pods, given.rounds))


if __name__ == "__main__":
    main()
