"""Stories: bounded for each pod and in all."""

from bayplan.core.stories import CHARACTERS_MAX, LINES_MAX, Line, Stories


def test_a_story_keeps_its_last_lines() -> None:
    """The oldest go first."""
    stories = Stories()
    for number in range(LINES_MAX + 5):
        stories.tell("uid", Line(number, 1, "watch", f"line {number}"))

    assert [line.at_ms for line in stories.of("uid")] == list(range(5, LINES_MAX + 5))


def test_all_stories_together_are_bounded() -> None:
    """Whoever was told of the longest ago is forgotten, and the count of bytes is right."""
    stories = Stories(bytes_max=1000)
    for number in range(50):
        stories.tell(f"uid-{number}", Line(number, 1, "watch", "added"))
    kept = [number for number in range(50) if stories.of(f"uid-{number}")]

    assert stories.bytes <= 1000
    assert kept == list(range(50 - len(kept), 50))
    assert stories.bytes == sum(line.bytes for number in kept for line in stories.of(f"uid-{number}"))


def test_a_long_reason_is_cut() -> None:
    """No line takes more than it may."""
    stories = Stories()
    stories.tell("uid", Line(0, 1, "watch", "waiting", "x" * 5000))

    assert len(stories.of("uid")[0].why) == CHARACTERS_MAX
