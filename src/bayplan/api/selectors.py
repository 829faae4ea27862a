"""Selectors: who is meant by a label selector, node selector terms or a toleration; pure predicates.

Every class here is frozen, hashable and canonical: requirements are sorted, so that two ways of writing one selector
are one key of a tally, a scope or a shape's part.  Errors are kube-scheduler's own texts (`api/names.py`), since they
end up in what users read.
Not here: remembering what matches (the tallies and scopes of `cluster/`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from bayplan.api.names import go_json, go_quoted, key_faults, value_faults
from bayplan.api.objects import (
    LabelSelector,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
    Requirement,
    Taint,
    Toleration,
)

NODE_NAME_FIELD: Final = "metadata.name"

_LABEL_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")
_NODE_OPERATORS: Final = (*_LABEL_OPERATORS, "Gt", "Lt")
_FIELD_OPERATORS: Final = ("In", "NotIn")
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,400}", re.ASCII)
_PLAIN_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]{0,18}", re.ASCII)


class SelectorError(ValueError):
    """A selector that kube-scheduler would not parse; the text is its own."""


class Clause(msgspec.Struct, frozen=True, gc=False, order=True):
    """One requirement on one label; equality is In with a single value."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Say whether labels satisfy this requirement."""
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value is not None and value in self.values
            case "NotIn":
                return value is None or value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case _:
                return value is not None and self._compares(value)

    def _compares(self, value: str) -> bool:
        have, bound = _int64(value), _int64(self.values[0])
        if have is None or bound is None:
            return False
        return have > bound if self.operator == "Gt" else have < bound


class Selector(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """Clauses all of which must hold, or nothing at all."""

    clauses: tuple[Clause, ...] = ()
    never: bool = False

    @classmethod
    def of(cls, selector: LabelSelector | None) -> Selector:
        """Read a label selector: None selects nothing, an empty one everything; raise SelectorError on a bad one."""
        if selector is None:
            return NOTHING
        clauses = []
        for key, value in sorted(selector.match_labels.items()):
            _refuse(_faults(Requirement(key=key, operator="=", values=(value,)), ""))
            clauses.append(Clause(key, "In", (value,)))
        for line in selector.match_expressions:
            if line.operator not in _LABEL_OPERATORS:
                raise SelectorError(f"{go_quoted(line.operator)} is not a valid label selector operator")
            _refuse(_faults(line, "", shows_empty=False))
            clauses.append(_clause(line))
        return cls(_canonical(clauses))

    @classmethod
    def of_map(cls, pairs: Mapping[str, str]) -> Selector:
        """Select what has exactly these labels (and any others); an empty map selects everything."""
        return cls(_canonical(Clause(key, "In", (value,)) for key, value in pairs.items()))

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Say whether labels satisfy every clause."""
        if self.never:
            return False
        return all(clause.matches(labels) for clause in self.clauses)

    @property
    def is_empty(self) -> bool:
        """Nothing is required; the selector that selects nothing is not empty."""
        return not self.clauses and not self.never

    def and_equal(self, pairs: Mapping[str, str]) -> Selector:
        """Require these labels too; what selects nothing goes on doing so."""
        return self.and_also(Selector.of_map(pairs))

    def and_also(self, other: Selector) -> Selector:
        """Require what the other selector requires too."""
        if self.never or other.never:
            return NOTHING
        return Selector(_canonical((*self.clauses, *other.clauses)))


EVERYTHING: Final = Selector()
NOTHING: Final = Selector(never=True)


class NodeTerm(msgspec.Struct, frozen=True, gc=False):
    """One node selector term; `faults` make it match nothing, `names` is what it says of the node's own name."""

    labels: Selector = EVERYTHING
    fields: tuple[Clause, ...] = ()
    faults: tuple[str, ...] = ()
    names: tuple[str, ...] | None = None

    @property
    def is_empty(self) -> bool:
        """The term requires nothing, and therefore matches nothing."""
        return self.labels.is_empty and not self.fields and not self.faults

    def matches(self, labels: Mapping[str, str], name: str) -> bool:
        """Say whether a node satisfies the term; without a name its fields are not asked about."""
        if self.faults or self.is_empty or not self.labels.matches(labels):
            return False
        return not name or all(_field_matches(clause, name) for clause in self.fields)


class NodeTerms(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """Required node selector terms, of which one must match."""

    terms: tuple[NodeTerm, ...] = ()

    @classmethod
    def of(cls, selector: NodeSelector) -> NodeTerms:
        """Read the terms; a bad one is kept and matches nothing."""
        numbered = enumerate(selector.node_selector_terms)
        return cls(tuple(_term(term, f"nodeSelectorTerms[{place}]") for place, term in numbered))

    @property
    def error(self) -> str | None:
        """What is wrong with the terms, as kube-scheduler puts it."""
        return _aggregate(fault for term in self.terms for fault in term.faults)

    def matches(self, labels: Mapping[str, str], name: str = "") -> bool:
        """Say whether one of the terms matches a node."""
        return any(term.matches(labels, name) for term in self.terms)

    def names(self) -> frozenset[str] | None:
        """Give the only nodes that can match, if every term names some; None when any node might."""
        named: set[str] = set()
        for term in self.terms:
            if term.names is None:
                return None
            named.update(term.names)
        return frozenset(named) if self.terms else None


class PreferredTerms(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """Wished-for node selector terms with their weights; those that can never add anything are left out."""

    terms: tuple[tuple[int, NodeTerm], ...] = ()

    @classmethod
    def of(cls, terms: Iterable[PreferredSchedulingTerm]) -> PreferredTerms:
        """Read the terms; a bad one is kept, for `error`."""
        read = ((wish.weight, _term(wish.preference, f"[{place}]")) for place, wish in enumerate(terms))
        return cls(tuple((weight, term) for weight, term in read if weight and not term.is_empty))

    @property
    def error(self) -> str | None:
        """What is wrong with the terms, as kube-scheduler puts it; then none of them may be scored."""
        return _aggregate(fault for _, term in self.terms for fault in term.faults)

    def score(self, labels: Mapping[str, str], name: str = "") -> int:
        """Add up the weights of the terms that match a node."""
        return sum(weight for weight, term in self.terms if term.matches(labels, name))


class RequiredAffinity(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """What a pod requires of its node: all pairs of its node selector, and one of its terms.

    `pairs` and `terms` are None where the pod has no such field, which is not the same as an empty one.
    """

    pairs: tuple[tuple[str, str], ...] | None = None
    terms: NodeTerms | None = None

    @classmethod
    def of(cls, node_selector: Mapping[str, str] | None, affinity: NodeAffinity | None) -> RequiredAffinity:
        """Read the two fields of a pod that say it."""
        required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
        return cls(
            None if node_selector is None else tuple(sorted(node_selector.items())),
            None if required is None else NodeTerms.of(required),
        )

    @property
    def is_given(self) -> bool:
        """The pod has one of the two fields, be it empty."""
        return self.pairs is not None or self.terms is not None

    def matches(self, labels: Mapping[str, str], name: str = "") -> bool:
        """Say whether a node satisfies both."""
        if self.pairs and any(labels.get(key) != value for key, value in self.pairs):
            return False
        return self.terms is None or self.terms.matches(labels, name)

    def names(self) -> frozenset[str] | None:
        """Give the only nodes that can match by the terms, if every one names some; None when any node might."""
        return None if self.terms is None else self.terms.names()


def tolerates(toleration: Toleration, taint: Taint, *, compares: bool) -> bool:
    """Say whether a toleration covers a taint; Gt and Lt only count when the gate for them is on (`compares`)."""
    if (toleration.effect or taint.effect) != taint.effect or (toleration.key or taint.key) != taint.key:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
        case "Lt" | "Gt" if compares:
            bound, have = _plain_int64(toleration.value), _plain_int64(taint.value)
            below, above = (have, bound) if toleration.operator == "Lt" else (bound, have)
            return below is not None and above is not None and below < above
        case _:
            return False


def _clause(line: Requirement) -> Clause:
    return Clause(line.key, line.operator, tuple(sorted(set(line.values or ()))))


def _canonical(clauses: Iterable[Clause]) -> tuple[Clause, ...]:
    return tuple(sorted(set(clauses)))


def _term(term: NodeSelectorTerm, path: str) -> NodeTerm:
    """Read one term; its faults carry the path that kube-scheduler prints."""
    faults: list[str] = []
    labels, fields = [], []
    for place, line in enumerate(term.match_expressions):
        where = f"{path}.matchExpressions[{place}]"
        if line.operator not in _NODE_OPERATORS:
            faults.append(_unsupported(f"{where}.operator", line.operator, _NODE_OPERATORS))
            continue
        wrong = _faults(line, f"{where}.")
        faults.extend(wrong)
        if not wrong:
            labels.append(_clause(line))
    for place, line in enumerate(term.match_fields):
        where = f"{path}.matchFields[{place}]"
        if line.operator not in _FIELD_OPERATORS:
            faults.append(_unsupported(f"{where}.operator", line.operator, _FIELD_OPERATORS))
        elif len(line.values or ()) != 1:
            faults.append(f"{where}.values: Invalid value: {go_json(line.values)}: must have one element")
        else:
            fields.append(_clause(line))
    return NodeTerm(Selector(_canonical(labels)), _canonical(fields), tuple(faults), _names(term))


def _names(term: NodeSelectorTerm) -> tuple[str, ...] | None:
    """Give the node names that all of a term's name requirements allow; None if it has no such requirement."""
    named: set[str] | None = None
    for line in term.match_fields:
        if line.key == NODE_NAME_FIELD and line.operator == "In":
            values = set(line.values or ())
            named = values if named is None else named & values
    return None if named is None else tuple(sorted(named))


def _field_matches(clause: Clause, name: str) -> bool:
    """Ask a field requirement of a node; a field other than the name is empty."""
    value = name if clause.key == NODE_NAME_FIELD else ""
    return (value == clause.values[0]) == (clause.operator == "In")


def _faults(line: Requirement, path: str, *, shows_empty: bool = True) -> list[str]:
    """List what is wrong with a requirement, each with kube-scheduler's text, duplicates once.

    Label selectors do not show an empty list (`[]`) as other than an absent one (`null`); node selector terms do.
    """
    faults = []
    given = line.values or ()
    if wrong := key_faults(line.key):
        faults.append(f"{path}key: Invalid value: {go_quoted(line.key)}: {'; '.join(wrong)}")
    values = f"{path}values: Invalid value: {go_json(line.values if shows_empty else given or None)}: "
    match line.operator:
        case "In" | "NotIn" if not given:
            faults.append(f"{values}for 'in', 'notin' operators, values set can't be empty")
        case "Exists" | "DoesNotExist" if given:
            faults.append(f"{values}values set must be empty for exists and does not exist")
        case "Gt" | "Lt":
            if len(given) != 1:
                faults.append(f"{values}for 'Gt', 'Lt' operators, exactly one value is required")
            faults.extend(
                f"{path}values[{place}]: Invalid value: {go_quoted(value)}: "
                "for 'Gt', 'Lt' operators, the value must be an integer"
                for place, value in enumerate(given)
                if _int64(value) is None
            )
        case _:
            pass
    for place, value in enumerate(given):
        if wrong := value_faults(value):
            where = f"{path}values[{place}][{line.key}]"
            faults.append(f"{where}: Invalid value: {go_quoted(value)}: {'; '.join(wrong)}")
    return list(dict.fromkeys(faults))


def _unsupported(path: str, operator: str, supported: tuple[str, ...]) -> str:
    names = ", ".join(go_quoted(name) for name in supported)
    return f"{path}: Unsupported value: {go_quoted(operator)}: supported values: {names}"


def _refuse(faults: list[str]) -> None:
    if text := _aggregate(faults):
        raise SelectorError(text)


def _aggregate(faults: Iterable[str]) -> str | None:
    """Join faults the way Go's error aggregates print."""
    different = list(dict.fromkeys(faults))
    if not different:
        return None
    return different[0] if len(different) == 1 else f"[{', '.join(different)}]"


def _int64(text: str) -> int | None:
    """Read a base-10 integer of 64 bits, sign allowed."""
    if not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


def _plain_int64(text: str) -> int | None:
    """Read an integer of 64 bits that is written in its one canonical way."""
    return _int64(text) if _PLAIN_INTEGER.fullmatch(text) else None
