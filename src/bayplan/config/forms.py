"""Which form a configuration has, told by what is in it; a ConfigMap around one is looked into.

Invariant: a tree has one form at most.
Not here: reading a form (files.py, and the module of each).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bayplan.config import kubescheduler, ours, policy, source, strict
from bayplan.config.source import Source

CONFIG_MAP: Final = "ConfigMap"
_NAMES_SHOWN: Final = 3


def is_batch(tree: Mapping[str, object]) -> bool:
    """Say whether a tree is one of kube-batch's forms: actions and tiers, or the flat map."""
    if "kind" in tree or "apiVersion" in tree:
        return False
    return "actions" in tree or "tiers" in tree or isinstance(tree.get("plugins"), str) or any(map(is_switch, tree))


def is_switch(key: str) -> bool:
    """Say whether a key may be a switch of the flat map."""
    return key.startswith("plugin.")


def is_policy(tree: Mapping[str, object]) -> bool:
    """Say whether a tree is a Policy: by its kind, or by its lists where it names none."""
    small = {key.lower(): key for key in tree}
    if "kind" in small:
        return tree[small["kind"]] == policy.KIND
    return not small.keys().isdisjoint({"predicates", "priorities"})


def is_ours(tree: Mapping[str, object]) -> bool:
    """Say whether a tree is settings of our own."""
    version = tree.get("apiVersion")
    return tree.get("kind") == ours.KIND or (isinstance(version, str) and version.startswith(ours.GROUP))


def is_headless(tree: Mapping[str, object]) -> bool:
    """Say whether a tree neither says what it is nor looks like anything that is read here."""
    fields = strict.fields_of(kubescheduler.KubeSchedulerConfiguration)  # `kind` and `apiVersion` among them
    return tree.keys().isdisjoint(fields) and not is_policy(tree) and not is_batch(tree)


def unwrapped(found: Source) -> Source:
    """Take a configuration out of the ConfigMap that may be around it; complain where it is not clear which."""
    if found.tree.get("kind") != CONFIG_MAP:
        return found
    data = found.tree.get("data")
    data = data if isinstance(data, Mapping) else {}
    if is_batch(data):
        return Source(dict(data), found.complaints.below(("data",)))
    texts = {key: value for key, value in data.items() if isinstance(value, str)}
    if len(texts) == 1:
        ((name, text),) = texts.items()
        return unwrapped(source.of_text(text, f"{found.complaints.file} ({name})"))
    names = ", ".join(f"`{name}`" for name in list(texts)[:_NAMES_SHOWN])
    what = f"has {len(texts)} files in its data ({names}); give the one that is meant" if texts else "has no data"
    found.complaints.unreadable((), f"this is a ConfigMap that {what}")
    found.complaints.settle()
    return found
