"""Stories: what happened to each pod, in order, each line with its cause and reason.

Invariant: no story has more than LINES_MAX lines, and all together no more bytes than they may have: the oldest line of
a story goes first, and of the stories the one that was added to the longest ago.
Not here: what is shown of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

LINES_MAX: Final = 32
BYTES_MAX: Final = 64 << 20
LINE_BYTES: Final = 160  # a tuple, its place, a number
CHARACTERS_MAX: Final = 1024
NOTHING: Final = ()


class Line(NamedTuple):
    """One thing that happened to a pod."""

    at_ms: int
    turn: int
    cause: str
    what: str
    why: str = ""

    @property
    def bytes(self) -> int:
        """How much room the line is counted with."""
        return LINE_BYTES + len(self.cause) + len(self.what) + len(self.why)


class Stories:
    """All stories, by uid."""

    def __init__(self, bytes_max: int = BYTES_MAX) -> None:
        self.bytes = 0
        self._bytes_max = bytes_max
        self._stories: dict[str, list[Line]] = {}  # the one added to last is last

    def tell(self, uid: str, line: Line) -> None:
        """Add a line to a pod's story."""
        if len(line.why) > CHARACTERS_MAX:
            line = line._replace(why=f"{line.why[: CHARACTERS_MAX - 4]} ...")
        story = self._stories.pop(uid, None)
        if story is None:
            story = []  # a deque would take a block of 64 places for the one or two lines that most have
        self._stories[uid] = story
        story.append(line)
        self.bytes += LINE_BYTES + len(line.cause) + len(line.what) + len(line.why)
        if len(story) > LINES_MAX:
            self.bytes -= story.pop(0).bytes
        while self.bytes > self._bytes_max and len(self._stories) > 1:
            oldest = next(iter(self._stories))
            self.bytes -= sum(line.bytes for line in self._stories.pop(oldest))

    def lines(self) -> Iterator[Line]:
        """Return the lines of all stories."""
        return chain.from_iterable(self._stories.values())

    def of(self, uid: str) -> Sequence[Line]:
        """Return a pod's story."""
        return tuple(self._stories.get(uid, NOTHING))
