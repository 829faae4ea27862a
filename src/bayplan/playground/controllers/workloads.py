"""Workloads: replica sets, deployments, stateful sets and jobs, as far as making and ending their pods.

Invariant: one look at a workload leads to what its spec says or one step nearer, whatever was there before.
Not here: cron jobs and daemon sets, and rolling a deployment forward by its surge and its unavailability: a new
replica set is scaled up whole, the old ones are scaled down when it is ready.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from bayplan.playground.agenda import Agenda
from bayplan.playground.controllers.owned import Owned, controller, reference
from bayplan.playground.kinds import Kind
from bayplan.playground.store import Change, Key
from bayplan.playground.trees import Map, copied, encoded, mapping, maps, opened, set_condition, stamp, text, whole
from bayplan.playground.verbs import Deletion, Verbs

HASH_LABEL: Final = "pod-template-hash"
INDEX: Final = "batch.kubernetes.io/job-completion-index"
_POD_SHELF: Final = ("", "pods")
_SETS: Final = ("apps", "replicasets")
NO_CONDITIONS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType({})
_ENDED: Final = frozenset({"Succeeded", "Failed"})


class Workloads:
    """Looks after everything that makes pods."""

    def __init__(self, verbs: Verbs, agenda: Agenda, owned: Owned) -> None:
        """Look at each workload now, and whenever it or what it controls changes."""
        self._verbs = verbs
        self._agenda = agenda
        self._owned = owned
        self._pods = verbs.kinds.core("pods")
        self._looks = {
            _SETS: self._replica_set,
            ("", "replicationcontrollers"): self._replica_set,
            ("apps", "deployments"): self._deployment,
            ("apps", "statefulsets"): self._stateful_set,
            ("batch", "jobs"): self._job,
        }
        self._kinds = {kind.stored_as: kind for kind in verbs.kinds if kind.stored_as in self._looks}
        self._where: dict[str, tuple[tuple[str, str], Key]] = {}
        agenda.listen(self._changed)

    def _changed(self, of: tuple[str, str], change: Change) -> None:
        uid = text(change.now.tree, "metadata", "uid")
        if of in self._looks:
            self._where[uid] = of, change.key
            if change.type == "DELETED":
                del self._where[uid]
            self._wake(uid)
        self._wake(controller(change.now.tree))

    def _wake(self, uid: str) -> None:
        if uid in self._where:
            self._agenda.soon(("workload", uid), lambda: self._look(uid))

    def _look(self, uid: str) -> None:
        of, key = self._where.get(uid, (_SETS, ("", "")))
        stored = self._verbs.store.shelf(of).objects.get(key)
        if stored is not None and not text(stored.tree, "metadata", "deletionTimestamp"):
            self._looks[of](self._kinds[of], key, stored.tree)

    def _status(
        self, kind: Kind, key: Key, told: Map, conditions: Mapping[str, tuple[str, str]] = NO_CONDITIONS
    ) -> None:
        """Write what was seen into a status; a condition is its value and its reason."""
        now = stamp(self._verbs.clock())

        def written(new: Map) -> None:
            status = opened(new, "status")
            status.update({**told, "observedGeneration": whole(new, "metadata", "generation") or 0})
            for name, (value, reason) in conditions.items():
                set_condition(status, name, value, now, (reason, ""))

        self._verbs.amend(kind, key, written)

    def _make(self, owner: Map, name: Map, template: Map) -> None:
        """Create a pod from a template."""
        meta = copied(mapping(template, "metadata"))
        meta.update({**name, "ownerReferences": [reference(owner)]})
        pod: Map = {"metadata": meta, "spec": copied(mapping(template, "spec"))}
        self._verbs.create(self._pods, text(owner, "metadata", "namespace"), pod)

    def _drop(self, pod: Map) -> None:
        key = (text(pod, "metadata", "namespace"), text(pod, "metadata", "name"))
        if not text(pod, "metadata", "deletionTimestamp"):
            self._verbs.delete(self._pods, key, Deletion())

    def _living(self, owner: Map) -> list[Map]:
        """Give the pods that count: neither ended nor on their way out."""
        pods = self._owned.controlled(text(owner, "metadata", "uid"), _POD_SHELF)
        return [
            pod
            for pod in pods
            if text(pod, "status", "phase") not in _ENDED and not text(pod, "metadata", "deletionTimestamp")
        ]

    # --- replica sets and replication controllers --------------------------------------------------------------------

    def _replica_set(self, kind: Kind, key: Key, tree: Map) -> None:
        living = self._living(tree)
        wanted = whole(tree, "spec", "replicas") or 0
        for _ in range(wanted - len(living)):
            self._make(tree, {"generateName": f"{key[1]}-"}, mapping(tree, "spec", "template"))
        for pod in sorted(living, key=_worth)[: max(len(living) - wanted, 0)]:
            self._drop(pod)
        ready = sum(map(_is_ready, living))
        told: Map = {"replicas": len(living), "fullyLabeledReplicas": len(living)}
        self._status(kind, key, {**told, "readyReplicas": ready, "availableReplicas": ready})

    # --- deployments -------------------------------------------------------------------------------------------------

    def _deployment(self, kind: Kind, key: Key, tree: Map) -> None:
        template = mapping(tree, "spec", "template")
        mark = hashlib.sha256(encoded(template)).hexdigest()[:10]
        sets = list(self._owned.controlled(text(tree, "metadata", "uid"), _SETS))
        current = next((one for one in sets if text(one, "metadata", "labels", HASH_LABEL) == mark), None)
        wanted = whole(tree, "spec", "replicas") or 0
        if current is None:
            self._new_set(key, tree, mark, len(sets) + 1)
            return
        self._resize(current, wanted)
        ready = whole(current, "status", "readyReplicas") or 0
        others = [one for one in sets if one is not current]
        if ready >= wanted:
            for one in others:
                self._resize(one, 0)
        old = sum(whole(one, "status", "replicas") or 0 for one in others)
        updated = whole(current, "status", "replicas") or 0
        available = ready + sum(whole(one, "status", "readyReplicas") or 0 for one in others)
        told: Map = {"replicas": updated + old, "updatedReplicas": updated, "readyReplicas": available}
        told.update({"availableReplicas": available, "unavailableReplicas": max(wanted - available, 0)})
        is_done = "True" if available >= wanted else "False"
        reason = "NewReplicaSetAvailable" if available >= wanted else "ReplicaSetUpdated"
        self._status(kind, key, told, {"Available": (is_done, ""), "Progressing": ("True", reason)})

    def _new_set(self, key: Key, tree: Map, mark: str, revision: int) -> None:
        """Create the replica set of a deployment's template."""
        made = copied(mapping(tree, "spec", "template"))
        opened(made, "metadata", "labels")[HASH_LABEL] = mark
        selector = copied(mapping(tree, "spec", "selector"))
        opened(selector, "matchLabels")[HASH_LABEL] = mark
        labels = mapping(made, "metadata", "labels")
        meta: Map = {"name": f"{key[1]}-{mark}", "labels": labels, "ownerReferences": [reference(tree)]}
        meta["annotations"] = {"deployment.kubernetes.io/revision": str(revision)}
        spec: Map = {"replicas": whole(tree, "spec", "replicas") or 0, "selector": selector, "template": made}
        self._verbs.create(self._kinds[_SETS], key[0], {"metadata": meta, "spec": spec})

    def _resize(self, tree: Map, replicas: int) -> None:
        key = (text(tree, "metadata", "namespace"), text(tree, "metadata", "name"))
        if whole(tree, "spec", "replicas") != replicas:

            def resized(new: Map) -> None:
                opened(new, "spec")["replicas"] = replicas
                opened(new, "metadata")["generation"] = (whole(new, "metadata", "generation") or 0) + 1

            self._verbs.amend(self._kinds[_SETS], key, resized)

    # --- stateful sets -----------------------------------------------------------------------------------------------

    def _stateful_set(self, kind: Kind, key: Key, tree: Map) -> None:
        there = {
            text(pod, "metadata", "name"): pod
            for pod in self._owned.controlled(text(tree, "metadata", "uid"), _POD_SHELF)
        }
        wanted = whole(tree, "spec", "replicas") or 0
        names = [f"{key[1]}-{number}" for number in range(wanted)]
        in_order = text(tree, "spec", "podManagementPolicy") != "Parallel"
        template = copied(mapping(tree, "spec", "template"))
        for number, name in enumerate(names):
            if name not in there:
                labels = opened(template, "metadata", "labels")
                labels.update({"statefulset.kubernetes.io/pod-name": name, "apps.kubernetes.io/pod-index": str(number)})
                self._make(tree, {"name": name}, template)
                if in_order:
                    break
            elif text(there[name], "status", "phase") in _ENDED:
                self._drop(there[name])
            elif in_order and not _is_ready(there[name]):
                break
        surplus = sorted(there.keys() - set(names), key=lambda name: int(name.rpartition("-")[2] or 0))
        for name in surplus[-1:] if in_order else surplus:
            self._drop(there[name])
        ready = sum(map(_is_ready, there.values()))
        told: Map = {"replicas": len(there), "readyReplicas": ready, "availableReplicas": ready}
        told.update({"currentReplicas": len(there), "updatedReplicas": len(there)})
        told.update({"currentRevision": key[1], "updateRevision": key[1]})
        self._status(kind, key, told)

    # --- jobs --------------------------------------------------------------------------------------------------------

    def _job(self, kind: Kind, key: Key, tree: Map) -> None:
        if any(text(one, "type") in {"Complete", "Failed"} for one in maps(tree, "status", "conditions")):
            return
        pods = list(self._owned.controlled(text(tree, "metadata", "uid"), _POD_SHELF))
        done = [pod for pod in pods if text(pod, "status", "phase") == "Succeeded"]
        failed = sum(text(pod, "status", "phase") == "Failed" for pod in pods)
        living = self._living(tree)
        indexed = text(tree, "spec", "completionMode") == "Indexed"
        over = {_index(pod) for pod in done}
        finished = len(over) if indexed else len(done)
        now = stamp(self._verbs.clock())
        told: Map = {"active": len(living), "succeeded": finished, "failed": failed}
        told.update({"ready": sum(map(_is_ready, living)), "startTime": text(tree, "status", "startTime") or now})
        ending = _ending(tree, failed, finished, is_idle=bool(done) and not living)
        conditions: dict[str, tuple[str, str]] = {}
        if ending:
            conditions[ending] = ("True", "BackoffLimitExceeded" if ending == "Failed" else "CompletionsReached")
            if ending == "Complete":
                told["completionTime"] = now
            for pod in living:
                self._drop(pod)
        elif mapping(tree, "spec").get("suspend") is not True:
            self._fill(key, tree, living, done)
        self._status(kind, key, told, conditions)

    def _fill(self, key: Key, tree: Map, living: list[Map], done: list[Map]) -> None:
        """Create the pods that a job lacks."""
        completions = whole(tree, "spec", "completions")
        wanted = whole(tree, "spec", "parallelism") or 0
        template = copied(mapping(tree, "spec", "template"))
        if text(tree, "spec", "completionMode") != "Indexed":
            left = (0 if done else wanted) if completions is None else min(wanted, completions - len(done))
            for _ in range(left - len(living)):
                self._make(tree, {"generateName": f"{key[1]}-"}, template)
            return
        taken = {_index(pod) for pod in (*living, *done)}
        free = [number for number in range(completions or 0) if str(number) not in taken]
        for number in free[: max(wanted - len(living), 0)]:
            opened(template, "metadata", "labels")[INDEX] = str(number)
            opened(template, "metadata", "annotations")[INDEX] = str(number)
            self._make(tree, {"generateName": f"{key[1]}-{number}-"}, template)


def _ending(tree: Map, failed: int, finished: int, *, is_idle: bool) -> str:
    """Say how a job ended, or nothing."""
    completions = whole(tree, "spec", "completions")
    if failed > (whole(tree, "spec", "backoffLimit") or 0):
        return "Failed"
    is_complete = is_idle if completions is None else finished >= completions
    return "Complete" if is_complete else ""


def _is_ready(pod: Map) -> bool:
    conditions = maps(pod, "status", "conditions")
    return any(text(one, "type") == "Ready" and text(one, "status") == "True" for one in conditions)


def _worth(pod: Map) -> tuple[bool, bool, str]:
    """Order pods by what their loss costs: first who waits, then who is not ready, then the youngest by name."""
    return bool(text(pod, "spec", "nodeName")), _is_ready(pod), text(pod, "metadata", "name")


def _index(pod: Map) -> str:
    return text(pod, "metadata", "annotations", INDEX)
