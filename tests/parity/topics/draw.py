"""Drawing: the one source of luck of a random case, so that a seed gives the case again."""

import random
from collections.abc import Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")


class Draw(random.Random):
    """Luck with a seed, and the few ways in which topics use it."""

    def chance(self, share: float) -> bool:
        """Return true in that share of all draws."""
        return self.random() < share

    def weighted(self, weights: Mapping[T, float]) -> T:
        """Return a key, each as often as its weight says."""
        return self.choices(list(weights), weights=list(weights.values()))[0]

    def some(self, options: Sequence[T], most: int, least: int = 0) -> list[T]:
        """Return `least` to `most` different options, in any order."""
        most = min(most, len(options))
        return self.sample(options, self.randint(min(least, most), most))
