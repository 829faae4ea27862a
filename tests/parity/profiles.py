"""The profile that a case's configuration gives its pod."""

from collections.abc import Mapping
from functools import cache

from bayplan.config.decode import decode
from bayplan.config.gates import gates
from bayplan.config.profiles import profiles
from bayplan.framework.profile import Profile
from bayplan.framework.registry import Registry
from tests.parity.case import Manifest

REGISTRY = Registry.installed()


def profile_for(configuration: Manifest | str | None, name: str, settings: Mapping[str, bool]) -> Profile:
    """Return the profile of a schedulerName."""
    if not configuration:
        return default_profile(name, tuple(sorted(settings.items())))
    chosen = gates(settings)
    return profiles(decode(configuration, REGISTRY, chosen).configuration, REGISTRY, chosen)[name]


@cache
def default_profile(name: str, settings: tuple[tuple[str, bool], ...]) -> Profile:
    """Return the profile without any configuration."""
    return profiles(None, REGISTRY, gates(dict(settings)))[name]
