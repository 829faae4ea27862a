"""Effects for tests, a server to which they are sent, and what was heard of them.

Not here: what is claimed (the tests beside this module).
"""

import json
from collections.abc import Callable
from typing import Any

from bayplan.api.claims import PersistentVolume, PersistentVolumeClaim
from bayplan.api.messages import (
    Answered,
    Bind,
    Effect,
    Ended,
    Ending,
    PatchStatus,
)
from bayplan.api.objects import Object, ObjectMeta, Pod, PodMeta, PodSpec
from bayplan.kube.auth import Access
from bayplan.kube.loop import run
from bayplan.kube.transport import Client, Limits
from bayplan.kube.writes import Settings, Writer
from tests.unit.kube.hostile import OK, Hostile, Script, serving, until

Tree = dict[str, Any]
Heard = list[Ended | Answered]
NOW_NS = 1_700_000_000_123_456_789
POD = Pod(
    metadata=PodMeta(name="web", namespace="team", uid="u1", resource_version="7", generation=2),
    spec=PodSpec(scheduler_name="bayplan"),
)
VOLUME = PersistentVolume(metadata=ObjectMeta(name="pv", uid="v1", resource_version="8"))
CLAIM = PersistentVolumeClaim(metadata=ObjectMeta(name="data", namespace="team", uid="c1", resource_version="9"))


class Known:
    """What a writer knows."""

    def __init__(self, *things: Object) -> None:
        """Know these."""
        self.things = {}
        for thing in things:
            meta = thing.metadata  # type: ignore[attr-defined]  # all have it
            self.things[type(thing).__name__, meta.namespace, meta.name] = thing

    def get(self, kind: str, namespace: str, name: str) -> Object | None:
        """Return an object, or None."""
        return self.things.get((kind, namespace, name))


def about(name: str = "web", uid: str = "u1", write: int = 1) -> Tree:
    """Name a pod for an effect."""
    return {"uid": uid, "namespace": "team", "name": name, "cause": "attempt 1", "write": write}


BIND = Bind(**about(), node="n1")
WAITS = PatchStatus(**about(write=0), reason="Unschedulable", message="0/1 nodes are available: 1 Insufficient cpu.")


class Sent:
    """What a server was sent, and what was heard of it."""

    def __init__(self, it: Hostile, heard: list[Ended | Answered]) -> None:
        """Look at a server."""
        self.lines = [request.split(b" HTTP")[0].decode() for request in it.requests]
        self.bodies = [json.loads(request.partition(b"\r\n\r\n")[2] or b"{}") for request in it.requests]
        self.media = [_header(request, b"Content-Type") for request in it.requests]
        self.heard = heard

    @property
    def endings(self) -> list[Ending]:
        """Give how writes ended."""
        return [one.ending for one in self.heard if isinstance(one, Ended)]


def _header(request: bytes, name: bytes) -> str:
    found = [line for line in request.split(b"\r\n") if line.startswith(name)]
    return found[0].partition(b": ")[2].decode() if found else ""


def sent(
    *effects: Effect,
    known: Known | None = None,
    answers: tuple[bytes | Script | None, ...] = (OK,),
    ends: Callable[[Hostile, list[Ended | Answered]], bool] | None = None,
    limits: Limits | None = None,
) -> Sent:
    """Carry out effects at a scripted server; by default until all that were sent have ended."""

    async def main() -> Sent:
        async with serving(*answers) as it:
            client = Client(Access.to(it.url), limits)
            heard: Heard = []
            writer = Writer(
                client, known or Known(POD, VOLUME, CLAIM), heard.append, Settings(host="h"), lambda: NOW_NS
            )
            writer.write(effects)
            enough = sum(effect.write > 0 for effect in effects)
            await until(lambda: ends(it, heard) if ends is not None else len(heard) >= enough, "all have ended")
            writer.close()
            await client.close()
            return Sent(it, heard)

    return run(main())
