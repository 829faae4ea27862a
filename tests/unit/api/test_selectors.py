"""Selectors and tolerations match what kube-scheduler's match."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from bayplan.api.selectors import (
    EVERYTHING,
    NOTHING,
    NodeTerms,
    PreferredTerms,
    RequiredAffinity,
    Selector,
    SelectorError,
    tolerates,
)


def line(words: str) -> Requirement:
    """Write a requirement in words: key, operator, values."""
    key, operator, *values = words.split()
    return Requirement(key=key, operator=operator, values=tuple(values))


def selector(*lines: str, **equal: str) -> LabelSelector:
    """Write a label selector."""
    return LabelSelector(match_labels=equal, match_expressions=tuple(map(line, lines)))


def term(*expressions: str, fields: tuple[str, ...] = ()) -> NodeSelectorTerm:
    """Write a node selector term."""
    return NodeSelectorTerm(match_expressions=tuple(map(line, expressions)), match_fields=tuple(map(line, fields)))


def terms(*some: NodeSelectorTerm) -> NodeTerms:
    """Read node selector terms."""
    return NodeTerms.of(NodeSelector(node_selector_terms=some))


LABELS = {"app": "web", "tier": "1", "empty": ""}


# --- label selectors -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "matches"),
    [
        ("app In web api", True),
        ("app In api", False),
        ("other In web", False),
        ("app NotIn api", True),
        ("app NotIn web", False),
        ("other NotIn web", True),
        ("empty Exists", True),
        ("other Exists", False),
        ("other DoesNotExist", True),
        ("empty DoesNotExist", False),
    ],
)
def test_an_operator_matches(words: str, matches: bool) -> None:  # noqa: FBT001
    """An absent label is in no set, and not in any."""
    assert Selector.of(selector(words)).matches(LABELS) is matches


def test_no_selector_matches_nothing_and_an_empty_one_everything() -> None:
    """Only the latter is empty."""
    assert Selector.of(None) == NOTHING
    assert Selector.of(LabelSelector()) == EVERYTHING
    assert (NOTHING.matches(LABELS), EVERYTHING.matches({})) == (False, True)
    assert (NOTHING.is_empty, EVERYTHING.is_empty) == (False, True)


def test_all_requirements_must_hold() -> None:
    """Labels and expressions alike."""
    assert Selector.of(selector("tier Exists", app="web")).matches(LABELS)
    assert not Selector.of(selector("tier Exists", app="api")).matches(LABELS)


def test_two_ways_of_writing_one_selector_are_one() -> None:
    """Order, duplicates and the form of equality do not matter."""
    one = Selector.of(selector("tier In 2 1 2", app="web"))
    other = Selector.of(selector("app In web", "tier In 1 2", "app In web"))

    assert one == other
    assert hash(one) == hash(other)


def test_more_can_be_required() -> None:
    """What selects nothing goes on doing so."""
    both = Selector.of_map({"app": "web"}).and_equal({"tier": "1"})

    assert both == Selector.of_map({"tier": "1", "app": "web"})
    assert NOTHING.and_equal({"tier": "1"}) == NOTHING
    assert EVERYTHING.and_also(both) == both
    assert both.and_also(NOTHING) == NOTHING


@pytest.mark.parametrize(
    ("bad", "text"),
    [
        (selector("app Near web"), '"Near" is not a valid label selector operator'),
        (selector("app Gt 1"), '"Gt" is not a valid label selector operator'),
        (selector("app In"), "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"),
        (
            selector("app Exists x"),
            'values: Invalid value: ["x"]: values set must be empty for exists and does not exist',
        ),
    ],
)
def test_a_bad_selector_is_refused_in_kube_schedulers_words(bad: LabelSelector, text: str) -> None:
    """Its text is part of what users read."""
    with pytest.raises(SelectorError) as refusal:
        Selector.of(bad)

    assert str(refusal.value) == text


def test_bad_keys_and_values_are_listed_together() -> None:
    """As Go's aggregates print."""
    with pytest.raises(SelectorError, match=r"^\[key: Invalid value: \"/\": .*, values\[0\]\[/\]: Invalid value: "):
        Selector.of(selector("/ In a,b"))


# --- node selector terms ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "matches"),
    [
        ("cores Gt 7", True),
        ("cores Gt 8", False),
        ("cores Lt 9", True),
        ("cores Gt +7", False),
        ("name Gt 1", False),
        ("none Lt 1", False),
        ("huge Gt 1", False),
        ("spaced Gt 1", False),
    ],
)
def test_numbers_are_compared_strictly(words: str, matches: bool) -> None:  # noqa: FBT001
    """A label that is no 64-bit integer matches nothing, nor does a bound that could not be a label."""
    labels = {"cores": "8", "name": "x", "huge": "9" * 19, "spaced": " 8"}

    assert terms(term(words)).matches(labels) is matches


def test_one_term_is_enough_and_an_empty_one_never_matches() -> None:
    """Terms are ORed; none at all match nothing."""
    assert terms(term("a Exists"), term("app In web")).matches(LABELS)
    assert not terms(term()).matches(LABELS)
    assert not terms().matches(LABELS)


def test_fields_are_asked_of_a_node_with_a_name() -> None:
    """The only field is metadata.name; others are empty, and without a name none is asked about."""
    named = terms(term(fields=("metadata.name In a",)))

    assert [named.matches({}, name) for name in ("a", "b", "")] == [True, False, True]
    assert terms(term(fields=("metadata.name NotIn a",))).matches({}, "b")
    assert not terms(term(fields=("spec.other In a",))).matches({}, "a")
    assert terms(term(fields=("spec.other NotIn a",))).matches({}, "a")


def test_a_bad_term_matches_nothing_and_its_fault_is_kept() -> None:
    """Another term may still match."""
    read = terms(term("app Near web"), term("app In web"))

    assert read.matches(LABELS)
    assert read.error == (
        'nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: "Near": supported values: "In", "NotIn",'
        ' "Exists", "DoesNotExist", "Gt", "Lt"'
    )
    assert not terms(term("app In web", "app Gt x")).matches(LABELS)


def test_faults_of_fields_say_what_is_supported() -> None:
    """One value, and two operators."""
    read = terms(term(fields=("metadata.name Exists", "metadata.name In a b")))

    assert read.error == (
        '[nodeSelectorTerms[0].matchFields[0].operator: Unsupported value: "Exists": supported values: "In", "NotIn",'
        ' nodeSelectorTerms[0].matchFields[1].values: Invalid value: ["a","b"]: must have one element]'
    )


@pytest.mark.parametrize(
    ("some", "names"),
    [
        ([term(fields=("metadata.name In a",)), term(fields=("metadata.name In b",))], {"a", "b"}),
        ([term(fields=("metadata.name In a", "metadata.name In b"))], set()),
        ([term(fields=("metadata.name In a",)), term("app Exists")], None),
        ([term(fields=("metadata.name NotIn a",))], None),
        ([], None),
    ],
)
def test_terms_may_name_all_nodes_that_can_match(some: list[NodeSelectorTerm], names: set[str] | None) -> None:
    """Within a term names intersect, over terms they add up; one term without names leaves all nodes."""
    assert terms(*some).names() == names


def test_wishes_add_up() -> None:
    """Weight 0 and empty terms count for nothing; a fault spoils the list."""
    wishes = [(5, term("app In web")), (7, term("tier Gt 0")), (9, term("x Exists")), (0, term("x Near")), (3, term())]
    read = PreferredTerms.of(PreferredSchedulingTerm(weight=weight, preference=what) for weight, what in wishes)

    assert (read.score(LABELS), read.error) == (12, None)
    bad = PreferredTerms.of([PreferredSchedulingTerm(weight=1, preference=term("x Near"))])
    assert bad.error is not None
    assert bad.error.startswith('[0].matchExpressions[0].operator: Unsupported value: "Near"')


def test_required_affinity_is_selector_and_terms() -> None:
    """Both must hold; absent fields are not empty ones."""
    required = NodeSelector(node_selector_terms=(term("tier Exists"),))
    affinity = NodeAffinity(required_during_scheduling_ignored_during_execution=required)

    assert RequiredAffinity.of({"app": "web"}, affinity).matches(LABELS)
    assert not RequiredAffinity.of({"app": "api"}, affinity).matches(LABELS)
    assert not RequiredAffinity.of({"app": "web"}, affinity).matches({"app": "web"})
    assert RequiredAffinity.of(None, None).matches({})
    assert not RequiredAffinity.of(None, None).is_given
    assert RequiredAffinity.of({}, None).is_given
    assert RequiredAffinity.of({"b": "1", "a": "2"}, None) == RequiredAffinity.of({"a": "2", "b": "1"}, None)


# --- tolerations -----------------------------------------------------------------------------------------------------

TAINT = Taint(key="gpu", value="5", effect="NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "covers"),
    [
        (Toleration(operator="Exists"), True),
        (Toleration(key="gpu", operator="Exists"), True),
        (Toleration(key="gpu", operator="Exists", effect="NoExecute"), False),
        (Toleration(key="gpu", value="5"), True),
        (Toleration(key="gpu", operator="Equal", value="6"), False),
        (Toleration(key="cpu", operator="Exists"), False),
        (Toleration(value="5"), True),
        (Toleration(key="gpu", operator="Near", value="5"), False),
        (Toleration(key="gpu", operator="Lt", value="6"), False),
    ],
)
def test_a_toleration_covers_a_taint(toleration: Toleration, covers: bool) -> None:  # noqa: FBT001
    """Effect, key and operator decide; an empty key with an equal value does match."""
    assert tolerates(toleration, TAINT, compares=False) is covers


@pytest.mark.parametrize(
    ("operator", "bound", "covers"),
    [("Lt", "6", True), ("Lt", "5", False), ("Gt", "4", True), ("Gt", "5", False), ("Gt", "+4", False),
     ("Gt", "04", False), ("Gt", "-0", False), ("Gt", "-1", True), ("Lt", "9" * 19, False), ("Lt", "x", False)],
)  # fmt: skip
def test_numbers_are_compared_when_the_gate_is_on(operator: str, bound: str, covers: bool) -> None:  # noqa: FBT001
    """Only canonical integers of 64 bits compare."""
    toleration = Toleration(key="gpu", operator=operator, value=bound)

    assert tolerates(toleration, TAINT, compares=True) is covers


@given(
    st.lists(
        st.builds(Requirement, key=st.text(max_size=3), operator=st.sampled_from(["In", "NotIn", "Exists", "Gt"]))
    ),
    st.dictionaries(st.text(max_size=3), st.text(max_size=3)),
)
def test_no_selector_breaks_the_reader(lines: list[Requirement], labels: dict[str, str]) -> None:
    """It is read, or a SelectorError; terms keep their faults."""
    terms(NodeSelectorTerm(match_expressions=tuple(lines), match_fields=tuple(lines))).matches(labels, "a")
    try:
        Selector.of(LabelSelector(match_labels=labels, match_expressions=tuple(lines))).matches(labels)
    except SelectorError:
        return
