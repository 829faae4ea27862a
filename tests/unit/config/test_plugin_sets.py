"""Plugin sets come to the order that kube-scheduler would ask in."""

import pytest

from bayplan.config.complaints import Complaints
from bayplan.config.kubescheduler import Plugins, SchedulerProfile
from bayplan.config.plugin_sets import DEFAULTS, Order, ordered
from bayplan.config.strict import decoded
from bayplan.framework.registry import Registry

FILTERS = (
    "NodeName NodeUnschedulable TaintToleration NodeAffinity NodePorts NodeResourcesFit VolumeRestrictions"
    " NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread InterPodAffinity DynamicResources"
    " NodeDeclaredFeatures"
)
SCORES = (
    "TaintToleration NodeAffinity NodeResourcesFit VolumeBinding PodTopologySpread InterPodAffinity DynamicResources"
    " NodeResourcesBalancedAllocation ImageLocality"
)


def order_of(registry: Registry, **sets: dict[str, str]) -> tuple[Order, list[str]]:
    """Work out sets written as words: `name` or `name=weight`."""
    tree = {
        point: {way: [entry(word) for word in words.split()] for way, words in ways.items()}
        for point, ways in sets.items()
    }
    complaints = Complaints()
    plugins = decoded(tree, Plugins, complaints)
    assert plugins is not None
    order = ordered(SchedulerProfile(plugins=plugins), registry, complaints)
    return order, [str(complaint) for complaint in complaints.found]


def entry(word: str) -> dict[str, object]:
    """Read `name=weight`."""
    name, _, weight = word.partition("=")
    return {"name": name} | ({"weight": int(weight)} if weight else {})


@pytest.mark.parametrize(("point", "names"), [
    ("preEnqueue", "SchedulingGates DynamicResources DefaultPreemption"),
    ("queueSort", "PrioritySort"),
    ("preFilter", FILTERS),
    ("filter", FILTERS),
    ("postFilter", "DynamicResources DefaultPreemption"),
    ("preScore", SCORES.replace(" DynamicResources", "").replace(" ImageLocality", "")),
    ("score", SCORES),
    ("reserve", "VolumeBinding DynamicResources"),
    ("permit", ""),
    ("preBind", "VolumeBinding DynamicResources"),
    ("bind", "DefaultBinder"),
    ("postBind", ""),
    ("placementScore", "NodeResourcesFit"),
    ("podGroupPostFilter", "DynamicResources DefaultPreemption"),
])  # fmt: skip
def test_the_default_order_at_each_point(registry: Registry, point: str, names: str) -> None:
    """Without sets every point has the defaults, in their order."""
    order, complaints = order_of(registry)

    assert not complaints
    assert order.points[point] == tuple(names.split())


def test_default_weights(registry: Registry) -> None:
    """An unlisted weight is one."""
    weights = order_of(registry)[0].weights

    assert weights == {name: DEFAULTS[name] or 1 for name in SCORES.split()}


@pytest.mark.parametrize(("sets", "point", "names"), [
    ({"filter": {"enabled": "Alpha"}}, "filter", f"{FILTERS} Alpha"),
    ({"multiPoint": {"enabled": "Alpha"}}, "preFilter", f"{FILTERS} Alpha"),
    ({"filter": {"disabled": "*", "enabled": "NodePorts Alpha NodeName"}}, "filter", "NodePorts Alpha NodeName"),
    ({"filter": {"enabled": "Alpha NodePorts NodeName"}}, "filter",
     f"NodePorts NodeName {FILTERS.replace('NodeName ', '').replace('NodePorts ', '')} Alpha"),
    ({"filter": {"disabled": "NodeName"}}, "preFilter", FILTERS),
    ({"filter": {"disabled": "NodeName"}}, "filter", FILTERS.replace("NodeName ", "")),
    ({"multiPoint": {"disabled": "NodeName"}}, "filter", FILTERS.replace("NodeName ", "")),
    ({"multiPoint": {"disabled": "NodeName", "enabled": "NodeName"}}, "filter",
     f"{FILTERS.replace('NodeName ', '')} NodeName"),
    ({"multiPoint": {"disabled": "*", "enabled": "DefaultBinder Gamma PrioritySort"}}, "filter", "Gamma"),
    ({"multiPoint": {"disabled": "*", "enabled": "PrioritySort DefaultBinder Gamma"},
      "score": {"enabled": "Gamma"}, "filter": {"disabled": "Gamma"}}, "filter", ""),
    ({"multiPoint": {"enabled": "NodeName"}}, "filter", FILTERS),
])  # fmt: skip
def test_names_at_a_point(registry: Registry, sets: dict[str, dict[str, str]], point: str, names: str) -> None:
    """Defaults keep their place, overriding plugins come first, others last; enabled wins over disabled."""
    order, complaints = order_of(registry, **sets)

    assert not complaints
    assert order.points[point] == tuple(names.split())


@pytest.mark.parametrize(("sets", "name", "weight"), [
    ({"multiPoint": {"enabled": "ImageLocality=7"}}, "ImageLocality", 7),
    ({"multiPoint": {"enabled": "ImageLocality"}}, "ImageLocality", 1),
    ({"multiPoint": {"enabled": "TaintToleration=0"}}, "TaintToleration", 1),
    ({"score": {"enabled": "TaintToleration"}}, "TaintToleration", 1),
    ({"score": {"enabled": "TaintToleration=5"}, "multiPoint": {"enabled": "TaintToleration=9"}}, "TaintToleration", 5),
    ({"multiPoint": {"enabled": "Gamma"}}, "Gamma", 1),
])  # fmt: skip
def test_weights(registry: Registry, sets: dict[str, dict[str, str]], name: str, weight: int) -> None:
    """The point's own weight goes before multiPoint's; none and nought are one."""
    order, complaints = order_of(registry, **sets)

    assert not complaints
    assert order.weights[name] == weight


@pytest.mark.parametrize(("sets", "complaint"), [
    ({"filter": {"enabled": "Alfa"}},
     'plugins.filter.enabled[0].name: unknown plugin "Alfa"; did you mean "Alpha"?'),
    ({"filter": {"enabled": "Beta"}},
     "plugins.filter.enabled[0]: Beta does not act at filter; it acts at preScore, score"),
    ({"filter": {"enabled": "Alpha Alpha"}}, "plugins.filter.enabled[1]: Alpha is enabled twice at filter"),
    ({"multiPoint": {"enabled": "Alpha Beta Alpha"}},
     "plugins.multiPoint.enabled[2]: Alpha is enabled twice at multiPoint"),
    ({"multiPoint": {"disabled": "PrioritySort"}},
     "plugins.queueSort: expected exactly one queueSort plugin, there is none; PrioritySort is the default one"),
    ({"bind": {"disabled": "*"}},
     "plugins.bind: expected at least one bind plugin; DefaultBinder is the default one"),
    ({"score": {"enabled": "Beta=-3"}}, "plugins.score.enabled[0].weight: expected a weight of 1 or more, got -3"),
    ({"filter": {"enabled": "EBSLimits"}},
     ("plugins.filter.enabled[0].name: the plugin EBSLimits was removed from Kubernetes;"
     " NodeVolumeLimits counts what it counted")),
    ({"filter": {"enabled": "="}}, "plugins.filter.enabled[0].name: is required"),
    ({"score": {"enabled": "bayplan.nowhere:Rule"}},
     ("plugins.score.enabled[0].name: plugin bayplan.nowhere:Rule (bayplan.nowhere:Rule): ModuleNotFoundError:"
     " No module named 'bayplan.nowhere'")),
])  # fmt: skip
def test_what_is_refused(registry: Registry, sets: dict[str, dict[str, str]], complaint: str) -> None:
    """What kube-scheduler would not start with is named with its place."""
    assert order_of(registry, **sets)[1] == [complaint]


def test_disabling_what_does_not_exist_is_only_a_warning(registry: Registry) -> None:
    """Old files disable plugins that are gone: that keeps working, and a slip is still seen."""
    complaints = Complaints()
    plugins = decoded({"score": {"disabled": [{"name": "SelectorSpread"}, {"name": "Bta"}]}}, Plugins, complaints)
    assert plugins is not None
    ordered(SchedulerProfile(plugins=plugins), registry, complaints)

    assert not complaints.found
    assert [str(one) for one in complaints.warnings] == [
        "plugins.score.disabled[0].name: disables nothing: it was removed from Kubernetes",
        'plugins.score.disabled[1].name: disables nothing: unknown plugin "Bta"; did you mean "Beta"?',
    ]


def test_a_rule_spelled_out_is_disabled_by_its_spelling(registry: Registry) -> None:
    """A name may be spelled as module:Class wherever it may stand; one that is not there disables nothing."""
    complaints, gone = Complaints(), "bayplan.nowhere:Rule"
    tree = {
        "multiPoint": {"enabled": [{"name": "Beta"}]},
        "score": {"disabled": [{"name": "tests.unit.config.conftest:Beta"}, {"name": gone}]},
    }
    plugins = decoded(tree, Plugins, complaints)
    assert plugins is not None
    order = ordered(SchedulerProfile(plugins=plugins), registry, complaints)

    assert "Beta" not in order.points["score"]
    assert [str(one) for one in complaints.warnings] == [
        (
            f"plugins.score.disabled[1].name: disables nothing: plugin {gone} ({gone}): "
            "ModuleNotFoundError: No module named 'bayplan.nowhere'"
        )
    ]
