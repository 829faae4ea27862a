"""Identities: what a node counts a volume as, its driver and the driver's name for it.

A claim without a volume counts as one that its class's driver would make, under the claim's own name.  In-tree volumes
count as their drivers' where the node migrates them.
Not here: limits and counting (NodeVolumeLimits).
"""

from __future__ import annotations

from typing import NamedTuple

from bayplan.api.claims import PersistentVolume, StorageClass
from bayplan.cluster.migration import BY_NAME, Inline, Untranslatable, handle_of, plugin_of


class Identity(NamedTuple):
    """A volume as a node counts it."""

    driver: str
    handle: str
    is_claim: bool = False  # the handle is a claim's name: there is no volume yet


def identity_of(
    volume: PersistentVolume | None, storage_class: StorageClass | None, claim: str, *, migrates: bool
) -> Identity | None:
    """Name a claim's volume or, where there is none, what its class would make of it; None where it does not count."""
    if volume is None:
        return _to_be_made(storage_class, claim, migrates=migrates) if storage_class is not None else None
    csi = volume.spec.csi
    if csi is not None:
        return Identity(csi.driver, csi.volume_handle) if csi.driver and csi.volume_handle else None
    plugin = plugin_of(volume)
    if plugin is None or not plugin.counts or not migrates:
        return None
    try:
        handle = handle_of(volume, plugin)
    except Untranslatable:
        return None
    return Identity(plugin.driver, handle) if handle else None


def identity_of_inline(volume: Inline, *, migrates: bool) -> Identity | None:
    """Name a volume that a pod has given itself; None where it does not count."""
    return Identity(volume.driver, volume.handle) if volume.counts and migrates and not volume.error else None


def _to_be_made(storage_class: StorageClass, claim: str, *, migrates: bool) -> Identity | None:
    plugin = BY_NAME.get(storage_class.provisioner)
    if plugin is not None and not (plugin.counts and migrates):
        return None
    driver = storage_class.provisioner if plugin is None else plugin.driver
    return Identity(driver, claim, is_claim=True) if driver else None
