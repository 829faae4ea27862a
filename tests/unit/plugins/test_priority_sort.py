"""PrioritySort: higher priority first, then who has waited longer."""

from bayplan.plugins.priority_sort import PrioritySort
from tests.kit import a_pod


def test_the_queue_is_in_order_of_priority_then_of_waiting() -> None:
    """A pod without a priority has nought."""
    waiting = [("late", a_pod(priority=5), 9.0), ("none", a_pod(), 1.0), ("early", a_pod(priority=5), 2.0),
               ("below", a_pod(priority=-1), 0.0)]  # fmt: skip
    rule = PrioritySort()

    order = [name for name, _, _ in sorted(waiting, key=lambda one: rule.queue_key(one[1], one[2]))]
    assert order == ["early", "late", "none", "below"]
