"""What a table holds, by meaning: told in names of nodes, labels and pods, not in rows and numbers of entries.

Two tables that were told the same in the same order of arrival have equal dumps, whatever rows their nodes got, in
which order things were interned and what has come and gone.  What was never asked of one of them (keys, tallies,
scopes) is asked first: `ask_alike`.  Things that count nobody are left out: only one of the tables may remember them.
Invariant: everything that a rule can read is in it.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from bayplan.cluster.books import Book
from bayplan.cluster.books.near import Near
from bayplan.cluster.keys import ABSENT
from bayplan.cluster.schema import COLUMNS
from bayplan.cluster.table import Table
from bayplan.cluster.tallies import Scope, Tally

Dump: TypeAlias = dict[str, Any]
"""Nested dictionaries of plain values."""


def differences(one: Dump, other: Dump, where: str = "") -> Iterator[str]:
    """Name what differs between two dumps, one line each."""
    for key in sorted(one.keys() | other.keys(), key=repr):
        here = f"{where}{key}"
        mine, theirs = one.get(key), other.get(key)
        if isinstance(mine, dict) and isinstance(theirs, dict):
            yield from differences(mine, theirs, f"{here} / ")
        elif mine != theirs:
            yield f"{here}: {mine!r} != {theirs!r}"


def ask_alike(table: Table, model: Table) -> None:
    """Ask a table for every key, scope, tally and domain number that another was asked for."""
    for name in model.keys.known:
        table.key(name)
    scopes = {id(scope): _scope_like(table, scope) for scope in model.scopes.values()}
    for mine, theirs in _tallies_of_both(table, model):
        if theirs._column is not None:
            mine.column(table.columns.rows)
        for (key, scope_id), domains in theirs._domains.items():
            mine.domains(table.key(key), None if domains.scope is None else scopes[scope_id])


def dump(table: Table) -> Dump:
    """Say everything."""
    columns = table.columns
    live = {name: row for name, row in table.row_of.items() if columns.live[row]}
    dead = [row for row in range(columns.rows) if not columns.live[row]]
    found = {
        "nodes": {name: _node(table, row) for name, row in live.items()},
        "node count": table.count,
        "rows without a node": _left_over(table, dead),
        "arrival": sorted(live, key=lambda name: int(columns.arrival[live[name]])),
        "labels": {name: _labels(table, key.ids, key.values) for name, key in table.keys.known.items()},
        "tallies": {name: _tally(table, tally) for name, tally in _named_tallies(table)},
        "scopes": {_scope_name(scope): _inside(table, scope) for scope in table.scopes.values()},
        "label sets": _label_sets(table),
        "pods": {uid: (_name(table, one.row), one.pod, one.is_assumed) for uid, one in table.pods.items()},
        "pods by row": {name: frozenset(table.on_row[row]) for name, row in live.items()},
        "strays": {name: dict(pods) for name, pods in table.strays.items()},
        "nominations": _nominations(table),
        "nominated to absent nodes": {name: dict(pods) for name, pods in table.nominated_away.items()},
        "images": {name: _image(table, name) for name in table.images._rows},
        "ports": _ports(table),
        "avoided": {name: frozenset(_name(table, row) for row in rows) for name, rows in table.avoided._rows.items()},
        "books": _books(table),
        "volumes": _volumes(table),
    }
    return {what: _copied(value) for what, value in found.items()}


def _copied(value: Any) -> Any:  # noqa: ANN401 - whatever a dump is made of
    """Return what stays as it is when the table changes."""
    if isinstance(value, dict):
        return {key: _copied(inner) for key, inner in value.items()}
    return frozenset(value) if isinstance(value, set) else value


# --- nodes -----------------------------------------------------------------------------------------------------------


def _node(table: Table, row: int) -> Dump:
    columns = table.columns
    return {
        "object": table.nodes[row],
        "allocatable": _amounts(table, columns.allocatable[:, row]),
        "requested": _amounts(table, columns.requested[:, row]),
        "nonzero": columns.nonzero[:, row].tolist(),
        "whole": _amounts(table, columns.whole[:, row]),
        "taken": _amounts(table, columns.taken[:, row]),
        "counted": columns.counted[:, row].tolist(),
        "unschedulable": bool(columns.unschedulable[row]),
        "taints": table.taint_sets.entries[columns.taint_set[row]],
        "features": table.feature_sets.entries[columns.feature_set[row]],
    }


def _amounts(table: Table, amounts: "np.ndarray[Any, np.dtype[Any]]") -> dict[str, int]:
    return {name: int(amounts[place]) for name, place in table.columns.resources.items() if amounts[place]}


def _left_over(table: Table, dead: list[int]) -> Dump:
    """Return what is still written in rows that have no node: nothing, in a table that is right."""
    columns = table.columns
    found: Dump = {}
    for declared in COLUMNS:
        name, column = declared.name, getattr(columns, declared.name)
        if np.any(column[..., dead] != _of_free_row(table, name)):
            found[name] = column[..., dead].tolist()
    for row in dead:
        if table.nodes[row] is not None or table.on_row[row]:
            found[f"row {row}"] = (table.nodes[row], dict(table.on_row[row]))
    return found


def _of_free_row(table: Table, column: str) -> npt.NDArray[np.int64]:
    """Return what a column has in a row without a node: nought, but for divisors, which are one."""
    if column not in {"allocatable", "whole"}:
        return np.zeros(1, np.int64)
    return np.array([[name != "pods"] for name in table.columns.resources], np.int64)  # (resources, 1)


def _name(table: Table, row: int) -> str:
    node = table.nodes[row]
    return f"row {row} without a node" if node is None else node.metadata.name


def _by_name(table: Table, numbers: Mapping[int, Any]) -> dict[str, Any]:
    return {_name(table, row): number for row, number in numbers.items()}


def _labels(table: Table, ids: "np.ndarray[Any, np.dtype[np.intp]]", values: list[str]) -> dict[str, str]:
    found = {row: values[ids[row]] for row in range(min(table.columns.rows, len(ids))) if ids[row] != ABSENT}
    return _by_name(table, found)


# --- tallies and scopes ----------------------------------------------------------------------------------------------


def _scope_name(scope: Scope | None) -> str:
    if scope is None:
        return "all rows"
    return repr((scope.affinity, scope.tolerations, tuple(key.name for key in scope.keys)))


def _scope_like(table: Table, scope: Scope) -> Scope:
    return table.scope(scope.affinity, scope.tolerations, tuple(key.name for key in scope.keys))


def _inside(table: Table, scope: Scope) -> frozenset[str]:
    return frozenset(_name(table, row) for row in np.flatnonzero(scope.inside).tolist())


def _named_tallies(table: Table) -> Iterator[tuple[str, Tally]]:
    """Yield the tallies that count anybody, by what they count."""
    for name, tally in _all_named(table).items():
        if tally.rows or any(domains.numbers.any() for domains in tally._domains.values()):
            yield name, tally


def _all_named(table: Table) -> dict[str, Tally]:
    named: dict[str, Tally] = {"nodes": table.every}
    named |= {f"matching {match!r}": tally for match, tally in table.residents._tallies.items()}
    carried = zip(table.carried.entries, table.carried.tallies, strict=True)
    named |= {f"carrying {term!r}": tally for term, tally in carried}
    name_of = {id(tally): name for name, tally in named.items()}
    for tally in table.weighted.values():
        parts = sorted((name_of[id(part)], weight) for part, weight in tally.parts)
        named[f"sum of {parts!r}"] = tally
    return named


def _tallies_of_both(table: Table, model: Table) -> Iterator[tuple[Tally, Tally]]:
    """Yield each tally of the model beside the table's own, made if need be."""
    for match in model.residents._tallies:
        table.residents.tally(match)
    for carried in model.carried:
        table.carried.number(carried)
    mine = _all_named(table)
    name_of = {id(tally): name for name, tally in _all_named(model).items()}
    for theirs in model.weighted.values():
        table.sum_of(tuple((mine[name_of[id(part)]], weight) for part, weight in theirs.parts))
    mine = _all_named(table)
    for name, theirs in _all_named(model).items():
        if name in mine:
            yield mine[name], theirs


def _tally(table: Table, tally: Tally) -> Dump:
    assert tally.all == sum(tally.rows.values()), "a tally's sum over all rows"
    if tally._column is not None:
        kept = {row: number for row, number in enumerate(tally._column.tolist()) if number}
        assert kept == tally.rows, f"a tally's column: {kept} beside {tally.rows}"
    domains = {}
    for own in tally._domains.values():
        names = own.key.values
        numbers = {names[at]: number for at, number in enumerate(own.numbers.tolist()) if number}
        if numbers:
            domains[own.key.name, _scope_name(own.scope)] = numbers
    return {"rows": _by_name(table, tally.rows), "domains": domains}


def _label_sets(table: Table) -> Dump:
    return {
        repr((one.namespace, sorted(one.labels.items()), one.terminating)): _by_name(table, one.rows)
        for one in table.residents.all_label_sets()
        if one.rows
    }


# --- books -----------------------------------------------------------------------------------------------------------


def _nominations(table: Table) -> Dump:
    by_row = {uid for there in table.nominated_on.values() for uid in there}
    assert by_row == set(table.nominations), "a nomination is known by its pod and by its row"
    return {uid: (_name(table, one.row), one.pod) for uid, one in table.nominations.items()}


def _image(table: Table, name: str) -> tuple[frozenset[str], int]:
    return frozenset(_name(table, row) for row in table.images.rows(name)), table.images.size(name)


def _ports(table: Table) -> Dump:
    return {f"{port}": _by_name(table, rows) for port, rows in table.ports._rows.items() if rows}


def _entries(book: Book[Any]) -> Dump:
    return {key: entry for key, entry in book.entries.items() if entry != {}}


def _books(table: Table) -> Dump:
    return {
        "namespaces": _entries(table.namespaces),
        "services": _entries(table.owners.services),
        "controllers": _entries(table.owners.controllers),
        "device classes": _entries(table.device_classes),
    }


def _volumes(table: Table) -> Dump:
    books = table.volumes
    found: Dump = {name: _entries(book) for name, book in vars(books).items() if isinstance(book, Book)}
    mounted, attached = books.mounted, books.attached
    found["attached"] = dict(attached._all)
    found["attached by node"] = dict(attached._by_node)
    found["attached by volume"] = dict(attached._by_volume)
    found["stock"] = _places(books._stock, lambda stock: stock.near)
    found["pools"] = _places(books._pools, lambda pools: pools.near)
    found["kept"] = dict(books._kept)
    found["claims of"] = dict(books._claims_of)
    found["mounting"] = _by_name(table, {row: frozenset(there) for row, there in mounted._on_row.items()})
    found["rows of"] = {key: _by_name(table, rows) for key, rows in mounted._rows_of.items()}
    found["uses"] = dict(mounted._uses)
    found["namings"] = dict(mounted._namings)
    found["counts as"] = {
        one.uid: tuple(books.identity_on(one.pod, volume) for volume in one.load.mounts.volumes)
        for one in table.pods.values()
        if one.load.mounts is not None
    }
    return found


def _places(groups: Mapping[str, Any], near_of: Callable[[Any], Near[Any]]) -> Dump:
    """Return what is in which spot, in the order in which it would be taken."""
    found: Dump = {}
    for name, group in groups.items():
        near = near_of(group)
        spots = {repr(spot): [key for _, key in there] for spot, there in near._at.items()}
        if spots:
            found[name] = {"spots": spots, "things": {key: placed.thing for key, placed in near._placed.items()}}
    return found
