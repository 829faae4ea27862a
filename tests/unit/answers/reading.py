"""Reading texts into a cluster, for tests of questions put to one.

Not here: what is claimed (the tests beside this module).
"""

from bayplan.answers.snapshot import Cluster, Snapshot


def read(*texts: str, file: str = "input.yaml") -> tuple[Snapshot, Cluster]:
    """Read documents as one file."""
    snapshot = Snapshot()
    snapshot.read(file, "\n---\n".join(text.strip() for text in texts).encode())
    return snapshot, snapshot.cluster()


def node(name: str = "one", more: str = "") -> str:
    """Return a node's manifest."""
    return (
        f"apiVersion: v1\nkind: Node\nmetadata: {{name: {name}}}\n"
        f"status: {{allocatable: {{cpu: '4', memory: 8Gi, pods: '10'}}}}\n{more}"
    )


def pod(name: str = "web", spec: str = "", status: str = "", meta: str = "") -> str:
    """Return a pod's manifest; `spec` and `meta` are more fields in braces' style."""
    return (
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: shop{', ' + meta if meta else ''}}}\n"
        f"spec: {{containers: [{{name: main}}]{', ' + spec if spec else ''}}}\nstatus: {{{status}}}"
    )
