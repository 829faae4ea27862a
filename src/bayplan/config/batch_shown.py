"""A batch configuration written in kube-batch's own form: the flat map or the tiers, every switch spelled out.

Invariant: what is written, read under the same behaviour, is the same configuration.
Not here: the settings around it (shown.py).
"""

from __future__ import annotations

from collections.abc import Callable

from bayplan.config import strict
from bayplan.config.batch import SWITCHES
from bayplan.config.complaints import Path
from bayplan.config.yamltext import Node, Value
from bayplan.framework.tiers import BatchConfiguration, TierPlugin


def written(configuration: BatchConfiguration, origin: Callable[[Path], str]) -> Node:
    """Write a configuration, each value with where it comes from."""
    actions = Value(", ".join(configuration.actions), origin(("actions",)))
    if configuration.form == "flat":
        return {"actions": actions, **_flat(configuration, origin)}
    tiers = [
        {
            "plugins": [
                _plugin(plugin, origin, ("tiers", place, "plugins", inside))
                for inside, plugin in enumerate(tier.plugins)
            ]
            or Value([])
        }
        for place, tier in enumerate(configuration.tiers)
    ]
    return {"actions": actions, "tiers": tiers or Value([])}


def _flat(configuration: BatchConfiguration, origin: Callable[[Path], str]) -> dict[str, Node]:
    """Write the flat map; its values are texts, so that a ConfigMap takes them."""
    found: dict[str, Node] = {
        "plugins": Value(", ".join(plugin.name for plugin in configuration.plugins), origin(("plugins",)))
    }
    for plugin in configuration.plugins:
        for switch, field in SWITCHES.items():
            key = f"plugin.{plugin.name}.{switch}"
            found[key] = Value("true" if getattr(plugin, field) else "false", origin((key,)))
    return found


def _plugin(plugin: TierPlugin, origin: Callable[[Path], str], path: Path) -> Node:
    """Write a plugin of a tier."""
    tree = strict.plain(plugin)
    fields = tree if isinstance(tree, dict) else {}
    found: dict[str, Node] = {key: Value(value, origin((*path, key))) for key, value in fields.items()}
    found["arguments"] = {
        name: Value(value, origin((*path, "arguments", name))) for name, value in plugin.arguments.items()
    } or Value({}, origin((*path, "arguments")))
    return found
