"""Nearness: soft pod affinity as kube-batch counts it: over the pods on possible nodes alone.

A pod that got its room in this session has no node's name yet; kube-batch takes it to be on some node that has such a
pod, and here that is the first.  In `bayplan` behaviour InterPodAffinity is asked instead.
Invariant: nothing is remembered; it is asked only about pods that it concerns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from bayplan.cluster.terms import TermLists
from bayplan.framework.plugin import EVERYTHING, Mask, Plugin, Prepared, Scores

if TYPE_CHECKING:
    from bayplan.api.objects import Pod
    from bayplan.cluster.catalogues import Term
    from bayplan.cluster.view import View

BEST: Final = 10
HARD_WEIGHT: Final = 1  # what a running pod's required affinity attracts with


class Pull(NamedTuple):
    """Something that attracts to, or repels from, a node's domain."""

    row: int  # where the pod is that does
    key: str
    weight: int


class Nearness(Plugin["Pod", "Pod"]):
    """Weigh who is near."""

    depends = EVERYTHING

    def prepare(self, part: Pod, view: View) -> Prepared[Pod]:
        """Take the pod itself."""
        return Prepared(part)

    def score(self, state: Pod, view: View, feasible: Mask) -> Scores:
        """Sum the pulls of each node's domains."""
        counts = np.zeros(len(view), np.int64)
        labels = [{} if node is None else node.metadata.labels for node in view.table.nodes[: len(view)]]
        for pull in _pulls(state, view, np.flatnonzero(feasible).tolist()):
            there = labels[pull.row].get(pull.key)
            if there is not None and pull.key:
                counts += [pull.weight if feasible[row] and one.get(pull.key) == there else 0
                           for row, one in enumerate(labels)]  # fmt: skip
        return counts

    def normalize(self, state: Pod, view: View, scores: Scores, feasible: Mask) -> Scores:
        """Bring them into 0..10, nought always among what they are compared with."""
        among = scores[feasible]
        low, high = min(int(among.min(initial=0)), 0), max(int(among.max(initial=0)), 0)
        if low == high:
            return np.zeros_like(scores)
        scaled = (float(BEST) * ((scores - low) / (high - low))).astype(np.int64)
        return np.clip(scaled, 0, BEST)


def _pulls(pod: Pod, view: View, rows: list[int]) -> Iterator[Pull]:
    """Yield what pods on some rows mean to a pod, and it to them."""
    table = view.table
    wishes = _signed(TermLists(pod))
    fresh = next((row for row in range(len(view)) for one in table.on_row[row].values() if not _is_bound(one.pod)), 0)
    for row in rows:
        for resident in table.on_row[row].values():
            other = resident.pod
            at = row if _is_bound(other) else fresh
            yield from (Pull(at, term.key, weight) for term, weight in wishes if _means(term, other, view))
            if other.spec.affinity is not None:
                its = TermLists(other)
                drawn = [*((term, HARD_WEIGHT) for term in its.near), *_signed(its)]
                yield from (Pull(at, term.key, weight) for term, weight in drawn if _means(term, pod, view))


def _signed(lists: TermLists) -> list[tuple[Term, int]]:
    """Return soft terms and what they weigh, below nought where they repel."""
    liked = [(wish.term, wish.weight) for wish in lists.liked]
    return liked + [(wish.term, -wish.weight) for wish in lists.disliked]


def _is_bound(pod: Pod) -> bool:
    return bool(pod.spec.node_name)


def _means(term: Term, pod: Pod, view: View) -> bool:
    namespace = pod.metadata.namespace
    known = view.table.namespaces.get(namespace)
    return term.matches(namespace, pod.metadata.labels, {} if known is None else known.metadata.labels)
