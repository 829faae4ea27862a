"""Configuration files, told apart by what is in them: the one way from a path to a configuration.

Forms that are known but not read here are refused by name, so that nobody looks for a typo in the wrong file.
Not here: decoding any of them (decode.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path as FilePath

from bayplan.config import source
from bayplan.config.decode import Decoded, decode_source
from bayplan.config.kubescheduler import API_VERSION, KIND
from bayplan.framework.plugin import NO_GATES, Gates
from bayplan.framework.registry import Registry


def load(path: FilePath, registry: Registry, gates: Gates = NO_GATES) -> Decoded:
    """Read a configuration file; raise a ConfigError with all that is wrong."""
    found = source.of_file(path)
    form = _other_form(found.tree)
    if form is not None:
        found.complaints.unreadable((), f"this is {form}, which is not read yet; expected {KIND} {API_VERSION}")
        found.complaints.settle()
    return decode_source(found, registry, gates)


def _other_form(tree: Mapping[str, object]) -> str | None:
    """Name the form of a file that is something else than a KubeSchedulerConfiguration."""
    if tree.get("kind") == "Policy" or (
        "kind" not in tree and not tree.keys().isdisjoint({"predicates", "priorities"})
    ):
        return "a scheduler Policy, as Kubernetes read it up to 1.22"
    if tree.get("kind") == "BayplanConfiguration":
        return "a BayplanConfiguration"
    if "kind" not in tree and not tree.keys().isdisjoint({"actions", "tiers"}):
        return "a configuration of kube-batch or Volcano"
    return None
