"""ImageLocality: prefer nodes that already have the pod's images, but not so much that they all gather there."""

from __future__ import annotations

import numpy as np

from bayplan.cluster.shapes import IMAGES
from bayplan.cluster.view import View
from bayplan.framework.plugin import NODE, SCORE_MAX, Mask, Plugin, Prepared, Scores

MIB = 1 << 20
LEAST = 23 * MIB                                           # images smaller than this together earn nothing
MOST = 1000 * MIB                                          # times the number of images: earns everything


class ImageLocality(Plugin[tuple[str, ...], tuple[tuple[str, int], ...]]):
    """Weigh each image's size by how widely it is spread already."""

    reads = IMAGES
    depends = NODE
    wakes = ()
    points = frozenset({"score"})

    def prepare(self, part: tuple[str, ...], view: View) -> Prepared[tuple[tuple[str, int], ...]]:
        """Find what each image is worth: read here, it is asked again when a node that reports it comes or goes."""
        found = []
        for name in part:
            size, nodes = view.image(name)
            found.append((name, int(size * (nodes / view.node_count)) if nodes else 0))    # float64, then toward zero
        return Prepared(tuple(found), filters=False)

    def score(self, state: tuple[tuple[str, int], ...], view: View, feasible: Mask) -> Scores:
        """Add up what each node has."""
        total = np.zeros(len(view), np.int64)                          # (rows,)
        for name, worth in state:
            if worth:
                total += np.where(view.has_image(name), worth, 0)
        most = MOST * len(state)
        if most <= LEAST:
            return np.zeros(len(view), np.int64)
        return SCORE_MAX * (np.clip(total, LEAST, most) - LEAST) // (most - LEAST)
