"""A client for tests: plain HTTP over loopback to a server that really runs.

Not here: what is claimed (the tests beside this module).
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from typing import Any, NamedTuple

Body = dict[str, Any]

PODS = "/api/v1/namespaces/default/pods"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


class Answer(NamedTuple):
    """What the server said."""

    code: int
    body: Body
    headers: Mapping[str, str]

    @property
    def reason(self) -> str:
        """Give the reason of a Status."""
        return str(self.body.get("reason", ""))

    @property
    def names(self) -> list[str]:
        """Give the names of a list's objects."""
        return [item["metadata"]["name"] for item in self.body["items"]]


class Client:
    """Asks one server; a body is JSON unless it is bytes."""

    def __init__(self, port: int) -> None:
        """Ask the server at a port of loopback."""
        self.port = port

    def ask(
        self, method: str, path: str, body: object = None, *, media: str = "application/json", accept: str = "*/*"
    ) -> Answer:
        """Send a request and read the whole answer."""
        raw = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        return self.send(method, path, raw, {"Content-Type": media, "Accept": accept})

    def send(self, method: str, path: str, raw: bytes | None, headers: Mapping[str, str]) -> Answer:
        """Send exactly this."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request(method, path, raw, dict(headers))
            response = connection.getresponse()
            told = response.read()
            is_json = "json" in response.headers.get("Content-Type", "")
            body = json.loads(told) if is_json else {"text": told.decode()}
            return Answer(response.status, body, dict(response.headers))
        finally:
            connection.close()

    def get(self, path: str, accept: str = "*/*") -> Answer:
        """Read."""
        return self.ask("GET", path, accept=accept)

    def make(self, path: str, body: Body) -> Body:
        """Create an object that must be taken, and give what was stored."""
        done = self.ask("POST", path, body)
        assert done.code == 201, done.body
        return done.body

    def patch(self, path: str, body: object, media: str = MERGE) -> Answer:
        """Patch."""
        return self.ask("PATCH", path, body, media=media)

    @contextmanager
    def watch(self, path: str, accept: str = "*/*") -> Iterator[Iterator[Body]]:
        """Watch; what is given goes through the events as they come and ends when the server ends."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request("GET", path, headers={"Accept": accept})
        response = connection.getresponse()
        assert response.status == 200
        try:
            yield _events(response)
        finally:
            response.close()
            connection.close()


def _events(response: HTTPResponse) -> Iterator[Body]:
    while line := response.readline():
        yield json.loads(line)


def pod(name: str = "a", **spec: object) -> Body:
    """Give a pod as a person would write it."""
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i:1"}], **spec}}


def labelled(name: str, **labels: str) -> Body:
    """Give a ConfigMap with labels: the plainest object there is."""
    return {"metadata": {"name": name, "labels": labels}}


def seen(event: Body) -> tuple[str, str]:
    """Give an event's type and its object's name."""
    return event["type"], event["object"]["metadata"].get("name", "")


def awaited(client: Client, path: str, holds: Callable[[Body], bool]) -> Body:
    """Watch a collection until what is asked for holds of one of its objects."""
    with client.watch(f"{path}?watch=1&timeoutSeconds=10") as events:
        for event in events:
            if event["type"] != "DELETED" and holds(event["object"]):
                return dict(event["object"])
    raise AssertionError(f"not seen at {path}: {client.get(path).body}")


def gone(client: Client, path: str, name: str) -> bool:
    """Watch a collection until an object is deleted."""
    with client.watch(f"{path}?watch=1&resourceVersion=1&timeoutSeconds=10") as events:
        return any(event["type"] == "DELETED" and event["object"]["metadata"]["name"] == name for event in events)
