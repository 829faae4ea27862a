"""The witness: one state in fifty told to kube-scheduler's own plugins, whose answer must be the live table's, too.

Not here: building the oracle and comparing results (tests/parity).
"""

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from bayplan.api.decode import KINDS
from bayplan.api.objects import Object, Pod, uid_of
from tests.engine.history import Asked
from tests.parity.case import Case, Manifest
from tests.parity.compare import differences
from tests.parity.fuzz import unsteady
from tests.parity.oracle_process import ERROR, Oracle
from tests.parity.ours import answer

EVERY: Final = 50
KUBE_SCHEDULER: Final = "kube-scheduler"

MAPS: Final = frozenset({"labels", "annotations", "matchLabels", "nodeSelector", "selector", "parameters"})
"""Fields in which an empty text is a value."""
GROUP_OF = {kind: group for (group, _), kind in KINDS.items()}


class OracleWitness:
    """Asks the oracle about one question in so many."""

    def __init__(self, oracle: Oracle, *, every: int = EVERY) -> None:
        self._oracle = oracle
        self._every = every
        self._heard = 0
        self.asked = 0
        self.excused = 0
        self.refused = 0

    def __call__(self, asked: Asked) -> Sequence[str]:
        """Name what differs between kube-scheduler's answer and ours."""
        self._heard += 1
        if self._heard % self._every:
            return ()
        case = case_of(asked)
        result = self._oracle.ask(case)
        if ERROR in result:
            self.refused += 1
            return ()
        self.asked += 1
        known = case | {"result": result}
        found = differences(known, answer(asked.world.table, asked.setting.profile, asked.pod))
        if found and unsteady(case, result, self._oracle) is not None:
            self.excused += 1
            return ()
        return [f"{KUBE_SCHEDULER}: {one}" for one in found]


def case_of(asked: Asked) -> Case:
    """Write a state and a question down as the oracle reads them."""
    world = asked.world
    objects = []
    for thing in world.objects.values():
        if isinstance(thing, Pod) and (node := world.assumed.get(uid_of(thing))) is not None:
            objects.append(manifest_of(replace(thing, spec=replace(thing.spec, node_name=node))))
        elif not (isinstance(thing, Pod) and uid_of(thing) == uid_of(asked.pod)):
            objects.append(manifest_of(thing))
    case: Case = {"id": "engine", "family": "mixed", "objects": objects, "pod": manifest_of(asked.pod)}
    if asked.setting.configuration is not None:
        case["config"] = asked.setting.configuration
    if asked.setting.gates:
        case["featureGates"] = asked.setting.gates
    name = asked.setting.profile.scheduler_name
    case["pod"]["spec"]["schedulerName"] = name
    return case


def manifest_of(thing: Object) -> Manifest:
    """Write an object down; what has no value is left out."""
    kind = type(thing)
    group = GROUP_OF[kind]
    tree = _without_nothing(msgspec.to_builtins(thing))
    assert isinstance(tree, dict)
    if "deletionTimestamp" in tree["metadata"]:
        tree["metadata"]["finalizers"] = ["example.com/wait"]
    return {"apiVersion": f"{group}/v1" if group else "v1", "kind": kind.__name__} | tree


def _without_nothing(tree: object) -> object:
    """Leave out nulls and empty texts: in Go's objects they are what is not there."""
    if isinstance(tree, dict):
        return {
            key: value if key in MAPS else _without_nothing(value)
            for key, value in tree.items()
            if value is not None and value != ""
        }
    if isinstance(tree, list | tuple):
        return [_without_nothing(value) for value in tree]
    return tree
