"""Selectors of a list or a watch: label and field selectors as query strings, and label selectors of objects.

Not here: selectors of pods and nodes that rules read (`api/selectors.py` has the matching that is used here).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from bayplan.api.names import go_quoted, key_faults, value_faults
from bayplan.api.selectors import Clause
from bayplan.api.yamltree import Tree
from bayplan.playground.kinds import Kind
from bayplan.playground.refusals import Refused, bad_request
from bayplan.playground.trees import Map, at, items, maps, pairs, text

_SET: Final = re.compile(r"\s*([^\s=!,()]+)\s+(in|notin)\s*\(([^()]*)\)\s*", re.ASCII)
_EQUAL: Final = re.compile(r"\s*([^\s=!,()<>]+)\s*(==|=|!=|>|<)\s*([^\s=!,()<>]*)\s*", re.ASCII)
_THERE: Final = re.compile(r"\s*(!?)\s*([^\s=!,()<>]+)\s*", re.ASCII)
_OPERATORS: Final = {"in": "In", "notin": "NotIn", "=": "In", "==": "In", "!=": "NotIn", ">": "Gt", "<": "Lt"}

# by group and plural: fields beside the name and the namespace that may be selected by
_FIELDS: Final = {
    ("", "pods"): (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ),
    ("", "nodes"): ("spec.unschedulable",),
    ("", "namespaces"): ("status.phase",),
    ("", "events"): (
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
    ("", "secrets"): ("type",),
    ("", "replicationcontrollers"): ("status.replicas",),
    ("apps", "replicasets"): ("status.replicas",),
    ("batch", "jobs"): ("status.successful",),
    ("resource.k8s.io", "resourceslices"): ("spec.nodeName", "spec.driver"),
}
_BOOLEANS: Final = frozenset({"spec.unschedulable", "spec.hostNetwork"})


class FieldClause(NamedTuple):
    """One requirement on one field."""

    path: str
    is_equal: bool
    value: str


class Wanted(NamedTuple):
    """Which objects a list or a watch is about."""

    namespace: str = ""
    labels: tuple[Clause, ...] = ()
    fields: tuple[FieldClause, ...] = ()

    def takes(self, tree: Map) -> bool:
        """Say whether an object is meant."""
        if self.namespace and text(tree, "metadata", "namespace") != self.namespace:
            return False
        if self.labels:
            labels = pairs(tree, "metadata", "labels")
            if not all(clause.matches(labels) for clause in self.labels):
                return False
        return all((field_of(tree, one.path) == one.value) == one.is_equal for one in self.fields)


def wanted(kind: Kind, namespace: str, labels: str, fields: str) -> Wanted:
    """Read the selectors of a query."""
    return Wanted(namespace, label_clauses(labels), field_clauses(kind, fields))


def label_clauses(query: str) -> tuple[Clause, ...]:
    """Read a label selector as clients write it: `a=b,c!=d,e in (f,g),!h`."""
    clauses = []
    rest = query
    while rest.strip():
        clause, rest = _label_clause(rest, query)
        clauses.append(clause)
        if rest and not rest.startswith(","):
            raise _unreadable(query)
        rest = rest[1:]
    return tuple(clauses)


def _label_clause(rest: str, query: str) -> tuple[Clause, str]:
    if found := _SET.match(rest):
        values = tuple(value.strip() for value in found[3].split(","))
        clause = Clause(found[1], _OPERATORS[found[2]], values)
    elif found := _EQUAL.match(rest):
        clause = Clause(found[1], _OPERATORS[found[2]], (found[3],))
    elif found := _THERE.match(rest):
        clause = Clause(found[2], "DoesNotExist" if found[1] else "Exists")
    else:
        raise _unreadable(query)
    faults = key_faults(clause.key)
    if clause.operator in {"In", "NotIn"}:
        faults = [*faults, *(fault for value in clause.values for fault in value_faults(value))]
    elif clause.operator in {"Gt", "Lt"} and not re.fullmatch(r"-?[0-9]{1,18}", clause.values[0]):
        faults = [*faults, "for 'Gt', 'Lt' operators, the value must be an integer"]
    if faults:
        raise bad_request(f"unable to parse requirement: {go_quoted(clause.key)}: {'; '.join(faults)}")
    return clause, rest[found.end() :]


def _unreadable(query: str) -> Refused:
    return bad_request(
        f"couldn't parse the selector string {go_quoted(query)}: expected key=value, key in (a,b) or key"
    )


def field_clauses(kind: Kind, query: str) -> tuple[FieldClause, ...]:
    """Read a field selector: `status.phase!=Failed,spec.nodeName=a`."""
    clauses = []
    known = {"metadata.name", "metadata.namespace", *_FIELDS.get(kind.stored_as, ())}
    for part in filter(None, query.split(",")):
        found = re.fullmatch(r"\s*([^=!]+?)\s*(==|=|!=)(.*)", part)
        if found is None:
            raise bad_request(f"invalid selector: {go_quoted(query)}; can't understand {go_quoted(part)}")
        if found[1] not in known:
            raise bad_request(
                f'Unable to find "{kind.api_version}, Resource={kind.plural}" that match label selector "", '
                f"field selector {go_quoted(query)}: field label not supported: {found[1]}"
            )
        clauses.append(FieldClause(found[1], found[2] != "!=", found[3]))
    return tuple(clauses)


def field_of(tree: Map, path: str) -> str:
    """Give a field as selectors compare it: as text, empty where it is absent."""
    value = at(tree, *path.split("."))
    if path in _BOOLEANS:
        return "true" if value is True else "false"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else ""


def selection(selector: Tree) -> Callable[[dict[str, str]], bool] | None:
    """Read the label selector of an object; None where it selects nothing at all."""
    if not isinstance(selector, dict):
        return None
    clauses = [Clause(key, "In", (value,)) for key, value in pairs(selector, "matchLabels").items()]
    for line in maps(selector, "matchExpressions"):
        values = tuple(value for value in items(line, "values") if isinstance(value, str))
        clauses.append(Clause(text(line, "key"), text(line, "operator"), values))
    return lambda labels: all(clause.matches(labels) for clause in clauses if clause.operator not in {"Gt", "Lt"})
