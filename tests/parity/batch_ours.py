"""The seam: a batch case put to sessions of ours, round by round, told in the form of a case's `expect`.

It is made from what a session makes public (its steps, its jobs, its plugins' numbers, what it says at close); the rest
of the cluster is played between rounds as docs/parity.md describes.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import yaml
from msgspec.structs import replace

from bayplan.api.decode import KINDS, decode_tree
from bayplan.api.groups import PodGroup, PodGroupStatus
from bayplan.api.wider import widened
from bayplan.batch.amounts import Amount
from bayplan.batch.intake import put as put_batch
from bayplan.batch.intake import written
from bayplan.batch.jobs import GroupStatus, Job
from bayplan.batch.lane import BatchLane
from bayplan.batch.plugins.drf import Drf
from bayplan.batch.plugins.predicates import FIELDS
from bayplan.batch.plugins.proportion import Proportion
from bayplan.batch.session import Session
from bayplan.batch.tasks import Status
from bayplan.cluster.fold import put
from bayplan.cluster.reading import Reader
from bayplan.cluster.table import Table
from bayplan.config.batch import read_batch
from bayplan.config.ours import BatchProfile
from bayplan.config.source import of_map
from bayplan.framework.run import Rules
from bayplan.framework.tiers import BatchConfiguration
from tests.parity.case import Case, Manifest
from tests.parity.profiles import REGISTRY

Told: TypeAlias = dict[str, Any]
"""A piece of a case's `expect`, with plain values in place of leaves."""

GIVEN = {Status.ALLOCATED, Status.PIPELINED}
A_DAY_LATER = "2024-01-02T"


def evaluate(case: Case) -> Told:
    """Return what bayplan does with the case."""
    options = case.get("options") or {}
    world = World(case["objects"], options)
    rounds, lane, statuses = [], None, dict[str, PodGroupStatus]()
    for number in range(1, case["rounds"] + 1):
        lane = lane_of(case["conf"], options, world.objects, statuses)
        session = lane.open()
        session.run()
        told = told_of(session)
        said = session.close()
        statuses |= {name: written(status) for name, status in said.items()}
        told["podGroups"] = {name: _group(status) for name, status in said.items()}
        rounds.append(told)
        world.go_on(told, number)
    after = lane_of(case["conf"], options, world.objects, statuses)
    return {"rounds": rounds, "final": _final(after, rounds), "course": [_course(told) for told in rounds]}


def configuration_of(conf: str, options: Manifest) -> BatchConfiguration:
    """Read kube-batch's file, in either form."""
    profile = BatchProfile(
        scheduler_name=options.get("schedulerName", "kube-batch"),
        behaviour="kube-batch",
        default_queue=options.get("defaultQueue", "default"),
        namespace_as_queue=options.get("namespaceAsQueue", False),
    )
    return read_batch(of_map(yaml.safe_load(conf)), profile).configuration


# --- the cluster -----------------------------------------------------------------------------------------------------


class World:
    """The rest of the cluster, as it is played between rounds."""

    def __init__(self, objects: list[Manifest], options: Manifest) -> None:
        self.objects = list(objects)
        self.evicted = options.get("evicted")
        self.leaving = {name_of(one) for one in objects if one["metadata"].get("deletionTimestamp")}

    def go_on(self, told: Told, number: int) -> None:
        """Bind what was bound, and have go who was evicted."""
        kept, back = [], []
        leaving = set()
        for one in self.objects:
            name = name_of(one)
            if one["kind"] != "Pod":
                kept.append(one)
            elif name in told["binds"]:
                kept.append(_running(one, told["binds"][name]))
            elif name in told["evicts"]:
                if self.evicted == "recreate":
                    back.append(_again(one, number))
                elif self.evicted == "linger":
                    kept.append(_leaving(one))
                    leaving.add(name)
            elif name not in self.leaving:
                kept.append(one)
        self.objects, self.leaving = kept + back, leaving


def name_of(one: Manifest) -> str:
    """Return a pod's namespace and name."""
    return f"{one['metadata'].get('namespace', 'default')}/{one['metadata']['name']}"


def _running(pod: Manifest, node: str) -> Manifest:
    return {**pod, "spec": {**pod["spec"], "nodeName": node}, "status": {**pod.get("status", {}), "phase": "Running"}}


def _leaving(pod: Manifest) -> Manifest:
    return {**pod, "metadata": {**pod["metadata"], "deletionTimestamp": "2024-01-02T00:00:00Z"}}


def _again(pod: Manifest, number: int) -> Manifest:
    meta, spec = dict(pod["metadata"]), dict(pod["spec"])
    spec.pop("nodeName", None)
    day, _, time = meta["creationTimestamp"].partition("T")
    meta["uid"] = f"{meta['uid']}-r{number}"
    meta["creationTimestamp"] = f"{day[:-2]}{int(day[-2:]) + 1:02}T{time}"
    return {**pod, "metadata": meta, "spec": spec, "status": {"phase": "Pending"}}


def lane_of(
    conf: str, options: Manifest, objects: Iterable[Manifest], statuses: dict[str, PodGroupStatus]
) -> BatchLane:
    """Return a lane that has heard of some objects."""
    table = Table()
    lane = BatchLane(Rules(table, Reader(table)), configuration_of(conf, options), REGISTRY)
    for tree in objects:
        thing = decode_tree(tree, WIDE)
        put(table, thing)
        if isinstance(thing, PodGroup) and thing.key in statuses:
            put_batch(lane.jobs, replace(thing, status=statuses[thing.key]))
        else:
            put_batch(lane.jobs, thing)
    return lane


WIDE = widened(KINDS, FIELDS)


# --- what is told of a session ---------------------------------------------------------------------------------------


def told_of(session: Session) -> Told:
    """Tell what a session did, and how things stand at its end, before it is closed."""
    binds, evicts, pipelined = {}, {}, {}
    actions: dict[str, dict[str, Counter[str]]] = {}
    for step in session.steps:
        key, job = step.task.key, job_of(step.task.job)
        match step.verb:
            case Status.BINDING:
                binds[key], what = session.node_name(step.row), "binds"
            case Status.RELEASING:
                evicts[key], what = step.action, "evicts"
            case Status.PIPELINED:
                pipelined[key], what = session.node_name(step.row), "pipelined"
            case _:
                continue
        actions.setdefault(step.action, {}).setdefault(what, Counter())[job] += 1
    given = [step.task for step in session.steps if step.verb is Status.ALLOCATED]
    told: Told = {
        "binds": binds,
        "evicts": evicts,
        "pipelined": pipelined,
        "bindsByJob": _by_job(actions, "binds"),
        "evictsByJob": _by_job(actions, "evicts"),
        "actions": {name: {what: dict(count) for what, count in done.items()} for name, done in actions.items()},
        "allocJobs": [job_of(task.job) for task in given],
        "allocPods": [task.key for task in given],
        "jobs": {job_of(job): _job(session, job) for job in session.jobs.values()},
        "queues": _queues(session),
    }
    return told


def job_of(job: Job | None) -> str:
    """Name a job."""
    assert job is not None
    return job.uid


def _by_job(actions: Mapping[str, Mapping[str, Mapping[str, int]]], what: str) -> Told:
    total: Counter[str] = Counter()
    for done in actions.values():
        total.update(done.get(what, {}))
    return dict(total)


def _job(session: Session, job: Job) -> Told:
    told: Told = {
        "tasks": {str(status): len(tasks) for status, tasks in job.by_status.items() if tasks},
        "ready": job.is_ready,
        "pipelinedReady": job.is_pipelined,
        "queue": job.queue,
        "priority": job.priority,
        "minAvailable": job.min_available,
    }
    drf = session.votes.voters.get("drf")
    if isinstance(drf, Drf):
        told |= {"drfAtOpen": drf.share_at_open[job.uid], "drf": drf.share[job.uid]}
    return told


def _queues(session: Session) -> Told:
    proportion = session.votes.voters.get("proportion")
    if not isinstance(proportion, Proportion):
        return {}
    return {
        name: {
            "deserved": _amount(portion.deserved),
            "request": _amount(portion.request),
            "allocated": _amount(portion.allocated),
            "share": portion.share,
            "overused": proportion.overused(session.queues[name]),
            "shareAtOpen": proportion.at_open[name][0],
            "overusedAtOpen": proportion.at_open[name][1],
        }
        for name, portion in proportion.portions.items()
    }


def _amount(amount: Amount) -> Told:
    return {name: amount.get(name) for name in amount.names()}


def _group(status: GroupStatus) -> Told:
    return {
        "phase": status.phase,
        "running": status.running,
        "succeeded": status.succeeded,
        "failed": status.failed,
        "conditions": {
            one.type: {"status": one.status, "reason": one.reason, "message": one.message} for one in status.conditions
        },
    }


def _course(told: Told) -> Told:
    jobs = {job for done in told["actions"].values() for counts in done.values() for job in counts}
    pipelined = _by_job(told["actions"], "pipelined")
    return {
        job: [told["bindsByJob"].get(job, 0), told["evictsByJob"].get(job, 0), pipelined.get(job, 0)] for job in jobs
    }


def _final(lane: BatchLane, rounds: list[Told]) -> Told:
    lane.room.catch_up()
    jobs = {job.uid: job for job in lane.jobs.open_jobs()}
    allocated: dict[str, Amount] = {}
    for job in jobs.values():
        total = allocated.setdefault(job.queue, Amount())
        for task in job.tasks.values():
            if task.status in {Status.RUNNING, Status.BOUND}:
                total.add(task.charge.request)
    nodes = {}
    for name, row in lane.table.row_of.items():
        used, refused = Amount(), lane.room.refused.get(row, set())
        there = [one for uid, one in lane.table.on_row[row].items() if uid not in refused]
        for resident in there:
            used.add(lane.charges.charge(resident.pod).request)
        nodes[name] = {"used": _amount(used), "pods": len(there)}
    return {
        "jobs": {
            name: {str(status): len(tasks) for status, tasks in job.by_status.items() if tasks}
            for name, job in jobs.items()
        },
        "queues": {name: {"allocated": _amount(amount)} for name, amount in allocated.items()},
        "nodes": nodes,
        "steady": not rounds[-1]["actions"],
    }
