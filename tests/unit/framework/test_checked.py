"""Whole plugins from outside are held to the contract too, wherever their answers live and whoever asks."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

import bayplan
from bayplan.cluster.reading import Reader
from bayplan.cluster.shapes import REQUESTS, Part, Requests
from bayplan.config.profiles import profiles
from bayplan.framework.checked import check_methods
from bayplan.framework.plugin import KEYS, NODE, ROW, SUCCESS, Depends, Plugin, Ruling
from bayplan.framework.profile import Instance, Profile
from bayplan.framework.registry import Registry
from bayplan.framework.run import Rules
from bayplan.framework.verdict import Verdict
from bayplan.plugins.node_name import NodeName
from tests.kit import a_cluster, a_pod, case, node

USUAL = profiles(None, Registry.installed())["default-scheduler"]


class Outsider(Plugin[Requests, Requests]):
    """A rule of somebody's own whose answers are remembered."""

    reads: ClassVar[Part[Requests]] = REQUESTS
    answer: Callable[[int], Any] = staticmethod(np.ones)


class Scorer(Outsider):
    def score(self, state: Requests, view: bayplan.View, feasible: Any) -> Any:  # noqa: ANN401 - it answers wrongly
        return self.answer(len(view))


class Normalizer(Scorer):
    def normalize(self, state: Requests, view: bayplan.View, scores: Any, feasible: Any) -> Any:  # noqa: ANN401 - as above
        return scores * 60


class Fitter(Outsider):
    def filter(self, state: Requests, view: bayplan.View) -> Ruling:
        return Ruling(np.zeros(len(view), np.int16), (SUCCESS,))

    def fits(self, state: Requests, view: bayplan.View) -> Any:  # noqa: ANN401 - as above
        return self.answer(len(view))


def asked(kind: type[Outsider], depends: Depends, answer: Callable[[int], object]) -> Verdict:
    """Ask the usual rules and one more, with plans."""
    rule: Any = type("Mine", (kind,), {"depends": depends, "answer": staticmethod(answer)})
    mine = Instance("Mine", rule())
    points = {
        point: (*USUAL.points.get(point, ()), mine) if point in rule.points else USUAL.points.get(point, ())
        for point in {*USUAL.points, *rule.points}
    }
    table = a_cluster(node("a"), node("b"))
    return Rules(table, Reader(table)).ask(a_pod("web", cpu=1), Profile("default-scheduler", points))


EACH = pytest.mark.parametrize("depends", [NODE, ROW, KEYS])


@EACH
@pytest.mark.parametrize(("answer", "problem"), [
    case("a dtype", np.ones, "got 2 values of dtype float64"),
    case("a length", lambda rows: np.ones(rows + 1, np.int64), "got 3 values of dtype int64"),
    case("no array", lambda _: None, "as a NumPy array, got None"),
    case("too much", lambda rows: np.full(rows, 101), "expected scores from 0 to 100, got 101"),
    case("an exception", lambda rows: {}[rows], "raised KeyError: 2 (test_checked.py, line "),
])  # fmt: skip
def test_a_wrong_score_is_named(depends: Depends, answer: Callable[[int], object], problem: str) -> None:
    """Remembered or not, a score that is none costs its pod an error, never a placement by accident."""
    verdict = asked(Scorer, depends, answer)

    assert verdict.row is None
    assert str(verdict.error).startswith('plugin "Mine" failed at score for pod default/web: ')
    assert problem in str(verdict.error)


@pytest.mark.parametrize("depends", [NODE, KEYS])
def test_a_rule_that_normalises_is_held_to_the_range_afterwards(depends: Depends) -> None:
    """Raw scores may be anything; normalised ones may not."""
    fine = asked(Normalizer, depends, lambda rows: np.ones(rows, np.int64))
    wrong = asked(Normalizer, depends, lambda rows: np.full(rows, 2))

    assert fine.row is not None
    assert str(wrong.error).startswith(
        'plugin "Mine" failed at normalize for pod default/web: expected scores from 0 to 100, got 120'
    )


@EACH
def test_a_wrong_mask_does_not_rule_out_by_accident(depends: Depends) -> None:
    """`fits` is asked by plans alone; where it answers wrongly, `filter` is asked afresh."""
    assert asked(Fitter, depends, lambda rows: np.zeros(rows, np.int64)).row is not None
    assert asked(Fitter, depends, lambda rows: np.zeros(rows, np.bool_)).row is None


def test_our_own_rules_are_not_wrapped() -> None:
    """They are tested, and asked often."""
    assert not hasattr(NodeName.filter, "__wrapped__")
    assert hasattr(Scorer.score, "__wrapped__")


def test_what_a_class_inherits_is_checked_where_it_was_defined() -> None:
    """A method is wrapped once."""

    class Heir(Scorer):
        pass

    assert Heir.score is Scorer.score
    check_methods(Heir, normalizes=False)
    assert Heir.score is Scorer.score
