"""Amounts: what jobs and queues ask for, hold and deserve, compared exactly or with kube-batch's tolerances.

An amount names CPU (milli), memory (bytes) and any other resource (milli), the latter only where somebody named it:
an amount that names a resource with nought is another than one that does not, and comparisons look at that.
Invariant: numbers that were whole stay exact; only shares of the whole (`scaled`) have fractions.
Not here: amounts per node, which are columns (room.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from bayplan.api.requests import CPU, MEMORY, is_scalar

MILLI: Final = 1000


class Slack(NamedTuple):
    """How much too little still counts as enough."""

    cpu: float = 0
    memory: float = 0
    other: float = 0


EXACT: Final = Slack()
TOLERANT: Final = Slack(10, 10 * 1024 * 1024, 10)


class Amount:
    """CPU, memory and what else is named; it is changed in place by `add` and `take`."""

    __slots__ = ("cpu", "memory", "others")

    def __init__(self, cpu: float = 0, memory: float = 0, others: dict[str, float] | None = None) -> None:
        self.cpu = cpu
        self.memory = memory
        self.others = others  # None: nobody ever named one

    @classmethod
    def of(cls, requests: Iterable[tuple[str, int]]) -> Amount:
        """Read it from what is compared: CPU in milli, memory in bytes, pieces of others."""
        found = cls()
        for name, amount in requests:
            if name == CPU:
                found.cpu += amount
            elif name == MEMORY:
                found.memory += amount
            elif is_scalar(name):
                others = found.others = found.others if found.others is not None else {}
                others[name] = others.get(name, 0) + amount * MILLI
        return found

    @classmethod
    def named(cls, name: str, amount: float) -> Amount:
        """Return so much of one resource."""
        if name == CPU:
            return cls(amount)
        return cls(0, amount) if name == MEMORY else cls(0, 0, {name: amount})

    def __repr__(self) -> str:
        named = "".join(f", {name} {amount:g}" for name, amount in (self.others or {}).items())
        return f"cpu {self.cpu:g}, memory {self.memory:g}{named}"

    def copy(self) -> Amount:
        """Return one that may be changed apart."""
        return Amount(self.cpu, self.memory, None if self.others is None else dict(self.others))

    def get(self, name: str) -> float:
        """Return how much of a resource it is, nought where it is not named."""
        if name == CPU:
            return self.cpu
        if name == MEMORY:
            return self.memory
        return self.others.get(name, 0) if self.others is not None else 0

    def names(self) -> Iterator[str]:
        """Return the resources that it names."""
        yield CPU
        yield MEMORY
        if self.others is not None:
            yield from self.others

    # -- arithmetic

    def add(self, more: Amount) -> Amount:
        """Raise it by another."""
        self.cpu += more.cpu
        self.memory += more.memory
        if more.others:
            others = self.others = self.others if self.others is not None else {}
            for name, amount in more.others.items():
                others[name] = others.get(name, 0) + amount
        return self

    def take(self, less: Amount) -> Amount:
        """Lower it by another."""
        self.cpu -= less.cpu
        self.memory -= less.memory
        if less.others and self.others is not None:
            for name, amount in less.others.items():
                self.others[name] = self.others.get(name, 0) - amount
        return self

    def forget_noughts(self) -> None:
        """Name no resource any more of which nothing is left."""
        if self.others is not None:
            self.others = {name: amount for name, amount in self.others.items() if amount} or None

    def scaled(self, ratio: float) -> Amount:
        """Return a share of it."""
        others = None if self.others is None else {name: amount * ratio for name, amount in self.others.items()}
        return Amount(self.cpu * ratio, self.memory * ratio, others)

    def at_most(self, other: Amount) -> Amount:
        """Return the smaller of each; nothing but CPU and memory where one of the two names nothing else."""
        mine, its = self.others, other.others
        others = None
        if mine is not None and its is not None:
            others = {name: min(amount, its.get(name, 0)) for name, amount in mine.items()}
        return Amount(min(self.cpu, other.cpu), min(self.memory, other.memory), others)

    # -- comparisons

    def is_empty(self, slack: Slack) -> bool:
        """Say whether it is nothing, or too little to count."""
        if slack == EXACT:
            return not self.cpu and not self.memory and not any((self.others or {}).values())
        if self.cpu >= slack.cpu or self.memory >= slack.memory:
            return False
        return all(amount < slack.other for amount in (self.others or {}).values())

    def fits(self, room: Amount, slack: Slack) -> bool:
        """Say whether there is room for it; of other resources only what it asks for is looked at."""
        if self.cpu > room.cpu and self.cpu - room.cpu >= slack.cpu:
            return False
        if self.memory > room.memory and self.memory - room.memory >= slack.memory:
            return False
        for name, amount in (self.others or {}).items():
            if amount > slack.other and (there := room.get(name)) < amount and amount - there >= slack.other:
                return False
        return True

    def is_below(self, other: Amount, slack: Slack) -> bool:
        """Say whether it is less than another in everything, without any tolerance."""
        if not (self.cpu < other.cpu and self.memory < other.memory):
            return False
        if self.others is None:
            return all(amount > slack.other for amount in (other.others or {}).values())
        if other.others is None:
            return False
        return all(amount < other.others.get(name, 0) for name, amount in self.others.items())


def ratio(part: float, whole: float) -> float:
    """Return which share of a whole a part is; any part of nothing is all of it."""
    if whole == 0:
        return 0.0 if part == 0 else 1.0
    return part / whole


def dominant_share(part: Amount, whole: Amount) -> float:
    """Return the largest share among the resources that the whole names."""
    share = max(ratio(part.cpu, whole.cpu), ratio(part.memory, whole.memory), 0.0)
    for name, amount in (whole.others or {}).items():
        share = max(share, ratio(part.get(name), amount))
    return share
