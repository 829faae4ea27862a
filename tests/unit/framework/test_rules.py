"""A decorated function is a rule: what it is given, what it may answer, and what is said of any other answer."""

import sys
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayplan
from bayplan.api.objects import Pod
from bayplan.cluster.reading import Reader
from bayplan.cluster.table import Table
from bayplan.framework.plugin import AnyPlugin
from bayplan.framework.profile import Instance, Profile
from bayplan.framework.rules import Rule
from bayplan.framework.run import Rules
from bayplan.framework.verdict import Verdict
from tests.kit import a_cluster, a_pod, case, node

PRICE = "price.example.com/hour"
CLUSTER = (
    node("dear", labels=f"{PRICE}=2.5 disk=ssd", cpu=8),
    node("cheap", labels=f"{PRICE}=0.5", cpu=4),
    node("odd", labels=f"{PRICE}=free", cpu=2),
    node("plain", cpu=1),
)


@bayplan.score(weight=5)
def cheapest_first(pod: Pod, nodes: bayplan.Nodes) -> npt.NDArray[np.int64]:
    """Prefer cheap nodes."""
    return bayplan.lower_is_better(nodes.label_float(PRICE, default=np.inf))


def asked(*plugins: type[AnyPlugin], cluster: Table | None = None, pod: Pod | None = None) -> Verdict:
    """Ask a profile of nothing but some rules."""
    instances = [Instance(plugin.name, plugin(), getattr(plugin, "weight", 1)) for plugin in plugins]
    points = {
        point: [one for one in instances if point in one.plugin.points] for point in ("preFilter", "filter", "score")
    }
    table = cluster if cluster is not None else a_cluster(*CLUSTER)
    return Rules(table, Reader(table)).ask(pod or a_pod("web"), Profile("default-scheduler", points))


def said(rule: type[AnyPlugin]) -> str:
    """Return the error that a rule costs its pod."""
    verdict = asked(rule)
    assert verdict.row is None
    assert verdict.evaluation.fault is not None
    return str(verdict.error)


# --- what a rule is --------------------------------------------------------------------------------------------------


def test_a_decorated_function_is_a_plugin_of_its_name() -> None:
    """Its name, weight and module are the function's, so it is found like any other class."""
    assert issubclass(cheapest_first, bayplan.Plugin)
    assert (cheapest_first.name, cheapest_first.__module__) == ("cheapest_first", __name__)
    assert cheapest_first.points == {"score"}
    assert issubclass(cheapest_first, Rule)
    assert cheapest_first.weight == 5
    assert cheapest_first.__doc__ == "Prefer cheap nodes."


def test_a_bare_decorator_is_enough() -> None:
    """`@bayplan.filter` without parentheses makes a rule that acts where filters do."""

    @bayplan.filter
    def nowhere(pod: Pod, nodes: bayplan.Nodes) -> npt.NDArray[np.bool_]:
        return np.full(len(nodes), False)

    assert nowhere.points == {"preFilter", "filter"}
    assert asked(nowhere).message == "0/4 nodes are available: 4 node(s) were turned down by nowhere."


@pytest.mark.parametrize("weight", [0, -1, 2**31, 1.5, True, "5"])
def test_a_weight_is_a_whole_number_above_nought(weight: object) -> None:
    """Any other weight is refused when the module is loaded, in words."""
    with pytest.raises(TypeError, match="expected weight to be a whole number from 1"):
        bayplan.score(weight=weight)  # type: ignore[call-overload]


@pytest.mark.parametrize("fields", ["pod.metadata.annotations", [1]])
def test_fields_are_a_list_of_texts(fields: object) -> None:
    """A single text is not a list of its letters."""
    with pytest.raises(TypeError, match="expected fields to be a list of texts"):
        bayplan.filter(fields=fields)  # type: ignore[call-overload]


# --- what it is given ------------------------------------------------------------------------------------------------


def test_a_score_sees_only_nodes_that_fit() -> None:
    """Columns of a score's nodes have one element for each node that no filter ruled out."""
    seen = []

    @bayplan.filter_node
    def has_ssd_or_two_cpus(pod: Pod, node: bayplan.OneNode) -> bool:
        return node.label("disk") == "ssd" or node.allocatable("cpu") == 2000

    @bayplan.score
    def look(pod: Pod, nodes: bayplan.Nodes) -> npt.NDArray[np.int64]:
        seen.append((nodes.names, nodes.free("cpu").tolist(), nodes.has_label(PRICE).tolist()))
        return np.arange(len(nodes))

    verdict = asked(has_ssd_or_two_cpus, look)

    assert seen[0] == (["dear", "odd"], [8000, 2000], [True, True])
    assert verdict.evaluation.names[verdict.row or 0] == "odd"


def test_columns_of_labels_and_amounts() -> None:
    """Every column has its nodes' values in the order of the names, and defaults where there is none."""
    seen: dict[str, object] = {}

    @bayplan.filter
    def look(pod: Pod, nodes: bayplan.Nodes) -> npt.NDArray[np.bool_]:
        seen.update(
            names=nodes.names,
            disk=nodes.label("disk", "none").tolist(),
            price=nodes.label_float(PRICE, default=-1).tolist(),
            asked=nodes.requested("cpu").tolist(),
            pods=nodes.pods.tolist(),
            allowed=nodes.pods_allowed.tolist(),
            gpus=nodes.allocatable("example.com/gpu").tolist(),
            last=(nodes[-1].name, nodes[-1].labels.get("disk"), nodes[1].requested("cpu"), nodes[1].free("cpu")),
            each=[(one.name, one.has_label("disk"), one.label_float(PRICE, -1)) for one in nodes],
        )
        return np.full(len(nodes), True)

    asked(look, cluster=a_cluster(*CLUSTER, a_pod("runs", on="cheap", cpu=3)))

    assert seen == {
        "names": ["dear", "cheap", "odd", "plain"],
        "disk": ["ssd", "none", "none", "none"],
        "price": [2.5, 0.5, -1, -1],
        "asked": [0, 3000, 0, 0],
        "pods": [0, 1, 0, 0],
        "allowed": [110, 110, 110, 110],
        "gpus": [0, 0, 0, 0],
        "last": ("plain", None, 3000, 1000),
        "each": [("dear", True, 2.5), ("cheap", False, 0.5), ("odd", False, -1), ("plain", False, -1)],
    }


def test_rules_add_up_by_weight() -> None:
    """A rule's scores count as often as its weight says."""

    @bayplan.score_node(weight=2)
    def prefers_dear(pod: Pod, node: bayplan.OneNode) -> int:
        return 100 if node.name == "dear" else 0

    evaluation = asked(cheapest_first, prefers_dear).evaluation

    assert dict(zip(evaluation.names, evaluation.totals.tolist(), strict=True)) == {
        "dear": 5 + 200, "cheap": 500, "odd": 0, "plain": 0,
    }  # fmt: skip


def test_gone_nodes_are_not_shown() -> None:
    """A row without a node is in no column."""
    table = a_cluster(*CLUSTER)
    table.drop_node("cheap")

    @bayplan.filter
    def all_of(pod: Pod, nodes: bayplan.Nodes) -> npt.NDArray[np.bool_]:
        assert nodes.names == ["dear", "odd", "plain"]
        return np.full(len(nodes), True)

    assert asked(all_of, cluster=table).error is None


# --- what is said of a wrong answer ----------------------------------------------------------------------------------

WHOLE = "expected a whole number (int64) from 0 to 100 for each of 4 nodes"


@pytest.mark.parametrize(("answer", "problem"), [
    case("a wrong dtype", lambda: np.ones(4), f"{WHOLE}, got 4 values of dtype float64; bayplan.lower_is_better, "
         "bayplan.higher_is_better or .astype(np.int64) makes them whole"),
    case("nan", lambda: np.full(4, np.nan), f"{WHOLE}, got 4 values of dtype float64; bayplan.lower_is_better, "
         "bayplan.higher_is_better or .astype(np.int64) makes them whole"),
    case("booleans", lambda: np.full(4, True), f"{WHOLE}, got 4 values of dtype bool; bayplan.lower_is_better, "
         "bayplan.higher_is_better or .astype(np.int64) makes them whole"),
    case("too few", lambda: np.arange(3), f"{WHOLE}, got 3 values of dtype int64"),
    case("two dimensions", lambda: np.ones((4, 1), int), f"{WHOLE}, got an array of shape (4, 1) of dtype int64"),
    case("one number", lambda: 7, f"{WHOLE} as a NumPy array, got int 7"),
    case("a list", lambda: [1, 2, 3, 4], f"{WHOLE} as a NumPy array, got a list"),
    case("nothing", lambda: None, f"{WHOLE} as a NumPy array, got None"),
    case("above 100", lambda: np.array([0, 101, 5, 7]), "expected scores from 0 to 100, got 101; "
         "bayplan.lower_is_better or bayplan.higher_is_better brings any numbers into this range"),
    case("below 0", lambda: np.array([0, 1, -5, 7]), "expected scores from 0 to 100, got -5; "
         "bayplan.lower_is_better or bayplan.higher_is_better brings any numbers into this range"),
    case("it raises", lambda: 1 / 0, "raised ZeroDivisionError: division by zero (test_rules.py, line "),
    case("it ends the process", lambda: sys.exit(3), "raised SystemExit: 3 ("),
])  # fmt: skip
def test_a_wrong_score_costs_its_pod_an_error(answer: Callable[[], object], problem: str) -> None:
    """The message names the rule, the pod, what was expected and what came."""

    @bayplan.score
    def mine(pod: Pod, nodes: bayplan.Nodes) -> npt.NDArray[np.int64]:
        return answer()  # type: ignore[return-value]

    assert said(mine).startswith(f'plugin "mine" failed at score for pod default/web: {problem}')


@pytest.mark.parametrize(("answer", "problem"), [
    case("numbers", np.ones(4, int), "expected True or False (bool) for each of 4 nodes, "
         "got 4 values of dtype int64"),
    case("too many", np.full(5, True), "expected True or False (bool) for each of 4 nodes, "
         "got 5 values of dtype bool"),
    case("one for all", True, "expected True or False (bool) for each of 4 nodes as a NumPy array, got bool True"),
])  # fmt: skip
def test_a_wrong_filter_costs_its_pod_an_error(answer: object, problem: str) -> None:
    """A filter answers with booleans, one a node."""

    @bayplan.filter
    def mine(pod: Pod, nodes: bayplan.Nodes) -> npt.NDArray[np.bool_]:
        return answer  # type: ignore[return-value]

    assert said(mine) == f'plugin "mine" failed at filter for pod default/web: {problem}'


def test_a_wrong_answer_about_one_node_names_the_node() -> None:
    """Rules that are asked about one node at a time are told which one they got wrong."""

    @bayplan.score_node
    def scores(pod: Pod, node: bayplan.OneNode) -> int:
        return 0.5 if node.name == "odd" else 1  # type: ignore[return-value]

    @bayplan.filter_node
    def filters(pod: Pod, node: bayplan.OneNode) -> bool:
        return None if node.name == "plain" else True  # type: ignore[return-value]

    assert said(scores) == (
        'plugin "scores" failed at score for pod default/web: '
        "expected a whole number from 0 to 100 for node odd, got float 0.5"
    )
    assert said(filters) == (
        'plugin "filters" failed at filter for pod default/web: expected True or False for node plain, got None'
    )


# --- numbers to scores -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("numbers", "scores"), [
    case("evenly between", [1, 2, 3, 5], [100, 75, 50, 0]),
    case("all alike", [7, 7], [100, 100]),
    case("none at all", [], []),
    case("no value is worse than the worst", [1, 3, np.inf, np.nan], [100, 1, 0, 0]),
    case("only no values", [np.inf, np.nan], [0, 0]),
    case("below everything", [-np.inf, 3, 4], [100, 100, 1]),
    case("too far apart to be told", [-1e308, 1e308], [100, 0]),
])  # fmt: skip
def test_lower_is_better(numbers: list[float], scores: list[int]) -> None:
    """The lowest number scores 100, the highest 0."""
    assert bayplan.lower_is_better(numbers).tolist() == scores
    assert bayplan.higher_is_better([-number for number in numbers]).tolist() == scores


@given(st.lists(st.floats(), max_size=20))
def test_any_numbers_become_scores(numbers: list[float]) -> None:
    """Whatever comes in, whole numbers from 0 to 100 come out."""
    scores = bayplan.lower_is_better(numbers)

    assert scores.dtype == np.int64
    assert all(0 <= score <= 100 for score in scores.tolist())
