"""Scenes: what is there, who waits, and what happens before each decision.

Not here: the scenes of each workload (workloads.py) and running them (decisions.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bayplan.api.objects import Object, Pod


class Change(NamedTuple):
    """An event: an object came or changed, or it is gone."""

    thing: Object
    is_gone: bool = False


class Scene(NamedTuple):
    """A cluster, and the decisions to be made about it."""

    objects: Sequence[Object]  # in order of arrival
    waiting: Sequence[Pod]
    changes: Sequence[Change] = ()  # one before each decision, or none at all
    fits: bool = True  # each of the pods, or none of them
