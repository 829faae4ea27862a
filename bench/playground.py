"""How fast the playground is, beside a real kube-apiserver under the same load in the same run.

Pods created and bound a second, what watchers cost, a long list, memory, the start.  Each server has processes of its
own; a rate is told as it was, and for each CPU second of the server's processes, which is what one core to itself would
give and what other work on the machine changes little.  Floors are for the latter; the ratios are to the real one.
One JSON line for each measurement; the exit status is 1 where a floor is missed.
Not here: a scheduler's own speed (`engine.py`, `live.py`).
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final, NamedTuple

import aiohttp

from bayplan.playground.nodes import nodes
from bayplan.playground.server import Server
from bayplan.playground.trees import Map, encoded
from tests.cluster.control_plane import ADMIN, control_plane

PODS: Final = "/api/v1/namespaces/default/pods"
POSTS: Final = 4_000
LANES: Final = 16
WATCHERS: Final = 20
NODES_MANY: Final = 10_000
PODS_MANY: Final = 100_000
STAMP: Final = "2026-01-01T00:00:00Z"
MEBI: Final = 2**20
JSON: Final = {"Content-Type": "application/json"}
TICKS: Final = os.sysconf("SC_CLK_TCK")

POSTS_FLOOR: Final = 2_500.0  # a second on one core, with one watcher
WATCHERS_CEILING: Final = 2.0  # times what one watcher costs
LIST_FLOOR: Final = 50.0  # MiB/s
MEMORY_CEILING: Final = 1_536.0  # MiB
START_CEILINGS: Final = {100: 0.5, NODES_MANY: 5.0}  # s, by nodes


class Served(NamedTuple):
    """A server in processes of its own."""

    name: str
    url: str
    pids: tuple[int, ...]
    started_s: float = 0.0  # from its making to its first answer, imports not counted
    token: str = ""


class Rates(NamedTuple):
    """What a server did under one load, and the CPU that a request took."""

    created_us: float
    bound_us: float
    list_us: float  # of CPU, for a MiB


class Bench:
    """Tells measurements, and remembers whether one missed its bound."""

    def __init__(self) -> None:
        """Begin with nothing missed."""
        self.missed: list[str] = []

    def tell(self, name: str, value: float, unit: str, **about: object) -> None:
        """Print a measurement."""
        print(json.dumps({"name": name, **about, "value": round(value, 3), "unit": unit}), flush=True)

    def hold(self, name: str, value: float, unit: str, bound: float, **about: object) -> None:
        """Print a measurement that has a bound: a least value of rates, a largest of everything else."""
        is_rate = unit.endswith("/s")
        if value < bound if is_rate else value > bound:
            self.missed.append(name)
        self.tell(name, value, unit, **about, **{"floor" if is_rate else "ceiling": bound})


def main() -> int:
    """Measure everything, one after the other."""
    bench = Bench()
    ours = {watchers: loaded(bench, watchers) for watchers in (1, WATCHERS)}
    theirs = {watchers: loaded_real(bench, watchers) for watchers in (1, WATCHERS)}
    for watchers in (1, WATCHERS):
        for name, mine, other in zip(Rates._fields, ours[watchers], theirs[watchers], strict=True):
            what = name.removesuffix("_us")
            bench.tell(f"{what}: the real one's CPU to ours", other / mine, "x", watchers=watchers)
    for name in ("created_us", "bound_us"):
        cost = getattr(ours[WATCHERS], name) / getattr(ours[1], name)
        bench.hold(f"{name.removesuffix('_us')}: {WATCHERS} watchers to one", cost, "x", WATCHERS_CEILING)
    for node_count, ceiling in START_CEILINGS.items():
        with served(node_count, 0) as server:
            bench.hold("start to the first answer", server.started_s, "s", ceiling, nodes=node_count)
    with served(NODES_MANY, PODS_MANY) as server:
        asyncio.run(listed(bench, server))
        about = {"nodes": NODES_MANY, "pods": PODS_MANY}
        bench.hold("memory at its peak", peak_mib(server.pids[0]), "MiB", MEMORY_CEILING, **about)
    if bench.missed:
        print(f"missed: {', '.join(bench.missed)}", file=sys.stderr)
    return 1 if bench.missed else 0


def loaded(bench: Bench, watchers: int) -> Rates:
    """Put the load on a playground."""
    with served(0, 0) as server:
        return asyncio.run(posted(bench, server, watchers))


def loaded_real(bench: Bench, watchers: int) -> Rates:
    """Put the same load on a real control plane."""
    with tempfile.TemporaryDirectory() as folder, control_plane(Path(folder)) as real:
        pids = (real.server.pid, real.etcd.pid)
        server = Served("kube-apiserver", real.url, pids, token=ADMIN.token)
        return asyncio.run(posted(bench, server, watchers))


# --- the server's process --------------------------------------------------------------------------------------------


@contextmanager
def served(node_count: int, pod_count: int) -> Iterator[Served]:
    """Run a playground with so many nodes and pods."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=serve, args=(there, node_count, pod_count), daemon=True)
    process.start()
    try:
        url, started_s = here.recv()
        yield Served("playground", url, (process.pid or 0,), started_s)
    finally:
        process.kill()
        process.join()


def serve(told: Connection, node_count: int, pod_count: int) -> None:
    """Run a server until the process is ended."""

    async def run() -> None:
        begun = time.perf_counter()
        server = Server()
        for node in nodes(node_count, "plain", STAMP):
            server.verbs.create(server.kinds.core("nodes"), "", node)
        for number in range(pod_count):
            server.verbs.create(server.kinds.core("pods"), "default", pod(number))
        async with server.listening(), aiohttp.ClientSession() as client:
            async with client.get(f"{server.url}/readyz") as response:
                response.raise_for_status()
            told.send((server.url, time.perf_counter() - begun))
            await asyncio.Event().wait()

    asyncio.run(run())


def peak_mib(pid: int) -> float:
    """Read the most memory that a process ever had."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    peak = next(line for line in lines if line.startswith("VmHWM:"))
    return int(peak.split()[1]) / 1024


def cpu_s(pids: tuple[int, ...]) -> float:
    """Read the CPU seconds that processes have had."""
    fields = (Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split() for pid in pids)
    return sum(int(one[11]) + int(one[12]) for one in fields) / TICKS


def pod(number: int) -> Map:
    """Give a pod as a workload's template makes it."""
    container: Map = {"name": "c", "image": "i:1", "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}}}
    return {"metadata": {"name": f"p{number}", "labels": {"app": "x"}}, "spec": {"containers": [container]}}


# --- the client ------------------------------------------------------------------------------------------------------


def session(server: Served, connections: int) -> aiohttp.ClientSession:
    """Give a client of a server."""
    headers = {**JSON, **({"Authorization": f"Bearer {server.token}"} if server.token else {})}
    connector = aiohttp.TCPConnector(limit=connections, ssl=False)
    return aiohttp.ClientSession(server.url, connector=connector, headers=headers)


async def posted(bench: Bench, server: Served, watchers: int) -> Rates:
    """Create pods and bind them while so many watch, then list them; each pod and each event is read to its end."""
    target: Map = {"apiVersion": "v1", "kind": "Node", "name": "n"}
    creations = [(PODS, encoded(pod(number))) for number in range(POSTS)]
    bindings = [
        (f"{PODS}/p{number}/binding", encoded({"metadata": {"name": f"p{number}"}, "target": target}))
        for number in range(POSTS)
    ]
    async with session(server, LANES + watchers) as client:
        watches = [asyncio.create_task(watch(client)) for _ in range(watchers)]
        costs = []
        for name, posts in (("pods created", creations), ("pods bound", bindings)):
            begun, before = time.perf_counter(), cpu_s(server.pids)
            await send(client, posts)
            rate, cost_s = POSTS / (time.perf_counter() - begun), (cpu_s(server.pids) - before) / POSTS
            about: dict[str, object] = {"server": server.name, "watchers": watchers, "rate": round(rate)}
            if server.name == "playground" and watchers == 1:
                bench.hold(f"{name} on one core", 1 / cost_s, "1/s", POSTS_FLOOR, **about)
            else:
                bench.tell(f"{name} on one core", 1 / cost_s, "1/s", **about)
            costs.append(cost_s * 1e6)
        for one in watches:
            one.cancel()
        await asyncio.gather(*watches, return_exceptions=True)
        before = cpu_s(server.pids)
        size = sum([await read(client, "/api/v1/pods") for _ in range(10)])
        per_mib = (cpu_s(server.pids) - before) / (size / MEBI)
        bench.tell("list of pods on one core", 1 / per_mib, "MiB/s", server=server.name, pods=POSTS)
        return Rates(costs[0], costs[1], per_mib * 1e6)


async def watch(client: aiohttp.ClientSession) -> None:
    """Read what a watch on all pods tells."""
    async with client.get("/api/v1/pods?watch=1") as response:
        async for _ in response.content.iter_any():
            pass


async def send(client: aiohttp.ClientSession, posts: list[tuple[str, bytes]]) -> None:
    """Send requests on a few connections, as fast as they are answered."""
    left = iter(posts)

    async def lane() -> None:
        for path, body in left:
            async with client.post(path, data=body) as response:
                response.raise_for_status()

    await asyncio.gather(*(lane() for _ in range(LANES)))


async def read(client: aiohttp.ClientSession, path: str) -> int:
    """Read an answer to its end, and give its size in bytes."""
    size = 0
    async with client.get(path) as response:
        async for piece in response.content.iter_any():
            size += len(piece)
    return size


async def listed(bench: Bench, server: Served) -> None:
    """Read the list of all pods, first when nothing of it was written before, then again."""
    async with session(server, 1) as client:
        for written in (0, 1):
            begun, before = time.perf_counter(), cpu_s(server.pids)
            size = await read(client, "/api/v1/pods") / MEBI
            rate = round(size / (time.perf_counter() - begun), 1)
            speed = size / (cpu_s(server.pids) - before)
            about = {"pods": PODS_MANY, "written before": written, "rate": rate}
            bench.hold("list of all pods on one core", speed, "MiB/s", LIST_FLOOR, **about)


if __name__ == "__main__":
    sys.exit(main())
