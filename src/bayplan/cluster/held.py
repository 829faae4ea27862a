"""Held: what rules see of a volume that a claim has, whichever volume it is.

Pods whose claims have volumes that are alike in this share a shape, though each has a volume of its own.
Invariant: volumes that are held alike get the same answer from every rule, as long as nothing else counts as the same
volume (`VolumeBooks.held_alone` sees to that).
Not here: volumes that are free to be taken (`books/stock.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from bayplan.api.claims import PersistentVolume
from bayplan.api.selectors import NodeTerms
from bayplan.cluster.books.identities import Identity, identity_of
from bayplan.cluster.migration import (
    REGION,
    REGION_BETA,
    ZONE,
    ZONE_BETA,
    ZONES_APART,
    Untranslatable,
    plugin_of,
    reach_of,
)
from bayplan.cluster.reach import reach_in, reach_terms

PLACE_LABELS: Final = (ZONE_BETA, REGION_BETA, ZONE, REGION)


class Place(msgspec.Struct, frozen=True, gc=False):
    """A label that says where a volume is, and the values that a node may have there."""

    key: str
    values: tuple[str, ...]


class Held(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """A volume: who reaches it, where it is, whose it is."""

    reach: NodeTerms | None  # None: everybody
    migrates: str = ""  # the in-tree plugin that its driver took over from
    reach_migrated: NodeTerms | None = None  # from nodes that know it by its driver
    error: str = ""  # why its driver cannot be told: for those nodes
    places: tuple[Place, ...] = ()
    driver: str = ""  # whose it counts as on nodes without a CSINode
    driver_migrated: str = ""  # and on nodes with one


def held(volume: PersistentVolume) -> Held:
    """Read what rules see of a volume."""
    plain, migrated = identities(volume)
    drivers = (plain.driver if plain is not None else "", migrated.driver if migrated is not None else "")
    reach, places = reach_terms(volume), tuple(_places_of(volume))
    plugin = plugin_of(volume)
    if plugin is None or not plugin.counts:
        return Held(reach, "", None, "", places, *drivers)
    try:
        required = reach_of(volume, plugin)
    except Untranslatable as problem:
        return Held(reach, plugin.name, None, f"could not translate pv: {problem}", places, *drivers)
    return Held(reach, plugin.name, None if required is None else reach_in(required), "", places, *drivers)


def identities(volume: PersistentVolume) -> tuple[Identity | None, Identity | None]:
    """Return what a volume counts as on nodes without a CSINode and on those with one."""
    return identity_of(volume, None, "", migrates=False), identity_of(volume, None, "", migrates=True)


def _places_of(volume: PersistentVolume) -> Iterator[Place]:
    """Read a volume's labels; one with an empty value among its values counts for nothing."""
    for key in PLACE_LABELS:
        if (text := volume.metadata.labels.get(key)) is not None:
            values = sorted({value.strip() for value in text.split(ZONES_APART)})
            if "" not in values:
                yield Place(key, tuple(values))
