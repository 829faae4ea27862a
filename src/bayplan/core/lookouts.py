"""Lookouts: those who wait for one rule, put together by the part of their shapes that the rule reads.

A rule that is looked at again answers once for each part, and where rules can be stacked, once for many parts: what
waits for the same reason wakes together, however many pods and shapes that are.
Invariant: a group is in the lookout of each rule that turned it down, under the part that the rule reads of its shape.
Not here: which changes make a rule be looked at (wakeups.py) and where pods wait (queue.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from bayplan.core.waiting import Group
from bayplan.framework.memo import Duty, Memo
from bayplan.framework.plugin import EVERYTHING, Failed, Rejected
from bayplan.framework.profile import Instance, Profile

if TYPE_CHECKING:
    from bayplan.cluster.table import Table

UNASKED: Final = 0
"""Where those stand about whom no row can be asked."""
ALONE_MOST: Final = 16
"""So many, and a quarter of all, may stand alone before all are put together anew."""


class Alike:
    """Groups that a rule sees alike."""

    __slots__ = ("groups", "memo", "part")

    def __init__(self, part: object) -> None:
        self.part = part
        self.groups: dict[Group, None] = {}
        self.memo: Memo | None = None  # what the rule found for the part

    def of(self, duty: Duty, table: Table) -> Memo:
        """Return what the rule finds for the part as things are."""
        memo = self.memo
        if memo is None or not memo.stands(table.ticks.value, table.volumes.changes):
            memo = self.memo = Memo(duty, self.part, table)
        return memo


class Stack(NamedTuple):
    """Parts about which a rule can be asked at once."""

    alikes: list[Alike]
    memos: list[Memo]  # that the state was made of
    state: object

    def stands(self, duty: Duty, table: Table) -> bool:
        """Say whether the rule would still find the same for every part."""
        return all(one.of(duty, table) is memo for one, memo in zip(self.alikes, self.memos, strict=True))


class Lookout:
    """Those who wait for one rule."""

    def __init__(self, instance: Instance, profile: Profile) -> None:
        self.instance = instance
        plugin = instance.plugin
        can_ask = plugin.reads is not None and plugin.depends is not EVERYTHING and plugin.overrides("filter")
        self.duty = Duty.of(instance, profile) if can_ask else None
        self._alikes: dict[int, Alike] = {}  # by the part's identity; in a stack some may have nobody any more
        self._waited = 0  # how many have somebody
        self._stacks: list[Stack] | None = None
        self._stacked_at = -1  # when what they are made of was last looked at
        self._alone: dict[int, Alike] = {}  # those in no stack

    def __bool__(self) -> bool:
        return bool(self._waited)

    def join(self, group: Group) -> None:
        """Take in a group that the rule turned down."""
        key, part = self._key(group)
        alike = self._alikes.get(key)
        if alike is None:
            alike = self._alikes[key] = Alike(part)
            if key != UNASKED:
                self._alone[key] = alike
        self._waited += not alike.groups
        alike.groups[group] = None

    def leave(self, group: Group) -> None:
        """Let go of a group that has no members any more."""
        key, _ = self._key(group)
        alike = self._alikes[key]
        del alike.groups[group]
        self._waited -= not alike.groups
        if not alike.groups and (key in self._alone or key == UNASKED):
            self._alone.pop(key, None)
            del self._alikes[key]

    def _key(self, group: Group) -> tuple[int, object]:
        if self.duty is None or group.is_late or group.shape is None:
            return UNASKED, None
        part = group.shape.part(self.duty.reads)
        return id(part), part

    def forget(self) -> None:
        """Forget what was found on a table that is given up."""
        self._unstack()
        for alike in self._alikes.values():
            alike.memo = None

    @property
    def unasked(self) -> Alike | None:
        """Those about whom no row can be asked: any change that the rule waits for may help."""
        return self._alikes.get(UNASKED)

    def groups(self) -> list[Group]:
        """Return all groups."""
        return [group for alike in self._alikes.values() for group in alike.groups]

    def asked(self) -> list[Alike]:
        """Return those about whom rows can be asked."""
        return [alike for key, alike in self._alikes.items() if key != UNASKED and alike.groups]

    # -- many at once

    def stacks(self, table: Table) -> tuple[list[Stack], list[Alike]]:
        """Return what can be asked about at once, and what cannot."""
        if self.duty is None:
            return [], []
        is_new = self._stacked_at != table.ticks.value
        if is_new and not all(stack.stands(self.duty, table) for stack in self._stacks or ()):
            self._unstack()
        if self._stacks is not None and len(self._alone) > ALONE_MOST + len(self._alikes) // 4:
            self._unstack()
        if self._stacks is None:
            self._stacks = self._stacked(self.duty, table)
        self._stacked_at = table.ticks.value
        return self._stacks, list(self._alone.values())

    def _unstack(self) -> None:
        self._stacks = None
        self._alikes = {key: alike for key, alike in self._alikes.items() if alike.groups}
        self._alone = {key: alike for key, alike in self._alikes.items() if key != UNASKED}

    def _stacked(self, duty: Duty, table: Table) -> list[Stack]:
        """Put parts together that the rule says are alike in all but amounts."""
        plugin = self.instance.plugin
        bins: list[list[tuple[Alike, Memo, object]]] = []
        for alike in self._alone.values():
            memo = alike.of(duty, table)
            prepared = memo.prepared
            if isinstance(prepared, Rejected | Failed) or not prepared.filters or prepared.names is not None:
                continue
            found = next((one for one in bins if plugin.stacked([one[0][2], prepared.state]) is not None), None)
            if found is None:
                bins.append(found := [])
            found.append((alike, memo, prepared.state))
        stacks = []
        for members in bins:
            state = plugin.stacked([state for _, _, state in members]) if len(members) > 1 else None
            if state is not None:
                stacks.append(Stack([alike for alike, _, _ in members], [memo for _, memo, _ in members], state))
        together = {id(alike) for stack in stacks for alike in stack.alikes}
        self._alone = {key: alike for key, alike in self._alone.items() if id(alike) not in together}
        return stacks
