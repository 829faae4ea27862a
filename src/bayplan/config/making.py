"""Making a rule: the one place where a configuration's arguments become an object.

Not here: which rules are made (profiles.py, policy_profile.py).
"""

from __future__ import annotations

import msgspec

from bayplan.framework.plugin import AnyPlugin, Gates
from bayplan.framework.registry import PluginNotLoaded


def made(plugin: type[AnyPlugin], arguments: msgspec.Struct | None, gates: Gates) -> AnyPlugin:
    """Return a rule with its arguments; one that raises is named."""
    try:
        return plugin(arguments, gates=gates)
    except Exception as error:
        where = f"{plugin.__module__}:{plugin.__qualname__}"
        raise PluginNotLoaded(plugin.name, where, f"making it failed: {type(error).__name__}: {error}") from error
