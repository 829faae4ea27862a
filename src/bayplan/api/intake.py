"""From what was read to what a cluster would hold: completed, expanded, admitted, in the order of the input.

Not here: reading (`api/decode.py`) and each of the steps (`api/defaults.py`, `api/expand.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from bayplan.api.claims import PersistentVolumeClaim, StorageClass
from bayplan.api.defaults import AdmissionError, admitted, completed, with_default_class
from bayplan.api.expand import expanded
from bayplan.api.objects import Object, Pod
from bayplan.api.policies import PriorityClass, RuntimeClass
from bayplan.api.share import Sharer


class Stored(NamedTuple):
    """What a cluster would hold after an input was applied to it, and what it would have turned away."""

    objects: list[Object]
    refused: list[tuple[Object, AdmissionError]]


def as_stored(things: Sequence[Object]) -> Stored:
    """Give the objects that a cluster would hold; the pods of a workload come right after it."""
    things = [completed(thing) for thing in things]
    made = expanded(things)
    priorities = {thing.metadata.name: thing for thing in things if isinstance(thing, PriorityClass)}
    runtimes = {thing.metadata.name: thing for thing in things if isinstance(thing, RuntimeClass)}
    classes = [thing for thing in things if isinstance(thing, StorageClass)]
    share = Sharer().share
    stored = Stored([], list(made.refused))
    for thing in _in_order(things, made.pods, (*made.owners, *made.claims)):
        if isinstance(thing, Pod):
            try:
                pod = admitted(thing, priority_classes=priorities, runtime_classes=runtimes)
            except AdmissionError as error:
                stored.refused.append((thing, error))
            else:
                stored.objects.append(share(pod))
        elif isinstance(thing, PersistentVolumeClaim):
            stored.objects.append(with_default_class(thing, classes))
        else:
            stored.objects.append(thing)
    return stored


def _in_order(things: Iterable[Object], pods: dict[int, list[Pod]], more: Iterable[Object]) -> Iterator[Object]:
    for place, thing in enumerate(things):
        yield thing
        yield from pods.get(place, ())
    yield from more
