"""Label keys as columns: a small number per row, asked about once per value."""

from bayplan.cluster.keys import ABSENT, Key
from tests.kit import ZONE, a_cluster, node


def test_a_value_keeps_its_number() -> None:
    """Though no row has it any more."""
    table = a_cluster(node("a", zone="1"), node("b", zone="2"))
    key = table.key(ZONE)
    table.drop_node("a")
    table.put_node(node("c", zone="3"))

    assert key.values == ["1", "2", "3"]
    assert [key.known(value) for value in ("1", "3", "4")] == [0, 2, ABSENT]


def test_a_row_without_the_label_is_absent() -> None:
    """Also when its node has gone, or has lost the label."""
    table = a_cluster(node("a", zone="1"), node("b"), node("c", zone="1"))
    key = table.key(ZONE)
    table.drop_node("a")
    table.put_node(node("c"))

    assert key.ids[:3].tolist() == [ABSENT] * 3


def test_an_empty_value_is_a_value() -> None:
    """It is not the same as no label."""
    key = Key("k", 2)
    key.write(0, {"k": ""})
    key.write(1, {})

    assert key.where("is empty", lambda value: value == "", 2).tolist() == [True, False]


def test_a_question_is_asked_once_per_value() -> None:
    """And again only when there is a new one."""
    key, asked = Key("k", 4), list[str | None]()

    def holds(value: str | None) -> bool:
        asked.append(value)
        return value == "x"

    for row, value in enumerate(("x", "y", "x")):
        key.write(row, {"k": value})
    assert key.where("x?", holds, 3).tolist() == [True, False, True]
    assert key.where("x?", holds, 3).tolist() == [True, False, True]
    assert asked == ["x", "y", None]

    key.write(3, {"k": "z"})
    assert key.where("x?", holds, 4).tolist() == [True, False, True, False]
    assert asked.count("z") == 1
