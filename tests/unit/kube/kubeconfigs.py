"""Kubeconfig files for tests, as people and tools write them.

Not here: what is claimed of them (the tests beside this module).
"""

import asyncio
import base64
import json
import stat
import sys
from pathlib import Path
from typing import Any

from bayplan.kube.auth import Access

Tree = dict[str, Any]
NOTHING: dict[str, str] = {}
EXEC_V1 = "client.authentication.k8s.io/v1"


def config(cluster: Tree | None = None, user: Tree | None = None, **more: object) -> Tree:
    """Give a kubeconfig with one of each."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": "https://host:6443", **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "team"}}],
        "current-context": "x",
        **more,
    }


def access(folder: Path, tree: Tree | str, context: str = "", environ: dict[str, str] = NOTHING) -> Access:
    """Write a kubeconfig and read it."""
    file = folder / "config"
    file.write_text(tree if isinstance(tree, str) else json.dumps(tree), encoding="utf-8")
    return Access.from_kubeconfig([file], context, environ=environ)


def shown(it: Access) -> bytes:
    """Read what it shows, and give its header lines."""
    asyncio.run(it.refresh(0.0))
    return it.headers


def b64(raw: bytes) -> str:
    """Write as kubeconfig files have it."""
    return base64.b64encode(raw).decode()


def plugin(folder: Path, code: str, **more: object) -> Tree:
    """Write a plugin, and give the user that names it."""
    file = folder / "plugin"
    file.write_text(f"#!{sys.executable}\nimport json, os, sys\n{code}\n", encoding="utf-8")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return {"exec": {"apiVersion": EXEC_V1, "command": "./plugin", "interactiveMode": "IfAvailable", **more}}
