"""Decoding a KubeSchedulerConfiguration: all of it or nothing, with every complaint at once.

Older versions are read as v1, with a warning that names what has changed since.
Not here: making profiles of it (profiles.py), and other kinds of configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import msgspec

from bayplan.config import source, strict
from bayplan.config.arguments import decoded_arguments
from bayplan.config.checks import check
from bayplan.config.complaints import Complaint, Complaints, Path, Place, meant, shown
from bayplan.config.kubescheduler import API_VERSION, KIND, KubeSchedulerConfiguration, completed
from bayplan.config.plugin_sets import ordered
from bayplan.framework.plugin import NO_GATES, Gates
from bayplan.framework.registry import Registry

_GROUP: Final = API_VERSION.removesuffix("v1")
_SINCE_BETA_3: Final = "SelectorSpread and the volume limits by cloud are gone (PodTopologySpread, NodeVolumeLimits)"
_SINCE_BETA_2: Final = f"default weights and the addresses served have changed; {_SINCE_BETA_3}"
_OLDER: Final[Mapping[str, str]] = {
    f"{_GROUP}v1beta3": _SINCE_BETA_3,
    f"{_GROUP}v1beta2": _SINCE_BETA_2,
    f"{_GROUP}v1beta1": f"strategies of NodeResourcesFit were plugins of their own; {_SINCE_BETA_2}",
}
_ADDRESSES: Final = ("healthzBindAddress", "metricsBindAddress")


class Decoded(NamedTuple):
    """A configuration, what was odd about it, and where its values stand."""

    configuration: KubeSchedulerConfiguration
    warnings: tuple[Complaint, ...]
    place_of: Callable[[Path], Place]


def decode(given: source.Given, registry: Registry, gates: Gates = NO_GATES, file: str = "") -> Decoded:
    """Decode a text or a map; raise a ConfigError with all that is wrong."""
    return decode_source(source.of(given, file), registry, gates)


def decode_source(found: source.Source, registry: Registry, gates: Gates) -> Decoded:
    """Decode what was read from somewhere; raise a ConfigError with all that is wrong."""
    complaints = found.complaints
    tree = _as_v1(found.tree, complaints)
    read = strict.decoded(tree, KubeSchedulerConfiguration, complaints)
    configuration = completed(read or KubeSchedulerConfiguration())
    profiles = []
    for place, profile in enumerate(configuration.profiles):
        path = ("profiles", place)
        profiles.append(decoded_arguments(profile, registry, gates, complaints, path))
        ordered(profile, registry, complaints, path)
    configuration = msgspec.structs.replace(configuration, profiles=tuple(profiles))
    check(configuration, complaints)
    complaints.settle()
    return Decoded(configuration, tuple(complaints.warnings), complaints.place_of)


def _as_v1(tree: dict[str, object], complaints: Complaints) -> dict[str, object]:
    """Check what the tree says it is, and bring an older version to today's form."""
    kind, version = tree.get("kind"), tree.get("apiVersion")
    if kind != KIND:
        complaints.unreadable(("kind",), f'expected "{KIND}", got {_given(kind)}')
    if version == API_VERSION:
        return tree
    if not isinstance(version, str) or version not in _OLDER:
        guess = f"; {meant(version, [API_VERSION, *_OLDER])}" if isinstance(version, str) else ""
        complaints.unreadable(("apiVersion",), f'expected "{API_VERSION}", got {_given(version)}{guess}')
        return tree
    complaints.warn(("apiVersion",), f"{version} is read as {API_VERSION}: since then, {_OLDER[version]}")
    dropped = [name for name in _ADDRESSES if name in tree and not version.endswith("beta3")]
    for name in dropped:
        complaints.warn((name,), "is ignored: the addresses are flags of the daemon since v1beta3")
    return {name: value for name, value in tree.items() if name not in dropped} | {"apiVersion": API_VERSION}


def _given(value: object) -> str:
    return "nothing" if value is None else shown(value)
