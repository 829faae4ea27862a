"""How fast the playground is: pods created and bound a second, what watchers cost, a long list, memory, the start.

The server has a process of its own; the client shares the other core with whatever else runs, so that a rate is what
both could do together.  One JSON line for each measurement.
Not here: the same load on a real kube-apiserver, and floors.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
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

PODS: Final = "/api/v1/namespaces/default/pods"
POSTS: Final = 4_000
LANES: Final = 16
NODES_MANY: Final = 10_000
PODS_MANY: Final = 100_000
STAMP: Final = "2026-01-01T00:00:00Z"
MEBI: Final = 2**20
JSON: Final = {"Content-Type": "application/json"}


class Served(NamedTuple):
    """A server in a process of its own."""

    url: str
    pid: int
    started_s: float  # from its making to its listening, imports not counted


def main() -> None:
    """Measure everything, one after the other."""
    for watchers in (1, 20):
        with served(0, 0) as server:
            asyncio.run(posted(server, watchers))
    for node_count in (100, NODES_MANY):
        with served(node_count, 0) as server:
            tell("start to listening", server.started_s, "s", nodes=node_count)
    with served(NODES_MANY, PODS_MANY) as server:
        asyncio.run(listed(server))
        tell("memory at its peak", peak_mib(server.pid), "MiB", nodes=NODES_MANY, pods=PODS_MANY)


def tell(name: str, value: float, unit: str, **about: int) -> None:
    """Print a measurement."""
    print(json.dumps({"name": name, **about, "value": round(value, 3), "unit": unit}), flush=True)


# --- the server's process --------------------------------------------------------------------------------------------


@contextmanager
def served(node_count: int, pod_count: int) -> Iterator[Served]:
    """Run a server with so many nodes and pods."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=serve, args=(there, node_count, pod_count), daemon=True)
    process.start()
    try:
        url, started_s = here.recv()
        yield Served(url, process.pid or 0, started_s)
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
        async with server.listening():
            told.send((server.url, time.perf_counter() - begun))
            await asyncio.Event().wait()

    asyncio.run(run())


def peak_mib(pid: int) -> float:
    """Read the most memory that a process ever had."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    peak = next(line for line in lines if line.startswith("VmHWM:"))
    return int(peak.split()[1]) / 1024


def pod(number: int) -> Map:
    """Give a pod as a workload's template makes it."""
    container: Map = {"name": "c", "image": "i:1", "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}}}
    return {"metadata": {"name": f"p{number}", "labels": {"app": "x"}}, "spec": {"containers": [container]}}


# --- the client ------------------------------------------------------------------------------------------------------


async def posted(server: Served, watchers: int) -> None:
    """Create pods and bind them while so many watch."""
    connector = aiohttp.TCPConnector(limit=LANES + watchers)
    async with aiohttp.ClientSession(server.url, connector=connector, headers=JSON) as client:
        watches = [asyncio.create_task(watch(client)) for _ in range(watchers)]
        creations = [(PODS, encoded(pod(number))) for number in range(POSTS)]
        tell("pods created", await rate(client, creations), "1/s", watchers=watchers)
        target: Map = {"kind": "Node", "name": "n"}
        bindings = [(f"{PODS}/p{number}/binding", encoded({"target": target})) for number in range(POSTS)]
        tell("pods bound", await rate(client, bindings), "1/s", watchers=watchers)
        for one in watches:
            one.cancel()


async def watch(client: aiohttp.ClientSession) -> None:
    """Read what a watch on all pods tells."""
    async with client.get("/api/v1/pods?watch=1") as response:
        async for _ in response.content.iter_any():
            pass


async def rate(client: aiohttp.ClientSession, posts: list[tuple[str, bytes]]) -> float:
    """Send requests on a few connections; give how many were answered a second."""
    left = iter(posts)

    async def lane() -> None:
        for path, body in left:
            async with client.post(path, data=body) as response:
                response.raise_for_status()

    begun = time.perf_counter()
    await asyncio.gather(*(lane() for _ in range(LANES)))
    return len(posts) / (time.perf_counter() - begun)


async def listed(server: Served) -> None:
    """Read the list of all pods, first when nothing of it was written before, then again."""
    async with aiohttp.ClientSession(server.url) as client:
        for written in (0, 1):
            begun, size = time.perf_counter(), 0
            async with client.get("/api/v1/pods") as response:
                async for piece in response.content.iter_any():
                    size += len(piece)
            speed = size / MEBI / (time.perf_counter() - begun)
            tell("list of all pods", speed, "MiB/s", pods=PODS_MANY, written_before=written)


if __name__ == "__main__":
    main()
