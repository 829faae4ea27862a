"""bayplan decides where every pod in a Kubernetes cluster goes, and can say why.

This is the public surface: what a rule's author needs.  It is loaded when it is used, so importing bayplan costs
nothing.  docs/first-rule.md begins with ten lines; `Plugin` is the whole contract.
Not here: anything else; the rooms below are not public.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bayplan.api.objects import Pod
    from bayplan.cluster.view import View
    from bayplan.framework.nodes import Nodes, OneNode
    from bayplan.framework.plugin import (
        SKIP,
        SUCCESS,
        Failed,
        Outcome,
        Plugin,
        Prepared,
        Rejected,
        Ruling,
        unresolvable,
        unschedulable,
    )
    from bayplan.framework.rules import (
        filter,  # noqa: A004 - a rule's author writes bayplan.filter
        filter_node,
        higher_is_better,
        lower_is_better,
        score,
        score_node,
    )

_WHERE: Final = {
    "Failed": "framework.plugin",
    "Nodes": "framework.nodes",
    "OneNode": "framework.nodes",
    "Outcome": "framework.plugin",
    "Plugin": "framework.plugin",
    "Pod": "api.objects",
    "Prepared": "framework.plugin",
    "Rejected": "framework.plugin",
    "Ruling": "framework.plugin",
    "SKIP": "framework.plugin",
    "SUCCESS": "framework.plugin",
    "View": "cluster.view",
    "filter": "framework.rules",
    "filter_node": "framework.rules",
    "higher_is_better": "framework.rules",
    "lower_is_better": "framework.rules",
    "score": "framework.rules",
    "score_node": "framework.rules",
    "unresolvable": "framework.plugin",
    "unschedulable": "framework.plugin",
}

__all__ = [
    "SKIP",
    "SUCCESS",
    "Failed",
    "Nodes",
    "OneNode",
    "Outcome",
    "Plugin",
    "Pod",
    "Prepared",
    "Rejected",
    "Ruling",
    "View",
    "filter",
    "filter_node",
    "higher_is_better",
    "lower_is_better",
    "score",
    "score_node",
    "unresolvable",
    "unschedulable",
]


def __getattr__(name: str) -> object:
    """Load a public name when it is first used."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """Name what is public."""
    return sorted(__all__)
