"""What a rule is: the contract between a plugin and the framework.

A plugin reads one part of a shape and answers about many rows at once.  It says where its answer lives (`depends`), so
that the framework knows what has to be asked again when something changes; what it reads through its view is recorded
and need not be declared.  A plugin never sees whether a row of its view is a node or a group of nodes.
Not here: which plugins make a profile (profile.py) and in which order they are asked (run.py).
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, NamedTuple, TypeAlias, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from bayplan.framework.checked import check_methods

if TYPE_CHECKING:
    from bayplan.api.objects import Pod
    from bayplan.cluster.columns import Row
    from bayplan.cluster.residents import Resident
    from bayplan.cluster.shapes import Part
    from bayplan.cluster.view import View

Codes: TypeAlias = npt.NDArray[np.int16]
Mask: TypeAlias = npt.NDArray[np.bool_]
Scores: TypeAlias = npt.NDArray[np.int64]
Column: TypeAlias = npt.NDArray[np.int64]
Rows: TypeAlias = npt.NDArray[np.intp]

P = TypeVar("P")  # the part that a rule reads
S = TypeVar("S")  # what it prepares from it

FITS: Final = 0
SCORE_MAX: Final = 100
FEW: Final = 48


class Code(enum.StrEnum):
    """A status as kube-scheduler names it."""

    SUCCESS = "Success"
    UNSCHEDULABLE = "Unschedulable"
    UNRESOLVABLE = "UnschedulableAndUnresolvable"  # eviction cannot help
    ERROR = "Error"


class Outcome(NamedTuple):
    """One way in which a filter answers: a status and its texts."""

    code: Code
    texts: tuple[str, ...] = ()


SUCCESS: Final = Outcome(Code.SUCCESS)


def unschedulable(*texts: str) -> Outcome:
    """Name a rejection that eviction may cure."""
    return Outcome(Code.UNSCHEDULABLE, texts)


def unresolvable(*texts: str) -> Outcome:
    """Name a rejection that no eviction cures."""
    return Outcome(Code.UNRESOLVABLE, texts)


def error(*texts: str) -> Outcome:
    """Name a failure that ends the attempt."""
    return Outcome(Code.ERROR, texts)


class Ruling(NamedTuple):
    """A filter's answer: per row an index into `outcomes`, 0 where the pod fits."""

    codes: Codes  # (rows,)
    outcomes: Sequence[Outcome]  # outcomes[0] is SUCCESS
    short: Mapping[str, Column] | None = None  # how much is missing, by reason text: (rows,)


class Prepared(NamedTuple, Generic[S]):
    """What `prepare` found; `filters=False` is kube-scheduler's PreFilter Skip."""

    state: S
    names: frozenset[str] | None = None  # only these nodes, existing or not
    filters: bool = True


class Rejected(NamedTuple):
    """The pod fits nowhere, whatever the rows say; a profile without the rule's PreFilter goes on with the state."""

    code: Code  # UNSCHEDULABLE or UNRESOLVABLE
    texts: tuple[str, ...]
    state: object = None


class Failed(NamedTuple):
    """The rule could not be asked; the attempt ends with this error text.  The state is as in Rejected."""

    text: str
    state: object = None


class Skip(enum.Enum):
    """The only value of `prepare_score` that means "do not score this pod"."""

    SKIP = 0


SKIP: Final = Skip.SKIP


class Depends(enum.Enum):
    """Where a rule's answer lives; see docs/plugins.md."""

    NODE = "node"  # node objects, catalogues and books
    ROW = "row"  # also the row's own pod-dependent facts
    KEYS = "keys"  # the row only through counts by topology key
    EVERYTHING = "everything"  # anything else: asked in full every time


NODE: Final = Depends.NODE
ROW: Final = Depends.ROW
KEYS: Final = Depends.KEYS
EVERYTHING: Final = Depends.EVERYTHING


class Change(enum.StrEnum):
    """Kinds of change that can help a waiting pod."""

    NODE_ADDED = "node added"
    NODE_ALLOCATABLE = "node allocatable"
    NODE_LABELS = "node labels"
    NODE_TAINTS = "node taints"
    NODE_FEATURES = "node declared features"
    NODE_GONE = "node gone"
    POD_ADDED = "assigned pod added"
    POD_LABELS = "assigned pod labels"
    POD_SHRUNK = "assigned pod asks for less"
    POD_GONE = "assigned pod gone"
    OWN_TOLERATIONS = "the pod's own tolerations"
    OWN_LABELS = "the pod's own labels"
    OWN_GATES = "the pod's own scheduling gates"
    OWN_REQUESTS = "the pod's own requests"
    OWN_OBJECT = "the pod's own object"
    CLAIM = "persistent volume claim"
    VOLUME = "persistent volume"
    STORAGE_CLASS = "storage class"
    CSI_NODE = "CSI node"
    CSI_DRIVER = "CSI driver"
    CSI_CAPACITY = "CSI storage capacity"
    ATTACHMENT_GONE = "volume attachment gone"
    NAMESPACE_LABELS = "namespace labels"
    SERVICE = "service or owner"
    DEVICE_CLASS = "device class"


class Gates(msgspec.Struct, frozen=True):
    """Feature gates in force; each picks a plugin or a state once, when a profile is built."""

    toleration_comparison: bool = False  # TaintTolerationComparisonOperators
    hostname_fast_path: bool = False  # InterPodAffinityHostnameFastPath: same answers
    volume_limit_scaling: bool = True  # VolumeLimitScaling
    storage_capacity_scoring: bool = True  # StorageCapacityScoring


NO_ROWS: Final[Rows] = np.zeros(0, np.intp)
NO_GATES: Final = Gates()  # every gate at its default


class Plugin(Generic[P, S]):
    """A rule that reads parts P and prepares states S.  Override what it needs; everything not overridden is not asked.

    `points` names the kube-scheduler extension points that a configuration may switch (preEnqueue, queueSort,
    preFilter, filter, preScore, score, ...).  By default they follow from the methods a class overrides.
    """

    name: ClassVar[str] = ""
    reads: ClassVar[Part[Any] | None] = None
    depends: ClassVar[Depends] = EVERYTHING
    wakes: ClassVar[tuple[Change, ...] | None] = None  # None: anything may help
    searches: ClassVar[bool] = False  # a search per row: asked only where all others pass
    Arguments: ClassVar[type[msgspec.Struct] | None] = None
    weight: ClassVar[int] = 1  # of its score, where no configuration says otherwise
    fields: ClassVar[tuple[str, ...]] = ()  # fields of pods and nodes that our structs do not carry
    points: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, arguments: msgspec.Struct | None = None, gates: Gates = NO_GATES) -> None:
        """Keep the arguments that a configuration gives; None means their defaults."""
        if arguments is None and self.Arguments is not None:
            arguments = self.Arguments()
        self.arguments = arguments
        self.gates = gates

    def __init_subclass__(cls) -> None:
        """Give a plugin class its name and its points from what it overrides."""
        super().__init_subclass__()
        if not cls.__dict__.get("name"):
            cls.name = cls.__name__
        if "points" not in cls.__dict__:
            cls.points = frozenset(
                point
                for method, points in _POINTS_OF.items()
                if getattr(cls, method) is not getattr(Plugin, method)
                for point in points
            )
        check_methods(cls, normalizes=cls.overrides("normalize"))

    # -- before the queue
    def pre_enqueue(self, pod: Pod, view: View) -> Outcome | None:
        """Say why the pod may not be tried yet, or None."""
        return None

    # -- filtering
    def prepare(self, part: P, view: View) -> Prepared[S] | Rejected | Failed:
        """Work out once per part what the columns are asked with; without this, the part itself."""
        return Prepared(part)  # type: ignore[arg-type]  # S is P for whoever does not override it

    def filter(self, state: S, view: View) -> Ruling:
        """Say of every row whether the pod fits, and if not, why."""
        raise NotImplementedError

    def fits(self, state: S, view: View) -> Mask:
        """Say of every row whether the pod fits; override it where the reasons cost extra."""
        mask: Mask = self.filter(state, view).codes == FITS
        return mask

    def with_pods(self, state: S, view: View, row: Row, pods: PodsMoved) -> S:
        """Return the state as if pods were added to or gone from a row; see docs/plugins.md."""
        raise NotImplementedError

    # -- scoring
    def prepare_score(self, state: S, view: View, feasible: Mask) -> S | Skip | Failed:
        """Return the state to score with, SKIP, or Failed."""
        return state

    def score(self, state: S, view: View, feasible: Mask) -> Scores:
        """Score every row; the answer is a fresh column."""
        raise NotImplementedError

    def normalize(self, state: S, view: View, scores: Scores, feasible: Mask) -> Scores:
        """Bring scores into 0..100 over the feasible rows."""
        raise NotImplementedError

    # -- single rows
    def row(self, state: S, view: View) -> Callable[[int], int] | None:
        """Return a closure for one row over the columns' own memory: its score, -1 where the pod does not fit."""
        return None

    def shared(self, state: S, view: View) -> Hashable:
        """Return what a searching rule's answers read besides the row: another value when they may have changed."""
        return view.volumes.changes

    def may_fail_on(self, state: S, view: View) -> Rows:
        """Return the rows on which a searching rule may end the attempt with an error, even if others rule them out."""
        return NO_ROWS

    def stacked(self, states: Sequence[S]) -> S | None:
        """Return one state that answers for several at once, as (states, rows); None where they are not alike."""
        return None

    def reservation(self, state: S, view: View, row: Row) -> object | None:
        """Say what placing the pod on this row would take: volumes to bind, devices."""
        raise NotImplementedError

    @classmethod
    def overrides(cls, method: str) -> bool:
        """Say whether this class has its own form of a method."""
        return getattr(cls, method) is not getattr(Plugin, method)


_POINTS_OF: Final[Mapping[str, tuple[str, ...]]] = {
    "pre_enqueue": ("preEnqueue",),
    "prepare": ("preFilter",),
    "filter": ("preFilter", "filter"),
    "prepare_score": ("preScore",),
    "score": ("score",),
}


class PodsMoved(NamedTuple):
    """Pods to be thought of as added to, or gone from, one row."""

    added: Sequence[Resident] = ()
    removed: Sequence[Resident] = ()


def span(scores: Scores, feasible: Mask) -> tuple[int, int]:
    """Return the lowest and the highest score among the feasible rows; (0, 0) when there is none."""
    among = scores if np.count_nonzero(feasible) == len(feasible) else scores[feasible]
    if len(among) <= FEW:  # plain Python beats NumPy's call by far
        few = among.tolist()
        return (min(few), max(few)) if few else (0, 0)
    return int(among.min()), int(among.max())


def to_hundred(scores: Scores, feasible: Mask, *, reverse: bool = False) -> Scores:
    """Scale scores so that the best feasible row has 100 (or, reversed, 0), as kube-scheduler's default normaliser."""
    best = max(span(scores, feasible)[1], 0)
    if best == 0:
        return np.full_like(scores, SCORE_MAX) if reverse else scores
    scaled = SCORE_MAX * scores // best  # raw scores are never negative here
    return SCORE_MAX - scaled if reverse else scaled


AnyPlugin: TypeAlias = Plugin[Any, Any]  # where a rule is handled without knowing what it reads
