"""The heap pops the first, and does not notice when what stands in it changes."""

from hypothesis import given
from hypothesis import strategies as st

from bayplan.batch.heap import Heap


@given(st.lists(st.integers()))
def test_what_does_not_change_comes_out_in_order(numbers: list[int]) -> None:
    """Pushed in any order, popped from the smallest."""
    heap: Heap[int] = Heap(lambda one, other: one < other)
    for number in numbers:
        heap.push(number)

    assert [heap.pop() for _ in numbers] == sorted(numbers)


def test_a_changed_key_is_seen_only_where_it_is_compared() -> None:
    """The root was the smallest when it came; what changed since below it is not looked for."""
    keys = {"a": 1, "b": 2, "c": 3}
    heap: Heap[str] = Heap(lambda one, other: keys[one] < keys[other])
    for name in keys:
        heap.push(name)
    keys["c"] = 0

    assert [heap.pop() for _ in range(3)] == ["a", "c", "b"]


def test_the_last_takes_the_place_of_the_first_and_sifts_down() -> None:
    """With equal keys the order is that of a binary heap, not that of arrival."""
    heap: Heap[int] = Heap(lambda _one, _other: False)
    for number in range(4):
        heap.push(number)

    assert [heap.pop() for _ in range(4)] == [0, 3, 2, 1]
