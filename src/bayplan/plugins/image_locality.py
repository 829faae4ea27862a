"""ImageLocality: prefer nodes that already have the pod's images, but not so much that they all gather there."""

from __future__ import annotations

import numpy as np

from bayplan.cluster.shapes import IMAGES
from bayplan.cluster.view import View
from bayplan.framework.plugin import NODE, SCORE_MAX, Mask, Plugin, Prepared, Scores

MIB = 1 << 20
LEAST = 23 * MIB                                           # images smaller than this together earn nothing
MOST = 1000 * MIB                                          # times the number of images: earns everything


class ImageLocality(Plugin[tuple[str, ...], tuple[str, ...]]):
    """Weigh each image's size by how widely it is spread already."""

    reads = IMAGES
    depends = NODE
    wakes = ()
    points = frozenset({"score"})

    def prepare(self, part: tuple[str, ...], view: View) -> Prepared[tuple[str, ...]]:
        """Keep the names."""
        return Prepared(part, filters=False)

    def score(self, state: tuple[str, ...], view: View, feasible: Mask) -> Scores:
        """Add up what each node has."""
        total = np.zeros(len(view), np.int64)                          # (rows,)
        for name in state:
            size, nodes = view.image(name)
            if nodes:
                worth = int(size * (nodes / view.node_count))          # float64, then toward zero, as upstream
                total += np.where(view.has_image(name), worth, 0)
        most = MOST * len(state)
        if most <= LEAST:
            return np.zeros(len(view), np.int64)
        return SCORE_MAX * (np.clip(total, LEAST, most) - LEAST) // (most - LEAST)
