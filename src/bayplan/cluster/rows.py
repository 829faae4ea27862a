"""Asking labels about rows: node selectors and node affinity terms, once per distinct value, gathered over all rows.

Invariant: `judged(x, table)[row]` equals `judged_row(x, table, row)`, which asks the node's labels directly; a property
test holds the two together.
Not here: taints (a catalogue) and which rows a scope has (tallies.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bayplan.api.selectors import Clause, NodeTerm, NodeTerms, RequiredAffinity, Selector, tolerates
from bayplan.cluster.columns import Bools
from bayplan.cluster.keys import ABSENT

if TYPE_CHECKING:
    from bayplan.api.objects import Taint
    from bayplan.cluster.shapes import Tolerations
    from bayplan.cluster.table import Table

HARD_EFFECTS = frozenset({"NoSchedule", "NoExecute"})
NodeQuestion = RequiredAffinity | NodeTerms | NodeTerm | Selector


def judged(question: NodeQuestion, table: Table) -> Bools:
    """Say of every row whether its node's labels and name pass."""
    match question:
        case RequiredAffinity():
            mask = np.ones(table.columns.rows, np.bool_)
            for key, value in question.pairs or ():
                column = table.key(key)
                domain_id = column.known(value)
                mask &= (column.ids[: table.columns.rows] == domain_id) & (domain_id != ABSENT)
            return mask if question.terms is None else mask & judged(question.terms, table)
        case NodeTerms():
            mask = np.zeros(table.columns.rows, np.bool_)
            for term in question.terms:
                mask |= judged(term, table)
            return mask
        case NodeTerm():
            if question.faults or question.is_empty:
                return np.zeros(table.columns.rows, np.bool_)
            return judged(question.labels, table) & _named(question, table)
        case Selector():
            mask = np.full(table.columns.rows, not question.never, np.bool_)
            for clause in question.clauses:
                mask &= _holds(clause, table)
            return mask


def judged_row(question: NodeQuestion, table: Table, row: int) -> bool:
    """Say whether one row's node passes; a row without a node does not."""
    node = table.nodes[row]
    if node is None:
        return False
    labels = node.metadata.labels
    return question.matches(labels) if isinstance(question, Selector) else question.matches(labels, node.metadata.name)


def tolerated(tolerations: Tolerations, taints: Sequence[Taint]) -> bool:
    """Say whether every taint that keeps pods off is tolerated."""
    return all(
        taint.effect not in HARD_EFFECTS
        or any(tolerates(toleration, taint, compares=tolerations.compares) for toleration in tolerations.all)
        for taint in taints
    )


def _holds(clause: Clause, table: Table) -> Bools:
    def ask(value: str | None) -> bool:
        return clause.matches({} if value is None else {clause.key: value})

    return table.key(clause.key).where(clause, ask, table.columns.rows)


def _named(term: NodeTerm, table: Table) -> Bools:
    """Ask a term's field requirements, which name at most a few nodes."""
    mask = np.ones(table.columns.rows, np.bool_)
    for clause in term.fields:
        named = np.zeros(table.columns.rows, np.bool_)
        row = table.row_of.get(clause.values[0])
        if row is not None and clause.key == "metadata.name":
            named[row] = True
        mask &= named if clause.operator == "In" else ~named
    return mask
