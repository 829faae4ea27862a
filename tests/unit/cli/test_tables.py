"""Answers as text: aligned, whole, and the same on every terminal."""

import pytest

from bayplan.cli.tables import placements, summary, table
from tests.kit import case


def row(pod: str, node: str | None, score: int | None = None, message: str | None = None) -> dict[str, object]:
    """Return a decision as the command takes it down."""
    return {"pod": pod, "node": node, "score": score, "message": message, "among": 0}


def test_columns_are_as_wide_as_what_is_in_them() -> None:
    """Numbers stand right; nothing is cut and no line ends in spaces."""
    assert table(("A", "NUMBER", "C"), [("x" * 5, "7", "long " * 40), ("y", "1234567", "")], right=(1,)) == [
        "A       NUMBER  C",
        "xxxxx        7  " + ("long " * 40).strip(),
        "y      1234567",
    ]


def test_messages_have_a_column_where_there_are_any() -> None:
    """Who fits nowhere says why."""
    assert placements([row("a/b", "one", 10)]) == ["POD  NODE  SCORE", "a/b  one      10"]
    assert placements([row("a/b", "one", 10), row("a/c", None, message="0/1 nodes")]) == [
        "POD  NODE  SCORE  MESSAGE",
        "a/b  one      10",
        "a/c  -            0/1 nodes",
    ]


@pytest.mark.parametrize(("rows", "nodes", "line"), [
    case("all", [row("a", "x"), row("b", "x")], 2, "2 of 2 pods placed, on 1 of 2 nodes."),
    case("some", [row("a", "x"), row("b", None)], 1, "1 of 2 pods placed, on 1 of 1 node; 1 not."),
    case("none", [row("a", None)] * 1500, 0, "0 of 1,500 pods placed, on 0 of 0 nodes; 1,500 not."),
])  # fmt: skip
def test_the_summary_counts(rows: list[dict[str, object]], nodes: int, line: str) -> None:
    """Pods, and the nodes that they use."""
    assert summary(rows, nodes) == line
