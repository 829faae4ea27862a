"""A plugin class that breaks the contract costs its pod an error with a message, whichever method it is."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bayplan.cluster.reading import Reader
from bayplan.cluster.view import View
from bayplan.framework.guard import Guard, PluginFault
from bayplan.framework.plugin import SUCCESS, AnyPlugin, Plugin, Ruling, unschedulable
from bayplan.framework.profile import Instance, Profile
from bayplan.framework.run import Rules
from bayplan.framework.verdict import Verdict
from tests.kit import a_cluster, a_pod, case, node


def rule(**methods: Callable[..., object]) -> AnyPlugin:
    """Return a plugin with some methods."""
    made = type("Mine", (Plugin,), {name: staticmethod(method) for name, method in methods.items()})
    plugin: Any = made()
    assert isinstance(plugin, Plugin)
    return plugin


def asked(plugin: AnyPlugin) -> Verdict:
    """Ask a profile of one rule about a pod, with two nodes there."""
    table = a_cluster(node("a"), node("b"))
    instance = Instance(plugin.name, plugin)
    points: dict[str, list[Instance]] = {
        point: [instance] for point in ("preFilter", "filter", "preScore", "score") if point in plugin.points
    }
    return Rules(table, Reader(table)).ask(a_pod("web"), Profile("default-scheduler", points))


def codes(*numbers: int) -> np.ndarray[Any, np.dtype[np.int16]]:
    """Return a column of codes."""
    return np.array(numbers, np.int16)


@pytest.mark.parametrize(("method", "answer", "problem"), [
    case("no Prepared", "prepare", None, "expected Prepared, Rejected or Failed, got None"),
    case("no Ruling", "filter", codes(0, 0), "expected a Ruling, got 2 values of dtype int16"),
    case("too few codes", "filter", Ruling(codes(0), (SUCCESS,)),
         "expected an int16 code for each of 2 nodes, got 1 values of dtype int16"),
    case("codes that are no column", "filter", Ruling([0, 0], (SUCCESS,)),  # type: ignore[arg-type]
         "expected an int16 code for each of 2 nodes as a NumPy array, got a list"),
    case("a code without an outcome", "filter", Ruling(codes(0, 2), (SUCCESS, unschedulable("no"))),
         "expected codes below 2, the number of outcomes, got 2"),
    case("a negative code", "filter", Ruling(codes(-1, 0), (SUCCESS,)),
         "expected codes below 1, the number of outcomes, got -1"),
    case("a float score", "score", np.ones(2), "expected a whole number (int64) for each of 2 nodes, got 2 values of "
         "dtype float64; bayplan.lower_is_better, bayplan.higher_is_better or .astype(np.int64) makes them whole"),
    case("too many scores", "score", np.ones(3, np.int64),
         "expected a whole number (int64) for each of 2 nodes, got 3 values of dtype int64"),
])  # fmt: skip
def test_a_wrong_answer(method: str, answer: object, problem: str) -> None:
    """The message names the rule, the method, the pod, what was expected and what came."""
    verdict = asked(rule(**{method: lambda *_: answer}))

    assert verdict.message == f'plugin "Mine" failed at {method} for pod default/web: {problem}'
    assert verdict.evaluation.fault is not None
    assert verdict.row is None


@pytest.mark.parametrize("method", ["prepare", "filter", "prepare_score", "score", "normalize"])
def test_a_rule_that_raises(method: str) -> None:
    """Whatever is raised, and wherever, the message says what and on which line."""

    def fail(*_: object) -> object:
        raise KeyError("no such\nlabel")

    methods = {"score": lambda *_: np.ones(2, np.int64), method: fail}
    verdict = asked(rule(**methods))

    assert str(verdict.error).startswith(
        f'plugin "Mine" failed at {method} for pod default/web: '
        "raised KeyError: 'no such\\nlabel' (test_guard.py, line "
    )


def test_a_score_out_of_range_is_named_as_upstream_names_it() -> None:
    """Scores are checked after normalising, in kube-scheduler's words."""
    verdict = asked(rule(score=lambda *_: np.array([5, 101])))

    assert verdict.message == (
        'plugin "Mine" returns an invalid score 101, it should in the range of [0, 100] after normalizing'
    )


def test_pre_enqueue_answers_with_an_outcome_or_nothing() -> None:
    """A rule before the queue is held to its contract too."""
    guard, view = Guard(a_pod("web")), View(a_cluster())

    with pytest.raises(
        PluginFault, match="failed at pre_enqueue for pod default/web: expected an Outcome or None, got str"
    ):
        guard.pre_enqueue(Instance("Mine", rule(pre_enqueue=lambda *_: "no")), view)


def test_a_long_text_is_cut() -> None:
    """A message stays readable whatever a rule puts into its exception."""

    def fail(*_: object) -> object:
        raise ValueError("x" * 10_000)

    assert len(str(asked(rule(filter=fail)).error)) < 500
