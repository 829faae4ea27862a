"""Reach: from which nodes a volume can be had, by its node affinity.

Invariant: terms speak of labels alone; what a volume says of a node's name counts for nothing, as upstream.
Not here: what in-tree volumes say in the words of their drivers (`migration.py`).
"""

from __future__ import annotations

from msgspec.structs import replace

from bayplan.api.claims import PersistentVolume
from bayplan.api.objects import NodeSelector
from bayplan.api.selectors import NodeTerms


def reach_terms(volume: PersistentVolume) -> NodeTerms | None:
    """Return the terms of which a node must meet one to reach a volume, or None where every node does."""
    affinity = volume.spec.node_affinity
    return reach_in(affinity.required) if affinity is not None and affinity.required is not None else None


def reach_in(selector: NodeSelector) -> NodeTerms | None:
    """Read terms about a volume's nodes."""
    terms = []
    for term in NodeTerms.of(selector).terms:
        if term.fields and not term.faults and term.labels.is_empty:
            return None  # it speaks of the name alone: everybody passes
        terms.append(replace(term, fields=(), names=None) if term.fields else term)
    return NodeTerms(tuple(terms))
