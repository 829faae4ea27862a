"""A Policy file decodes strictly: what is wrong is named at its place, and old spellings are understood."""

import copy
import json
import random
from pathlib import Path

import pytest

from bayplan.api.durations import Duration
from bayplan.api.yamltree import documents
from bayplan.config import source
from bayplan.config.complaints import ConfigError
from bayplan.config.files import Loaded, read
from bayplan.config.policy import Policy, Predicate, Priority, from_keys, from_provider, in_force
from bayplan.config.policy_names import DEFAULT_PREDICATES, DEFAULT_PRIORITIES, MANDATORY, PREDICATES, PRIORITIES
from bayplan.config.profiles import profiles
from bayplan.framework.plugin import NO_GATES
from bayplan.framework.profile import Profile
from bayplan.framework.registry import Registry
from tests.kit import case
from tests.unit.config.test_stored_configurations import STRANGE, places

FOLDER = Path(__file__).parent / "policies"
HEADER = "kind: Policy\napiVersion: v1\n"


def loaded(text: str | dict[str, object], registry: Registry) -> Loaded:
    """Decode what must be right."""
    return read(source.of(text, "p.yaml"), registry, NO_GATES)


def policy_in(text: str, registry: Registry) -> Policy:
    """Return a Policy that must be right."""
    found = loaded(HEADER + text, registry).configuration
    assert isinstance(found, Policy)
    return found


def complaints_of(text: str, registry: Registry) -> list[str]:
    """Return what is wrong with a Policy."""
    with pytest.raises(ConfigError) as caught:
        loaded(HEADER + text, registry)
    return [str(complaint) for complaint in caught.value.complaints]


def profile_of(text: str, registry: Registry) -> Profile:
    """Return the profile of a Policy."""
    return profiles(policy_in(text, registry), registry)["default-scheduler"]


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "complaint"), [
    case("a slip in a predicate", "predicates: [{name: PodFitsResource}]",
         'p.yaml:3:15: predicates[0].name: unknown predicate "PodFitsResource"; did you mean "PodFitsResources"?'),
    case("a slip in a priority", "priorities: [{name: LeastRequested, weight: 1}]",
         'p.yaml:3:15: priorities[0].name: unknown priority "LeastRequested"; did you mean "LeastRequestedPriority"?'),
    case("a slip in a field", "priorites: []",
         'p.yaml:3:1: priorites: unknown field "priorites"; did you mean "priorities"?'),
    case("a priority among predicates", "predicates: [{name: EqualPriority}]",
         "p.yaml:3:15: predicates[0].name: EqualPriority does not act at filter; it acts at score"),
    case("a predicate among priorities", "priorities: [{name: HostName, weight: 1}]",
         "p.yaml:3:15: priorities[0].name: HostName is no priority: it belongs in the other list"),
    case("a plugin that does not act there", "predicates: [{name: ImageLocality}]",
         "p.yaml:3:15: predicates[0].name: ImageLocality does not act at filter; it acts at score"),
    case("no name", "predicates: [{}]", "p.yaml:3:14: predicates[0].name: is required"),
    case("no weight", "priorities: [{name: EqualPriority}]",
         "p.yaml:3:14: priorities[0].weight: must be greater than 0, not 0"),
    case("a negative weight", "priorities: [{name: EqualPriority, weight: -1}]",
         "p.yaml:3:36: priorities[0].weight: must be greater than 0, not -1"),
    case("weights that overflow", f"priorities: [{{name: EqualPriority, weight: {2**62}}}]",
         "p.yaml:3:1: priorities: the weights are so large that 100 times their sum overflows"),
    case("a priority that was removed", "priorities: [{name: ResourceLimitsPriority, weight: 1}]",
         'p.yaml:3:15: priorities[0].name: unknown priority "ResourceLimitsPriority"; it was removed in Kubernetes'),
    case("two kinds at once",
         "predicates: [{name: x, argument: {labelsPresence: {labels: [a]}, serviceAffinity: {labels: [b]}}}]",
         "p.yaml:3:24: predicates[0].argument: expected exactly one of serviceAffinity, labelsPresence, got 2 of them"),
    case("no kind", "priorities: [{name: x, weight: 1, argument: {}}]",
         "p.yaml:3:35: priorities[0].argument: expected exactly one of serviceAntiAffinity, labelPreference,"
         " requestedToCapacityRatioArguments, got none"),
    case("an argument that is missing", "predicates: [{name: CheckServiceAffinity}]",
         "p.yaml:3:14: predicates[0]: CheckServiceAffinity needs the argument serviceAffinity"),
    case("a rule about no label", "predicates: [{name: x, argument: {labelsPresence: {presence: true}}}]",
         "p.yaml:3:35: predicates[0].argument.labelsPresence.labels: name at least one"),
    case("a shape without points",
         "priorities: [{name: x, weight: 1, argument: {requestedToCapacityRatioArguments: {}}}]",
         "p.yaml:3:46: priorities[0].argument.requestedToCapacityRatioArguments.shape: at least one point must be"),
    case("a shape that falls back", "priorities: [{name: x, weight: 1, argument: {requestedToCapacityRatioArguments: "
         "{shape: [{utilization: 50, score: 1}, {utilization: 40, score: 2}]}}}]",
         "p.yaml:3:120: priorities[0].argument.requestedToCapacityRatioArguments.shape[1].utilization:"
         " values must be sorted in increasing order"),
    case("a type", "alwaysCheckAllPredicates: 7",
         "p.yaml:3:1: alwaysCheckAllPredicates: expected true or false, got the number 7"),
    case("a weight out of range", "hardPodAffinitySymmetricWeight: 101",
         "p.yaml:3:1: hardPodAffinitySymmetricWeight: is not in the range 1..100: 101"),
    case("an extender that binds beside another", "extenders: [{bindVerb: b}, {bindVerb: c}]",
         "p.yaml:3:29: extenders[1].bindVerb: only one extender may bind, and extenders[0] does"),
    case("a key twice", "predicates: []\npredicates: []", "p.yaml:4:1:"),
])  # fmt: skip
def test_what_is_refused(installed: Registry, text: str, complaint: str) -> None:
    """With the place and what was probably meant."""
    assert any(one.startswith(complaint) for one in complaints_of(text, installed)), complaints_of(text, installed)


def test_all_complaints_come_at_once(installed: Registry) -> None:
    """Whoever mends one does not have to come back for the next."""
    found = complaints_of("predicates: [{name: x}]\npriorities: [{name: y, weight: 0}]\nextnders: []", installed)

    assert len(found) == 4


def test_the_version_must_be_one_that_was(installed: Registry) -> None:
    """`v1`, or today's group, or nothing."""
    for version in ("v1", "kubescheduler.config.k8s.io/v1"):
        assert loaded({"kind": "Policy", "apiVersion": version}, installed)
    assert loaded({"predicates": []}, installed)
    with pytest.raises(ConfigError, match='apiVersion: expected "v1", got "v2"'):
        loaded({"kind": "Policy", "apiVersion": "v2"}, installed)


# --- what is understood ----------------------------------------------------------------------------------------------


def test_json_is_yaml(installed: Registry) -> None:
    """Both forms of one file are one Policy."""
    tree = next(iter(documents((FOLDER / "kubernetes-1.13.yaml").read_bytes())))
    as_yaml = loaded((FOLDER / "kubernetes-1.13.yaml").read_text(), installed)
    as_json = loaded(json.dumps(getattr(tree, "tree", None)), installed)

    assert as_yaml.configuration == as_json.configuration


@pytest.mark.parametrize("name", ["enableHttps", "enableHTTPS", "ENABLEHTTPS"])
def test_case_does_not_matter(installed: Registry, name: str) -> None:
    """As Kubernetes read it; names of rules are another matter."""
    policy = policy_in(f"Extenders: [{{URLPrefix: u, {name}: true, httptimeout: 1500000000}}]", installed)

    assert policy.extenders[0].url_prefix == "u"
    assert policy.extenders[0].enable_https
    assert policy.extenders[0].http_timeout == Duration.parse("1.5s")


def test_a_complaint_about_another_spelling_names_its_place(installed: Registry) -> None:
    """The line and column are of what was written."""
    assert complaints_of("Extenders:\n- URLPREFIX: 7\n", installed) == [
        "p.yaml:4:3: extenders[0].urlPrefix: expected a text, got the number 7; quotes make it one"
    ]
    assert complaints_of("extenders: [{urlprefix: a, urlPrefix: b}]", installed) == [
        "p.yaml:3:14: extenders[0].urlprefix: is urlPrefix again, spelled otherwise; leave one of them out"
    ]


def test_a_time_may_be_written_as_today(installed: Registry) -> None:
    """Nanoseconds, or a text."""
    assert policy_in("extenders: [{httpTimeout: 5s}]", installed).extenders[0].http_timeout == Duration.seconds(5)
    assert complaints_of("extenders: [{httpTimeout: true}]", installed)
    assert complaints_of("extenders: [7]", installed)


def test_checking_all_predicates_is_only_a_warning(installed: Registry) -> None:
    """No placement changes."""
    found = loaded(f"{HEADER}alwaysCheckAllPredicates: true", installed)

    assert [warning.path for warning in found.warnings] == ["alwaysCheckAllPredicates"]


def test_what_means_nothing_is_ignored_by_name(installed: Registry) -> None:
    """Files have fields that no Kubernetes looked at, and rules named twice."""
    text = (
        '{"metadata": {"name": "x"}, "extenders": [{"urlPrefix": "http://x", "apiVersion": "v1beta1"}],'
        '"predicates": [{"name": "HostName"}, {"name": "HostName"}]}'
    )
    found = loaded(text, installed)

    assert [warning.path for warning in found.warnings] == [
        "metadata", "extenders[0].apiVersion", "predicates[1].name",
    ]  # fmt: skip
    assert found.extenders[0].url_prefix == "http://x"


def test_of_several_weights_the_last_counts(installed: Registry) -> None:
    """Unless they are of rules of one's own: these all count, whatever they are called."""
    like = "argument: {labelPreference: {label: a}}"
    profile = profile_of(
        "predicates: [{name: HostName}, {name: x, argument: {labelsPresence: {labels: [a]}}},"
        " {name: x, argument: {labelsPresence: {labels: [b]}}}, {name: HostName}]\n"
        "priorities: [{name: EqualPriority, weight: 3}, {name: EqualPriority, weight: 2},"
        f" {{name: z, weight: 4, {like}}}, {{name: z, weight: 5, {like}}}]",
        installed,
    )

    assert [one.name for one in profile.filter] == ["NodeUnschedulable", "NodeName", "TaintToleration", "x", "x (2)"]
    assert [(one.name, one.weight) for one in profile.score] == [("EqualPriority", 2), ("z", 4), ("z (2)", 5)]


def test_registered_plugins_may_be_named(registry: Registry) -> None:
    """By their names, or spelled as module:Class."""
    profile = profile_of(
        "predicates: [{name: Alpha}, {name: 'tests.unit.config.conftest:Gamma'}]\n"
        "priorities: [{name: Beta, weight: 3}]",
        registry,
    )

    assert [one.name for one in profile.filter] == ["Alpha", "Gamma"]
    assert [(one.name, one.weight) for one in profile.score] == [("Beta", 3)]


def test_rules_given_by_hand_are_on(registry: Registry) -> None:
    """As in every profile, unless the Policy names them itself."""
    registry._by_hand += ["Gamma", "Beta"]
    profile = profile_of("predicates: []\npriorities: [{name: Beta, weight: 3}]", registry)

    assert [one.name for one in profile.filter] == ["Gamma"]
    assert [(one.name, one.weight) for one in profile.score] == [("Beta", 3), ("Gamma", 1)]
    assert profile.filter[0] is profile.score[1]


def test_rules_of_ones_own_keep_their_names_apart(installed: Registry) -> None:
    """Rules are told apart by name, so one that is taken gets a number."""
    own = "argument: {labelsPresence: {labels: [a]}}"
    like = "argument: {labelPreference: {label: a}}"
    profile = profile_of(
        f"predicates: [{{name: NodeName, {own}}}, {{name: HostName}}]\n"
        f"priorities: [{{name: NodeName, weight: 1, {like}}}, {{name: x, weight: 2, {like}}}]",
        installed,
    )

    assert [one.name for one in profile.filter] == ["NodeUnschedulable", "NodeName", "TaintToleration", "NodeName (2)"]
    assert [one.name for one in profile.score] == ["NodeName (3)", "x"]


def test_a_rule_that_cannot_be_made_is_named(registry: Registry) -> None:
    """By its class and what it raised."""
    with pytest.raises(ConfigError, match=r"plugin Refuses .*making it failed: RuntimeError: no licence"):
        profile_of("predicates: [{name: Refuses}]", registry)


def test_what_extenders_manage_is_left_to_them(installed: Registry) -> None:
    """The filter does not look at it."""
    profile = profile_of("extenders: [{managedResources: [{name: a.b/c, ignoredByScheduler: true}]}]", installed)
    fit = next(one for one in profile.filter if one.name == "NodeResourcesFit")

    assert getattr(fit.plugin.arguments, "ignored_resources", None) == ("a.b/c",)


# --- names -----------------------------------------------------------------------------------------------------------


def test_the_table_is_complete(installed: Registry) -> None:
    """Every default and mandatory name is in it, and every rule that it names is there."""
    assert {*DEFAULT_PREDICATES, *MANDATORY} <= PREDICATES.keys()
    assert DEFAULT_PRIORITIES.keys() <= PRIORITIES.keys()
    for known in PREDICATES.values():
        assert all("filter" in installed.points(plugin) for plugin in known.plugins)
    for score in PRIORITIES.values():
        assert "score" in installed.points(score.plugin)


def test_every_name_makes_a_rule(installed: Registry) -> None:
    """Alone, without complaint."""
    for name in PREDICATES.keys() - {"CheckNodeLabelPresence", "CheckServiceAffinity"}:
        assert profiles(Policy(predicates=(Predicate(name=name),), priorities=()), installed)
    for name in PRIORITIES:
        found = profiles(Policy(predicates=(), priorities=(Priority(name=name, weight=7),)), installed)
        assert [(one.name, one.weight) for one in found["default-scheduler"].score] == [(name, 7)]


def test_what_is_in_force_is_in_force_of_itself() -> None:
    """Nothing is added twice."""
    for policy in (Policy(), Policy(predicates=(), priorities=()), from_provider("ClusterAutoscalerProvider")):
        assert in_force(in_force(policy)) == in_force(policy)


def test_unknown_providers_and_keys_are_named() -> None:
    """With the nearest known one."""
    with pytest.raises(
        ConfigError, match='unknown algorithm provider "DefaultProvder"; did you mean "DefaultProvider"'
    ):
        from_provider("DefaultProvder")
    with pytest.raises(ConfigError, match='unknown predicate "HostNam"; did you mean "HostName"') as caught:
        from_keys(["HostNam", "HostName"], ["Equal"])
    assert len(caught.value.complaints) == 2


# --- mutants ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(100))
def test_a_mutant_is_valid_or_its_place_is_named(installed: Registry, seed: int) -> None:
    """A field renamed, moved or retyped is complained of where it stands, unless the result is valid."""
    draw = random.Random(seed)
    name = draw.choice(["kubernetes-1.0.json", "kubernetes-1.13.yaml"])
    tree = copy.deepcopy(source.of_file(FOLDER / name).tree)
    path = draw.choice([place for place in places(tree) if place not in {("kind",), ("apiVersion",)}])
    parent: object = tree
    for step in path[:-1]:
        parent = parent[step]  # type: ignore[index]  # a path leads through maps and lists
    step = path[-1]
    way = draw.choice(["renamed", "retyped"])
    place: tuple[str | int, ...] = path
    if way == "renamed" and isinstance(step, str):
        assert isinstance(parent, dict)
        parent[f"{step}x"] = parent.pop(step)
        place = (*path[:-1], f"{step}x")
    else:
        parent[step] = draw.choice(STRANGE)  # type: ignore[index]  # as above
    found = []
    try:
        loaded(tree, installed)
    except ConfigError as error:
        found = error.complaints
    text = "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in place).removeprefix(".")

    assert not found or any(one.path.startswith(text) or text.startswith(one.path) for one in found), (text, found)
