"""A batch configuration answers for itself what follows from it."""

from bayplan.framework.tiers import ACTIONS, ARGUMENTS, PLUGINS, BatchConfiguration, Tier, TierPlugin, as_truth


def test_plugins_are_asked_tier_by_tier() -> None:
    """In the order written."""
    gang, drf, priority = (TierPlugin(name=name) for name in ("gang", "drf", "priority"))
    found = BatchConfiguration(
        actions=("allocate",), tiers=(Tier((gang, drf)), Tier((priority,))), namespace_as_queue=False
    )

    assert list(found.plugins) == [gang, drf, priority]


def test_only_what_go_takes_for_a_truth_is_one() -> None:
    """Anything else is neither true nor false."""
    assert [as_truth(text) for text in ("t", "True", "1")] == [True] * 3
    assert [as_truth(text) for text in ("f", "FALSE", "0")] == [False] * 3
    assert [as_truth(text) for text in ("yes", "tRUE", "", "on", " true")] == [None] * 5


def test_what_takes_arguments_is_a_plugin_that_there_is() -> None:
    """And no name means two things."""
    assert ARGUMENTS.keys() <= set(PLUGINS)
    assert not set(ACTIONS) & set(PLUGINS)
