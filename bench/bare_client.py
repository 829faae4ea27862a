"""The ceiling: a client that only posts: bindings that were decided beforehand, and after them one event for each.

Sixteen connections over TLS, each with one request at a time, parsed by httptools, and nothing else: what any scheduler
in Python could reach at best.  It reads pairs of pod and node from a file and ends when every event is written.
    python -m bench.bare_client HOST PORT TOKEN DECISIONS
Not here: deciding, watching, retrying.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import sys
from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import httptools

from bayplan.kube import loop

CONNECTIONS: Final = 16
NAME: Final = "ceiling"


class Lane(asyncio.Protocol):
    """One connection: the next request when an answer has ended."""

    def __init__(self, requests: deque[bytes], ended: asyncio.Event) -> None:
        self._requests = requests
        self._ended = ended
        self._parser = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = transport  # type: ignore[assignment]  # a stream's transport, whatever its class
        self.on_message_complete()

    def data_received(self, data: bytes) -> None:
        """Take in a piece of an answer."""
        self._parser.feed_data(data)

    def on_headers_complete(self) -> None:
        """Refuse to go on when something was refused: then it is no ceiling."""
        if self._parser.get_status_code() >= 300:
            raise RuntimeError(f"the API server answers {self._parser.get_status_code()}")

    def on_message_complete(self) -> None:
        """Send the next request."""
        if self._transport is None:
            return
        if self._requests:
            self._transport.write(self._requests.popleft())
        else:
            self._ended.set()


def requests_of(decisions: list[tuple[str, str, str]], head: bytes) -> Iterator[bytes]:
    """Write every binding, then every event."""
    for name, uid, node in decisions:
        body = {"metadata": {"name": name, "uid": uid}, "target": {"kind": "Node", "name": node}}
        yield _written(f"/api/v1/namespaces/default/pods/{name}/binding", body, head)
    for name, uid, node in decisions:
        now = datetime.now(UTC)
        event = {
            "metadata": {"name": f"{name}.{int(now.timestamp() * 1e9):x}", "namespace": "default"},
            "eventTime": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "reportingController": NAME,
            "reportingInstance": f"{NAME}-here",
            "action": "Binding",
            "reason": "Scheduled",
            "type": "Normal",
            "regarding": {"kind": "Pod", "apiVersion": "v1", "namespace": "default", "name": name, "uid": uid},
            "note": f"Successfully assigned default/{name} to {node}",
        }
        yield _written("/apis/events.k8s.io/v1/namespaces/default/events", event, head)


def _written(path: str, body: object, head: bytes) -> bytes:
    raw = json.dumps(body).encode()
    return b"POST %b HTTP/1.1\r\n%bContent-Length: %d\r\n\r\n%b" % (path.encode(), head, len(raw), raw)


async def post(host: str, port: int, token: str, decisions: list[tuple[str, str, str]]) -> None:
    """Post everything."""
    head = (
        f"Host: {host}:{port}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"
        "Accept: application/json\r\n"
    ).encode()
    requests = deque(requests_of(decisions, head))
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    ends = [asyncio.Event() for _ in range(CONNECTIONS)]
    running = asyncio.get_running_loop()
    for end in ends:
        await running.create_connection(lambda end=end: Lane(requests, end), host, port, ssl=context)  # type: ignore[misc]
    for end in ends:
        await end.wait()


def main(arguments: list[str]) -> None:
    """Read what was decided, and post it."""
    host, port, token, file = arguments
    decisions = [(name, uid, node) for name, uid, node in json.loads(Path(file).read_text(encoding="utf-8"))]
    loop.run(post(host, int(port), token, decisions))


if __name__ == "__main__":
    main(sys.argv[1:])
