"""Decoding a KubeSchedulerConfiguration: all of it or nothing, with every complaint at once.

Not here: older versions (older.py), making profiles of it (profiles.py), and other kinds of configuration.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from bayplan.config import source, strict
from bayplan.config.arguments import decoded_arguments
from bayplan.config.checks import check, check_sorts
from bayplan.config.complaints import Complaint, Path, Place
from bayplan.config.kubescheduler import KubeSchedulerConfiguration, completed
from bayplan.config.older import as_v1
from bayplan.config.plugin_sets import ordered
from bayplan.framework.plugin import NO_GATES, Gates
from bayplan.framework.registry import Registry


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
    tree = as_v1(found.tree, complaints)
    read = strict.decoded(tree, KubeSchedulerConfiguration, complaints)
    configuration = completed(read or KubeSchedulerConfiguration())
    profiles, sorts = [], []
    for place, profile in enumerate(configuration.profiles):
        path = ("profiles", place)
        profiles.append(decoded_arguments(profile, registry, gates, complaints, path))
        sorts.append(ordered(profile, registry, complaints, path).points["queueSort"])
    configuration = msgspec.structs.replace(configuration, profiles=tuple(profiles))
    check(configuration, complaints)
    check_sorts(sorts, complaints)
    complaints.settle()
    return Decoded(configuration, tuple(complaints.warnings), complaints.place_of)
