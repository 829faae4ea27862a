"""Attached: the attachments of volumes to nodes, by node and by volume.

Invariant: an attachment is listed under its one node, and under its volume if it names one.
Not here: counting them (NodeVolumeLimits).
"""

from __future__ import annotations

from collections.abc import Collection

from bayplan.api.claims import VolumeAttachment


class Attached:
    """Attachments by name."""

    def __init__(self) -> None:
        self._all: dict[str, VolumeAttachment] = {}
        self._by_node: dict[str, dict[str, VolumeAttachment]] = {}
        self._by_volume: dict[str, dict[str, str]] = {}  # volume -> attachment -> node

    def put(self, attachment: VolumeAttachment) -> tuple[str, ...]:
        """Take over an attachment; return the nodes that it concerns."""
        name = attachment.metadata.name
        before = self.drop(name)
        self._all[name] = attachment
        node, volume = attachment.spec.node_name, attachment.spec.source.persistent_volume_name
        self._by_node.setdefault(node, {})[name] = attachment
        if volume is not None:
            self._by_volume.setdefault(volume, {})[name] = node
        return (*before, node)

    def drop(self, name: str) -> tuple[str, ...]:
        """Forget an attachment; return the nodes that it concerned."""
        old = self._all.pop(name, None)
        if old is None:
            return ()
        node, volume = old.spec.node_name, old.spec.source.persistent_volume_name
        _remove(self._by_node, node, name)
        if volume is not None:
            _remove(self._by_volume, volume, name)
        return (node,)

    def to(self, node: str) -> Collection[VolumeAttachment]:
        """Return the attachments to a node."""
        there = self._by_node.get(node)
        return () if there is None else there.values()

    def nodes_of(self, volume: str) -> tuple[str, ...]:
        """Return the nodes to which a volume is attached."""
        return tuple(self._by_volume.get(volume, {}).values())

    def __len__(self) -> int:
        return len(self._all)


def _remove(listed: dict[str, dict[str, VolumeAttachment]] | dict[str, dict[str, str]], under: str, name: str) -> None:
    del listed[under][name]
    if not listed[under]:
        del listed[under]
