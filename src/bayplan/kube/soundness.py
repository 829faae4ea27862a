"""Soundness: whether an object holds nothing that somebody's arithmetic would stumble over.

A real API server lets no such object in, so this is asked of everything and answers no to nothing: it has to be cheap.
Of pods there are many, and most are plain: theirs is a short way to yes.
Not here: what exactly is wrong (`api/validate.py`).
"""

from __future__ import annotations

from typing import Final

from bayplan.api.objects import Object, Pod, Quantities
from bayplan.api.quantity import QuantityError, nanos
from bayplan.api.validate import faults_of

_NONE: Final[Quantities] = {}


def is_sound(thing: Object) -> bool:
    """Say whether an object has a name, and nothing wrong with it."""
    if not thing.metadata.name:  # type: ignore[attr-defined]  # every kind that is watched has metadata
        return False
    return _is_plain(thing) if isinstance(thing, Pod) else not faults_of(thing)


def _is_plain(pod: Pod) -> bool:
    """Look at a pod's quantities, which are remembered, and at the rest only where there is any."""
    spec, status = pod.spec, pod.status
    if spec.affinity is not None or spec.topology_spread_constraints or spec.resources is not None or spec.overhead:
        return not faults_of(pod)
    try:
        for containers in (spec.containers, spec.init_containers, spec.ephemeral_containers):
            for container in containers:
                _read(container.resources.requests, container.resources.limits)
        for statuses in (status.container_statuses, status.init_container_statuses):
            for one in statuses:
                _read(one.allocated_resources, one.resources.requests if one.resources is not None else None)
    except QuantityError:
        return False
    return True


def _read(one: Quantities | None, other: Quantities | None) -> None:
    for quantity in (one or _NONE).values():
        nanos(quantity)
    for quantity in (other or _NONE).values():
        nanos(quantity)
