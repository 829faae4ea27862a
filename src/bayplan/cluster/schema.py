"""The schema: every column of the node table, with dtype, unit, writer and meaning; docs/columns.md is made from it.

Columns allocates exactly what is declared here, so a number that is not explained does not exist.  Beside the columns
proper stand those that grow when somebody first asks (label ids, tallies, scopes): one for each key, tally or scope.
Invariant: a column has one writer, the Table's method that is named here; nobody else writes it.
Not here: storing them (columns.py, keys.py, tallies.py) and what a rule makes of them (plugins).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

AMOUNT: Final = "thousandths of a CPU; bytes of memory, storage and huge pages; pieces of anything else"


class Column(NamedTuple):
    """One fact about all rows."""

    name: str
    axes: tuple[str, ...]
    dtype: type[np.generic]
    unit: str
    writer: str
    meaning: str


COLUMNS: Final = (
    Column(
        "allocatable",
        ("resources", "rows"),
        np.int64,
        AMOUNT,
        "put_node",
        "what the node can give; 0 where it does not name the resource; of `pods`, how many it may have",
    ),
    Column(
        "requested",
        ("resources", "rows"),
        np.int64,
        AMOUNT,
        "place, remove",
        "what the pods there ask for, overhead and sidecars included; of `pods`, how many there are",
    ),
    Column(
        "nonzero",
        ("cpu and memory", "rows"),
        np.int64,
        AMOUNT,
        "place, remove",
        "the same, a container that asks for nothing counted as 100m and 200Mi: what scores are made from",
    ),
    Column(
        "whole",
        ("resources", "rows"),
        np.float64,
        AMOUNT,
        "put_node",
        "`allocatable` once more, because float64 divides three times as fast; exact while `is_small`",
    ),
    Column(
        "taken",
        ("resources", "rows"),
        np.float64,
        AMOUNT,
        "place, remove",
        "`requested` once more, likewise",
    ),
    Column(
        "counted",
        ("cpu and memory", "rows"),
        np.float64,
        AMOUNT,
        "place, remove",
        "`nonzero` once more, likewise",
    ),
    Column("live", ("rows",), np.bool_, "yes or no", "put_node, drop_node", "there is a node in this row"),
    Column("unschedulable", ("rows",), np.bool_, "yes or no", "put_node", "the node is cordoned"),
    Column(
        "taint_set",
        ("rows",),
        np.int32,
        "number in the catalogue",
        "put_node",
        "the node's taints, in their order; 0 is none",
    ),
    Column(
        "feature_set",
        ("rows",),
        np.int32,
        "number in the catalogue",
        "put_node",
        "the features that the node declares; 0 is none",
    ),
    Column(
        "arrival",
        ("rows",),
        np.int64,
        "count",
        "put_node",
        "how many nodes had come before this one did; it survives changes and is new when a node comes back",
    ),
)
"""What every table has."""

ASKED_FOR: Final = (
    Column(
        "key.ids",
        ("rows",),
        np.intp,
        "number of the value",
        "put_node",
        "per label key: which value the node has there; -1 is none. The values are in `key.values`",
    ),
    Column(
        "tally.column",
        ("rows",),
        np.int64,
        "pods",
        "place, remove",
        "per tally: how many pods of the row match its condition, or carry its term; weighted tallies sum others",
    ),
    Column(
        "domains.numbers",
        ("domains",),
        np.int64,
        "pods",
        "place, remove, put_node",
        "per tally, label key and scope: the tally's sum over each domain's rows that are in the scope",
    ),
    Column(
        "scope.inside",
        ("rows",),
        np.bool_,
        "yes or no",
        "put_node",
        "per scope: the node passes its node affinity and tolerations, and has its label keys",
    ),
)
"""What a table has from when somebody first asked."""


def dictionary() -> str:
    """Write the data dictionary as tables for the documents."""
    return f"{_written(COLUMNS)}\nFrom when somebody first asks:\n\n{_written(ASKED_FOR)}"


def _written(columns: tuple[Column, ...]) -> str:
    head = "| column | axes | dtype | unit | writer | meaning |\n|---|---|---|---|---|---|\n"
    return head + "".join(
        f"| `{one.name}` | {', '.join(one.axes)} | {one.dtype.__name__} | {one.unit} | {one.writer} | {one.meaning} |\n"
        for one in columns
    )
