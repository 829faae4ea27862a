"""Broken on purpose: each of these mistakes, made while the check runs, is found: `python -m tests.engine.broken`.

A mistake is made by putting something wrong in the place of one function; a check that does not find it is blind there.
Exit status 0 only when all are found; what is printed is after how many histories and decisions.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import numpy as np

from bayplan.api.objects import Node
from bayplan.cluster.catalogues import Carried, CarriedTerms, Catalogue
from bayplan.cluster.columns import RowLog, Rows
from bayplan.cluster.residents import Resident
from bayplan.cluster.table import Table
from bayplan.cluster.tallies import Scope, Tally
from bayplan.cluster.ticks import Ticks
from bayplan.framework.groups import GroupView
from bayplan.framework.plans import Plans
from bayplan.framework.profile import Profile
from bayplan.framework.run import Rules
from tests.engine.check import lived

HISTORIES_MOST: Final = 60


class Mistake(NamedTuple):
    """What is done wrong, and in place of what."""

    sentence: str
    owner: type
    name: str
    wrong: Callable[[Any], Any]  # given the right one, returns the wrong one


def _misses_taint(right: Callable[[Table, int, Node], None]) -> Callable[[Table, int, Node], None]:
    """Move a row only when its labels have changed."""

    def move(table: Table, row: int, node: Node) -> None:
        seen: dict[int, object] = table.__dict__.setdefault("labels seen", {})
        now = (int(table.columns.arrival[row]), node.metadata.labels)
        if seen.get(row) != now:
            right(table, row, node)
        seen[row] = now

    return move


def _misses_deletion(right: Callable[[Table, str], Resident]) -> Callable[[Table, str], Resident]:
    def remove(table: Table, uid: str) -> Resident:
        resident = right(table, uid)
        for tally in resident.label_set.tallies[:1]:
            tally.add(resident.row, 1)
        return resident

    return remove


def _keeps_version(right: Callable[[Catalogue[Any], Any], int]) -> Callable[[Catalogue[Any], Any], int]:
    def number(catalogue: Catalogue[Any], entry: object) -> int:
        version = catalogue.version
        found = right(catalogue, entry)
        catalogue.version = version
        return found

    return number


def _forgets_overrun(right: Callable[[RowLog, int], Rows | None]) -> Callable[[RowLog, int], Rows]:
    def since(log: RowLog, position: int) -> Rows:
        found = right(log, max(position, log.position - log.length))
        assert found is not None
        return found

    return since


def _shares_answers(right: Callable[[Rules, Profile], Plans]) -> Callable[[Rules, Profile], Plans]:
    def plans(rules: Rules, profile: Profile) -> Plans:
        return next(iter(rules._plans.values()), None) or right(rules, profile)

    return plans


def _survives_term(right: Callable[[CarriedTerms, Carried], int]) -> Callable[[CarriedTerms, Carried], int]:
    def number(terms: CarriedTerms, entry: Carried) -> int:
        ticks, terms._ticks = terms._ticks, Ticks()
        found = right(terms, entry)
        terms._ticks = ticks
        return found

    return number


def _keeps_counts(right: Callable[..., Any]) -> Callable[..., Any]:
    def of_domain(view: GroupView, tally: Tally, key: str, scope: Scope | None) -> object:
        kept: dict[object, Any] = view.__dict__.setdefault("kept", {})
        found = kept.get((tally, key, scope))
        if found is None:
            found = kept[tally, key, scope] = np.array(right(view, tally, key, scope))
        view.asked[tally] = None
        return found

    return of_domain


MISTAKES: Final = (
    Mistake("a scope misses a taint", Table, "_move", _misses_taint),
    Mistake("a tally misses a deletion", Table, "remove", _misses_deletion),
    Mistake("a catalogue's version is not raised", Catalogue, "number", _keeps_version),
    Mistake("the row log is overrun", RowLog, "since", _forgets_overrun),
    Mistake("two profiles share an answer", Rules, "plans", _shares_answers),
    Mistake("a plan survives a new carried term", CarriedTerms, "number", _survives_term),
    Mistake("a domain's count is kept per group", GroupView, "_of_domain", _keeps_counts),
)


@contextmanager
def made(mistake: Mistake) -> Iterator[None]:
    """Make a mistake for as long as the block lasts."""
    right = getattr(mistake.owner, mistake.name)
    setattr(mistake.owner, mistake.name, mistake.wrong(right))
    try:
        yield
    finally:
        setattr(mistake.owner, mistake.name, right)


def found_after(mistake: Mistake, seed: int, most: int = HISTORIES_MOST) -> tuple[int, int, str] | None:
    """Return after how many histories and decisions the check finds a mistake, and how it shows; None: not at all."""
    decisions = 0
    with made(mistake):
        for number in range(most):
            failure, counts = lived(seed, number)
            decisions += counts["decisions"]
            if failure is not None:
                return number + 1, decisions, failure.differences[-1 if "Traceback" in failure.differences[0] else 0]
    return None


def main(arguments: list[str]) -> int:
    """Make every mistake in turn and report; return the exit status."""
    seed = int(arguments[0]) if arguments else 1
    blind = 0
    for mistake in MISTAKES:
        found = found_after(mistake, seed)
        blind += found is None
        where = f"found in history {found[0]}, after {found[1]} decisions: {found[2]}" if found else "NOT FOUND"
        print(f"{mistake.sentence}: {where}", flush=True)
    return 1 if blind else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
