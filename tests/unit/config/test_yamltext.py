"""What is written as YAML reads back as the same tree."""

from hypothesis import given
from hypothesis import strategies as st

from bayplan.api.yamltree import documents
from bayplan.config.yamltext import Node, Value, bare, noted, text

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False)
)
WORDS = st.sampled_from(
    ["yes", "No", "null", "~", "on", "1", "0x1f", "1e3", "a b", "a: b", "- a", "#", "a #b", ".5", "=", "<<"]
)
TREES = st.recursive(
    SCALARS | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9) | WORDS, inner, max_size=3),
    max_leaves=12,
)


@given(tree=st.dictionaries(st.text(max_size=9), TREES, max_size=4))
def test_what_is_written_reads_back(tree: dict[str, object]) -> None:
    """With remarks and without."""
    tree.pop("<<", None)
    node = noted(tree, "a remark\nof two lines")
    for remarks in (True, False):
        found = next(iter(documents(text(node, remarks=remarks).encode())))

        assert getattr(found, "tree", found) == bare(node)


def test_it_is_written_as_people_do() -> None:
    """In blocks, with remarks in a column, quotes only where they are needed."""
    tree: Node = {
        "a": Value(1, "here"),
        "list": [{"name": Value("x y"), "on": Value(value=True)}],
        "none": Value([]),
        "q": Value("yes"),
    }

    assert text(tree) == (
        "a: 1" + " " * 60 + "# here\n"
        "list:\n"
        "- name: x y\n"
        '  "on": true\n'
        "none: []\n"
        'q: "yes"\n'
    )  # fmt: skip
    assert text(tree, remarks=False).startswith("a: 1\nlist:")
