"""ImageLocality: prefer nodes that already have the pod's images, but not so much that they all gather there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayplan.cluster.shapes import IMAGES
from bayplan.cluster.view import View
from bayplan.framework.plugin import NODE, SCORE_MAX, Mask, Plugin, Prepared, Scores

MIB = 1 << 20
LEAST = 23 * MIB  # images smaller than this together earn nothing
MOST = 1000 * MIB  # times the number of images: earns everything


class Worth(NamedTuple):
    """What each image that some node has is worth there, and how many images the pod has."""

    images: tuple[tuple[str, int], ...]
    number: int


NOTHING = Worth((), 0)  # no node has any of them: pods alike in this are alike


class ImageLocality(Plugin[tuple[str, ...], Worth]):
    """Weigh each image's size by how widely it is spread already."""

    reads = IMAGES
    depends = NODE
    wakes = ()
    points = frozenset({"score"})

    def prepare(self, part: tuple[str, ...], view: View) -> Prepared[Worth]:
        """Look up sizes and numbers of nodes."""
        found = ((name, *view.image(name)) for name in part)
        worth = tuple((name, int(size * (nodes / view.node_count))) for name, size, nodes in found if nodes)
        return Prepared(Worth(worth, len(part)) if worth else NOTHING, filters=False)  # float64, then toward zero

    def score(self, state: Worth, view: View, feasible: Mask) -> Scores:
        """Add up what each node has."""
        total = np.zeros(len(view), np.int64)  # (rows,)
        most = MOST * state.number
        if most <= LEAST:
            return total
        for name, worth in state.images:
            total += np.where(view.has_image(name), worth, 0)
        return SCORE_MAX * (np.clip(total, LEAST, most) - LEAST) // (most - LEAST)
