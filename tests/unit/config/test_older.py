"""Older versions of a KubeSchedulerConfiguration are read as today's, and what changed is said."""

import pytest

from bayplan.config.complaints import ConfigError
from bayplan.config.decode import Decoded, decode
from bayplan.config.profiles import profiles
from bayplan.framework.profile import Instance
from bayplan.framework.registry import Registry
from tests.kit import case

KIND = "kind: KubeSchedulerConfiguration\n"
BETA_1 = f"apiVersion: kubescheduler.config.k8s.io/v1beta1\n{KIND}"


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2", "v1beta3"])
def test_older_versions_are_read_with_a_warning(registry: Registry, version: str) -> None:
    """A removed version works as v1, and what has changed since is said."""
    found: Decoded = decode(
        f"apiVersion: kubescheduler.config.k8s.io/{version}\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{plugins: {score: {disabled: [{name: SelectorSpread}]}}}]\n", registry,
    )  # fmt: skip

    assert "is read as kubescheduler.config.k8s.io/v1" in found.warnings[0].message
    assert found.configuration.api_version == "kubescheduler.config.k8s.io/v1"


def test_addresses_of_older_versions_are_dropped(registry: Registry) -> None:
    """The fields that v1beta2 had and v1 has not are passed over, not refused."""
    found = decode(
        "apiVersion: kubescheduler.config.k8s.io/v1beta2\nkind: KubeSchedulerConfiguration\nhealthzBindAddress: x\n",
        registry,
    )

    assert [warning.path for warning in found.warnings] == ["apiVersion", "healthzBindAddress"]


# --- v1beta1's plugins for scoring by resources ----------------------------------------------------------------------


def fit_of(profile: str, installed: Registry) -> Instance | None:
    """Return NodeResourcesFit among the scores of a v1beta1 profile, if it scores."""
    found = decode(f"{BETA_1}profiles: [{profile}]", installed).configuration
    scores = profiles(found, installed)["default-scheduler"].score
    return next((one for one in scores if one.name == "NodeResourcesFit"), None)


def strategy_of(profile: str, installed: Registry) -> tuple[int, object, list[str]]:
    """Return weight, type and resources by which NodeResourcesFit scores."""
    fit = fit_of(profile, installed)
    assert fit is not None
    strategy = getattr(fit.plugin.arguments, "scoring_strategy", None)
    assert strategy is not None
    return fit.weight, strategy.type, [resource.name for resource in strategy.resources]


LEAST_OFF = "disabled: [{name: NodeResourcesLeastAllocated}]"
SHAPE = "shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]"


@pytest.mark.parametrize(("profile", "weight", "kind", "resources"), [
    case("nothing said", "{plugins: {}}", 1, "LeastAllocated", ["cpu", "memory"]),
    case("another in its place",
         f"{{plugins: {{score: {{{LEAST_OFF}, enabled: [{{name: NodeResourcesMostAllocated, weight: 5}}]}}}}}}",
         5, "MostAllocated", ["cpu", "memory"]),
    case("all others off",
         "{plugins: {score: {disabled: [{name: '*'}], enabled: [{name: NodeResourcesMostAllocated}]}}}",
         1, "MostAllocated", ["cpu", "memory"]),
    case("the usual one with another weight",
         f"{{plugins: {{score: {{{LEAST_OFF}, enabled: [{{name: NodeResourcesLeastAllocated, weight: 9}}]}}}}}}",
         9, "LeastAllocated", ["cpu", "memory"]),
    case("resources of its own",
         "{pluginConfig: [{name: NodeResourcesLeastAllocated, args: {resources: [{name: a.b/c, weight: 2}]}}]}",
         1, "LeastAllocated", ["a.b/c"]),
    case("a shape",
         f"{{plugins: {{score: {{{LEAST_OFF}, enabled: [{{name: RequestedToCapacityRatio, weight: 3}}]}}}},"
         f" pluginConfig: [{{name: NodeResourcesFit, args: {{ignoredResources: [a.b/d]}}}},"
         f" {{name: RequestedToCapacityRatio, args: {{{SHAPE}, resources: [{{name: cpu, weight: 1}}]}}}}]}}",
         3, "RequestedToCapacityRatio", ["cpu"]),
])  # fmt: skip
def test_a_strategy_that_was_a_plugin(
    installed: Registry, profile: str, weight: int, kind: str, resources: list[str]
) -> None:
    """It is NodeResourcesFit's, with its weight and its arguments."""
    assert strategy_of(profile, installed) == (weight, kind, resources)


def test_what_the_filter_is_told_is_kept(installed: Registry) -> None:
    """Both plugins' arguments become one's."""
    fit = fit_of(
        "{pluginConfig: [{name: NodeResourcesFit, args: {ignoredResources: [a.b/d]}},"
        " {name: NodeResourcesLeastAllocated, args: {resources: [{name: cpu, weight: 2}]}}]}", installed,
    )  # fmt: skip

    assert fit is not None
    assert getattr(fit.plugin.arguments, "ignored_resources", None) == ("a.b/d",)


def test_none_at_all(installed: Registry) -> None:
    """Where the usual one was off, nothing scores by resources."""
    assert fit_of(f"{{plugins: {{score: {{{LEAST_OFF}}}}}}}", installed) is None


def test_two_at_once_are_refused(installed: Registry) -> None:
    """A profile has one strategy today."""
    with pytest.raises(ConfigError) as caught:
        fit_of("{plugins: {score: {enabled: [{name: NodeResourcesMostAllocated}]}}}", installed)

    assert caught.value.complaints[0].message.startswith(
        "scores by NodeResourcesLeastAllocated and NodeResourcesMostAllocated: NodeResourcesFit has one strategy"
    )


@pytest.mark.parametrize("profile", [
    "7", "{plugins: 7}", "{plugins: {score: 7}}", "{plugins: {score: {enabled: 7}}}",
    "{plugins: {score: {enabled: [7]}}, pluginConfig: {}}", "{pluginConfig: [7]}",
    "{plugins: {score: {disabled: [{name: '*'}], enabled: [{name: RequestedToCapacityRatio}]}}}",
])  # fmt: skip
def test_whatever_stands_there_is_complained_of(installed: Registry, profile: str) -> None:
    """Where today's form is read."""
    with pytest.raises(ConfigError) as caught:
        decode(f"{BETA_1}profiles: [{profile}]", installed)

    assert all(one.path.startswith("profiles") for one in caught.value.complaints)


# --- what is older still ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "what"), [
    ("apiVersion: kubescheduler.config.k8s.io/v1alpha2", "write the file as kubescheduler.config.k8s.io/v1"),
    ("apiVersion: kubescheduler.config.k8s.io/v1alpha1\nalgorithmSource: {policy: {file: {path: /p}}}",
     "give the Policy that algorithmSource names as the file"),
    ("apiVersion: componentconfig/v1alpha1\nalgorithmSource: {provider: DefaultProvider}",
     "say --algorithm-provider DefaultProvider instead"),
])  # fmt: skip
def test_what_is_too_old_is_refused_in_one_sentence(registry: Registry, text: str, what: str) -> None:
    """With what to do instead."""
    with pytest.raises(ConfigError) as caught:
        decode(f"{KIND}{text}\nschedulerName: x\n", registry, file="s.yaml")

    (complaint,) = caught.value.complaints
    assert complaint.message.endswith(f"is too old to be read; {what}")
    assert complaint.line == 2
