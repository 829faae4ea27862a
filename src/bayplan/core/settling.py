"""Settling: what a lane decided is carried out: all its placements or none, evictions, and who has to wait.

What was decided over several turns may be out of date by now: every placement whose row has changed is judged again
before anything is told to anybody, and one that does not hold takes the others with it.
Invariant: no effect of a placement leaves before every rule at reserve and permit has agreed to all that go together.
Not here: deciding (a lane), the way to the node (binding.py), and what becomes of who waits (queue.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from bayplan.api.messages import Effect, Ending, Evict
from bayplan.core.waiting import Place, Waiting
from bayplan.framework.evaluate import Attempt
from bayplan.framework.lane import ERROR, Eviction, Placement, Plan, Rejection
from bayplan.framework.plugin import Change

if TYPE_CHECKING:
    from bayplan.core.scheduler import Core

CHANGED: Final = "something changed before it could go"


class Late(NamedTuple):
    """A plan that took several turns, and where the table's log of rows was when it was done."""

    plan: Plan
    position: int


class Settling:
    """Carries out plans."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.evicting: dict[str, int] = {}  # by uid: asked to leave, not seen leaving; the number of the write
        self._evictions: dict[int, Eviction] = {}  # by number, until their end is told

    def settle(self, plan: Plan) -> None:
        """Carry out what a lane has just decided."""
        core = self._core
        for unplaced in plan.verdicts:
            waiting = core.queue.all.get(unplaced.uid)
            if waiting is None or unplaced.uid in core.binding.flights or self._is_told(waiting, unplaced.rejection):
                continue
            if self._taken(waiting.uid) is not None:
                core.trying = waiting
                core.fail(waiting, unplaced.rejection, unplaced)
        core.trying = None
        for eviction in plan.evictions:
            self._evict(eviction)
        if plan.placements:
            self._place(plan.placements)
        core.out.extend(plan.effects)

    def settle_late(self, late: Late) -> None:
        """Carry out what was decided over several turns, if it still holds."""
        self.settle(late.plan if self._core.may_try and self._holds(late) else self.taken_back(late.plan))

    # -- placements

    def _place(self, placements: Sequence[Placement]) -> None:
        """Send off all of some pods, or none."""
        core, mark, started = self._core, len(self._core.out), list[Waiting]()
        for placement in placements:
            waiting = self._taken(placement.uid)
            if waiting is None:
                raise ValueError(f"a lane placed {placement.uid}, which does not wait")
            core.trying = waiting
            started.append(waiting)
            rejection = core.binding.start(waiting, placement, core.now_ms)
            if rejection is not None:
                del core.out[mark:]
                self._refuse(placements, started, waiting, rejection)
                return
        for waiting in started:
            core.trying = waiting
            core.tell(waiting.uid, f"reserved {core.binding.flights[waiting.uid].node}")
        for waiting in started:
            core.trying = waiting
            core.advance(waiting)
        core.trying = None

    def _refuse(
        self, placements: Sequence[Placement], started: list[Waiting], refused: Waiting, rejection: Rejection
    ) -> None:
        """Take back those that were to go together: one of them may not go."""
        core = self._core
        for waiting in reversed(started):
            core.binding.undo(waiting.uid)
        for placement in placements[len(started) :]:
            self._forget(placement)
            other = self._taken(placement.uid)
            started += [] if other is None else [other]
        because = rejection._replace(message=f"{refused.pod.key}, which goes with it, may not go: {rejection.message}")
        for waiting in started:
            core.trying = waiting
            core.fail(waiting, rejection if waiting is refused else because)
        core.trying = None

    def _taken(self, uid: str) -> Waiting | None:
        """Take a pod out of the queue, unless it is out already."""
        waiting = self._core.queue.all.get(uid)
        if waiting is not None and waiting.place is not Place.IN_FLIGHT:
            waiting.began_ms = self._core.now_ms
        return self._core.queue.take(uid)

    # -- plans that took several turns

    def _holds(self, late: Late) -> bool:
        """Say whether all placements still hold: nobody is gone, and every row that changed still takes its pod."""
        core = self._core
        rows = core.table.row_log.since(late.position)
        changed = None if rows is None else set(rows.tolist())
        return all(
            self._waits(placement.uid)
            and ((changed is not None and placement.row not in changed) or self._fits(placement))
            for placement in late.plan.placements
        )

    def _waits(self, uid: str) -> bool:
        waiting = self._core.queue.all.get(uid)
        return waiting is not None and waiting.place is not Place.GATED and uid not in self._core.binding.flights

    def _fits(self, placement: Placement) -> bool:
        """Judge a placement again, without the pod itself on its row."""
        core, table = self._core, self._core.table
        waiting = core.queue.all[placement.uid]
        known = table.pods.get(placement.uid)
        if known is not None and known.row != placement.row:
            return False
        if known is not None:
            table.remove(placement.uid)
        shape = core.lane.reader.shape(waiting.pod)
        fits = bool(Attempt(table, waiting.profile, waiting.pod, shape).evaluate().feasible[placement.row])
        if known is not None:
            table.seat(known)
        return fits

    def taken_back(self, plan: Plan) -> Plan:
        """Forget all placements of a plan that does not hold any more: they are tried again, at once."""
        core = self._core
        for placement in plan.placements:
            self._forget(placement)
            waiting = core.queue.all.get(placement.uid)
            if waiting is not None and waiting.place is Place.IN_FLIGHT and placement.uid not in core.binding.flights:
                core.queue.again(waiting, CHANGED, core.now_ms)
        return plan._replace(placements=(), evictions=())

    def _forget(self, placement: Placement) -> None:
        """Give back what a lane took for a placement that is not begun."""
        core = self._core
        if core.table.is_assumed(placement.uid) and placement.uid not in core.binding.flights:
            core.table.drop_pod(placement.uid)
        for reserved in reversed(placement.reserved or ()):
            core.table.volumes.release(reserved)

    # -- evictions

    def _evict(self, eviction: Eviction) -> None:
        core = self._core
        resident = core.table.pods.get(eviction.uid)
        if resident is None or resident.is_assumed or eviction.uid in self.evicting:
            return
        write, meta = core.binding.next_write(), resident.pod.metadata
        self.evicting[eviction.uid] = write
        self._evictions[write] = eviction
        core.tell(eviction.uid, "asked to leave", eviction.why)
        core.out.append(
            Evict(
                uid=eviction.uid,
                namespace=meta.namespace,
                name=meta.name,
                cause=eviction.why,
                node=resident.pod.spec.node_name,
                write=write,
            )
        )

    def ended(self, write: int, ending: Ending) -> bool:
        """Take in how an eviction ended; say whether it was one."""
        eviction = self._evictions.pop(write, None)
        if eviction is None:
            return False
        if ending is not Ending.DONE:
            self._failed(eviction)
        return True

    def left(self, uid: str) -> None:
        """Note that a pod was seen leaving."""
        write = self.evicting.pop(uid, None)
        if write is not None:
            self._evictions.pop(write, None)

    def unsend(self, effects: Sequence[Effect]) -> None:
        """Forget evictions that were never told to anybody."""
        for effect in effects:
            if isinstance(effect, Evict):
                eviction = self._evictions.pop(effect.write, None)
                if eviction is not None:
                    self._failed(eviction)

    def _failed(self, eviction: Eviction) -> None:
        """Have whoever was to have the room tried again: it will not come by itself."""
        core = self._core
        self.evicting.pop(eviction.uid, None)
        waiting = core.queue.all.get(eviction.by)
        if waiting is not None:
            core.queue.note(frozenset(Change))
            core.queue.wake(waiting, "an eviction for it failed", core.now_ms)

    @staticmethod
    def _is_told(waiting: Waiting, rejection: Rejection) -> bool:
        """Say whether a pod that waits for a session has been told just this."""
        return waiting.place is Place.SESSION and rejection.reason != ERROR and waiting.was_told(rejection)
