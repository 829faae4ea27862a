"""Break rules on purpose, `python -m tests.parity.broken [--n N] [--seed S]`, and see when random cases find it out.

Each mutation breaks one rule in one way that has been got wrong before, somewhere; all are tried on the same cases.
One counts as found by the first case in which the fuzz would report a difference that is not there without it.
Exit status 0 only when every mutation is found.  It needs the oracle.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import msgspec
import numpy as np

from bayplan.api import requests
from bayplan.api.objects import Container, Pod
from bayplan.api.requests import Nanos
from bayplan.cluster.books.ports import ANY_ADDRESS, HostPort, Ports
from bayplan.cluster.catalogues import Images, Term
from bayplan.cluster.shapes import Constraint, Requests, Spread
from bayplan.cluster.tallies import Match
from bayplan.cluster.view import View
from bayplan.framework.plugin import Mask, Prepared, Scores
from bayplan.framework.resources import ResourceSpec
from bayplan.plugins import node_resources_balanced_allocation as balance
from bayplan.plugins import node_resources_fit as fit
from bayplan.plugins import node_volume_limits as limits
from bayplan.plugins import pod_topology_spread as spread
from tests.parity.asking import unlike
from tests.parity.case import Case, Result
from tests.parity.fuzz import answered, unsteady
from tests.parity.generator import cases
from tests.parity.oracle_process import ERROR, Oracle

Mutation = Callable[[], AbstractContextManager[None]]


@contextmanager
def instead(owner: object, name: str, put: object) -> Iterator[None]:
    """Have something else in the place of an attribute for a while."""
    before = vars(owner)[name]
    setattr(owner, name, put)
    try:
        yield
    finally:
        setattr(owner, name, before)


# --- the mutations ---------------------------------------------------------------------------------------------------


def _spread_rule(change: Callable[[Constraint], Constraint]) -> AbstractContextManager[None]:
    """Have every spread constraint read otherwise."""
    read = spread.PodTopologySpread._rule

    def misread(
        self: spread.PodTopologySpread, constraint: Constraint, part: Spread, keys: tuple[str, ...], view: View
    ) -> spread.Rule:
        return read(self, change(constraint), part, keys, view)

    return instead(spread.PodTopologySpread, "_rule", misread)


def no_self_match() -> AbstractContextManager[None]:
    """Leave the pod itself out where a hard constraint counts."""
    return _spread_rule(lambda constraint: msgspec.structs.replace(constraint, counts_itself=False))


def no_taints_policy() -> AbstractContextManager[None]:
    """Count pods on nodes whose taints the pod does not bear, whatever nodeTaintsPolicy says."""
    return _spread_rule(lambda constraint: msgspec.structs.replace(constraint, honours_taints=False))


def terminating_counted() -> AbstractContextManager[None]:
    """Spread among pods that are going, too."""
    return instead(spread, "Match", lambda terms, **_: Match(terms))


def no_namespace_selector() -> AbstractContextManager[None]:
    """Have terms of running pods mean the namespaces that they name, and no others."""

    def matches(self: Term, namespace: str, labels: Mapping[str, str], _: Mapping[str, str]) -> bool:
        return namespace in self.namespaces and self.selector.matches(labels)

    return instead(Term, "matches", matches)


def wildcard_one_way() -> AbstractContextManager[None]:
    """Have a port on every address conflict with those in use, but not the other way round."""

    def rows_in_conflict(self: Ports, port: HostPort) -> list[int]:
        address, protocol, number = port
        rows = self._rows.get((protocol, number), {})
        return [row for row, taken in rows.items() if address == ANY_ADDRESS or address in taken]

    return instead(Ports, "rows_in_conflict", rows_in_conflict)


def balance_after_only() -> AbstractContextManager[None]:
    """Score how well balanced a node is with the pod, not what the pod changes."""

    def score(_: object, state: balance.State, view: View, feasible: Mask) -> Scores:
        whole, used = view.allocatable(state.places), view.requested(state.places) + state.amounts
        return balance._balance(np.minimum(used / np.maximum(whole, 1), 1.0), whole > 0)

    return instead(balance.NodeResourcesBalancedAllocation, "score", score)


def ratio_of_everything() -> AbstractContextManager[None]:
    """Have RequestedToCapacityRatio count devices that the pod does not ask for."""
    prepare = fit.NodeResourcesFit.prepare

    def everything(specs: list[ResourceSpec], amounts: Mapping[str, int]) -> list[tuple[str, int, int]]:
        return [(spec.name, spec.counts, amounts.get(spec.name, 0)) for spec in specs]

    def prepare_wrongly(self: fit.NodeResourcesFit, part: Requests, view: View) -> Prepared[fit.State]:
        with instead(fit, "weighed", everything) if self.curve else nullcontext():
            return prepare(self, part, view)

    return instead(fit.NodeResourcesFit, "prepare", prepare_wrongly)


def sidecars_first() -> AbstractContextManager[None]:
    """Count every sidecar beside every init container, also those that start after it."""
    in_order = requests.container_sum

    def container_sum(pod: Pod, of: Callable[[Container], Nanos]) -> Nanos:
        sorted_ = sorted(pod.spec.init_containers, key=lambda container: container.restart_policy != "Always")
        spec = msgspec.structs.replace(pod.spec, init_containers=tuple(sorted_))
        return in_order(msgspec.structs.replace(pod, spec=spec), of)

    return instead(requests, "container_sum", container_sum)


def largest_image() -> AbstractContextManager[None]:
    """Take an image's size from the node that reports the largest, not from the one that came first."""

    def size(self: Images, name: str) -> int:
        return max(size for _, size in self._rows[name].values())

    return instead(Images, "size", size)


def no_attachments() -> AbstractContextManager[None]:
    """Count the volumes of a node's pods only, not what else is attached there."""
    return instead(limits, "_attached", lambda _node, _view: set[Any]())


MUTATIONS: dict[str, Mutation] = {
    "self match in hard spread": no_self_match,
    "nodeTaintsPolicy ignored": no_taints_policy,
    "terminating pods counted by spread": terminating_counted,
    "namespaceSelector of existing terms ignored": no_namespace_selector,
    "host IP 0.0.0.0 conflicting one way only": wildcard_one_way,
    "balance after without balance before": balance_after_only,
    "RequestedToCapacityRatio counting resources not requested": ratio_of_everything,
    "sidecar order in requests": sidecars_first,
    "an image's size from the wrong node": largest_image,
    "VolumeAttachments not counted": no_attachments,
}


# --- looking for them ------------------------------------------------------------------------------------------------


def difference(mutation: Mutation, known: Case, result: Result, oracle: Oracle) -> str | None:
    """Return what the fuzz would report of a case under a mutation, if the mutation is why."""
    with mutation():
        found = unlike(known)
    if not found or unlike(known) or unsteady(known, result, oracle) is not None:
        return None
    return found[0]


def main(arguments: list[str]) -> int:
    """Try every mutation on the same cases, until each is found; print after how many."""
    parser = argparse.ArgumentParser(prog="python -m tests.parity.broken", description="Is a broken rule found?")
    parser.add_argument("--n", type=int, default=2_000, help="how many cases at most")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000_000, help="gives the same cases again")
    chosen = parser.parse_args(arguments)
    print(f"seed {chosen.seed}: python -m tests.parity.broken --n {chosen.n} --seed {chosen.seed}", flush=True)
    left = dict(MUTATIONS)
    with Oracle() as oracle, Oracle() as second:
        for number, (case, result) in enumerate(answered(cases(chosen.seed, chosen.n), oracle), start=1):
            if ERROR in result:
                continue
            for name in list(left):
                found = difference(left[name], case | {"result": result}, result, second)
                if found is not None:
                    del left[name]
                    print(f"{number:6} cases: {name}\n              {case['id']}: {found[:200]}", flush=True)
            if not left:
                break
    for name in left:
        print(f"FAILED: not found in {chosen.n} cases: {name}")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
