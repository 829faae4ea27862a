"""A profile gives its rules by point."""

from bayplan.framework.plugin import Gates, Plugin
from bayplan.framework.profile import Instance, Profile


class Rule(Plugin[None, None]):
    """A rule that is never asked."""


def test_points_in_the_order_given() -> None:
    """What is listed at a point is what the profile asks there, in that order; a point not listed asks nothing."""
    first, second = Instance("First", Rule(), 3), Instance("Second", Rule())
    profile = Profile("mine", {"filter": [second, first], "score": [first]}, Gates(toleration_comparison=True))

    assert (profile.scheduler_name, profile.gates.toleration_comparison) == ("mine", True)
    assert profile.filter == (second, first)
    assert profile.score == profile.points["score"] == (first,)
    assert profile.pre_enqueue == profile.pre_filter == profile.pre_score == ()


def test_instances_are_told_apart_by_identity() -> None:
    """Two instances of one class and name are two: each may have its own arguments."""
    assert Instance("Rule", Rule()) != Instance("Rule", Rule())
