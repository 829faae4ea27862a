"""schemathesis over the OpenAPI documents that a server serves: every path and verb, and no answer of 5xx.

Runs in the clients' own environment, with the server's address as its only word; prints how much it asked.
Watches are asked for on pods alone, and for a second: on all kinds they would take minutes.
Not here: starting the server (`test_clients.py`).
"""

import json
import sys
from typing import Any
from urllib.request import urlopen

import hypothesis
import schemathesis
from schemathesis import GenerationMode

EXAMPLES = 2  # for each operation, with what its schema allows, and as many with what it does not
SETTINGS = hypothesis.settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[hypothesis.Phase.generate],
    suppress_health_check=list(hypothesis.HealthCheck),
)


def documents(url: str) -> dict[str, Any]:
    """Read the documents of all groups as one."""
    whole: dict[str, Any] = {}
    for one in read(f"{url}/openapi/v3")["paths"].values():
        document = read(url + one["serverRelativeURL"])
        whole = whole or {**document, "paths": {}, "components": {"schemas": {}}}
        whole["paths"].update(document["paths"])
        whole["components"]["schemas"].update(document["components"]["schemas"])
    return whole


def read(url: str) -> Any:  # noqa: ANN401  # JSON of any shape
    """Read a document."""
    with urlopen(url) as response:  # noqa: S310  # on loopback
        return json.load(response)


class Asker:
    """Sends cases to a server, and notes what is answered with 5xx."""

    def __init__(self, url: str) -> None:
        """Send to an address."""
        self.url = url
        self.requests = 0
        self.wrong: list[str] = []

    def send(self, case: Any) -> None:  # noqa: ANN401  # schemathesis' own
        """Send one case."""
        query = dict(case.query or {})
        if str(query.get("watch", "")).lower() not in {"", "0", "f", "false"}:
            query.update(watch="pods" in case.path, timeoutSeconds=1)
        case.query = query
        response = case.call(base_url=self.url)
        self.requests += 1
        if response.status_code >= 500:
            asked = f"{case.method} {response.request.url} {response.request.body!r:.300}"
            self.wrong.append(f"{asked}: {response.text:.300}")

    def ask(self, operation: Any, mode: GenerationMode) -> None:  # noqa: ANN401  # schemathesis' own
        """Send examples of one operation."""
        cases = hypothesis.given(operation.as_strategy(generation_mode=mode))
        try:
            SETTINGS(cases(lambda case: self.send(case)))()  # type: ignore[no-untyped-call]  # noqa: PLW0108
        except hypothesis.errors.Unsatisfiable:  # there is nothing that such a schema does not allow
            return


def main(url: str) -> int:
    """Ask everything; say how much that was."""
    asker, operations = Asker(url), 0
    for result in schemathesis.openapi.from_dict(documents(url)).get_all_operations():
        operations += 1
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            asker.ask(result.ok(), mode)
    told = {"operations": operations, "requests": asker.requests, "server errors": len(asker.wrong)}
    print(json.dumps(told))
    print("\n".join(asker.wrong[:20]), file=sys.stderr)
    return 1 if asker.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
