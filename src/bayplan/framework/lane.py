"""Lanes: how a profile's pods are tried, one by one, in groups, or all of them in a session.

A lane only decides.  The core hands it a pod from the queue, or asks it when its own time has come; what it decides
goes the one way that every placement goes.  It may try things out in a trial on the live table.  A trial that it keeps
(what it placed is assumed from then on) names what goes together; a trial that it leaves open while its budget is spent
keeps all events waiting until it goes on.
Invariant: between two calls of `plan`, what a lane has placed in the table is under way to be bound, or the lane itself
forgets it before it says that it is done.
Not here: the lanes themselves (core/pod_lane.py, batch), the queue (core) and binding (core).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    from bayplan.api.messages import Effect
    from bayplan.api.objects import Object, Pod
    from bayplan.cluster.books.volumes import Reserved
    from bayplan.cluster.claims import Reservation
    from bayplan.cluster.columns import Row
    from bayplan.cluster.reading import Reader
    from bayplan.cluster.shapes import Shape
    from bayplan.cluster.table import Table
    from bayplan.framework.profile import Profile
    from bayplan.framework.run import Rules

UNSCHEDULABLE: Final = "Unschedulable"
QUOTA_EXCEEDED: Final = "QuotaExceeded"  # there may be room, but not for whoever is promised no more
ERROR: Final = "SchedulerError"


# --- what a lane is given --------------------------------------------------------------------------------------------


class Ground(NamedTuple):
    """What a lane works on; all lanes of a core share it."""

    table: Table
    reader: Reader
    rules: Rules
    evicting: Mapping[str, int]  # uids of pods that were asked to leave and have not been seen leaving


class Entity(Protocol):
    """A pod that waits, as a lane sees it."""

    @property
    def uid(self) -> str: ...
    @property
    def pod(self) -> Pod: ...
    @property
    def profile(self) -> Profile: ...
    @property
    def attempts(self) -> int: ...
    @property
    def nominated_to(self) -> str: ...  # a node's name, empty: none


class Waiters(Protocol):
    """Those who wait, as a lane sees them: neither held back by a gate nor on their way to a node."""

    def get(self, uid: str) -> Entity | None: ...
    def kin(self, entity: Entity) -> Collection[Entity]: ...
    def of(self, profile: Profile) -> Collection[Entity]: ...


# --- what a lane decides ---------------------------------------------------------------------------------------------


class Rejection(NamedTuple):
    """Why an attempt ended without a node; without a rule that said so it was an error."""

    reason: str  # UNSCHEDULABLE, QUOTA_EXCEEDED or ERROR
    message: str
    by: frozenset[str] = frozenset()
    shape: Shape | None = None  # as the pod was read; None: it is read when it comes back
    is_late: bool = False  # said at reserve or permit: no row can be asked again


class Placement(NamedTuple):
    """A pod and its row, and what it takes there besides."""

    uid: str
    row: Row
    reservations: tuple[Reservation, ...] = ()
    reserved: tuple[Reserved, ...] | None = None  # the same, taken in a trial that was kept


class Eviction(NamedTuple):
    """A running pod that has to leave, and for whom."""

    uid: str
    by: str  # the uid of the pod that is to have its room: tried again should the eviction fail
    why: str


class Unplaced(NamedTuple):
    """A pod that has no row; where room is being made for it, it is nominated."""

    uid: str
    rejection: Rejection
    nominated: Row | None = None
    keeps: bool = False  # it stays nominated as it is


class Plan(NamedTuple):
    """What a lane decided within a budget."""

    spent: int  # work units, at least 1
    placements: Sequence[Placement] = ()  # all of them go, or none
    evictions: Sequence[Eviction] = ()
    verdicts: Sequence[Unplaced] = ()
    effects: Sequence[Effect] = ()  # what else is to be told, such as a group's status
    is_done: bool = True  # False: it is asked again to go on, with the same pod


class Lane(Protocol):
    """A way to try a profile's pods, on one table; one that also has `put` and `drop` hears of objects (Hearing)."""

    def next_ms(self) -> int | None:
        """Return when it is to be asked though no pod is handed to it; None: never."""

    def plan(self, first: Entity | None, waiting: Waiters, now_ms: int, budget: int) -> Plan:
        """Decide about a pod (and whom else it likes), or go on with what was begun."""


@runtime_checkable
class Hearing(Protocol):
    """A lane that keeps something of its own of what is heard, beside the table.

    It is told of every object that is news, of whatever kind, once table and queue know; a lane that is made on a table
    built anew is told of all that are known, once what is on its way is assumed there again.
    """

    def put(self, thing: Object) -> None:
        """Hear of an object, new or changed."""

    def drop(self, thing: Object) -> None:
        """Hear that an object is gone."""


Make: TypeAlias = "Callable[[Ground, Profile], Lane]"


class LaneKind(NamedTuple):
    """A lane as a profile names it; one is made per table."""

    name: str
    make: Make
    kin: Callable[[Pod], str] | None = None  # the name of the group a pod is tried with; empty: alone
    has_sessions: bool = False  # nobody is handed to it: it asks for all who wait when its time has come
