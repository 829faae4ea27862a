"""YAML is read as kubectl reads it, and bounded whatever it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.api.yamltree import DEPTH_MAX, Read, Tree, YamlError, documents


def tree(text: str) -> Tree:
    """Read the only document of a text."""
    (read,) = documents(text.encode())
    assert isinstance(read, Read), read
    return read.tree


def refusal(text: str | bytes) -> YamlError:
    """Read the only document of a text, which is refused."""
    (read,) = documents(text.encode() if isinstance(text, str) else text)
    assert isinstance(read, YamlError)
    return read


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True),
        ("Off", False),
        ("y", True),
        ("~", None),
        ("", None),
        ("'yes'", "yes"),
        ("!!str yes", "yes"),
        ("12", 12),
        ("-0x1F", -31),
        ("010", 8),
        ("0o10", 8),
        ("0b11", 3),
        ("1_000", 1000),
        ("08", 8.0),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("1e999", "1e999"),
        (".inf", ".inf"),
        ("190:20:30", "190:20:30"),
        ("2026-03-01", "2026-03-01"),
        ("2026-03-01T00:00:00Z", "2026-03-01T00:00:00Z"),
        ("1..5Gi", "1..5Gi"),
        ("500m", "500m"),
        ("9" * 101, "9" * 101),
        ("<<", "<<"),
    ],
)
def test_a_plain_scalar_has_kubectls_type(text: str, value: Tree) -> None:
    """YAML 1.1's booleans, but no dates and no sexagesimals."""
    read = tree(f"a: {text}")

    assert read == {"a": value}
    assert isinstance(read, dict)
    assert type(read["a"]) is type(value)


def test_keys_are_texts() -> None:
    """As they are in JSON."""
    assert tree("{1: a, yes: b, 1.5: c, '2': d}") == {"1": "a", "true": "b", "1.5": "c", "2": "d"}


def test_anchors_and_merges_are_followed() -> None:
    """A map's own keys go first, wherever they stand."""
    text = "base: &b {x: 1, v: 2}\nmore: &m {z: 3}\none: {v: 9, <<: *b}\ntwo: {<<: [*b, *m], v: 9}\nsame: *b"

    assert tree(text) == {
        "base": {"x": 1, "v": 2},
        "more": {"z": 3},
        "one": {"v": 9, "x": 1},
        "two": {"x": 1, "v": 9, "z": 3},
        "same": {"x": 1, "v": 2},
    }


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("a: 1\nb: 2\na: 3", 2, 'expected each key once, got "a" again'),
        ("{<<: {a: 1}, a: 2, a: 3}", 0, 'expected each key once, got "a" again'),
        ("a: &a [1, *a]", 0, "expected no cycle, but &a contains itself"),
        ("a: &a\n  b: *a", 1, "expected no cycle, but &a contains itself"),
        ("a: *b", 0, "expected an anchor &b before the alias"),
        ("[a]: b", 0, "expected a text as key"),
        ("~: b", 0, "expected a text as key"),
        (
            "a: !!python/object:os.system x",
            0,
            "expected plain YAML, got the tag tag:yaml.org,2002:python/object:os.system",
        ),
        ("a: !!set {x}", 0, "expected plain YAML, got the tag tag:yaml.org,2002:set"),
        ("a: !!int x", 0, 'expected a value of type int, got "x"'),
        ("a: {<<: 3}", 0, "expected a map, or a list of maps, after <<"),
        ("a: b: c", 0, "expected YAML: mapping values are not allowed in this context"),
        ("a: [", 1, "expected YAML: while parsing a flow node: did not find expected node content"),
    ],
)
def test_what_is_refused_says_where_and_why(text: str, line: int, problem: str) -> None:
    """Lines count from nought here."""
    error = refusal(text + "\n")

    assert (error.line, error.problem) == (line, problem)


@pytest.mark.parametrize("text", ["[" * 100_000, "{a: " * 100_000, "- " * 50_000, "? " * 50_000])
def test_depth_is_bounded(text: str) -> None:
    """Long before a stack could overrun."""
    assert refusal(text).problem == f"expected at most {DEPTH_MAX} levels of nesting"


def test_an_alias_bomb_is_refused() -> None:
    """Before anything is unfolded."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 20)]

    assert refusal("\n".join(lines)).problem == "expected aliases that unfold to at most 100,000 nodes"


def test_a_merge_bomb_is_refused() -> None:
    """Merging is unfolding too."""
    keys = ", ".join(f"k{n}: {n}" for n in range(1000))
    lines = [f"base: &b {{{keys}}}"] + [f"m{n}: {{<<: *b}}" for n in range(1000)]

    assert "unfold" in refusal("\n".join(lines)).problem


def test_aliases_that_people_use_are_let_through() -> None:
    """A block repeated a thousand times is no bomb."""
    text = "a: &a {x: 1}\nb: [" + ", ".join(["*a"] * 1000) + "]"

    assert tree(text) == {"a": {"x": 1}, "b": [{"x": 1}] * 1000}


def test_a_broken_document_does_not_hide_the_next() -> None:
    """Documents are cut apart before they are read."""
    read = list(documents(b"%YAML 1.1\n---\na: 1\n---\nb: [\n---\n# nothing\n---\nc: |\n  text\n---   \nd: 4\n...\n"))

    assert [one.problem if isinstance(one, YamlError) else one.tree for one in read] == [
        {"a": 1},
        "expected YAML: while parsing a flow node: did not find expected node content",
        None,
        {"c": "text\n"},
        {"d": 4},
    ]


def test_lines_are_found_on_demand() -> None:
    """Of keys, of items, and of the innermost part there is."""
    _, read = documents(
        b"first: 1\n---\nspec:\n  list:\n  - a: 1\n  -\n    b: 2\n  flow: [x,\n    y]\n  again: &n [1]\n  at: *n\n"
    )
    assert isinstance(read, Read)

    paths = [(), ("spec",), ("spec", "list", 1, "b"), ("spec", "flow", 1), ("spec", "at", 0), ("spec", "none", 3)]
    assert [read.line_of(path) for path in paths] == [3, 3, 7, 9, 10, 3]


@pytest.mark.parametrize("text", [b"a: \x80", b"a: \xff\xfe", b"\xff\xfea", b"a: \x00", b"a: \x07"])
def test_bytes_that_are_no_text_are_refused(text: bytes) -> None:
    """In words, not with a codec's error."""
    assert refusal(text).problem.startswith("expected YAML")


@given(st.binary(max_size=200) | st.text(alphabet="-:{}[]&*a!|>'\"#%@`,? \n\t<~01", max_size=200).map(str.encode))
def test_no_input_breaks_the_reader(text: bytes) -> None:
    """Trees of plain things, or YamlErrors; lines can always be asked for."""
    for read in documents(text):
        if isinstance(read, Read):
            assert read.line_of(("a", 0)) >= 1
        else:
            assert read.line >= 0
