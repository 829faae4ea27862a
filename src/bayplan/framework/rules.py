"""A first rule: one function, decorated, is a plugin.

`score` and `filter` ask once for all nodes; `score_node` and `filter_node` ask about one node at a time: easier to
write, and as many calls as there are nodes.  A score's nodes are those that fit.  What comes out is a plugin class
like any other, found as an entry point, as `module:name` or in a file given by hand.
Invariant: a rule's answer is checked before anything is computed with it; what is wrong is a Misanswer.
Not here: the contract of whole plugins (plugin.py) and what nodes show (nodes.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, TypeAlias, TypeVar, overload

import numpy as np
import numpy.typing as npt

from bayplan.framework.checked import IN_RANGE, Misanswer, described, in_range, truths, whole_numbers
from bayplan.framework.nodes import Nodes, OneNode
from bayplan.framework.plugin import (
    EVERYTHING,
    SCORE_MAX,
    SUCCESS,
    AnyPlugin,
    Mask,
    Plugin,
    Ruling,
    Scores,
    unschedulable,
)

if TYPE_CHECKING:
    from bayplan.api.objects import Pod
    from bayplan.cluster.columns import Int64s
    from bayplan.cluster.view import View

ScoreFunction: TypeAlias = Callable[["Pod", Nodes], Scores]
FilterFunction: TypeAlias = Callable[["Pod", Nodes], Mask]
ScoreNodeFunction: TypeAlias = Callable[["Pod", OneNode], int]
FilterNodeFunction: TypeAlias = Callable[["Pod", OneNode], bool]

Fields: TypeAlias = Sequence[str]

F = TypeVar("F", bound=Callable[..., object])
Numbers: TypeAlias = npt.NDArray[np.floating] | npt.NDArray[np.integer] | Sequence[float]

WEIGHT_MAX: Final = 2**31 - 1


class Rule(Plugin["Pod", "Pod"]):
    """What all decorated functions become: a rule that reads the whole pod and anything of the nodes."""

    depends = EVERYTHING
    points = frozenset[str]()
    rule: ClassVar[Callable[..., object]]  # the function itself
    weight: ClassVar[int] = 1  # of its score, unless a configuration says otherwise
    reason: ClassVar[str] = ""  # the text for nodes that it turns down
    asks_each_node: ClassVar[bool] = False  # as many calls as there are nodes


class ScoreRule(Rule):
    """Scores by a function of the pod and the columns of the nodes that fit."""

    def score(self, state: Pod, view: View, feasible: Mask) -> Scores:
        """Ask once about all nodes that fit."""
        places = np.flatnonzero(feasible)
        answer = whole_numbers(self._answer(state, Nodes(view, places)), len(places), IN_RANGE)
        scores: Int64s = np.zeros(len(feasible), np.int64)  # (rows,)
        scores[places] = in_range(answer)
        return scores

    def _answer(self, pod: Pod, nodes: Nodes) -> object:
        return type(self).rule(pod, nodes)


class ScoreNodeRule(ScoreRule):
    """Scores by a function of the pod and one node."""

    asks_each_node = True

    def _answer(self, pod: Pod, nodes: Nodes) -> object:
        answers = [type(self).rule(pod, node) for node in nodes]
        for answer, node in zip(answers, nodes, strict=True):
            if isinstance(answer, bool) or not isinstance(answer, int | np.integer):
                raise Misanswer(
                    f"expected a whole number from 0 to {SCORE_MAX} for node {node.name}, got {described(answer)}"
                )
        return np.array(answers, np.int64)


class FilterRule(Rule):
    """Filters by a function of the pod and the columns of all nodes."""

    def filter(self, state: Pod, view: View) -> Ruling:
        """Ask once about all nodes."""
        places = np.flatnonzero(view.live)
        fits = truths(self._answer(state, Nodes(view, places)), len(places))
        codes = np.zeros(len(view), np.int16)  # (rows,)
        codes[places] = ~fits
        return Ruling(codes, (SUCCESS, unschedulable(self.reason)))

    def _answer(self, pod: Pod, nodes: Nodes) -> object:
        return type(self).rule(pod, nodes)


class FilterNodeRule(FilterRule):
    """Filters by a function of the pod and one node."""

    asks_each_node = True

    def _answer(self, pod: Pod, nodes: Nodes) -> object:
        answers = [type(self).rule(pod, node) for node in nodes]
        for answer, node in zip(answers, nodes, strict=True):
            if not isinstance(answer, bool | np.bool_):
                raise Misanswer(f"expected True or False for node {node.name}, got {described(answer)}")
        return np.array(answers, np.bool_)


# --- the decorators --------------------------------------------------------------------------------------------------


@overload
def score(function: ScoreFunction, /) -> AnyPluginClass: ...
@overload
def score(*, weight: int = 1, fields: Fields = ()) -> Callable[[ScoreFunction], AnyPluginClass]: ...
def score(
    function: ScoreFunction | None = None, /, *, weight: int = 1, fields: Fields = ()
) -> AnyPluginClass | Callable[[ScoreFunction], AnyPluginClass]:
    """Make a function of the pod and the nodes that fit a rule: it returns a score from 0 to 100 for each.

    The scores of all rules are added up, each times its weight.
    """
    return _decorated(function, ScoreRule, _Said(weight=weight, fields=fields))


@overload
def score_node(function: ScoreNodeFunction, /) -> AnyPluginClass: ...
@overload
def score_node(*, weight: int = 1, fields: Fields = ()) -> Callable[[ScoreNodeFunction], AnyPluginClass]: ...
def score_node(
    function: ScoreNodeFunction | None = None, /, *, weight: int = 1, fields: Fields = ()
) -> AnyPluginClass | Callable[[ScoreNodeFunction], AnyPluginClass]:
    """Make a function of the pod and one node a rule: it returns a score from 0 to 100; slow for many."""
    return _decorated(function, ScoreNodeRule, _Said(weight=weight, fields=fields))


@overload
def filter(function: FilterFunction, /) -> AnyPluginClass: ...  # noqa: A001 - a rule's author writes bayplan.filter
@overload
def filter(*, reason: str = "", fields: Fields = ()) -> Callable[[FilterFunction], AnyPluginClass]: ...  # noqa: A001 - as above
def filter(  # noqa: A001 - as above
    function: FilterFunction | None = None, /, *, reason: str = "", fields: Fields = ()
) -> AnyPluginClass | Callable[[FilterFunction], AnyPluginClass]:
    """Make a function of the pod and all nodes a rule: it returns True for each node where the pod may go."""
    return _decorated(function, FilterRule, _Said(reason=reason, fields=fields))


@overload
def filter_node(function: FilterNodeFunction, /) -> AnyPluginClass: ...
@overload
def filter_node(*, reason: str = "", fields: Fields = ()) -> Callable[[FilterNodeFunction], AnyPluginClass]: ...
def filter_node(
    function: FilterNodeFunction | None = None, /, *, reason: str = "", fields: Fields = ()
) -> AnyPluginClass | Callable[[FilterNodeFunction], AnyPluginClass]:
    """Make a function of the pod and one node a rule: it returns True where the pod may go; slow for many."""
    return _decorated(function, FilterNodeRule, _Said(reason=reason, fields=fields))


AnyPluginClass: TypeAlias = type[AnyPlugin]


class _Said(NamedTuple):
    """What a decorator is told."""

    weight: int = 1
    reason: str = ""
    fields: Fields = ()

    def checked(self) -> _Said:
        """Refuse what cannot be meant, while the module is loaded."""
        weight, reason, fields = self
        if isinstance(weight, bool) or not isinstance(weight, int) or not 0 < weight <= WEIGHT_MAX:
            raise TypeError(f"expected weight to be a whole number from 1 to {WEIGHT_MAX}, got {described(weight)}")
        if not isinstance(reason, str):
            raise TypeError(f"expected reason to be a text, got {described(reason)}")
        if isinstance(fields, str) or not all(isinstance(field, str) for field in fields):
            raise TypeError(f"expected fields to be a list of texts, got {described(fields)}")
        return self


def _decorated(function: F | None, kind: type[Rule], said: _Said) -> AnyPluginClass | Callable[[F], AnyPluginClass]:
    """Decorate at once, or give the decorator that will."""
    weight, reason, fields = said.checked()

    def made(function: F) -> AnyPluginClass:
        if not callable(function):
            raise TypeError(f"expected a function to decorate, got {described(function)}")
        name = getattr(function, "__name__", kind.__name__)
        return type(
            name,
            (kind,),
            {
                "__doc__": function.__doc__,
                "__module__": function.__module__,
                "__qualname__": getattr(function, "__qualname__", name),
                "name": name,
                "rule": staticmethod(function),
                "weight": weight,
                "fields": tuple(fields),
                "reason": reason or f"node(s) were turned down by {name}",
            },
        )

    return made if function is None else made(function)


# --- numbers to scores -----------------------------------------------------------------------------------------------


def lower_is_better(numbers: Numbers) -> Scores:
    """Scale any numbers to scores: 100 for the lowest, 0 for the highest, evenly between.

    Infinity and nan score 0; numbers then score at least 1, so that any of them is better than none.

    >>> lower_is_better([0.5, 1.5, 1.0]).tolist()
    [100, 0, 50]
    """
    given = np.asarray(numbers, np.float64)
    scores = np.zeros(given.shape, np.int64)
    scores[np.isneginf(given)] = SCORE_MAX
    finite = np.isfinite(given)
    if not finite.any():
        return scores
    least = 0 if finite.all() else 1
    low, high = given[finite].min(), given[finite].max()
    with np.errstate(over="ignore"):
        span = high - low
    if span > 0 and np.isfinite(span):
        scores[finite] = least + np.floor((SCORE_MAX - least) * ((high - given[finite]) / span)).astype(np.int64)
    else:  # all are equal, or too far apart to be told
        scores[finite] = np.where(given[finite] == low, SCORE_MAX, least)
    return scores


def higher_is_better(numbers: Numbers) -> Scores:
    """Scale any numbers to scores: 100 for the highest, 0 for the lowest, evenly between.

    Infinity below and nan score 0; numbers then score at least 1, so that any of them is better than none.

    >>> higher_is_better([0.5, 1.5, 1.0]).tolist()
    [0, 100, 50]
    """
    return lower_is_better(-np.asarray(numbers, np.float64))
