"""Intake: which object goes where among jobs and queues, come, changed or gone; and what is written back of them.

Invariant: an object of a kind that no session looks at is passed over, never an error.
Not here: folding nodes and pods into the table (cluster/fold.py).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from bayplan.api import groups
from bayplan.api.objects import Namespace, Object, Pod, uid_of
from bayplan.api.policies import PodDisruptionBudget, PriorityClass
from bayplan.api.quantity import nanos
from bayplan.api.requests import all_rounded
from bayplan.batch.jobs import Budget, Condition, Group, GroupStatus, Queue, controller_of

if TYPE_CHECKING:
    from bayplan.batch.jobs import Jobs

_PERCENT: Final = re.compile(r"([0-9]{1,9})%", re.ASCII)


def put(jobs: Jobs, thing: Object) -> bool:
    """Fold in an object, new or changed; say whether sessions look at its kind."""
    match thing:
        case Pod():
            jobs.put_pod(thing)
        case groups.PodGroup():
            jobs.put_group(group_of(thing))
        case groups.Queue():
            jobs.put_queue(queue_of(thing))
        case PodDisruptionBudget():
            put_budget(jobs, thing)
        case PriorityClass():
            jobs.put_priority(thing.metadata.name, thing.value, is_default=thing.global_default)
        case Namespace():
            jobs.put_namespace(thing.metadata.name, thing.metadata.creation_timestamp or "")
        case _:
            return False
    return True


def drop(jobs: Jobs, thing: Object) -> bool:
    """Fold in that an object is gone; say whether sessions look at its kind."""
    match thing:
        case Pod():
            jobs.drop_pod(uid_of(thing))
        case groups.PodGroup():
            jobs.drop_group(thing.metadata.namespace, thing.metadata.name)
        case groups.Queue():
            jobs.drop_queue(thing.metadata.name)
        case PodDisruptionBudget():
            jobs.drop_budget(thing.metadata.namespace, thing.metadata.name)
        case PriorityClass():
            jobs.drop_priority(thing.metadata.name)
        case Namespace():
            jobs.drop_namespace(thing.metadata.name)
        case _:
            return False
    return True


def group_of(thing: groups.PodGroup) -> Group:
    """Read a PodGroup."""
    meta, status = thing.metadata, thing.status
    conditions = tuple(Condition(one.type, one.status, one.reason, one.message) for one in status.conditions)
    return Group(
        namespace=meta.namespace,
        name=meta.name,
        queue=thing.spec.queue,
        min_member=thing.members_min,
        priority_class=thing.spec.priority_class_name,
        created=meta.creation_timestamp or "",
        status=GroupStatus(status.phase, status.running, status.succeeded, status.failed, conditions),
    )


def queue_of(thing: groups.Queue) -> Queue:
    """Read a Queue."""
    capability = all_rounded({name: nanos(value) for name, value in thing.spec.capability.items()})
    return Queue(thing.metadata.name, thing.weight, thing.metadata.creation_timestamp or "", tuple(capability.items()))


def put_budget(jobs: Jobs, thing: PodDisruptionBudget) -> None:
    """Take over a budget; one without a controller protects no job, and is none any more."""
    meta, spec = thing.metadata, thing.spec
    jobs.drop_budget(meta.namespace, meta.name)
    controller = controller_of(meta.owner_references)
    if controller:
        least, gone = spec.min_available, spec.max_unavailable
        jobs.put_budget(
            Budget(
                namespace=meta.namespace,
                name=meta.name,
                controller=controller,
                created=meta.creation_timestamp or "",
                least=least if isinstance(least, int) else 0,
                least_percent=_percent(least),
                most_gone=gone if isinstance(gone, int) else None,
                most_gone_percent=_percent(gone),
            )
        )


def _percent(value: int | str | None) -> int | None:
    found = _PERCENT.fullmatch(value) if isinstance(value, str) else None
    return None if found is None else int(found[1])


def written(status: GroupStatus) -> groups.PodGroupStatus:
    """Put what a session says of a PodGroup as its status has it."""
    return groups.PodGroupStatus(
        phase=status.phase,
        running=status.running,
        succeeded=status.succeeded,
        failed=status.failed,
        conditions=tuple(
            groups.PodGroupCondition(type=one.type, status=one.status, reason=one.reason, message=one.message)
            for one in status.conditions
        ),
    )
