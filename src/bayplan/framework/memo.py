"""Memos: what one rule found for one part, what it read to find it, and what it has to say in one profile.

Invariant: while a memo stands, preparing the rule again would find the same.
Not here: what plans make of memos (plan.py, plans.py).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bayplan.cluster.shapes import VOLUMES, Part
from bayplan.framework.asks import Ask, Recorder

if TYPE_CHECKING:
    from bayplan.cluster.table import Table
    from bayplan.framework.plugin import Failed, Prepared, Rejected
    from bayplan.framework.profile import Instance, Profile
    from bayplan.framework.search import Search

OURS: Final = "bayplan.plugins."


class Roles(NamedTuple):
    """What a rule does for a part in one profile."""

    state: object
    filters: bool
    scores: bool
    prepares: bool  # its score, anew whenever it is asked
    normalizes: bool
    is_ours: bool  # its scores are known to be in range


class Duty(NamedTuple):
    """What a profile has one of its rules do, whatever the part."""

    instance: Instance
    reads: Part[Any]
    is_first: bool  # it is asked before any row is looked at, and may refuse
    filters: bool
    scores: bool
    prepares: bool  # its score
    normalizes: bool
    is_ours: bool

    @classmethod
    def of(cls, instance: Instance, profile: Profile) -> Duty:
        """Read it off a profile; a rule that reads no part is nobody's duty."""
        name, plugin = instance.name, instance.plugin
        assert plugin.reads is not None  # noqa: S101 nothing is remembered of such
        return cls(
            instance,
            plugin.reads,
            name in profile.asked_first,
            any(name == other.name for other in profile.filter),
            any(name == other.name for other in profile.score),
            plugin.overrides("prepare_score") and any(name == other.name for other in profile.pre_score),
            plugin.overrides("normalize"),
            type(plugin).__module__.startswith(OURS),
        )


class Memo:
    """What one rule found for one part."""

    def __init__(self, duty: Duty, part: object, table: Table) -> None:
        instance = duty.instance
        self.duty = duty
        self.instance = instance
        self.part = part
        view = Recorder(table)
        self.prepared: Prepared[object] | Rejected | Failed = instance.plugin.prepare(part, view)
        self.roles: Roles | None = None  # None: it has nothing to say; set by the profile's plans
        self.names: frozenset[str] | None = None  # the only nodes it lets a pod go to
        self.rejects = False  # it refuses the pod before any row is looked at
        self.asks: dict[Ask, None] | None = None  # of a tally rule, once found out
        self.search: Search | None = None  # of a searching rule that filters
        self.of_volumes = duty.reads is VOLUMES and part is not None
        self.seen = table.ticks.value + (table.volumes.changes if self.of_volumes else 0)
        self._plain = [read for read in view.reads if read.tally is None]
        self._by_tally = [(read, read.tally) for read in view.reads if read.tally is not None]
        self._versions = [tally.version for _, tally in self._by_tally]
        self.reads_tallies = bool(self._by_tally)  # it may be out of date though nothing but pods came and went
        self._answers: Hashable = None

    def stands(self, ticks: int, volume_changes: int) -> bool:
        """Say whether all that was read still reads the same."""
        seen = ticks + volume_changes if self.of_volumes else ticks
        if self.seen != seen:
            if not all(read.stands for read in self._plain):
                return False
            self.seen = seen
        for place, (read, tally) in enumerate(self._by_tally):
            if tally.version != self._versions[place]:
                if not read.stands:
                    return False
                self._versions[place] = tally.version
        return True

    @property
    def answers(self) -> Hashable:
        """Name what a rule about nodes answers: by its state where that can be compared, else by who prepared it."""
        if self._answers is None:
            try:
                hash(self.roles)
                self._answers = self.instance.name, self.roles
            except TypeError:
                self._answers = id(self)
        return self._answers
